internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthSync

typealias StatusObservation = PacedObservation<FirestoreStatus>
typealias StatusEvent = StatusObservation.Event

/// The last time at which a client was in sync, as far as its status was read.
struct InSyncTimes {
  private var last: Date?
  /// True if the status was observed when it was last read, and in sync.
  private var isInPeriod = false

  /// Notes the result of a reading.
  ///
  /// - Parameters:
  ///   - confirmed: The last time at which the engine itself was in sync.
  ///   - isObserved: True if each change leads to a reading.
  /// - Returns: the start of the current period while in sync, as far as known; otherwise the end of the last one.
  mutating func note(isInSync: Bool, confirmed: Date?, isObserved: Bool, now: Date = Date()) -> Date? {
    if isInSync {
      if !isInPeriod { last = now }
    } else if isInPeriod {
      last = now
    } else if let confirmed {
      last = max(last ?? confirmed, confirmed)
    }
    isInPeriod = isInSync && isObserved
    return last
  }

  /// Nobody observes any more.
  mutating func observationEnded() {
    isInPeriod = false
  }
}

extension RunningClient {
  // MARK: - Calls

  func observeStatus(_ listener: Listener<StatusEvent>) {
    status.listeners[listener.id] = listener
    run(.observeStatus(true))
    readStatusSoon()
  }

  func unobserveStatus(_ id: ListenerID) {
    guard status.listeners.removeValue(forKey: id) != nil, status.listeners.isEmpty else { return }
    inStepTimes.observationEnded()
    run(.observeStatus(false))
  }

  /// Goes on with the observers of a client that this one replaces.
  func observeStatus(continuing former: StatusObservation) {
    guard !former.listeners.isEmpty else { return }
    status.listeners = former.listeners
    run(.observeStatus(true))
    readStatusSoon()
  }

  // MARK: - Reading

  func readStatusSoon() {
    guard !status.listeners.isEmpty, let pause = status.changed(now: clock.now) else { return }
    post(.readStatus, after: pause)
  }

  /// Reads the status for its observers.
  func readStatus() {
    let began = clock.now
    status.begins()
    let result = Result { try presentStatus(isObserved: true) }
    // The client that reopens a damaged cache goes on with them.
    if case .failure = result, reopening != nil { return }
    for (_, listener) in status.listeners { listener.deliver(result.mapError { NSError.firestore($0) }) }
    let now = clock.now
    if let pause = status.ended(after: now - began, now: now) { post(.readStatus, after: pause) }
  }

  func readStatus(_ id: RequestID, _ completion: @escaping @Sendable (StatusEvent) -> Void) {
    read(id, completion) { _, _ in try presentStatus(isObserved: false) }
  }

  /// - Throws: Errors of the cache's file.
  func presentStatus(isObserved: Bool) throws -> FirestoreStatus {
    let engineStatus = engine.status
    let pendingWriteCount = try cache.localStore.outbox.batchCount(of: engine.signedInUser) + engine.heldWriteCount
    configuration.instruments.metrics?.outboxCounted(pendingWriteCount)
    let connection = connection(engineStatus.connection, hasPendingWrites: pendingWriteCount > 0)
    let lastInSync = inStepTimes.note(
      isInSync: connection == .inSync, confirmed: engine.lastInSync?.date,
      isObserved: isObserved || !status.listeners.isEmpty)
    return FirestoreStatus(
      connection: connection, lastInSync: lastInSync, pendingWriteCount: pendingWriteCount,
      work: try engineStatus.work.map(backgroundWork))
  }

  private func connection(_ connection: SyncConnection, hasPendingWrites: Bool) -> FirestoreStatus.Connection {
    switch connection {
    case .inSync: hasPendingWrites ? .connecting : .inSync
    case .connecting: .connecting
    case .offline(.networkDisabled): .offline(.networkDisabled, nextAttempt: nil)
    case .offline(.cacheFailure): .offline(.cacheFailure, nextAttempt: timers.due(.asyncQueueRetry))
    case .offline(.offline(let error)):
      .offline(.unreachable(error.map { .firestore($0) }), nextAttempt: nextAttempt)
    }
  }

  /// When the next stream is opened; nil during an attempt, and at a client that leaves the streams to another one.
  private var nextAttempt: Date? {
    let kinds: [TimerKind] = [.listenStreamConnectionBackoff, .writeStreamConnectionBackoff]
    return kinds.compactMap { timers.due($0) }.min()
  }

  private func backgroundWork(_ work: SyncWork) throws -> BackgroundWork {
    switch work {
    case .indexFilling:
      let progress = try cache.localStore.indexes.fillProgress()
      return BackgroundWork(kind: .indexFilling, completed: progress.completed, total: progress.total)
    case .garbageCollection(let removed):
      return BackgroundWork(kind: .garbageCollection, completed: removed, total: nil)
    case .bundle(_, let progress):
      return BackgroundWork(
        kind: .bundleLoading, completed: progress.documentsLoaded,
        total: progress.totalDocuments > 0 ? progress.totalDocuments : nil)
    }
  }
}
