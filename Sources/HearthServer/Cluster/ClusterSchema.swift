#if PostgreSQL
  /// The tables of a cluster: one set for all Firestore databases of a PostgreSQL database.
  ///
  /// Keys are numbers and `bytea`: PostgreSQL's `text` cannot hold U+0000, collations differ between engines, and `bytea` is compared byte by
  /// byte everywhere.
  ///
  /// A Firestore database that has no commit has no row. Reads of it are reads of the database ``emptyDatabase``, which holds nothing.
  enum ClusterSchema {
    /// The schema that this release makes and needs. Each change of the tables raises it.
    static let version: Int32 = 1
    /// The oldest schema that the nodes of this release can serve: during an upgrade they run alongside nodes of the release before.
    static let oldestServed: Int32 = 1

    /// The number of the database that all Firestore databases without commits are. Its versions are below those of the databases that are
    /// created later, because their creation locks its row: so a database's versions rise also over its creation.
    static let emptyDatabase: Int64 = 0

    static let statements =
      [schema, cluster, databases, commits] + collections + [documents] + changes + indexes + transactions + responses
      + [tasks]

    /// `version`: the schema. `minimum_node`: nodes that know only older schemas must not serve this one.
    private static let schema = "CREATE TABLE hearth_schema (version int NOT NULL, minimum_node int NOT NULL)"

    /// One row. `secret` signs ids of transactions. `system_id` and `timeline` name the server's history: another one may lack commits that
    /// clients know.
    private static let cluster = """
      CREATE TABLE hearth_cluster (
        id int PRIMARY KEY CHECK (id = 1), secret bytea NOT NULL, system_id bigint NOT NULL, timeline bigint NOT NULL)
      """

    /// The order rows. A session that changes documents, entries or definitions of a database holds its row (``ClusterOrder``). Commits never
    /// change it: an old snapshot elsewhere would make each read of a row that every commit updates slower and slower.
    ///
    /// - `incarnation` changes when commits may have been lost, see ``Epochs``.
    /// - `log_start`: `hearth_changes` tells everything that happened after this version.
    /// - `index_generation` changes when an index is dropped or redefined, `index_state` with each definition and each mark.
    private static let databases = """
      CREATE TABLE hearth_databases (
        number bigint PRIMARY KEY, project bytea NOT NULL, name bytea NOT NULL, incarnation bytea NOT NULL,
        log_start bigint NOT NULL, index_generation bigint NOT NULL, index_state bigint NOT NULL, UNIQUE (project, name))
      """

    /// One row for each group of commits, with the version of its last one; the newest is the database's present version. `node` and `mark`
    /// tell a node whose connection broke whether its group was committed. `bytes`: what the group has added to `hearth_changes`.
    private static let commits = """
      CREATE TABLE hearth_commits (
        database bigint, version bigint, node bigint NOT NULL, mark bigint NOT NULL, bytes bigint NOT NULL,
        PRIMARY KEY (database, version))
      """

    /// All collections that ever had a document, by numbers that are never used twice. A path may be too long for a key of a B-tree:
    /// `path_hash` finds it, `path_order` has the first bytes of its place in the order of paths. `documents` is exact in each snapshot.
    private static let collections = [
      """
      CREATE TABLE hearth_collections (
        database bigint, number bigint, path bytea NOT NULL, path_hash bytea NOT NULL, path_order bytea NOT NULL,
        group_id bytea NOT NULL, documents bigint NOT NULL,
        PRIMARY KEY (database, number), UNIQUE (database, path_hash)) WITH (fillfactor = 70)
      """,
      "CREATE INDEX hearth_collections_order ON hearth_collections (database, path_order, number)",
      "CREATE INDEX hearth_collections_group ON hearth_collections (database, group_id, path_order, number)",
    ]

    /// The present documents, in the order of their names, see ``ClusterNames/idBytes(_:)``. There is no other index, so that an overwrite
    /// changes none (heap-only tuples).
    private static let documents = """
      CREATE TABLE hearth_documents (
        database bigint, collection bigint, id bytea, version bigint NOT NULL, create_time bigint NOT NULL,
        fields bytea NOT NULL, PRIMARY KEY (database, collection, id)) WITH (fillfactor = 85)
      """

    /// Each document of each commit as it was before (`old_version` 0: it was missing). A document's rows are a chain: its present version
    /// names its latest row, whose `old_version` names the one before. The chain of a missing document begins with a delete.
    private static let changes = [
      """
      CREATE TABLE hearth_changes (
        database bigint, version bigint, collection bigint, id bytea, is_delete boolean NOT NULL,
        old_version bigint NOT NULL, old_create_time bigint NOT NULL, old_fields bytea,
        PRIMARY KEY (database, version, collection, id)) WITH (autovacuum_vacuum_scale_factor = 0.05)
      """,
      "CREATE INDEX hearth_changes_collection ON hearth_changes (database, collection, version, id)",
      "CREATE INDEX hearth_deletes ON hearth_changes (database, collection, id, version) WHERE is_delete",
    ]

    /// Definitions, their entries for present documents, and the index file whose definitions are the declared ones (``ClusterIndexFile``). In `hearth_entries`, `collection` is 0 for an index of a collection group, and
    /// `target` always the number of the document's collection.
    private static let indexes = [
      """
      CREATE TABLE hearth_indexes (
        database bigint, number int, state smallint NOT NULL, origin smallint NOT NULL, group_id bytea NOT NULL,
        fields bytea NOT NULL, filled_collection bigint, filled_id bytea, latest_use bigint NOT NULL,
        PRIMARY KEY (database, number))
      """,
      """
      CREATE TABLE hearth_entries (
        database bigint, number int, collection bigint, key bytea, target bigint NOT NULL, id bytea NOT NULL,
        PRIMARY KEY (database, number, collection, key) INCLUDE (target, id))
        WITH (autovacuum_vacuum_scale_factor = 0.05)
      """,
      """
      CREATE TABLE hearth_index_files (
        database bigint PRIMARY KEY, read_time bigint NOT NULL, node bigint NOT NULL, node_name bytea NOT NULL)
      """,
    ]

    /// Open transactions, and the outcomes of ended ones for a minute. `place` is that of the database (``ClusterNames/placeHash(_:)``): a
    /// transaction may begin before its database exists. `expiry` is the time at which it ends, or its outcome is forgotten. All this is
    /// written with `synchronous_commit = off`, but for the commits; a crash that takes rows of it also ends the era that is part of each id
    /// (``TransactionEra``).
    ///
    /// `seniority_time` and `seniority_number` are a ``Seniority``; 0 if the transaction was committed, or if another one repeats it and has
    /// its age. `lock_key` finds what pessimistic transactions have read (``TransactionReaders``). It is NULL for others.
    private static let transactions = [
      """
      CREATE TABLE hearth_transactions (
        id bytea PRIMARY KEY, place bytea NOT NULL, mode smallint NOT NULL, state smallint NOT NULL,
        seniority_time bigint NOT NULL, seniority_number bigint NOT NULL, read_version bigint NOT NULL,
        read_count bigint NOT NULL, expiry bigint NOT NULL, digest bytea, outcome bytea) WITH (fillfactor = 50)
      """,
      "CREATE INDEX hearth_transactions_place ON hearth_transactions (place, state, expiry)",
      "CREATE INDEX hearth_transactions_expiry ON hearth_transactions (expiry)",
      """
      CREATE TABLE hearth_reads (
        transaction bytea, hash bytea, kind smallint NOT NULL, content bytea NOT NULL, lock_key bytea,
        PRIMARY KEY (transaction, hash)) WITH (autovacuum_vacuum_scale_factor = 0.05)
      """,
      "CREATE INDEX hearth_reads_locks ON hearth_reads (lock_key) WHERE lock_key IS NOT NULL",
      TransactionEra.table,
    ]

    /// The answers to the latest labelled requests, see ``RequestLabel``. `of_many`: ``RequestLabel/isOfMany``.
    private static let responses = [
      """
      CREATE TABLE hearth_batch_responses (
        database bigint, identity bytea, digest bytea, client bigint NOT NULL, of_many boolean NOT NULL,
        version bigint NOT NULL, response bytea NOT NULL, PRIMARY KEY (database, identity, digest))
      """,
      "CREATE INDEX hearth_batch_responses_version ON hearth_batch_responses (database, version)",
      "CREATE INDEX hearth_batch_responses_client ON hearth_batch_responses (database, client, version)",
    ]

    /// Work that one node at a time should do: a lease only avoids that several do the same.
    private static let tasks = """
      CREATE TABLE hearth_tasks (
        database bigint, kind smallint, holder bigint NOT NULL, until timestamptz NOT NULL, PRIMARY KEY (database, kind))
      """

    /// The tables, for a look at what a PostgreSQL database has.
    static let tables = [
      "hearth_schema", "hearth_cluster", "hearth_databases", "hearth_commits", "hearth_collections", "hearth_documents",
      "hearth_changes", "hearth_indexes", "hearth_entries", "hearth_index_files", "hearth_transactions", "hearth_reads",
      "hearth_era",
      "hearth_batch_responses", "hearth_tasks",
    ]
  }
#endif
