internal import HearthStore

/// The server's own tables, in the same file as those of the document store.
enum ServerSchema {
  static let schema = Schema(
    component: "server",
    migrations: [
      Migration(version: 1, name: "change log, batch responses", statements: statements),
      Migration(
        version: 2, name: "state of the indexes",
        // Another number after each change of a definition or of how far an index is filled; see IndexTable.use.
        statements: ["ALTER TABLE server_state ADD COLUMN index_state INTEGER NOT NULL DEFAULT 0"]),
      Migration(version: 3, name: "lean change log", apply: makeLogLean),
      Migration(
        version: 4, name: "the file that the state belongs to",
        // Dropped by version 6.
        statements: ["ALTER TABLE server_state ADD COLUMN file_identity BLOB"]),
      Migration(
        version: 5, name: "size of the change log in bytes",
        // Ids were counted in characters, and by another rule when they went than when they came.
        statements: [
          """
          UPDATE server_state SET log_bytes =
            (SELECT coalesce(sum(\(ChangeLog.rowBytes)), 0) FROM server_changes WHERE version <= counted_version)
          """
        ]),
      Migration(version: 6, name: "epochs", statements: epochs),
      Migration(version: 7, name: "shares of clients in the batch responses", statements: responseShares),
      Migration(
        version: 8, name: "version that listeners were given",
        statements: ["ALTER TABLE server_state ADD COLUMN announced_version INTEGER NOT NULL DEFAULT 0"]),
    ],
    probes: [
      "SELECT last_version, log_start, index_state, log_bytes, counted_version, announced_version FROM server_state",
      "SELECT number, epoch, after_version, first_version FROM server_epochs",
      "SELECT number, path, group_id, documents FROM server_collections",
      "SELECT id, version FROM server_changes INDEXED BY server_changes_by_collection WHERE collection = 0",
      "SELECT version FROM server_changes INDEXED BY server_deletes WHERE collection = 0 AND id = '' AND is_delete = 1",
      "SELECT identity, digest, client, number, version, response FROM server_batch_responses",
      "SELECT count, bytes FROM server_batch_response_totals",
      "SELECT client, count, bytes FROM server_batch_clients",
    ])

  private static let statements = [
    // One row: what must survive a restart besides documents and log.
    // log_start: the log tells everything that happened after this version.
    """
    CREATE TABLE server_state (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      incarnation BLOB NOT NULL,
      last_version INTEGER NOT NULL,
      log_start INTEGER NOT NULL
    )
    """,
    // Every document that a commit changed, as it was before: with the present documents this gives each state
    // since log_start. `sequence` rises with the commits. The rowid is the last column of the index, so one
    // collection's changes after a sequence are one range of it.
    """
    CREATE TABLE server_changes (
      sequence INTEGER PRIMARY KEY,
      path TEXT NOT NULL,
      collection TEXT NOT NULL,
      collection_group TEXT NOT NULL,
      old_version INTEGER NOT NULL,
      old_create_time INTEGER NOT NULL,
      old_fields BLOB
    )
    """,
    "CREATE INDEX server_changes_by_collection ON server_changes (collection_group, collection)",
    // The end of each commit's changes in server_changes.
    """
    CREATE TABLE server_commits (
      version INTEGER PRIMARY KEY,
      last_sequence INTEGER NOT NULL,
      bytes INTEGER NOT NULL
    )
    """,
    // The answers to labelled requests; see RequestLabel. `sequence` rises with the commits, and with it `version`,
    // their time; `number` rises by one with each answer to the client.
    """
    CREATE TABLE server_batch_responses (
      sequence INTEGER PRIMARY KEY,
      client INTEGER NOT NULL,
      number INTEGER NOT NULL,
      identity BLOB NOT NULL,
      digest BLOB NOT NULL,
      version INTEGER NOT NULL,
      response BLOB NOT NULL
    )
    """,
    "CREATE UNIQUE INDEX server_batch_responses_by_request ON server_batch_responses (identity, digest)",
    "CREATE UNIQUE INDEX server_batch_responses_by_client ON server_batch_responses (client, number)",
    // One row: how many answers there are, and the bytes of them.
    """
    CREATE TABLE server_batch_response_totals (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      count INTEGER NOT NULL,
      bytes INTEGER NOT NULL
    )
    """,
    "INSERT INTO server_batch_response_totals VALUES (1, 0, 0)",
  ]

  /// Replaces the log. Its history is dropped: resumed listeners of an older folder get a reset, once.
  private static func makeLogLean(_ database: Database) throws {
    for statement in leanLog { try database.execute(statement) }
    let tables = try database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'documents'")
    guard try tables.step() else { return }
    tables.reset()
    try database.execute("DROP INDEX IF EXISTS documents_by_read_time")
    try database.execute(
      """
      INSERT INTO server_collections (number, path, group_id, documents)
      SELECT number, path, group_id, (SELECT count(*) FROM documents WHERE collection = number) FROM collections
      """)
  }

  private static let leanLog = [
    "DROP TABLE server_changes",
    "DROP TABLE server_commits",
    // log_bytes: the size of the log's rows up to counted_version. Those behind it are few and are added up at the start.
    "ALTER TABLE server_state ADD COLUMN log_bytes INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE server_state ADD COLUMN counted_version INTEGER NOT NULL DEFAULT 0",
    "UPDATE server_state SET log_start = last_version, counted_version = last_version",
    // The collections that hold documents or are in the log, with the number of their documents.
    """
    CREATE TABLE server_collections (
      number INTEGER PRIMARY KEY,
      path TEXT NOT NULL UNIQUE,
      group_id TEXT NOT NULL,
      documents INTEGER NOT NULL
    )
    """,
    "CREATE INDEX server_collections_by_group ON server_collections (group_id)",
    // Every document that a commit changed, as it was before (old_version 0: it was missing). With the present documents this
    // gives each state since log_start. Rows are appended: `version` is the time of the commit.
    // A document's rows are a chain: its present version names its latest row, whose old_version names the one before.
    """
    CREATE TABLE server_changes (
      version INTEGER NOT NULL,
      collection INTEGER NOT NULL,
      id TEXT NOT NULL,
      is_delete INTEGER NOT NULL,
      old_version INTEGER NOT NULL,
      old_create_time INTEGER NOT NULL,
      old_fields BLOB,
      PRIMARY KEY (version, collection, id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX server_changes_by_collection ON server_changes (collection, version, id)",
    // Where a chain goes on that a missing document has interrupted.
    "CREATE INDEX server_deletes ON server_changes (collection, id, version) WHERE is_delete = 1",
  ]

  /// The number of answers of each client, and their bytes. The index holds only clients with more than ``ResponseRetention/fairCount``, so it
  /// costs the others nothing.
  private static let responseShares = [
    "CREATE TABLE server_batch_clients (client INTEGER PRIMARY KEY, count INTEGER NOT NULL, bytes INTEGER NOT NULL)",
    """
    CREATE INDEX server_batch_clients_by_share ON server_batch_clients (bytes) WHERE count > \(ResponseRetention.fairCount)
    """,
    """
    INSERT INTO server_batch_clients
    SELECT client, count(*), sum(length(response) + \(ResponseRetention.bytesPerAnswer))
    FROM server_batch_responses GROUP BY client
    """,
  ]

  /// The table of epochs, see ``Epochs``. The incarnation of a folder that had one becomes its first epoch, so its listeners resume. The state is
  /// rewritten without it, because SQLite has dropped columns only since 3.35.
  private static let epochs = [
    """
    CREATE TABLE server_epochs (
      number INTEGER PRIMARY KEY,
      epoch BLOB NOT NULL,
      after_version INTEGER NOT NULL,
      first_version INTEGER NOT NULL
    )
    """,
    "INSERT INTO server_epochs SELECT 1, incarnation, 0, 0 FROM server_state",
    """
    CREATE TABLE server_state_without_incarnation (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      last_version INTEGER NOT NULL,
      log_start INTEGER NOT NULL,
      index_state INTEGER NOT NULL DEFAULT 0,
      log_bytes INTEGER NOT NULL DEFAULT 0,
      counted_version INTEGER NOT NULL DEFAULT 0
    )
    """,
    """
    INSERT INTO server_state_without_incarnation
    SELECT id, last_version, log_start, index_state, log_bytes, counted_version FROM server_state
    """,
    "DROP TABLE server_state",
    "ALTER TABLE server_state_without_incarnation RENAME TO server_state",
  ]
}
