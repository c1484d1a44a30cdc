internal import HearthCache
internal import HearthModel

/// A storage operation that is repeated until it succeeds.
enum RetryableOperation: Equatable {
  case start
  /// Reads something small, to learn whether the storage works again and what was stopped for this cause can go on.
  case probe(OfflineCause)
  /// The owner's batch was committed; the user may have changed since.
  case acknowledge(MutationBatchResult, owner: String?)
  case reject(MutationBatch, StatusError, owner: String?)
  /// Takes the batches that cannot be read out of the queues.
  case setAsideUnreadableBatches
  case changeUser(String?)
  /// Recomputes the views that could not read the cache when they needed it.
  case refreshViews
  /// Looks up the batches that calls wait for, after the cache was reopened. Carries the reason why missing batches count as lost; nil if
  /// another client may have had their answers.
  case lookUpBatches(String?)
  /// Stores the writes that another process has kept waiting.
  case storeWrites
  /// Begins the listeners that another process has kept waiting.
  case beginListens
  /// Reads the changes of other clients.
  case catchUp
  /// Stores which targets this client uses.
  case storeTargetUses
  /// Goes on as one of the clients, after others may have taken this one for dead.
  case rejoin
  /// Stores what this client says of itself, and keeps, takes or gives back the lease.
  case storeRole
  /// Takes over the streams for all clients, after the lease was taken.
  case becomePrimary
  /// Brings all views in line with the file.
  case synchronizeViews
  /// Watches what other clients want to be watched, and nothing else of theirs.
  case followOthers
  /// Tells the other clients which targets agree with the backend, and the online state.
  case publish

  /// The cause for which streams stay closed until the operation has succeeded.
  var offlineCause: OfflineCause? {
    switch self {
    case .start, .acknowledge, .reject: .storageFailure
    case .setAsideUnreadableBatches: .outboxFailure
    case .probe(let cause): cause
    // A change of the user closes and opens the streams itself.
    case .changeUser, .refreshViews, .lookUpBatches, .storeWrites, .beginListens, .catchUp, .rejoin,
      .storeTargetUses, .storeRole, .becomePrimary, .synchronizeViews, .followOthers, .publish:
      nil
    }
  }

  /// The user whose batch was answered; nil for other operations.
  var owner: String?? {
    switch self {
    case .acknowledge(_, let owner), .reject(_, _, let owner): .some(owner)
    case .start, .probe, .setAsideUnreadableBatches, .changeUser, .refreshViews, .lookUpBatches,
      .storeWrites, .beginListens, .catchUp, .storeTargetUses, .rejoin, .storeRole, .becomePrimary, .synchronizeViews,
      .followOthers, .publish:
      nil
    }
  }

  /// The error with which the backend refused the batch; nil for a batch that it took, and for other operations.
  var rejection: StatusError? {
    if case .reject(_, let error, _) = self { error } else { nil }
  }

  /// The identity of the batch of an answer, as far as it has one.
  var batchIdentity: BatchIdentity? {
    switch self {
    case .acknowledge(let result, _): result.batch.identity
    case .reject(let batch, _, _): batch.identity
    default: nil
    }
  }

  /// True for what only the holder of the lease does. An answer that was received is stored by any client.
  var needsLease: Bool {
    switch self {
    case .becomePrimary, .followOthers, .publish: true
    case .start, .probe, .acknowledge, .reject, .setAsideUnreadableBatches, .changeUser,
      .refreshViews, .lookUpBatches, .storeWrites, .beginListens, .catchUp, .storeTargetUses, .rejoin, .storeRole,
      .synchronizeViews:
      false
    }
  }

  /// True for what brings the targets of other clients in.
  var bringsOthersIn: Bool {
    switch self {
    case .catchUp, .rejoin, .becomePrimary, .followOthers: true
    case .start, .probe, .acknowledge, .reject, .setAsideUnreadableBatches, .changeUser,
      .refreshViews, .lookUpBatches, .storeWrites, .beginListens, .storeTargetUses, .storeRole, .synchronizeViews,
      .publish:
      false
    }
  }

  /// Operations of one lane keep their order; a lane does not wait for another whose operation goes on failing.
  fileprivate var lane: Lane {
    switch self {
    case .changeUser: .users
    case .setAsideUnreadableBatches, .acknowledge, .reject: .outcomes
    case .start, .probe: .storage
    case .refreshViews, .synchronizeViews: .views
    case .catchUp, .storeTargetUses, .rejoin, .storeRole, .becomePrimary, .followOthers, .publish: .clients
    case .lookUpBatches, .storeWrites, .beginListens: .calls
    }
  }

  fileprivate enum Lane {
    case users, outcomes, storage, views, clients, calls
  }
}

/// The storage operations to retry, first in, first out, except that changes of the user come first.
///
/// | event | list empty | list not empty |
/// |---|---|---|
/// | append | attempt due | attempt due (of the first) |
/// | append a change of the user | attempt due | in front of all but earlier changes; attempt due (of the first) |
/// | append a probe, when the last probe was useless | timer | timer |
/// | append a probe that is in the list | - | - |
/// | append an operation that has just waited for another process in vain | timer | its timer goes on |
/// | attempt succeeded | - | first removed; timer if others remain |
/// | attempt failed | - | its kind moves to the end; timer |
/// | lease lost | - | operations that need it are removed; an attempt that ends because of it starts no timer |
/// | end of the attempts of an event | - | timer, unless it runs |
/// | timer | - | attempt due |
///
/// Due attempts are made at the end of the event that caused them. A probe only reads, so its success proves little. Until something has
/// been stored again, the next probe waits for the timer, with growing pauses. Otherwise a cache that can be read but not written would
/// make the client request the same data from the backend repeatedly without a pause. One probe speaks for all failures with its cause. An
/// operation that has waited for another process's lock would wait a second time in the same event.
struct RetryQueue {
  private let jitter: @Sendable () -> Double

  /// Monotonic time of the event being handled.
  private var now: Duration = .zero
  private var operations: [RetryableOperation] = []
  private var attemptsDue = 0
  private var backoff: ExponentialBackoff
  private var timerRuns = false
  private var isProbeInDoubt = false
  /// Rises with each loss of the lease, so that the end of an attempt does not count for another operation.
  private(set) var leaseLossCount = 0

  init(configuration: SyncConfiguration) {
    jitter = configuration.jitter
    backoff = ExponentialBackoff(parameters: configuration.backoff, now: .zero)
  }

  /// Takes the time of the next event.
  mutating func advance(to now: Duration) {
    self.now = now
  }

  /// The operation to be tried next.
  var first: RetryableOperation? { operations.first }

  /// True if some operation in the list has this cause.
  func holds(_ cause: OfflineCause) -> Bool { operations.contains { $0.offlineCause == cause } }

  /// True if answers of the backend wait to be stored.
  var holdsAnswers: Bool { !answers.isEmpty }

  /// The answers of the backend that are not stored yet, in order.
  var answers: [RetryableOperation] { operations.filter { $0.owner != nil } }

  /// True if the operation is in the list.
  func holds(_ operation: RetryableOperation) -> Bool { operations.contains(operation) }

  /// True if some operation in the list meets the condition.
  func holds(where condition: (RetryableOperation) -> Bool) -> Bool { operations.contains(where: condition) }

  /// Removes what only the holder of the lease may do. Its next holder does it.
  mutating func leaseIsLost() {
    leaseLossCount += 1
    operations.removeAll(where: \.needsLease)
  }

  /// Removes an operation that must not be carried out any more.
  mutating func remove(_ operation: RetryableOperation) { operations.removeAll { $0 == operation } }

  /// The user whom the last change in the list leads to; nil if no change waits.
  var latestUser: String?? {
    for case .changeUser(let user) in operations.reversed() { return .some(user) }
    return nil
  }

  /// Appends an operation.
  ///
  /// - Parameter isDue: False to leave the first attempt to the timer. An operation that has waited for another process in vain would otherwise
  ///   wait a second time in the same event, and the client with it.
  mutating func append(_ operation: RetryableOperation, isDue: Bool = true) -> [SyncAction] {
    // Another one would keep the client offline for one more pause.
    if case .probe = operation, holds(operation) { return [] }
    if operation.lane == .users {
      // Behind the other changes, before all else.
      operations = operations.filter { $0.lane == .users } + [operation] + operations.filter { $0.lane != .users }
    } else {
      operations.append(operation)
    }
    if case .probe = operation, isProbeInDoubt { return startTimer() }
    guard isDue else { return timerRuns ? [] : startTimer() }
    attemptsDue += 1
    return []
  }

  /// Appends an operation, unless it is in the list already.
  mutating func appendOnce(_ operation: RetryableOperation, isDue: Bool = true) -> [SyncAction] {
    holds(operation) ? [] : append(operation, isDue: isDue)
  }

  /// True if an attempt is due.
  var isDue: Bool { attemptsDue > 0 }

  /// Takes the attempts that are due: the number of times to try the first operation now.
  mutating func takeDueAttempts() -> Int {
    defer { attemptsDue = 0 }
    return attemptsDue
  }

  /// Leaves what is in the list to the timer, with the attempts that have become due. The loss of the lease may have ended an attempt without
  /// starting it.
  mutating func deferDueAttempts() -> [SyncAction] {
    attemptsDue = 0
    guard !operations.isEmpty, !timerRuns else { return [] }
    return startTimer()
  }

  /// Something was stored: the next pause is the shortest.
  mutating func storageProven() {
    isProbeInDoubt = false
    backoff.reset()
  }

  /// The first operation was tried. Starts the timer for the next attempt, if there must be one.
  mutating func attemptEnded(succeeded: Bool) -> [SyncAction] {
    assert(!operations.isEmpty, "An attempt has \(succeeded ? "succeeded" : "failed") that was at no operation.")
    if succeeded, !operations.isEmpty {
      if case .probe = operations.removeFirst() { isProbeInDoubt = true } else { storageProven() }
    } else if let failing = operations.first?.lane {
      operations = operations.filter { $0.lane != failing } + operations.filter { $0.lane == failing }
    }
    return operations.isEmpty ? stopTimer() : startTimer()
  }

  mutating func timerFired() {
    guard timerRuns else { return }
    timerRuns = false
    backoff.attemptBegins(now: now)
    attemptsDue += 1
  }

  /// Nothing is repeated any more.
  mutating func stop() -> [SyncAction] {
    operations = []
    attemptsDue = 0
    return stopTimer()
  }

  private mutating func startTimer() -> [SyncAction] {
    timerRuns = true
    return [.startTimer(.asyncQueueRetry, after: backoff.nextDelay(now: now, jitter: jitter()))]
  }

  private mutating func stopTimer() -> [SyncAction] {
    defer { timerRuns = false }
    return timerRuns ? [.cancelTimer(.asyncQueueRetry)] : []
  }
}
