internal import HearthStore

/// The tables of a cache.
enum CacheTables {
  /// Makes the tables that are missing and migrates the others, always in the same order: the list of tables of one new cache fits
  /// every other one, which is what the saving of an outbox relies on.
  static func migrate(_ database: Database) throws -> DocumentStore {
    try CacheSchema.schema.migrate(database)
    try BundleTable.schema.migrate(database)
    let documents = try DocumentStore(database: database)
    try CollectionSchema.schema.migrate(database)
    try OverlaySchema.schema.migrate(database)
    try UnreadableBatches.schema.migrate(database)
    return documents
  }

  /// The names of all tables that the outbox lies in.
  static let outbox = ["cache_globals", "cache_users", "cache_mutation_batches", "cache_batch_documents"]
}
