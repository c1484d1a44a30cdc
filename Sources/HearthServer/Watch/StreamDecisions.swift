internal import HearthModel
internal import Synchronization

/// The decisions of rules for a stream: on its targets, and on the documents that have left them at its present version.
///
/// Each document is decided on once, however many targets it has left. Decisions of another version or release of the rules are forgotten.
///
/// Documents that the decisions of a step of the stream look up are decoded once. Each decision on a target has the effort of a request, because a target
/// that ends would not come again. Those on documents that have left targets have one together: beyond it only their names are sent, and clients
/// ask for what they need.
final class StreamDecisions: Sendable {
  private struct Place: Hashable {
    var key: DocumentKey
    var version: SnapshotVersion
  }

  private struct State {
    var version = SnapshotVersion.none
    var release = 0
    var answers: [Place: Bool] = [:]
    var effort = RuleEffort()
  }

  private static let maximumCount = 10_000
  /// Others on the same thread are served after so many decisions.
  private static let decisionsPerTurn = 8

  private let state = Mutex(State())

  /// A new effort for a decision on a target.
  func effortOfTarget() -> RuleEffort { state.withLock { $0.effort }.another() }

  /// Ends a step, and forgets what was looked up for it.
  func endStep() { state.withLock { $0.effort = RuleEffort() } }

  /// As ``Session/mayGet(_:at:sharing:)``.
  func mayGet(_ document: Document, at version: SnapshotVersion, of database: Session) async -> Bool {
    let place = Place(key: document.key, version: document.version)
    let release = database.ruleRelease
    let (known, effort) = state.withLock { state in
      if state.version != version || state.release != release || state.answers.count >= Self.maximumCount {
        state = State(version: version, release: release, effort: state.effort)
      }
      return (state.answers[place], state.effort)
    }
    if let known { return known }
    let answer = await database.mayGet(document, at: version, sharing: effort)
    let count = state.withLock { state in
      state.answers[place] = answer
      return state.answers.count
    }
    if count.isMultiple(of: Self.decisionsPerTurn) { await Task.yield() }
    return answer
  }
}
