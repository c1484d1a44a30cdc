internal import HearthModel
internal import HearthStore

extension LocalStore {
  package func sizes() throws -> CacheSizes {
    try transactions.read("Measure cache") { try CacheSizes(of: database, databaseID: databaseID) }
  }

  /// Takes ``sizes()`` away from the loop.
  ///
  /// - Returns: nil when it has to run on the loop, because the cache is in memory.
  package func backgroundSizes() throws -> BackgroundReading<CacheSizes>? {
    guard case .file = database.location else { return nil }
    let databaseID = databaseID
    return BackgroundReading(on: try PinnedSnapshot(of: database)) {
      try CacheSizes(of: $0, databaseID: databaseID)
    }
  }
}
