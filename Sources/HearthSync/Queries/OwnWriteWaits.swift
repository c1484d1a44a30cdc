internal import HearthModel

/// Reads that wait only because writes of the user, which the backend has not answered, may have left a gap in a full limit (``LimitGap``).
///
/// The outbox may not move for long, behind a conflict or at a backend that refuses for the time being, so each wait has a bound: that of a read
/// whose backend does not answer. Then the read gets what the cache has. At the end of every event:
///
/// | state | a read waits | none waits | time is over |
/// |---|---|---|---|
/// | idle | timer starts for all that wait: timed | - | - |
/// | timed | the next timer is for it | - | those that it was for and that still wait get what the cache has: idle |
struct OwnWriteWaits {
  private let timeout: Duration
  /// The reads that the timer is for; nil while it does not run.
  private var timed: Set<ListenerID>?
  /// False if no read can have begun to wait since none did.
  private var mayWait = false

  init(timeout: Duration) {
    self.timeout = timeout
  }

  /// A view was found to have a gap.
  mutating func noteGap() { mayWait = true }

  /// True if it matters at the end of an event which reads wait.
  var isConcerned: Bool { mayWait && timed == nil }

  /// An event ends.
  ///
  /// - Parameter waiting: The reads that wait.
  mutating func eventEnds(_ waiting: Set<ListenerID>) -> [SyncAction] {
    assert(isConcerned, "The timer runs, or no read can wait.")
    mayWait = !waiting.isEmpty
    guard mayWait else { return [] }
    timed = waiting
    return [.startTimer(.ownWritesTimeout, after: timeout)]
  }

  /// - Returns: The reads whose time is over, if they still wait.
  mutating func timerFired() -> Set<ListenerID> {
    defer { timed = nil }
    return timed ?? []
  }
}

extension QueryViews {
  /// Bounds the waits of reads for answers to the user's own writes.
  mutating func boundWaitsForOwnWrites() -> [Action] {
    guard ownWriteWaits.isConcerned else { return [] }
    let waiting = readsAwaitingOwnWrites
    return ownWriteWaits.eventEnds(waiting).map { .emit($0) }
  }

  mutating func ownWritesTimerFired() -> [Action] {
    let over = ownWriteWaits.timerFired().intersection(readsAwaitingOwnWrites)
    return over.sorted { $0.rawValue < $1.rawValue }
      .flatMap { endFreshRead(of: $0) + endWait(of: $0, isAnswered: false) }
  }

  private var readsAwaitingOwnWrites: Set<ListenerID> {
    queries.ids.reduce(into: []) { found, id in
      guard let query = queries[id], query.view.awaitsOnlyOwnWrites else { return }
      found.formUnion(query.listeners.lazy.filter(\.awaitsAnswer).map(\.id))
    }
  }
}
