internal import HearthModel
package import HearthRules
internal import Synchronization

/// The databases of a server that callers other than its owner may use.
package struct UsersDatabases: Sendable {
  private let ids: Set<DatabaseID>

  /// - Parameters:
  ///   - projects: The ids of projects.
  ///   - databases: The ids of databases in each of them.
  package init(projects: [String], databases: [String] = ["(default)"]) {
    ids = Set(
      projects.flatMap { project in databases.map { DatabaseID(projectID: project, database: $0) } })
  }

  func contains(_ id: DatabaseID) -> Bool { ids.contains(id) }
}

/// The security rules of a server: of each project its own, or those of all projects.
///
/// Without rules for a project nobody but the owner may do anything there, or everybody everything in development.
package final class AccessRules: AccessGuard {
  /// The rules of one project, with the name of their file.
  private struct ProjectRules {
    let rules: RuleSet
    let fileName: String
  }

  private struct State {
    var common: RuleSet?
    var projects: [ExactText: ProjectRules] = [:]
    var counters = CoverageCounters()
    var release = 0
    var observers: [@Sendable () -> Void] = []
  }

  let isDevelopment: Bool
  /// The databases for callers other than the owner; nil for all.
  private let databases: UsersDatabases?
  private let clock: ServerClock
  private let state: Mutex<State>
  private let turns = RuleTurns()

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

  /// Replaces the rules of all projects that have none of their own.
  ///
  /// Listeners that these do not allow end.
  package func replace(_ rules: RuleSet) { change { $0.common = rules } }

  /// Replaces the rules of a project, as ``replace(_:)``. In development the values of their expressions are counted from now on.
  ///
  /// - Parameter fileName: The name of their file, for reports.
  package func replace(_ rules: RuleSet, of project: String, fileName: String = "firestore.rules") {
    change { state in
      state.projects[ExactText(project)] = ProjectRules(rules: rules, fileName: fileName)
      state.counters.remove { ByteOrder.areEqual($0.projectID, project) }
    }
  }

  private func change(_ change: (inout State) -> Void) {
    let observers = state.withLock { state in
      change(&state)
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
    state.withLock { $0.projects[ExactText(database.projectID)]?.rules ?? $0.common }
  }

  /// The rules of a database, and the counter of their expressions' values.
  ///
  /// Counting makes a decision take two to four times as long. So only rules that a test has put are counted, in development.
  private func countedRules(of database: DatabaseID) -> (rules: RuleSet, counter: CoverageCounter?)? {
    state.withLock { state in
      guard let project = state.projects[ExactText(database.projectID)] else { return state.common.map { ($0, nil) } }
      return (project.rules, isDevelopment ? state.counters.counter(of: database, project.rules) : nil)
    }
  }

  /// The values that expressions had in a database since the rules of its project were put; nil if there are no rules.
  ///
  /// - Throws: FAILED_PRECONDITION for rules that are those of all projects, which are not counted.
  func coverage(in database: DatabaseID) throws(StatusError) -> RuleCoverageReport? {
    let (project, counter, hasCommon) = state.withLock { state in
      (state.projects[ExactText(database.projectID)], state.counters.known(database), state.common != nil)
    }
    guard let project else {
      guard hasCommon else { return nil }
      throw StatusError(
        code: .failedPrecondition,
        message: "Coverage is counted for rules that were put with PUT /emulator/v1/projects/<project>:securityRules.")
    }
    return RuleCoverageReport(
      project.rules, fileName: project.fileName, counter?.coverage ?? project.rules.emptyCoverage)
  }

  func tellsCallersApart(in database: DatabaseID) -> Bool { !isDevelopment || rules(of: database) != nil }

  func checkOpening(_ database: DatabaseID, by caller: Caller) throws(StatusError) {
    if case .owner = caller { return }
    guard isDevelopment || rules(of: database) != nil else { throw .insufficientPermissions }
    if let databases, !databases.contains(database) { throw .insufficientPermissions }
    if case .user(let user) = caller, let projects = user.projects,
      !projects.contains(where: { ByteOrder.areEqual($0, database.projectID) })
    {
      throw .insufficientPermissions
    }
  }

  func checkListing(by caller: Caller) throws(StatusError) {
    if case .owner = caller { return }
    guard isDevelopment else { throw .insufficientPermissions }
  }

  func check(_ access: Access, by caller: Caller, in database: DatabaseID) throws(StatusError) -> RuleCheck? {
    if case .owner = caller { return nil }
    guard let (rules, counter) = countedRules(of: database) else {
      if isDevelopment { return nil }
      throw .insufficientPermissions
    }
    switch access {
    case .get, .list, .aggregate, .write, .watch:
      var check = RuleCheck(
        rules: rules, auth: caller.ruleValue, database: database, time: clock.now(), explains: isDevelopment,
        counter: counter)
      check.turns = turns
      return check
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
