internal import HearthStore

/// The cache's tables, beside those of the document store in the same file.
///
/// Paths are canonical strings ("cities/SF"); users, targets and batches are numbers. A version takes two columns,
/// seconds and nanoseconds, so that it comes back exactly as the backend sent it.
enum CacheSchema {
  static let schema = Schema(
    component: "cache",
    migrations: [
      Migration(version: 1, name: "first tables", statements: firstTables),
      Migration(
        version: 2, name: "what overlays say of the documents beneath",
        statements: ["ALTER TABLE cache_overlays ADD COLUMN state INTEGER NOT NULL DEFAULT 2"]),
    ],
    probes: [
      """
      SELECT cache_id, highest_batch_id, highest_target_id, highest_sequence_number, target_count,
        snapshot_seconds, snapshot_nanos FROM cache_globals
      """,
      "SELECT user_id, user_key, stream_token FROM cache_users",
      "SELECT batch_id, user_id, batch FROM cache_mutation_batches",
      "SELECT user_id, path, batch_id FROM cache_batch_documents",
      """
      SELECT overlay_id, user_id, path, collection_path, collection_group, largest_batch_id, mutation,
        state
      FROM cache_overlays
      """,
      """
      SELECT target_id, canonical_id, target, sequence_number, snapshot_seconds, snapshot_nanos,
        limbo_free_seconds, limbo_free_nanos, resume_token FROM cache_targets
      """,
      "SELECT target_id, path FROM cache_target_documents",
      "SELECT path, sequence_number FROM cache_document_uses",
    ])

  private static let firstTables = [
    // One row. `cache_id` is empty until the first `LocalStore` gives the cache its name.
    """
    CREATE TABLE cache_globals (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      cache_id TEXT NOT NULL,
      highest_batch_id INTEGER NOT NULL,
      highest_target_id INTEGER NOT NULL,
      highest_sequence_number INTEGER NOT NULL,
      target_count INTEGER NOT NULL,
      snapshot_seconds INTEGER NOT NULL,
      snapshot_nanos INTEGER NOT NULL
    )
    """,
    "INSERT INTO cache_globals VALUES (1, '', 0, 0, 0, 0, 0, 0)",

    // `user_key` is "=" and the user id, or empty for nobody signed in. `stream_token` is no longer written.
    """
    CREATE TABLE cache_users (
      user_id INTEGER PRIMARY KEY,
      user_key TEXT NOT NULL UNIQUE,
      stream_token BLOB NOT NULL
    )
    """,

    // The outbox. Batch ids rise over all users and are never given twice (`cache_globals.highest_batch_id`).
    """
    CREATE TABLE cache_mutation_batches (
      batch_id INTEGER PRIMARY KEY,
      user_id INTEGER NOT NULL,
      batch BLOB NOT NULL
    )
    """,
    "CREATE INDEX cache_mutation_batches_by_user ON cache_mutation_batches (user_id, batch_id)",
    """
    CREATE TABLE cache_batch_documents (
      user_id INTEGER NOT NULL,
      path TEXT NOT NULL,
      batch_id INTEGER NOT NULL,
      PRIMARY KEY (user_id, path, batch_id)
    ) WITHOUT ROWID
    """,

    // What all pending batches of one user together do to one document. Version 2 adds `state` (`OverlayTable.State`).
    """
    CREATE TABLE cache_overlays (
      overlay_id INTEGER PRIMARY KEY,
      user_id INTEGER NOT NULL,
      path TEXT NOT NULL,
      collection_path TEXT NOT NULL,
      collection_group TEXT NOT NULL,
      largest_batch_id INTEGER NOT NULL,
      mutation BLOB NOT NULL
    )
    """,
    "CREATE UNIQUE INDEX cache_overlays_by_path ON cache_overlays (user_id, path)",
    "CREATE INDEX cache_overlays_by_collection ON cache_overlays (user_id, collection_path)",
    "CREATE INDEX cache_overlays_by_group ON cache_overlays (user_id, collection_group, collection_path)",

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
    """
    CREATE TABLE cache_target_documents (
      target_id INTEGER NOT NULL,
      path TEXT NOT NULL,
      PRIMARY KEY (target_id, path)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX cache_target_documents_by_path ON cache_target_documents (path, target_id)",

    // When a document was last of use, for the least-recently-used collector.
    """
    CREATE TABLE cache_document_uses (
      path TEXT PRIMARY KEY,
      sequence_number INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
  ]
}
