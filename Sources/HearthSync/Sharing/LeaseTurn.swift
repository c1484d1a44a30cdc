internal import HearthCache

/// The period in which one client holds the lease while others need it.
///
/// No client sends another user's outbox, because it has no token for that. So while the outbox of another user waits, the holder of the
/// lease passes it to a client of that user after a while. At that moment no batch is in flight, so none is sent twice.
///
/// Processes differ in what they can reach: one may lack a network, certificates or a valid token. A holder whose attempts have failed for
/// `offlineLeaseTurn` passes the lease to any other client with its network enabled. It does so even if no operation waits for the backend
/// at that moment, because one-time reads are answered as offline and leave no trace. A single failure says nothing about the time after
/// it, in which no request may have been made. While no client can connect, the lease rotates in such turns. A client with a connection
/// keeps it. A client that had its turn in vain gets another one rarely (`futileTurnPause`), or as soon as something changes that may help
/// it.
///
/// | event | running | ending |
/// |---|---|---|
/// | the turn has lasted, an heir is found | ending | - |
/// | the turn has lasted, there is no heir | - | running |
/// | the backend is out of reach | outage begins, or lasts | the same |
/// | the backend is reached | outage ends | the same |
struct LeaseTurn {
  /// The known period in which every attempt to reach the backend has failed. The next attempt may succeed.
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
  /// - Returns: The state by which an heir is chosen; nil if the turn goes on.
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

  /// Another client gets the lease: nothing more is sent.
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
