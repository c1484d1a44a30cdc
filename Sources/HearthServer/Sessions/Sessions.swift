internal import HearthModel
internal import HearthRPC

/// Opens sessions in the databases of a server.
struct Sessions: Sendable {
  private let databases: any Databases
  private let accessGuard: any AccessGuard
  private let seal: CallerSeal

  init(databases: any Databases, accessGuard: any AccessGuard = AccessRules(isDevelopment: true)) {
    self.databases = databases
    self.accessGuard = accessGuard
    seal = CallerSeal(secret: databases.secret)
  }

  var limits: DatabaseLimits { databases.limits }

  /// A session of a call's caller in the database of this name. It does not suspend if the database is open.
  func open(_ id: DatabaseID, for call: ServerCall) async throws(StatusError) -> Session {
    try await open(id, of: Self.caller(of: call), expiry: call.identity?.expiry)
  }

  func open(
    _ id: DatabaseID, of caller: Caller, expiry: ContinuousClock.Instant? = nil
  ) async throws(StatusError) -> Session {
    try accessGuard.checkOpening(id, by: caller)
    return Session(
      try await databases.database(id), of: caller, expiry: expiry, accessGuard: accessGuard, seal: seal)
  }

  /// The names of the databases that exist, for every caller.
  ///
  /// - Throws: As ``Databases/names()``.
  func databaseNames() async throws(StatusError) -> [DatabaseID] { try await databases.names() }

  /// The names of the databases that exist and whose collections the caller may list, in order.
  ///
  /// - Throws: As ``Databases/names()``; PERMISSION_DENIED for a caller that may list none.
  func databaseNames(for call: ServerCall) async throws(StatusError) -> [DatabaseID] {
    let caller = try Self.caller(of: call)
    try accessGuard.checkListing(by: caller)
    return try await databases.names().filter { id in
      do throws(StatusError) {
        return try accessGuard.check(.listChildren(of: ResourcePath()), by: caller, in: id) == nil
      } catch {
        return false
      }
    }
  }

  private static func caller(of call: ServerCall) throws(StatusError) -> Caller {
    guard let caller = call.identity?.caller as? Caller else {
      throw StatusError(code: .unauthenticated, message: "The caller is not known.")
    }
    return caller
  }
}
