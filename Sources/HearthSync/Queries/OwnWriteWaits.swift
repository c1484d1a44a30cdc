internal import HearthModel

/// Reads that wait only because unanswered writes of the user may have left a gap in a full limit (``LimitGap``).
///
/// The outbox may be blocked for long, by a conflict or by a backend that is temporarily unavailable. So each wait has the same time limit
/// as a read whose backend does not answer. After that the read gets the cache's result.
///
/// Waiting reads are checked after each event, as long as there may be some. The timer runs for the read that has waited longest. If a
/// read's view also waits for something else in between, such as a document in limbo, the read keeps its deadline, however often that
/// happens.
struct OwnWriteWaits {
  private let timeout: Duration
  /// The reads without an answer that have waited, with the ends of their times.
  private var ends: [ListenerID: Duration] = [:]
  /// The time when the timer runs out; nil while it does not run.
  private var timerEnd: Duration?
  /// False if no read can have begun to wait since none did.
  private var mayWait = false

  init(timeout: Duration) {
    self.timeout = timeout
  }

  /// A view may have a gap.
  mutating func noteGap() { mayWait = true }

  /// True if it matters after an event which reads wait.
  var isConcerned: Bool { mayWait || !ends.isEmpty }

  /// An event has ended.
  ///
  /// - Parameters:
  ///   - waiting: The reads that wait.
  ///   - unanswered: All reads without an answer.
  mutating func eventEnded(_ waiting: Set<ListenerID>, among unanswered: Set<ListenerID>, now: Duration) -> [SyncAction]
  {
    assert(waiting.isSubset(of: unanswered), "A read waits that has its answer: \(waiting), \(unanswered).")
    mayWait = false
    ends = ends.filter { unanswered.contains($0.key) }
    for read in waiting where ends[read] == nil { ends[read] = now + timeout }
    guard let first = waiting.compactMap({ ends[$0] }).min() else {
      defer { timerEnd = nil }
      return timerEnd == nil ? [] : [.cancelTimer(.ownWritesTimeout)]
    }
    guard timerEnd != first else { return [] }
    timerEnd = first
    return [.startTimer(.ownWritesTimeout, after: max(first - now, .zero))]
  }

  /// - Returns: The reads whose time is over, if they still wait.
  mutating func timerFired(now: Duration) -> Set<ListenerID> {
    timerEnd = nil
    return Set(ends.filter { $0.value <= now }.keys)
  }
}

extension QueryViews {
  /// Bounds the waits of reads for answers to the user's own writes.
  mutating func boundWaitsForOwnWrites(now: Duration) -> [Action] {
    guard ownWriteWaits.isConcerned else { return [] }
    return ownWriteWaits.eventEnded(
      unansweredReads(\.awaitsOnlyOwnWrites), among: unansweredReads { _ in true }, now: now
    )
    .map { .emit($0) }
  }

  mutating func ownWritesTimerFired(now: Duration) -> [Action] {
    end(ownWriteWaits.timerFired(now: now).intersection(unansweredReads(\.awaitsOnlyOwnWrites)))
  }

  func unansweredReads(_ isConcerned: (View) -> Bool) -> Set<ListenerID> {
    queries.ids.reduce(into: []) { found, id in
      guard let query = queries[id], isConcerned(query.view) else { return }
      found.formUnion(query.listeners.lazy.filter(\.awaitsAnswer).map(\.id))
    }
  }
}
