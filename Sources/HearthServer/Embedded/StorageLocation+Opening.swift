internal import HearthRPC
internal import Logging

extension StorageLocation {
  /// Opens the databases at this place.
  ///
  /// - Parameters:
  ///   - limits: The limits of what calls do in databases.
  ///   - clock: Commit times come from here.
  ///   - openFiles: The files and sockets that the process may have open; nil if it is not known.
  /// - Throws: `ServerError` when the place cannot be used.
  func open(
    limits: DatabaseLimits, clock: ServerClock, openFiles: Int?, metrics: ServerMetrics?, logger: Logger
  ) async throws(ServerError) -> any Databases {
    #if PostgreSQL
      if case .cluster(let location) = self {
        return try await ClusterDatabases.open(location, limits: limits, clock: clock, metrics: metrics, logger: logger)
      }
    #endif
    return try EmbeddedBackend(
      location: self, limits: limits, clock: clock, readSlots: EmbeddedStorage.readSlots(openFiles: openFiles),
      metrics: metrics, logger: logger)
  }

  /// The files that so many open databases at this place need, with those that serve all of them.
  ///
  /// - Parameter openFiles: The files and sockets that the process may have open.
  func descriptors(databases: Int, openFiles: Int) -> Int {
    guard case .folder = self, databases > 0 else { return 0 }
    return EmbeddedStorage.descriptorsOfReads(openFiles: openFiles) + databases * EmbeddedStorage.descriptorsPerFile
  }
}
