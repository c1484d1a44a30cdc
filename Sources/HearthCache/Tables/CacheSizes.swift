package import HearthModel
package import HearthStore

/// The sizes of the parts of a cache.
package struct CacheSizes: Equatable, Sendable {
  /// The documents that the backend has confirmed for a pinned query.
  package struct PinnedQuery: Equatable, Sendable {
    package var query: Query
    package var documentCount: Int
    /// Their fields as they are stored.
    package var fieldsBytes: Int64
    /// The last snapshot that the cache has of the query; `none` if it has no result.
    package var snapshotVersion: SnapshotVersion
  }

  /// The file with its unused pages, without the write-ahead log.
  package var fileBytes: Int64
  /// The write-ahead log; 0 for a cache in memory.
  package var logBytes: Int64
  /// The part of the file that holds something.
  package var usedBytes: Int64
  /// The batches in the outboxes of all users, including those that are set aside.
  package var batchCount: Int
  /// By path.
  package var collections: [DocumentStore.CollectionSize]
  /// In the order in which they were pinned.
  package var pinnedQueries: [PinnedQuery]

  /// Reads a part of every page of the table of documents, and looks up each document of a pinned query.
  init(of database: Database, databaseID: DatabaseID) throws {
    let documents = DocumentStore(reading: database)
    let targets = TargetTable(database: database, databaseID: databaseID, globals: CacheGlobals(database: database))
    fileBytes = try database.fileSizeBytes
    logBytes = database.logFileBytes
    usedBytes = try database.usedBytes
    batchCount = try ["cache_mutation_batches", "cache_unreadable_batches"].reduce(0) { count, table in
      count + Int(clamping: try database.firstRow("SELECT count(*) FROM \(table)") { try $0.int64(at: 0) } ?? 0)
    }
    collections = try documents.collectionSizes()
    pinnedQueries = try PinTable(database: database, databaseID: databaseID).queries().map { query in
      guard let data = try targets.target(query.target) else {
        return PinnedQuery(query: query, documentCount: 0, fieldsBytes: 0, snapshotVersion: .none)
      }
      let keys = try targets.keys(of: data.targetID)
      let bytes = try keys.reduce(into: Int64(0)) { $0 += Int64(try documents.fieldsByteCount(of: $1)) }
      return PinnedQuery(
        query: query, documentCount: keys.count, fieldsBytes: bytes, snapshotVersion: data.snapshotVersion)
    }
  }
}
