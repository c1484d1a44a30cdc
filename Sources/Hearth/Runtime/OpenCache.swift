internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthStore

/// A client's cache as the settings ask for it, open.
struct OpenCache {
  let localStore: LocalStore
  private let database: Database
  private let folder: OpenedCache?

  /// Opens the cache, making it if need be.
  ///
  /// A damaged file is set aside and what could be saved is logged; a folder that cannot be used, one that another process uses
  /// and a file of a newer release are errors, and nothing on disk changes.
  init(_ configuration: ClientConfiguration) throws {
    switch configuration.cache {
    case .memory:
      folder = nil
      database = try Database(.memory)
    case .file(let path, _):
      let opened = try CacheFile.open(folder: path, databaseID: configuration.databaseID)
      if let recovery = opened.recovery { HearthLog.error("\(recovery)") }
      folder = opened
      database = opened.database
    }
    localStore = try LocalStore(
      database: database, databaseID: configuration.databaseID, garbageCollection: configuration.cache.collection,
      user: configuration.credentials.initialUserID, newCacheID: UUID().uuidString)
    try localStore.start()
    if case .file(let path, _) = configuration.cache { BackupExclusion.exclude(path) }
  }

  /// Whether the cache outlives the program.
  var isPersistent: Bool { folder != nil }

  /// Gives the folder back until ``resume()`` has returned true; nothing may be done with the cache meanwhile.
  func suspend() { folder?.suspend() }

  func resume() throws -> Bool { try folder?.resume() ?? true }

  /// Closes the file and gives the folder back.
  func close() {
    if let folder { folder.close() } else { database.close() }
  }
}

extension ClientConfiguration.Cache {
  fileprivate var collection: GarbageCollection {
    switch self {
    case .file(_, let sizeBytes), .memory(.leastRecentlyUsed(let sizeBytes)):
      .leastRecentlyUsed(thresholdBytes: sizeBytes)
    case .memory(.eager):
      .eager
    }
  }
}
