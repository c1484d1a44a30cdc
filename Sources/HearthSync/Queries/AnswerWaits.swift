internal import HearthModel

/// Bounds the waits of reads for what the backend says of their targets.
///
/// A backend may acknowledge a target and then say nothing more of it, while it has news of others all the time. So each read has twice the time
/// that a backend has to say anything at all, and each message about its target or a document that is looked up for it begins that time
/// anew. After that the read gets the cache's result.
///
/// The timer runs from the first read on. It looks at all of them when it fires, so that a message costs no timer.
struct AnswerWaits {
  private let timeout: Duration
  /// The reads without an answer, with the times of the last messages about them, or the beginnings of their waits.
  private var heard: [ListenerID: Duration] = [:]
  private var timerRuns = false
  /// False if no read can have begun since none waited.
  private var mayWait = false

  init(timeout: Duration) {
    self.timeout = timeout
  }

  /// A read begins, and may have to wait.
  mutating func noteRead() { mayWait = true }

  /// True if it matters after an event which reads wait.
  var isConcerned: Bool { mayWait || !heard.isEmpty }

  /// The backend has said something of a read's target.
  mutating func heard(_ read: ListenerID, now: Duration) {
    if heard[read] != nil { heard[read] = now }
  }

  /// An event has ended.
  ///
  /// - Parameters:
  ///   - unanswered: All reads without an answer.
  ///   - isWatching: True if this client asks the backend. Otherwise another one does, or the reads end in another way.
  mutating func eventEnded(_ unanswered: Set<ListenerID>, isWatching: Bool, now: Duration) -> [SyncAction] {
    mayWait = false
    guard isWatching, !unanswered.isEmpty else {
      heard = Dictionary(uniqueKeysWithValues: unanswered.map { ($0, now) })
      defer { timerRuns = false }
      return timerRuns ? [.cancelTimer(.answerTimeout)] : []
    }
    heard = heard.filter { unanswered.contains($0.key) }
    for read in unanswered where heard[read] == nil { heard[read] = now }
    guard !timerRuns, let first = heard.values.min() else { return [] }
    timerRuns = true
    return [.startTimer(.answerTimeout, after: max(first + timeout - now, .zero))]
  }

  /// - Returns: The reads whose time is over.
  mutating func timerFired(now: Duration) -> Set<ListenerID> {
    timerRuns = false
    return Set(heard.filter { $0.value + timeout <= now }.keys)
  }
}

extension QueryViews {
  /// The backend has said something of targets.
  mutating func heard(of targets: [TargetID], now: Duration) {
    guard answerWaits.isConcerned else { return }
    for target in targets {
      if let read = freshReads.listener(of: target) { answerWaits.heard(read, now: now) }
      let key = limboDocument(of: target)
      let concerned = key == nil ? queries.ids(of: target) : queries.ids
      for query in concerned.compactMap({ queries[$0] }) {
        if let key, !query.view.limboKeys.contains(key) { continue }
        // A read with a target of its own waits for news of that one.
        for listener in query.listeners
        where listener.awaitsAnswer && (key != nil || freshReads.target(of: listener.id) == nil) {
          answerWaits.heard(listener.id, now: now)
        }
      }
    }
  }

  /// Bounds the waits of reads for the backend.
  mutating func boundWaitsForAnswers(isWatching: Bool, now: Duration) -> [Action] {
    guard answerWaits.isConcerned else { return [] }
    return answerWaits.eventEnded(unansweredReads { _ in true }, isWatching: isWatching, now: now).map { .emit($0) }
  }

  mutating func answerTimerFired(now: Duration) -> [Action] {
    end(answerWaits.timerFired(now: now).intersection(unansweredReads { _ in true }))
  }

  /// Gives reads the cache's result.
  mutating func end(_ reads: Set<ListenerID>) -> [Action] {
    reads.sorted { $0.rawValue < $1.rawValue }.flatMap { endFreshRead(of: $0) + endWait(of: $0, isAnswered: false) }
  }
}
