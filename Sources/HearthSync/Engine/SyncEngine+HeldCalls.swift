internal import HearthCache
internal import HearthModel
internal import HearthStore

/// Attempts at the writes, listeners and notices to other clients that wait in memory because another process holds the file.
///
/// A timer repeats them, with pauses that grow to a minute and more. They are also tried whenever the file may be free, and writes before each
/// read that is made once, so that it finds them.
extension SyncEngine {
  /// Longer than a transaction of another process usually takes.
  private static let briefWait: Duration = .milliseconds(20)

  /// Carries out actions of the calls that wait, in order.
  func follow(_ actions: [HeldCalls.Action]) {
    for action in actions {
      switch action {
      case .emit(let action): emit(action)
      case .outboxChanges: statusWatch.outboxChanges()
      case .await(let write, let batchID, let identity): emit(waits.add(write, for: batchID, identity))
      case .storeLater: emit(retries.appendOnce(.storeWrites, isDue: false))
      case .beginLater: emit(retries.appendOnce(.beginListens, isDue: false))
      }
    }
  }

  /// Stores the writes, begins the listeners and tells the others what waits, unless another process holds the file at this moment.
  func tryHeldCalls() {
    guard !held.isEmpty || membership.owesNotice, !cacheIsBeingReplaced, !link.isForbidden(for: .shutdown),
      localStore.isFree(waitingAtMost: .zero)
    else { return }
    do {
      if !held.writes.isEmpty { try storeHeldWrites() }
      try beginHeldListens()
    } catch {
      return log(.debug, "Writes or listeners still wait: \(error)")
    }
    follow(membership.tellWhatIsOwed(in: localStore))
  }

  /// Stores the writes that wait, before a read that is made once.
  ///
  /// - Parameter needsFile: True if the read itself must write the file.
  /// - Returns: The error if another process holds the file; nil if the read can go on.
  @discardableResult
  func storeWritesBeforeRead(needsFile: Bool = false) -> (any Error)? {
    guard !held.writes.isEmpty || needsFile, !cacheIsBeingReplaced else { return nil }
    guard held.readsMayWait(now: now) || localStore.isFree(waitingAtMost: Self.briefWait) else {
      return StoreError(kind: .unavailable, message: "Another process holds the file of the cache.")
    }
    guard !held.writes.isEmpty else { return nil }
    do {
      try storeHeldWrites()
    } catch {
      log(.notice, "Writes still wait: \(error)")
      if localStore.isHeldByOther(error) { return error }
    }
    return nil
  }
}
