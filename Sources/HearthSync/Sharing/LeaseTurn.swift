internal import HearthCache

/// The time for which one client holds the lease while others have a use for it.
///
/// No client sends another user's outbox, because it has no token for that. So while the outbox of another user waits, the holder of
/// the lease leaves it to a client of that user after a while: with nothing on its way, so that no batch is sent twice.
///
/// Processes differ in what they can reach: one may have no network, no certificates, no valid token. A holder whose attempts have failed for
/// `offlineLeaseTurn` leaves the lease to any other client that wants the network, also if nothing waits for the backend at that moment: reads
/// that are made once are answered as offline, and gone. One failure alone says nothing of the time after it, in which nothing may have been
/// asked. While nobody can connect, the lease goes round in such turns.
/// One that has a connection keeps it; a client that had its turn in vain gets another one rarely (`futileTurnPause`), or as soon as
/// something changes that may help it.
///
/// | event | goes on | is ending |
/// |---|---|---|
/// | the turn has lasted, an heir is found | is ending | - |
/// | the turn has lasted, there is no heir | - | goes on |
/// | the backend is out of reach | outage begins, or lasts | the same |
/// | the backend is reached | outage ends | the same |
struct LeaseTurn {
  /// The time in which the backend was out of reach whenever something waited for it, as far as it is known: what has failed last may succeed
  /// by now.
  private struct Outage {
    /// Monotonic times of the first failure and of the last one.
    var began: Duration
    var lastFailure: Duration

    /// Returns true if attempts have failed throughout a time, the last one lately.
    func lasts(_ length: Duration, at now: Duration) -> Bool {
      lastFailure - began >= length && now - lastFailure < length
    }
  }

  private let began: Duration
  /// True while what is on its way is still answered, and nothing more is sent.
  private(set) var isEnding = false
  /// True once the backend was reached in this turn.
  private var hasConnected = false
  /// Nil while the backend has not been found out of reach since it was reached.
  private var outage: Outage?

  /// - Parameter now: Monotonic time.
  init(at now: Duration = .zero) {
    began = now
  }

  // MARK: - The connection

  /// Something that waits for the backend cannot reach it.
  mutating func backendIsOutOfReach(at now: Duration) {
    outage = Outage(began: outage?.began ?? now, lastFailure: now)
  }

  /// True if the turn began with an outage: the former holder of the lease could not have reached the backend either.
  var beganOutOfReach: Bool { !hasConnected && outage != nil }

  mutating func backendIsReached() {
    hasConnected = true
    outage = nil
  }

  /// Returns true if the watch stream shows that the outage is over although nothing is asked on it: it was opened since the last failure, and
  /// has lasted.
  ///
  /// - Parameters:
  ///   - opened: The monotonic time at which the open stream was opened; nil if none is open.
  ///   - length: The time that it must have lasted.
  func outageIsOver(by opened: Duration?, lasting length: Duration, at now: Duration) -> Bool {
    guard let outage, let opened, opened >= outage.lastFailure else { return false }
    return now - opened >= length
  }

  // MARK: - The end

  /// Decides whether the turn has lasted long enough.
  ///
  /// A turn that is ending goes on being looked after: nothing is sent until it has ended, or nobody waits any more.
  ///
  /// - Parameters:
  ///   - isOffline: True if the client counts as offline.
  ///   - hasOthers: True if the cache has other clients.
  /// - Returns: What an heir is chosen by; nil if the turn goes on.
  func mayEnd(
    at now: Duration, isOffline: Bool, hasOthers: Bool, _ configuration: SyncConfiguration
  ) -> LocalStore.LeaseTurnState? {
    guard isEnding || hasOthers else { return nil }
    let isCutOff = outage?.lasts(configuration.offlineLeaseTurn, at: now) ?? false
    let lasted = now - began
    let length = isOffline ? configuration.offlineLeaseTurn : configuration.leaseTurn
    guard isEnding || isCutOff || lasted >= length else { return nil }
    return LocalStore.LeaseTurnState(
      isCutOff: isCutOff, lasted: lasted, shortestTurn: configuration.leaseTurn,
      futileTurnPause: configuration.futileTurnPause)
  }

  /// Another client is to have the lease: nothing more is sent.
  mutating func end() {
    isEnding = true
  }

  /// No client waits for the lease.
  ///
  /// - Returns: True if the turn was ending, so that batches wait to be sent.
  mutating func goOn() -> Bool {
    defer { isEnding = false }
    return isEnding
  }
}
