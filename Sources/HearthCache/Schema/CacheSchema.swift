internal import HearthStore

/// The tables of a cache, in the same file as those of the document store.
///
/// Paths are canonical strings ("cities/SF"); users, targets and batches are numbers. A version takes two columns, seconds and nanoseconds,
/// so that it is returned exactly as the backend sent it.
enum CacheSchema {
  /// Creates the tables that are missing and migrates the others.
  ///
  /// The order of all statements is fixed, so that every new file has its tables at the same pages. `SchemaGraft` relies on that.
  /// The tables of the cache come first: a file of another version is refused before anything in it has changed.
  static func migrate(_ database: Database) throws -> DocumentStore {
    try schema.migrate(database)
    return try DocumentStore(database: database)
  }

  /// All tables that the file of a cache can have.
  private static let components = [
    schema, DocumentStore.schema, ClientSchema.schema, DatabaseNameTable.schema, ConflictSchema.schema,
  ]

  /// Looks whether this release may use a file. Reads the versions of its tables and nothing else.
  ///
  /// - Throws: `StoreError` `newerSchema` when a newer release has migrated it.
  static func checkVersions(in database: Database) throws {
    for component in components { try component.checkVersion(in: database) }
  }

  /// As ``checkVersions(in:)``, for a damaged file.
  static func checkVersionsOfDamaged(_ database: Database?, path: String) throws {
    if let database {
      do {
        try checkVersions(in: database)
        let names = required.map { "'\($0)'" }.joined(separator: ", ")
        let count = try database.firstRow("SELECT count(*) FROM schema_versions WHERE component IN (\(names))") {
          try $0.int64(at: 0)
        }
        if count == Int64(required.count) { return }
      } catch let error as StoreError where error.kind == .newerSchema {
        throw error
      } catch {}
    }
    try Schema.checkVersions(of: components, onPagesOf: path, with: required)
  }

  /// The components that every file has.
  private static let required: Set = [schema.component, DocumentStore.schema.component]

  /// Returns true if opening the file changes tables that an earlier release has made.
  static func isOutdated(_ database: Database) throws -> Bool {
    try components.contains { try $0.isOutdated(in: database) }
  }

  /// Returns true if the file has an outbox, with the marks of what was sent.
  static func hasOutbox(_ database: Database) throws -> Bool {
    let tables = outboxTables + ["cache_sent_marks"]
    let names = tables.map { "'\($0)'" }.joined(separator: ", ")
    let count = try database.firstRow("SELECT count(*) FROM sqlite_master WHERE name IN (\(names))") {
      try $0.int64(at: 0)
    }
    return count == Int64(tables.count)
  }

  /// Migrates all tables that the file has. Nobody else may have it open.
  static func migrateAll(_ database: Database) throws {
    _ = try migrate(database)
    if try ClientSchema.schema.isOutdated(in: database) { try ClientSchema.schema.migrate(database) }
  }

  /// The names of the tables that hold the outbox.
  static let outboxTables = [
    "cache_globals", "cache_users", "cache_mutation_batches", "cache_batch_documents", "cache_unreadable_batches",
    "cache_rejected_batches",
  ]

  private static let schema = Schema(
    component: "cache",
    migrations: [
      Migration(version: 1, name: "tables of the cache", statements: outbox + targets + bundles + outcomes + pins)
    ],
    probes: [
      """
      SELECT cache_id, highest_batch_id, highest_target_id, highest_sequence_number, target_count,
        snapshot_seconds, snapshot_nanos, keeping_seconds, last_reading, highest_reading FROM cache_globals
      """,
      "SELECT user_id, user_key FROM cache_users",
      "SELECT batch_id, user_id, batch FROM cache_mutation_batches INDEXED BY cache_mutation_batches_by_user WHERE user_id = 0",
      "SELECT user_id, path, batch_id FROM cache_batch_documents",
      """
      SELECT overlay_id, user_id, path, collection_path, collection_group, largest_batch_id, mutation, state
      FROM cache_overlays INDEXED BY cache_overlays_by_path WHERE user_id = 0 AND path >= ''
      """,
      "SELECT batch_id, user_id, batch, reason FROM cache_unreadable_batches",
      """
      SELECT target_id, canonical_id, target, sequence_number, snapshot_seconds, snapshot_nanos,
        limbo_free_seconds, limbo_free_nanos, resume_token FROM cache_targets
      """,
      "SELECT target_id, path, sequence_number FROM cache_target_documents",
      "SELECT target_id FROM cache_removed_targets",
      "SELECT hash, sequence_number FROM cache_dropped_targets",
      """
      SELECT sequence_number, path FROM cache_document_uses INDEXED BY cache_unneeded_documents
      WHERE is_unneeded = 1 AND sequence_number <= 0
      """,
      "SELECT bundle_id, format_version, create_seconds, create_nanos FROM bundles",
      "SELECT name, target, is_limit_to_last, read_seconds, read_nanos FROM named_queries",
      "SELECT user_id, through FROM cache_sent_marks",
      "SELECT batch_id, attempts, code, message FROM cache_write_attempts",
      "SELECT batch_id, user_id, batch, code, message, rejected_seconds, rejected_nanos, kept_at FROM cache_rejected_batches",
      "SELECT number, identity, kept_at, code, message, result FROM cache_write_outcomes",
      "SELECT number, identity, batch_id FROM cache_receipts",
      """
      SELECT hash, user_id, path, state, seconds, nanos, fields, is_outdated, next_state, next_fields, copy_name
      FROM cache_base_documents
      """,
      "SELECT pin_id, target, is_limit_to_last FROM cache_pinned_queries",
    ])

  /// The counters, the users, their batches, and the overlays that the batches make.
  private static let outbox = [
    // One row. The last three columns are a `KeepingTime`. `cache_id` is empty until the first `LocalStore` gives the cache its name.
    """
    CREATE TABLE cache_globals (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      cache_id TEXT NOT NULL,
      highest_batch_id INTEGER NOT NULL,
      highest_target_id INTEGER NOT NULL,
      highest_sequence_number INTEGER NOT NULL,
      target_count INTEGER NOT NULL,
      snapshot_seconds INTEGER NOT NULL,
      snapshot_nanos INTEGER NOT NULL,
      keeping_seconds INTEGER NOT NULL,
      last_reading INTEGER NOT NULL,
      highest_reading INTEGER NOT NULL
    )
    """,
    "INSERT INTO cache_globals VALUES (1, '', 0, 0, 0, 0, 0, 0, 0, 0, 0)",

    // The identities that have written, by their keys (`OutboxOwner`).
    "CREATE TABLE cache_users (user_id INTEGER PRIMARY KEY, user_key TEXT NOT NULL UNIQUE)",

    // The outbox. Batch ids rise over all users and are never given twice (`cache_globals.highest_batch_id`).
    "CREATE TABLE cache_mutation_batches (batch_id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, batch BLOB NOT NULL)",
    "CREATE INDEX cache_mutation_batches_by_user ON cache_mutation_batches (user_id, batch_id)",
    """
    CREATE TABLE cache_batch_documents (
      user_id INTEGER NOT NULL,
      path TEXT NOT NULL,
      batch_id INTEGER NOT NULL,
      PRIMARY KEY (user_id, path, batch_id)
    ) WITHOUT ROWID
    """,

    // Batches whose row did not hold what was written, or names no user. They are out of the queue. Without a user `user_id` is
    // `MutationQueue.unknownUser`.
    """
    CREATE TABLE cache_unreadable_batches (
      batch_id INTEGER PRIMARY KEY,
      user_id INTEGER NOT NULL,
      batch BLOB,
      reason TEXT NOT NULL
    )
    """,

    // The combined effect of all pending batches of one user on one document. `state` is an `OverlayTable.State`.
    //
    // The only index is the one by path. Each further one is another page in every durable commit of a write and of its
    // acknowledgement, 10 to 15 microseconds of processor time. The overlays of a collection are a range of paths; those of a
    // collection group are rarely asked for, and found by reading all overlays of the user, which exist only for pending writes.
    """
    CREATE TABLE cache_overlays (
      overlay_id INTEGER PRIMARY KEY,
      user_id INTEGER NOT NULL,
      path TEXT NOT NULL,
      collection_path TEXT NOT NULL,
      collection_group TEXT NOT NULL,
      largest_batch_id INTEGER NOT NULL,
      mutation BLOB NOT NULL,
      state INTEGER NOT NULL
    )
    """,
    "CREATE UNIQUE INDEX cache_overlays_by_path ON cache_overlays (user_id, path)",
  ]

  /// The targets, their documents, and the state of garbage collection.
  private static let targets = [
    """
    CREATE TABLE cache_targets (
      target_id INTEGER PRIMARY KEY,
      canonical_id TEXT NOT NULL,
      target BLOB NOT NULL,
      sequence_number INTEGER NOT NULL,
      snapshot_seconds INTEGER NOT NULL,
      snapshot_nanos INTEGER NOT NULL,
      limbo_free_seconds INTEGER NOT NULL,
      limbo_free_nanos INTEGER NOT NULL,
      resume_token BLOB NOT NULL
    )
    """,
    "CREATE INDEX cache_targets_by_canonical_id ON cache_targets (canonical_id)",
    "CREATE INDEX cache_targets_by_sequence_number ON cache_targets (sequence_number)",

    // `sequence_number` is the use that the document had when it came to the target.
    """
    CREATE TABLE cache_target_documents (
      target_id INTEGER NOT NULL,
      path TEXT NOT NULL,
      sequence_number INTEGER NOT NULL,
      PRIMARY KEY (target_id, path)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX cache_target_documents_by_path ON cache_target_documents (path, target_id)",
    // Targets whose row is gone while some of their documents are still marked as theirs. Their removal continues from here.
    "CREATE TABLE cache_removed_targets (target_id INTEGER PRIMARY KEY)",
    // The targets that were in sync once and whose rows were removed last, by a hash of their canonical ids.
    "CREATE TABLE cache_dropped_targets (hash INTEGER PRIMARY KEY, sequence_number INTEGER NOT NULL)",

    // The last use of each document, as far as no target says it (`DocumentUses`). The partial index lists the documents that
    // nothing refers to, in the order of their last use, so that garbage collection reads only what it may remove.
    """
    CREATE TABLE cache_document_uses (
      path TEXT PRIMARY KEY,
      sequence_number INTEGER NOT NULL,
      is_unneeded INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    "CREATE INDEX cache_unneeded_documents ON cache_document_uses (sequence_number, path) WHERE is_unneeded = 1",
  ]

  /// The state of writes beyond their contents: how far they were sent, their failures, their outcomes and their bases.
  private static let outcomes = [
    // Batches of the user up to `through` may have reached the backend; later ones have not (`SentMarks`).
    "CREATE TABLE cache_sent_marks (user_id INTEGER PRIMARY KEY, through INTEGER NOT NULL)",

    // The attempts at batches in the outbox that failed, with the last error. Rows of answered batches go later.
    """
    CREATE TABLE cache_write_attempts (
      batch_id INTEGER PRIMARY KEY,
      attempts INTEGER NOT NULL,
      code INTEGER NOT NULL,
      message TEXT NOT NULL
    )
    """,

    // Batches that the backend has refused, until the application discards them or hands them in again. They age from `kept_at`, a
    // `KeepingTime`; the other time is for the application.
    """
    CREATE TABLE cache_rejected_batches (
      batch_id INTEGER PRIMARY KEY,
      user_id INTEGER NOT NULL,
      batch BLOB NOT NULL,
      code INTEGER NOT NULL,
      message TEXT NOT NULL,
      rejected_seconds INTEGER NOT NULL,
      rejected_nanos INTEGER NOT NULL,
      kept_at INTEGER NOT NULL
    )
    """,

    // The outcomes of writes with a receipt. `number` is the lower half of the identity, `code` 0 a commit, and `result` a
    // `google.firestore.v1.CommitResponse`. Neither table has an index: both are short, and an empty index that changes places with
    // that of another table is damage that no look-up notices.
    """
    CREATE TABLE cache_write_outcomes (
      number INTEGER PRIMARY KEY,
      identity BLOB NOT NULL,
      kept_at INTEGER NOT NULL,
      code INTEGER NOT NULL,
      message TEXT NOT NULL,
      result BLOB NOT NULL
    )
    """,

    // The waiting batches of writes with a receipt (`ReceiptTable`). `number` is as above.
    "CREATE TABLE cache_receipts (number INTEGER PRIMARY KEY, identity BLOB NOT NULL, batch_id INTEGER NOT NULL)",

    // The documents that pending writes are based on, where a rule for conflicts contains them (`BaseDocument`). `state` is 0 for an
    // unknown document, 1 for a missing and 2 for an existing one; `next_state` is -1 if there is none, and 4 more if the author of the next
    // write had not seen the first one. The key is a hash of user and path, so that the table needs no index, for the reason above.
    """
    CREATE TABLE cache_base_documents (
      hash INTEGER PRIMARY KEY,
      user_id INTEGER NOT NULL,
      path TEXT NOT NULL,
      state INTEGER NOT NULL,
      seconds INTEGER NOT NULL,
      nanos INTEGER NOT NULL,
      fields BLOB NOT NULL,
      is_outdated INTEGER NOT NULL,
      next_state INTEGER NOT NULL,
      next_fields BLOB NOT NULL,
      copy_name TEXT NOT NULL
    )
    """,
  ]

  /// The queries that the application wants to keep.
  private static let pins = [
    // The queries that garbage collection spares. `target` is as in `named_queries`. No index, for the reason above; the list is short.
    """
    CREATE TABLE cache_pinned_queries (
      pin_id INTEGER PRIMARY KEY,
      target BLOB NOT NULL,
      is_limit_to_last INTEGER NOT NULL
    )
    """
  ]

  /// The bundles that were loaded, and the queries that they named.
  private static let bundles = [
    """
    CREATE TABLE bundles (
      bundle_id TEXT PRIMARY KEY,
      format_version INTEGER NOT NULL,
      create_seconds INTEGER NOT NULL,
      create_nanos INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    // `target` is the query with its limit at the beginning, wherever it counts from.
    """
    CREATE TABLE named_queries (
      name TEXT PRIMARY KEY,
      target BLOB NOT NULL,
      is_limit_to_last INTEGER NOT NULL,
      read_seconds INTEGER NOT NULL,
      read_nanos INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
  ]
}
