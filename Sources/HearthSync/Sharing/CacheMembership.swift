internal import HearthCache
internal import HearthModel

/// The role of one client in its cache, which it may share with others.
///
/// | event | secondary | primary |
/// |---|---|---|
/// | the lease was taken, and the views cover all clients | primary; the watch of the primary client ends | - |
/// | the lease is lost or left | - | secondary |
/// | the lease is passed to another client | waits until that client takes it | - |
/// | the process is suspended | away from the others | secondary, and away from the others |
/// | the client rejoins the others | among them again | - |
///
/// It decides on the role with the state of the client that the engine hands it (``ClientState``). It asks for the changes of role as actions,
/// because they concern the streams and the views: the engine says when they are done (``becomePrimary(at:agreements:watched:)``,
/// ``stepDown()``).
///
/// The parts keep their state private: ``turn`` and ``published`` are of use at the primary client, ``primaryWatch`` at a secondary one.
///
/// In the cache that it is passed, it writes the notices to other clients, stores the role and the uses of targets, and takes and leaves the
/// lease.
struct CacheMembership {
  enum Action: Equatable {
    case emit(SyncAction)
    /// The client that has the streams is asked for a sign of life: call ``CacheMembership/ask(in:)``.
    case ask
    /// The primary client has written something: answer the reads that wait for a sign of life, if this is one
    /// (``PrimaryWatch/wasHeard(at:)``) and the views show it.
    case answerReads
    /// The primary client has given no sign of life: count as offline.
    case countAsOffline
    /// It lives: its online state is that of this client again.
    case showSharedState
    /// Another client has the lease, or gets it.
    case loseLease
    /// The client has taken the lease anew. Others may have had it since: close the streams of the former time.
    case stepDown
    /// Read and show what other clients have changed.
    case lookForNews
    /// Look after the role, with the state that the client has now: call ``CacheMembership/lookAfterRole(_:in:)``.
    case lookAfterRole
    /// Let the timer run out at once if nobody has the lease.
    case takeFreeLease
    /// Store the answers of the backend, as the last thing that this client does with the lease.
    case storeAnswers
    /// Give the lease back: call ``CacheMembership/giveBackLease(in:)``.
    case giveBackLease
    /// Let the client be one of the others again, however often that is planned already.
    case rejoin
    /// Other rows have taken the place of those of these targets, which were removed.
    case move([TargetID: TargetID])
    /// The turn goes on: batches may be sent again.
    case sendOn
    /// Carry the operation out later, unless that is planned already.
    case retry(RetryableOperation, isDue: Bool)
    /// Do not carry the operation out any more.
    case giveUp(RetryableOperation)
  }

  /// A notice that a client owes the others because another process has held the file.
  enum OwedNotice: CaseIterable {
    /// Says that unsuccessful turns do not count any more.
    case forgottenTurns
    /// Asks the primary client to end its pauses. By a secondary client.
    case retry
    /// A sign of life, of the primary client.
    case sign
    /// The question for one, of a secondary client.
    case question
  }

  /// True at the client that has the streams: the only one of its cache, or the holder of the lease.
  private(set) var isPrimary: Bool
  /// True if the client is in the foreground.
  private(set) var isVisible = false
  var turn = LeaseTurn()
  var published = PublishedStates()
  var primaryWatch: PrimaryWatch
  private var owed: Set<OwedNotice> = []
  /// True from a suspension until the client is among the others again.
  private var isAway = false
  /// True until the process goes on after a suspension.
  private(set) var isSuspended = false
  /// True from the loss of notices until the client has looked up its batches instead.
  private var missesNotices = false
  /// The monotonic time since which the free lease has been found to be left to another client; nil if it is not.
  private var yieldedSince: Duration?
  let configuration: SyncConfiguration

  init(isShared: Bool, configuration: SyncConfiguration) {
    isPrimary = !isShared
    primaryWatch = PrimaryWatch(timeout: configuration.onlineStateTimeout)
    self.configuration = configuration
  }

  mutating func setVisibility(_ isVisible: Bool) {
    self.isVisible = isVisible
  }

  /// This client has the streams from now on.
  ///
  /// - Parameters:
  ///   - agreements: The agreements of all targets, as the file has them.
  ///   - watched: The targets that the backend is asked for.
  mutating func becomePrimary(
    at now: Duration, agreements: [TargetID: TargetAgreement], watched: Set<TargetID>
  ) -> [Action] {
    assert(!isPrimary, "The primary client becomes the primary client.")
    isPrimary = true
    turn = LeaseTurn(at: now)
    yieldedSince = nil
    published = PublishedStates(agreements: agreements, inherited: watched)
    return primaryWatch.end()
  }

  /// Another client has the streams from now on.
  mutating func stepDown() {
    assert(isPrimary, "A secondary client becomes a secondary client.")
    isPrimary = false
    turn = LeaseTurn()
    yieldedSince = nil
  }

  /// Returns true for a while after the lease was left to another client. That takes it at once; if it does not, all others may, those last
  /// that had their turn in vain.
  ///
  /// - Parameters:
  ///   - isLeftToOther: True if the lease is free, and left to another client.
  ///   - hadFutileTurns: True if this client has had its turn in vain.
  mutating func yieldsToHeir(isLeftToOther: Bool, hadFutileTurns: Bool, at now: Duration) -> Bool {
    guard isLeftToOther else {
      yieldedSince = nil
      return false
    }
    let since = yieldedSince ?? now
    yieldedSince = since
    return now - since < configuration.clientRefreshInterval * (hadFutileTurns ? 3 : 1)
  }

  /// True if others may have had the answer to a batch of this client, which it can no longer read in their notices.
  var mayLackAnswers: Bool { isAway || missesNotices }

  // MARK: - Suspension

  /// Leaves the streams to another client before the process stops for a while. Others may take this client for dead, and keep nothing for it.
  mutating func suspend(in localStore: LocalStore) -> [Action] {
    guard localStore.isShared else { return [] }
    isAway = true
    isSuspended = true
    return [.storeAnswers, .giveBackLease]
  }

  /// Gives back the lease after the answers of the backend were stored.
  func giveBackLease(in localStore: LocalStore) -> [Action] {
    var actions: [Action] = []
    do {
      // It may not be the primary one yet.
      if localStore.isPrimary { try localStore.giveBackLease() }
    } catch {
      actions = [.emit(.log(.debug, "The lease could not be given back: \(error)"))]
    }
    // To store the role would take the lease back, and the process may stop here. ``rejoin(_:_:in:)`` does what it is for.
    return actions + [.loseLease, .giveUp(.storeRole), .emit(.cancelTimer(.clientMetadataRefresh))]
  }

  /// The process goes on, or others have taken this client for dead.
  mutating func resume(in localStore: LocalStore) -> [Action] {
    isSuspended = false
    return localStore.isShared ? [.rejoin] : []
  }

  /// Goes on after a while in which the others may have taken this client for dead: it has its place still, or a new one after the loss of
  /// notices.
  ///
  /// - Parameter targets: The targets of its listeners, with true for those to watch at the backend.
  mutating func rejoin(
    _ targets: [TargetID: Bool], _ state: ClientState, in localStore: LocalStore
  ) throws -> [Action] {
    let moved = try localStore.rejoin { targets[$0] ?? false }
    isAway = false
    return [.move(moved)] + updateRole(state, in: localStore)
  }

  // MARK: - Notices

  /// The changes of other clients could not be read. That is repeated.
  func catchUpFailed(_ error: any Error, in localStore: LocalStore) -> [Action] {
    let message = "The changes of other clients cannot be read: \(error)"
    return [.emit(.log(.debug, message)), .retry(.catchUp, isDue: !localStore.isHeldByOther(error))]
  }

  mutating func hasLostNotices() {
    missesNotices = true
    primaryWatch.noticesWereLost()
    // A repair of the file may have removed it.
    published.forgetOnlineState()
  }

  /// The batches for which callers wait were looked up in the file.
  mutating func hasLookedUpBatches() { missesNotices = false }

  /// True if something could not be told to the others.
  var owesNotice: Bool { !owed.isEmpty }

  mutating func wasNotTold(_ notice: OwedNotice) {
    owed.insert(notice)
  }

  /// Takes what is owed to the others, in order, without what is of no use any more.
  mutating func takeOwedNotices() -> [OwedNotice] {
    defer { owed = [] }
    return OwedNotice.allCases.filter { notice in
      guard owed.contains(notice) else { return false }
      return switch notice {
      case .forgottenTurns: true
      case .retry: !isPrimary
      case .sign: isPrimary
      case .question: !isPrimary && primaryWatch.expectsSign
      }
    }
  }

  /// Leaves the cache at the end of the client.
  func leave(_ localStore: LocalStore) -> [SyncAction] {
    guard localStore.isShared else { return [] }
    var actions = [SyncAction.cancelTimer(.clientMetadataRefresh)]
    do {
      try localStore.leave()
    } catch {
      // The others see that it has ended.
      actions.append(.log(.warning, "The end of the client could not be stored: \(error)"))
    }
    return localStore.takeHasTold() ? actions + [.wakeOthers] : actions
  }

  /// Notifies the other clients of how far targets agree with the backend, and of the online state.
  ///
  /// - Parameter states: The agreements of the views.
  mutating func publish(
    _ states: @autoclosure () -> [TargetID: TargetAgreement], _ online: OnlineState, in localStore: LocalStore
  ) throws {
    guard isPrimary else { return }
    guard localStore.hasOtherClients else {
      guard published.holdsAgreements else { return }
      // The next other client gets everything.
      try localStore.unpublish()
      published.removeAll()
      return
    }
    try published.publish(
      states(), online, store: { try localStore.publish($0) }, storeOnline: { try localStore.publish($0) })
  }

  /// Notifies the other clients at the end of an event: see ``publish(_:_:in:)``. A notification that fails is repeated.
  mutating func publishSoon(
    _ states: @autoclosure () -> [TargetID: TargetAgreement], _ online: OnlineState, in localStore: LocalStore
  ) -> [Action] {
    do {
      try publish(states(), online, in: localStore)
      return []
    } catch {
      let log = Action.emit(.log(.debug, "The state of the client cannot be reported to the others: \(error)"))
      if CacheError.isLeaseLost(error) { return [log, .loseLease] }
      return [log, .retry(.publish, isDue: !localStore.isHeldByOther(error))]
    }
  }

  /// Checks in debug builds what must hold between two events.
  func assertInvariants() {
    primaryWatch.assertInvariants(isPrimary: isPrimary)
    assert(isPrimary || !turn.isEnding, "The turn of a client ends that does not hold the lease.")
  }
}
