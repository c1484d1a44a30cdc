internal import HearthModel
internal import Synchronization

/// The commits that wait for the writer, in the order of their arrival.
///
/// Any task may add to it without a turn on the writer's queue.
final class CommitQueue: Sendable {
  struct Entry {
    var attempt: CommitAttempt
    var continuation: CheckedContinuation<CommitAttempt.Result?, Never>
  }

  enum Addition {
    /// The queue was empty: the caller must make the writer look at it.
    case first
    /// The writer will find it after the others.
    case later
    /// The database accepts no more commits.
    case refused
  }

  private struct State {
    var entries: [Entry] = []
    var isClosed = false
  }

  private let state = Mutex(State())

  func add(_ entry: Entry) -> Addition {
    state.withLock { state in
      guard !state.isClosed else { return .refused }
      state.entries.append(entry)
      return state.entries.count == 1 ? .first : .later
    }
  }

  /// Takes the oldest entries.
  ///
  /// - Returns: The entries, and true if others are left: the caller has to see to it that the writer comes for them.
  func take(atMost count: Int) -> (group: [Entry], isMoreWaiting: Bool) {
    state.withLock { state in
      guard state.entries.count > count else {
        defer { state.entries = [] }
        return (state.entries, false)
      }
      let group = Array(state.entries.prefix(count))
      state.entries.removeFirst(count)
      return (group, true)
    }
  }

  var isEmpty: Bool { state.withLock { $0.entries.isEmpty } }

  /// Refuses further entries. Those that wait are still to be taken.
  func close() {
    state.withLock { $0.isClosed = true }
  }
}
