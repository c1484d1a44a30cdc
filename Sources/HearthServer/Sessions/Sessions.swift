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
}
