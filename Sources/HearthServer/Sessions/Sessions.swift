internal import HearthModel

/// Opens sessions in the databases of a server.
struct Sessions: Sendable {
  private let databases: any Databases
  private let accessGuard: any AccessGuard

  init(databases: any Databases, accessGuard: any AccessGuard = OpenAccess()) {
    self.databases = databases
    self.accessGuard = accessGuard
  }

  var limits: DatabaseLimits { databases.limits }

  /// A session in the database of this name. It does not suspend if the database is open.
  func open(_ id: DatabaseID) async throws(StatusError) -> Session {
    Session(try await databases.database(id), of: .owner, accessGuard: accessGuard)
  }

  /// The names of the databases that exist and whose collections the caller may list, in order.
  ///
  /// - Throws: As ``Databases/names()``.
  func databaseNames() async throws(StatusError) -> [DatabaseID] {
    try await databases.names().filter { id in
      (try? accessGuard.check(.listChildren(of: ResourcePath()), by: .owner, in: id)) != nil
    }
  }
}
