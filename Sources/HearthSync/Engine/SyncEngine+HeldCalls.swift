internal import HearthCache
internal import HearthModel
internal import HearthStore

/// Attempts at the writes and listeners that wait in memory because another process holds the file.
///
/// A timer repeats them, with pauses that grow to a minute and more. They are also tried whenever the file may be free, and writes before each
/// read that is made once, so that it finds them.
extension SyncEngine {
  /// Longer than a transaction of another process usually takes.
  private static let briefWait: Duration = .milliseconds(20)

  /// Takes note of an attempt that has waited for the file in vain, if that is what the error says.
  ///
  /// Nothing else is handled in that time. So for as long as it may have taken no read waits like this again. The engine does not know how
  /// long it was, only how long it was at most.
  func noteVainWait(after error: any Error) {
    if isHeldByOther(error) { heldCallsRest = now + localStore.busyTimeout * 2 }
  }

  /// Stores the writes and begins the listeners that wait, unless another process holds the file at this moment.
  func tryHeldCalls() {
    guard !heldWrites.isEmpty || !heldListens.isEmpty, !cacheIsBeingReplaced, !link.isForbidden(for: .shutdown),
      localStore.isFree(waitingAtMost: .zero)
    else { return }
    do {
      if !heldWrites.isEmpty { try storeHeldWrites() }
      try beginHeldListens()
    } catch {
      log(.debug, "Writes or listeners still wait: \(error)")
    }
  }

  /// Stores the writes that wait, before a read that is made once.
  ///
  /// - Parameter needsFile: True if the read itself must write the file.
  /// - Returns: The error if another process holds the file; nil if the read can go on.
  @discardableResult
  func storeWritesBeforeRead(needsFile: Bool = false) -> (any Error)? {
    guard !heldWrites.isEmpty || needsFile, !cacheIsBeingReplaced else { return nil }
    guard now >= heldCallsRest || localStore.isFree(waitingAtMost: Self.briefWait) else {
      return StoreError(kind: .unavailable, message: "Another process holds the file of the cache.")
    }
    guard !heldWrites.isEmpty else { return nil }
    do {
      try storeHeldWrites()
    } catch {
      log(.notice, "Writes still wait: \(error)")
      if isHeldByOther(error) { return error }
    }
    return nil
  }
}
