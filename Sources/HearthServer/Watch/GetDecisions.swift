internal import HearthModel
internal import Synchronization

/// The decisions of rules on documents that have left the targets of a stream, at its present version.
///
/// Each document is decided on once, however many targets it has left. Decisions of another version or release of the rules are forgotten.
final class GetDecisions: Sendable {
  private struct Place: Hashable {
    var key: DocumentKey
    var version: SnapshotVersion
  }

  private struct State {
    var version = SnapshotVersion.none
    var release = 0
    var answers: [Place: Bool] = [:]
  }

  private static let maximumCount = 10_000
  /// Others on the same thread are served after so many decisions.
  private static let decisionsPerTurn = 8

  private let state = Mutex(State())

  /// As ``Session/mayGet(_:at:sharing:)``.
  func mayGet(_ document: Document, at version: SnapshotVersion, of database: Session) async -> Bool {
    let place = Place(key: document.key, version: document.version)
    let release = database.ruleRelease
    let known = state.withLock { state in
      if state.version != version || state.release != release || state.answers.count >= Self.maximumCount {
        state = State(version: version, release: release)
      }
      return state.answers[place]
    }
    if let known { return known }
    let answer = await database.mayGet(document, at: version)
    let count = state.withLock { state in
      state.answers[place] = answer
      return state.answers.count
    }
    if count.isMultiple(of: Self.decisionsPerTurn) { await Task.yield() }
    return answer
  }
}
