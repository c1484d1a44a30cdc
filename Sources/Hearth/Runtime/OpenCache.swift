internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthStore

/// The open cache of a client, as the settings configure it.
struct OpenCache {
  let localStore: LocalStore
  private let database: Database
  private let folder: OpenedCache?

  /// Opens the cache, creating it if necessary.
  ///
  /// A damaged file is set aside, and the salvaged writes are logged. A folder that cannot be used, one that another process uses and a
  /// file of a newer release are errors, and nothing on disk changes.
  init(_ configuration: ClientConfiguration, userID: String?) throws {
    let makeStore = { (database: Database, client: ClientFiles?) in
      let store = try LocalStore(
        database: database, databaseID: configuration.databaseID, garbageCollection: configuration.cache.collection,
        user: userID, newCacheID: UUID().uuidString, locks: client,
        backend: configuration.endpoint.description)
      store.repaired = { HearthLog.error($0) }
      return store
    }
    switch configuration.cache {
    case .memory:
      folder = nil
      database = try Database(.memory)
      localStore = try makeStore(database, nil)
      try localStore.start()
    case .file(let path, _):
      let options = CacheFile.Options(
        database: Database.Options(busyTimeout: configuration.busyTimeout), sharing: configuration.cacheSharing,
        clientName: UUID().uuidString, endRequest: configuration.endRequest)
      let opened = try CacheFile.openStore(
        folder: path, databaseID: configuration.databaseID, options: options,
        report: { HearthLog.error("\($0)") }, makeStore: makeStore)
      configuration.endRequest.withdraw()
      folder = opened.cache
      database = opened.cache.database
      localStore = opened.store
      BackupExclusion.exclude(path)
    }
  }

  /// Makes the next opening set the file aside, if it is damaged beyond repair or its log is not safe and cannot be moved.
  ///
  /// - Throws: If the file must not be used any more, and that could not be noted.
  func prepareReopening(_ cause: Reopening) throws {
    switch cause {
    case .targetsWereRepaired, .filesAreLost: break
    case .fileIsDamaged(let reason):
      do {
        try markDamaged(reason)
      } catch {
        // The next opening finds the damage, or the next use.
        HearthLog.error("The damaged cache could not be marked: \(error)")
      }
    case .syncFailed(let reason):
      if (try? database.truncateLog(waitingAtMost: Self.longestWaitForReaders)) != true {
        try markDamaged(reason)
      }
    }
  }

  /// Notes, also when it is closed, that the file must not be used any more.
  func markDamaged(_ reason: String) throws { try folder?.markDamaged(reason) }

  /// Other processes read older states for moments only.
  private static let longestWaitForReaders: Duration = .seconds(1)

  /// The files with which this client and others find out about each other; nil for a cache in memory.
  var client: ClientFiles? { folder?.client }

  /// The damage that another client has found in the file; nil if there is none.
  var markedDamage: String? { folder?.markedDamage }

  /// True while another process wants the folder for itself.
  var isWantedByOther: Bool { folder?.isWantedByOther ?? false }

  /// True if the cache outlives the program.
  var isPersistent: Bool { folder != nil }

  /// Releases the folder until ``resume()`` has returned true; the cache must not be used until then.
  func suspend() { folder?.suspend() }

  func resume() throws -> Bool { try folder?.resume() ?? true }

  /// True if a folder that was released, and that another process has for itself now, is as it was left.
  var isFolderUnchanged: Bool { folder?.isFolderUnchanged ?? false }

  /// Closes the file and releases the folder.
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
