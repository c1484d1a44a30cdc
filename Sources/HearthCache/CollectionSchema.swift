internal import HearthStore

/// What the least-recently-used collector needs beside the cache's tables: which documents nothing refers to, in the
/// order of their last use, so that a run looks at nothing but what it may remove.
///
/// The tables of the component "cache" and of the document store must exist.
enum CollectionSchema {
  static let schema = Schema(
    component: "collection",
    migrations: [
      Migration(version: 1, name: "documents without use", statements: first),
      Migration(
        version: 2, name: "uses by targets",
        statements: [
          // When the document came to the target. Entries of an earlier release have their use in cache_document_uses.
          "ALTER TABLE cache_target_documents ADD COLUMN sequence_number INTEGER NOT NULL DEFAULT 0"
        ]),
    ],
    probes: [
      """
      SELECT sequence_number, path FROM cache_document_uses INDEXED BY cache_unneeded_documents
      WHERE is_unneeded = 1 AND sequence_number <= 0
      """,
      "SELECT target_id FROM cache_removed_targets",
      "SELECT target_id, path, sequence_number FROM cache_target_documents",
    ])

  /// A document is unneeded when no target holds it and no user has a pending batch for it.
  static let isUnneeded = """
    (NOT EXISTS (SELECT 1 FROM cache_target_documents AS t WHERE t.path = cache_document_uses.path)
    AND NOT EXISTS (SELECT 1 FROM cache_users AS u CROSS JOIN cache_batch_documents AS b
      ON b.user_id = u.user_id AND b.path = cache_document_uses.path))
    """

  private static let first = [
    "ALTER TABLE cache_document_uses ADD COLUMN is_unneeded INTEGER NOT NULL DEFAULT 0",
    // A document whose use was never noted would stay for ever. It counts as the oldest.
    """
    INSERT OR IGNORE INTO cache_document_uses (path, sequence_number)
    SELECT c.path || '/' || d.id, 0 FROM documents AS d JOIN collections AS c ON c.number = d.collection
    """,
    "UPDATE cache_document_uses SET is_unneeded = 1 WHERE \(isUnneeded)",
    """
    CREATE INDEX cache_unneeded_documents ON cache_document_uses (sequence_number, path) WHERE is_unneeded = 1
    """,
    // Targets whose row is gone while some of their documents are still marked as theirs: their removal goes on there.
    "CREATE TABLE cache_removed_targets (target_id INTEGER PRIMARY KEY)",
  ]
}
