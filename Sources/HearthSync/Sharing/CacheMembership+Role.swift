internal import HearthCache
internal import HearthModel

/// Keeping, taking and giving back the lease.
///
/// The timer `clientMetadataRefresh` runs while the client is among the others. It ends this client's turn with the lease first, and then looks
/// after the role, with the state that the client has after the end of the turn (``Action/lookAfterRole``).
extension CacheMembership {
  /// The state of the client that decides on its role, and on the end of its turn with the lease.
  struct ClientState {
    var now: Duration
    var reach: BackendLink.Reach
    var onlineState: OnlineState
    /// True if the application has disabled the network.
    var isDisabled: Bool
    /// The monotonic time at which the open watch stream was opened; nil while none is open.
    var watchStreamOpenedAt: Duration?
    /// True if the backend may have committed batches and has not answered, or its answers are not stored.
    var awaitsAnswers: Bool
    /// True while the outbox waits for a conflict.
    var hasConflict: Bool
    /// True while the outbox waits for the application to resolve a conflict.
    var waitsForApplication: Bool
    /// True if views are kept for other clients.
    var servesOthers: Bool
    /// True until an attempt to be among the others again has succeeded.
    var waitsToRejoin: Bool
    /// True until an attempt to store the role has succeeded.
    var waitsToStoreRole: Bool

    /// True if the client wants its network, or waits for answers to batches that the next holder would send again, or to store them.
    var needsLease: Bool { !isDisabled || awaitsAnswers }
  }

  /// Stores what this client says of itself, and keeps, takes or gives back the lease.
  func refreshRole(_ state: ClientState, in localStore: LocalStore) -> [Action] {
    // A client that is not among the others takes no part.
    guard localStore.isShared, !state.waitsToRejoin, !state.waitsToStoreRole else { return [] }
    return updateRole(state, in: localStore)
  }

  func updateRole(_ state: ClientState, in localStore: LocalStore) -> [Action] {
    var actions: [Action]
    do {
      actions = try storeRole(state, in: localStore)
    } catch {
      actions = [.emit(.log(.debug, "The client keeps its role, because the cache cannot be written: \(error)"))]
      // The next look at the lease would wait as long for the process that holds the file, and the client with it.
      if localStore.isHeldByOther(error) { actions.append(.retry(.storeRole, isDue: false)) }
    }
    return actions + [.lookForNews, nextLook]
  }

  /// Stores what this client says of itself, and goes on with the role that it has then.
  func storeRole(_ state: ClientState, in localStore: LocalStore) throws -> [Action] {
    switch try localStore.updateClient(wantsNetwork: state.needsLease, isVisible: isVisible) {
    case .held where isPrimary:
      // Of clients that were found dead this client has told the others, not itself.
      state.servesOthers ? [.retry(.followOthers, isDue: true)] : []
    case .held: [.retry(.becomePrimary, isDue: true)]
    // Others may have had it since this client was the primary one.
    case .taken: [.stepDown, .retry(.becomePrimary, isDue: true)]
    case .notHeld: [.loseLease]
    }
  }

  // MARK: - The timer

  /// Ends this client's turn with the lease if it has lasted long enough, and looks after the role otherwise.
  mutating func refreshTimerFired(_ state: ClientState, in localStore: LocalStore) -> [Action] {
    // It runs.
    let forgetting = localStore.wasPassedOver ? forgetFutileTurns(in: localStore).map { Action.emit($0) } : []
    do {
      guard try localStore.isMember() else { return forgetting + resume(in: localStore) }
      if state.waitsToStoreRole { return forgetting + [nextLook] }
      let (isLeft, actions) = endTurn(state, in: localStore)
      return forgetting + actions + [isLeft ? nextLook : .lookAfterRole]
    } catch {
      return forgetting + lookFailed(error)
    }
  }

  /// Takes or gives back the lease if there is a reason. Comes after the turn of this client was looked at, and its consequences.
  mutating func lookAfterRole(_ state: ClientState, in localStore: LocalStore) -> [Action] {
    let isOthersTurn = yieldsToHeir(
      isLeftToOther: localStore.leaseIsLeftToOther, hadFutileTurns: localStore.futileTurnCount > 0, at: state.now)
    // To leave the lease may have waited in vain: then the role rests.
    if isOthersTurn || state.waitsToStoreRole { return [nextLook] }
    do {
      let mayChange = try localStore.roleMayChange(wantsNetwork: state.needsLease, isVisible: isVisible)
      if !mayChange { return [nextLook] }
    } catch {
      return lookFailed(error)
    }
    return refreshRole(state, in: localStore)
  }

  /// A notice says that the lease has another holder, or none.
  func leaseHasChanged(in localStore: LocalStore) -> [Action] {
    if isPrimary { return localStore.leaseIsLost ? [.emit(.startTimer(.clientMetadataRefresh, after: .zero))] : [] }
    return [.showSharedState, .takeFreeLease]
  }

  private var nextLook: Action {
    .emit(.startTimer(.clientMetadataRefresh, after: configuration.clientRefreshInterval))
  }

  private func lookFailed(_ error: any Error) -> [Action] {
    [.emit(.log(.debug, "The other clients cannot be looked up: \(error)")), nextLook]
  }
}
