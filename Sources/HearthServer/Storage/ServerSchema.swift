internal import HearthStore

/// The server's own tables beside those of the document store, in the same file.
enum ServerSchema {
  static let schema = Schema(
    component: "server",
    migrations: [
      Migration(version: 1, name: "change log, batch responses", statements: statements),
      Migration(
        version: 2, name: "state of the indexes",
        // Another number after each change of a definition or of how far an index is filled; see IndexTable.use.
        statements: ["ALTER TABLE server_state ADD COLUMN index_state INTEGER NOT NULL DEFAULT 0"]),
    ],
    probes: [
      "SELECT incarnation, last_version, log_start, index_state FROM server_state",
      "SELECT identity, digest, client, number, version, response FROM server_batch_responses",
      "SELECT count, bytes FROM server_batch_response_totals",
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
}
