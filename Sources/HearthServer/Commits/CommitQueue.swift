internal import Synchronization

/// The commits that wait for the writer. Those of one sender stand in the order of their arrival, and senders take turns by the number of
/// writes: a few of one need not wait for the many of another (start-time fair queueing).
///
/// Any task may add to it without a turn on the writer's queue.
final class CommitQueue<Entry: Sendable>: Sendable {
  /// An entry with its place in the queue.
  struct Waiting: Sendable {
    var entry: Entry
    fileprivate var place: Place
  }

  fileprivate struct Place: Comparable {
    /// The turn in which the entry begins: the number of writes that its sender has had by then if all have had the same.
    var turn: UInt64
    /// The number of the arrival.
    var number: UInt64

    static func < (left: Place, right: Place) -> Bool { (left.turn, left.number) < (right.turn, right.number) }
  }

  enum Addition {
    /// The queue was empty: the caller must make the writer look at it.
    case first
    /// The writer will find it among the others.
    case later
    /// The database accepts no more commits.
    case refused
  }

  private struct State {
    /// In the order of their places.
    var waiting: [Waiting] = []
    var isClosed = false
    /// The turn of the group that the writer has taken, and after that of the last entry that it has tried.
    var turn: UInt64 = 0
    /// The turn behind all entries of a sender, if it is later than the present one.
    var nextTurns: [String: UInt64] = [:]
    var slowSenders: Set<String> = []
    var arrivals: UInt64 = 0
    /// The number of senders at which those without a later turn are forgotten.
    var forgettingCount = 64

    mutating func place(of sender: String, _ writes: Int) -> Place {
      arrivals += 1
      let turn = max(self.turn, nextTurns[sender] ?? 0)
      nextTurns[sender] = turn + UInt64(max(1, writes))
      return Place(turn: turn, number: arrivals)
    }

    mutating func insert(_ new: Waiting) {
      var (low, high) = (0, waiting.count)
      if let last = waiting.last, last.place < new.place { low = high }
      while low < high {
        let middle = (low + high) / 2
        if waiting[middle].place < new.place { low = middle + 1 } else { high = middle }
      }
      waiting.insert(new, at: low)
    }

    mutating func forgetSenders() {
      guard nextTurns.count >= forgettingCount else { return }
      nextTurns = nextTurns.filter { $0.value > turn }
      forgettingCount = max(64, 2 * nextTurns.count)
    }
  }

  private let state = Mutex(State())

  /// - Parameter writes: The number of the entry's writes.
  func add(_ entry: Entry, of sender: String, writes: Int) -> Addition {
    state.withLock { state in
      guard !state.isClosed else { return .refused }
      state.insert(Waiting(entry: entry, place: state.place(of: sender, writes)))
      return state.waiting.count == 1 ? .first : .later
    }
  }

  /// Takes those whose turn it is. Entries that come before ``finish(_:untried:)`` have a turn with the first of them.
  ///
  /// - Returns: The entries, and true if others are left: the caller has to see to it that the writer comes for them.
  func take(atMost count: Int) -> (group: [Waiting], isMoreWaiting: Bool) {
    state.withLock { state in
      let group: [Waiting]
      if state.waiting.count > count {
        group = Array(state.waiting.prefix(count))
        state.waiting.removeFirst(count)
      } else {
        (group, state.waiting) = (state.waiting, [])
      }
      if let first = group.first { state.turn = max(state.turn, first.place.turn) }
      state.forgetSenders()
      return (group, !state.waiting.isEmpty)
    }
  }

  /// Ends the turn of a group.
  ///
  /// - Parameters:
  ///   - tried: The last entry that the writer has tried.
  ///   - untried: Entries for which there was no time: they have their places again. The caller has to see to it that the writer comes for
  ///     them.
  func finish(_ tried: Waiting?, untried: some Sequence<Waiting>) {
    state.withLock { state in
      if let tried { state.turn = max(state.turn, tried.place.turn) }
      for entry in untried { state.insert(entry) }
    }
  }

  /// A group ends after this time, and the others of it wait for their next turn: rules of some may take long.
  var groupMicroseconds: Int64 { 50_000 }
  /// The time of a usual write, by which longer ones are charged.
  private var writeMicroseconds: Int64 { 100 }

  /// Takes note of the time that an entry has taken. After one that has taken as long as a group may, those of its sender wait longer.
  func note(_ microseconds: Int64, of sender: String) {
    state.withLock { state in
      guard microseconds > groupMicroseconds else { return _ = state.slowSenders.remove(sender) }
      if state.slowSenders.count >= 1_000 { state.slowSenders = [] }
      state.slowSenders.insert(sender)
      state.nextTurns[sender] =
        max(state.turn, state.nextTurns[sender] ?? 0) + UInt64(microseconds / writeMicroseconds)
    }
  }

  /// True if the last entry of a sender has taken so long that its next one begins a group: nobody who comes before waits for it.
  func isSlow(_ sender: String) -> Bool { state.withLock { $0.slowSenders.contains(sender) } }

  var count: Int { state.withLock { $0.waiting.count } }
  var isEmpty: Bool { count == 0 }

  /// Refuses further entries. Those that wait are still to be taken.
  func close() {
    state.withLock { $0.isClosed = true }
  }
}
