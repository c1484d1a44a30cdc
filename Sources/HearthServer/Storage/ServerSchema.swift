internal import HearthStore

/// The server's own tables beside those of the document store, in the same file.
enum ServerSchema {
  static let schema = Schema(
    component: "server",
    migrations: [
      Migration(version: 1, name: "change log, batch responses") { database in
        // One row: what must survive a restart besides documents and log.
        // log_start: the log tells everything that happened after this version.
        try database.execute(
          """
          CREATE TABLE server_state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            incarnation BLOB NOT NULL,
            last_version INTEGER NOT NULL,
            log_start INTEGER NOT NULL
          )
          """)
        // Every document that a commit changed, as it was before: with the present documents this gives each state
        // since log_start. `sequence` rises with the commits. The rowid is the last column of the index, so one
        // collection's changes after a sequence are one range of it.
        try database.execute(
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
          """)
        try database.execute(
          "CREATE INDEX server_changes_by_collection ON server_changes (collection_group, collection)")
        // Where each commit's changes end in server_changes.
        try database.execute(
          """
          CREATE TABLE server_commits (
            version INTEGER PRIMARY KEY,
            last_sequence INTEGER NOT NULL,
            bytes INTEGER NOT NULL
          )
          """)
        // The answers to labelled batches; see BatchLabel.
        try database.execute(
          """
          CREATE TABLE server_batch_responses (
            cache_id TEXT NOT NULL,
            batch_id INTEGER NOT NULL,
            response BLOB NOT NULL,
            PRIMARY KEY (cache_id, batch_id)
          ) WITHOUT ROWID
          """)
      }
    ])
}
