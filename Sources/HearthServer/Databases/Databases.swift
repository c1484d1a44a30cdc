internal import HearthModel

/// The databases of a server, wherever they are kept.
protocol Databases: Sendable {
  var limits: DatabaseLimits { get }

  /// The database of this name.
  ///
  /// - Throws: `StatusError`: INVALID_ARGUMENT for a name that cannot be used, RESOURCE_EXHAUSTED if too many are open, CANCELLED,
  ///   UNAVAILABLE when the server ends, or the failure of the storage.
  func database(_ id: DatabaseID) async throws(StatusError) -> HostedDatabase
}
