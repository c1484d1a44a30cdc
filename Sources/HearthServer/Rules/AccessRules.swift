internal import HearthModel
package import HearthRules
internal import Synchronization

/// The databases of a server that callers other than its owner may use.
package struct UsersDatabases: Sendable {
  /// The ids of projects.
  package var projects: Set<String>
  /// The ids of databases in each of them.
  package var databases: Set<String>

  package init(projects: Set<String>, databases: Set<String> = ["(default)"]) {
    self.projects = projects
    self.databases = databases
  }

  func contains(_ id: DatabaseID) -> Bool { projects.contains(id.projectID) && databases.contains(id.database) }
}

/// The security rules of a server: of each project its own, or those of all projects.
///
/// Without rules for a project nobody but the owner may do anything there, or everybody everything in development.
package final class AccessRules: AccessGuard {
  private struct State {
    var common: RuleSet?
    var projects: [String: RuleSet] = [:]
    var release = 0
    var observers: [@Sendable () -> Void] = []
  }

  let isDevelopment: Bool
  /// The databases for callers other than the owner; nil for all.
  private let databases: UsersDatabases?
  private let clock: ServerClock
  private let state: Mutex<State>

  /// - Parameters:
  ///   - rules: For projects without rules of their own.
  ///   - databases: The databases that callers other than the owner may use; nil for all. The owner may use, and create, any.
  ///   - isDevelopment: True if everything is allowed where there are no rules, and callers are told which rule has refused.
  package init(
    _ rules: RuleSet? = nil, databases: UsersDatabases? = nil, isDevelopment: Bool = false, clock: ServerClock = .system
  ) {
    self.databases = databases
    self.isDevelopment = isDevelopment
    self.clock = clock
    state = Mutex(State(common: rules))
  }

  /// Replaces the rules of a project, or of all projects that have none of their own.
  ///
  /// Listeners that these do not allow end.
  package func replace(_ rules: RuleSet, of project: String? = nil) {
    let observers = state.withLock { state in
      if let project { state.projects[project] = rules } else { state.common = rules }
      state.release += 1
      return state.observers
    }
    for observe in observers { observe() }
  }

  /// Calls a function after each replacement, as long as these rules live.
  func observe(_ observer: @escaping @Sendable () -> Void) {
    state.withLock { $0.observers.append(observer) }
  }

  var release: Int { state.withLock { $0.release } }

  private func rules(of database: DatabaseID) -> RuleSet? {
    state.withLock { $0.projects[database.projectID] ?? $0.common }
  }

  func tellsCallersApart(in database: DatabaseID) -> Bool { !isDevelopment || rules(of: database) != nil }

  func checkOpening(_ database: DatabaseID, by caller: Caller) throws(StatusError) {
    if case .owner = caller { return }
    guard isDevelopment || rules(of: database) != nil else { throw .insufficientPermissions }
    if let databases, !databases.contains(database) { throw .insufficientPermissions }
    if case .user(let user) = caller, let project = user.project, project != database.projectID {
      throw .insufficientPermissions
    }
  }

  func checkListing(by caller: Caller) throws(StatusError) {
    if case .owner = caller { return }
    guard isDevelopment else { throw .insufficientPermissions }
  }

  func check(_ access: Access, by caller: Caller, in database: DatabaseID) throws(StatusError) -> RuleCheck? {
    if case .owner = caller { return nil }
    guard let rules = rules(of: database) else {
      if isDevelopment { return nil }
      throw .insufficientPermissions
    }
    switch access {
    case .get, .list, .aggregate, .write, .watch:
      return RuleCheck(
        rules: rules, auth: caller.ruleValue, database: database, time: clock.now(), explains: isDevelopment)
    // Clients of users need none: they read, and commit on condition that nothing has changed. An open one locks what others write.
    case .beginTransaction:
      guard isDevelopment else { throw .insufficientPermissions }
      return nil
    // Tools for tests clear a project without a token, as they do on the emulator.
    case .clear:
      guard isDevelopment else { throw .insufficientPermissions }
      return nil
    // They tell more than the documents of a result.
    case .readPast, .explain, .listChildren, .partition: throw .insufficientPermissions
    }
  }
}
