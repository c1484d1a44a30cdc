internal import HearthCache

/// The times of garbage collections and of their steps, and the present run.
///
/// | event | no run | run in progress |
/// |---|---|---|
/// | start | timer, after a while | - |
/// | timer, documents that other clients show may be unknown here | timer, soon | timer, soon |
/// | timer, a step leaves something to do | run begins; timer, at once | timer, at once |
/// | timer, the last step | timer, after the interval | run ends; timer, after the interval |
/// | timer, a step fails | - | run ends |
/// | failure noted | timer, after the interval | - |
/// | stop | timer off | run ends; timer off |
///
/// A run consists of short steps, and the timer for the next step fires at once, so waiting events are handled in between. A run that ends
/// before its last step loses nothing: the next run continues there. A cache that is not collected at intervals has no timer.
struct GarbageCollectionSchedule {
  private let parameters: GarbageCollectionParameters?
  private let configuration: SyncConfiguration
  private var run: GarbageCollectionRun?

  /// - Parameter parameters: The parameters of the cache; nil if it is not collected at intervals.
  init(_ parameters: GarbageCollectionParameters?, configuration: SyncConfiguration) {
    self.parameters = parameters
    self.configuration = configuration
  }

  /// True if the cache is collected at intervals.
  var isOn: Bool { parameters != nil }

  /// The number of documents that the run under way has removed; nil as long as it has found nothing to do.
  var removedDocumentCount: Int? {
    guard let run, run.report.hasCollected || run.report.releasedBytes > 0 else { return nil }
    return run.report.removedDocumentCount
  }

  /// This client collects from now on. The start of a client has enough to do without it.
  func start() -> [SyncAction] {
    timer(after: configuration.firstGarbageCollectionAfter)
  }

  mutating func stop() -> [SyncAction] {
    run = nil
    return isOn ? [.cancelTimer(.lruGarbageCollection)] : []
  }

  /// Called when the timer fires while documents that other clients show may be unknown here.
  func postpone() -> [SyncAction] {
    timer(after: configuration.clientRefreshInterval)
  }

  /// The timer fired.
  ///
  /// - Parameter step: Does the next step of a run, and returns true if that was its last one.
  /// - Throws: The error of the step. The run has ended then; ``stepFailed(_:)`` starts the timer for the next.
  mutating func timerFired(step: (inout GarbageCollectionRun) throws -> Bool) throws -> [SyncAction] {
    guard let parameters else { return [] }
    var run = run ?? GarbageCollectionRun(parameters)
    self.run = nil
    guard try step(&run) else {
      self.run = run
      return timer(after: .zero)
    }
    let hasReleased = run.report.hasCollected || run.report.releasedBytes > 0
    let report: [SyncAction] = hasReleased ? [.log(.debug, "\(run.report)")] : []
    return report + timer(after: configuration.garbageCollectionInterval)
  }

  /// The storage has refused a step.
  func stepFailed(_ error: any Error) -> [SyncAction] {
    assert(run == nil, "A run of garbage collection goes on after a step that has failed: \(error)")
    return [.log(.warning, "The cache's garbage could not be collected: \(error)")]
      + timer(after: configuration.garbageCollectionInterval)
  }

  private func timer(after delay: Duration) -> [SyncAction] {
    isOn ? [.startTimer(.lruGarbageCollection, after: delay)] : []
  }

  func assertInvariants(isPrimary: Bool) {
    assert(run == nil || isPrimary, "Garbage is collected by a client that does not have the streams.")
    assert(run?.isFinished != true, "A run of garbage collection is kept that has ended.")
  }
}
