import EngineHarness
import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// Opening the folder, reopening it, releasing it, and ends, as in `ClientLoop`.
extension FolderProcess {
  /// A folder that is not free after so many attempts is given up.
  private static let attemptLimit = 12

  func begin() { open(attempts: 0) }

  /// Goes on with what waits for the folder.
  func tick() {
    guard !isStopped, !isBusy else { return }
    switch state {
    case .waiting(let attempts): open(attempts: attempts)
    case .reopening(let handover, let cause):
      reopen(handover, cause)
      proceed()
    case .yielding(let attempts): comeBack(attempts: attempts + 1)
    case .locked: tryOnce()
    case .running: listenToMissing()
    case .asleep, .ended: break
    }
  }

  // MARK: - Opening

  private func open(attempts: Int) {
    do {
      try openFolder(as: appliedUser)
      hasOpened()
    } catch {
      if isDying { return kill() }
      guard Self.isWorthwhile(error) else { return end(because: error) }
      let isFileHeld = ((error as? StoreError)?.sqliteCode ?? 0) != 0
      world.note("\(name) waits for the folder: \(error)")
      guard !isFileHeld, attempts >= Self.attemptLimit else {
        state = .waiting(attempts: isFileHeld ? attempts : attempts + 1)
        return
      }
      endRequest.withdraw()
      state = .locked
      handleHeldCalls()
    }
  }

  /// Opens the folder for a call after the wait for it was given up.
  func tryOnce() {
    do {
      try openFolder(as: appliedUser)
      hasOpened()
    } catch {
      endRequest.withdraw()
      if isDying { return kill() }
      if !Self.isWorthwhile(error) { end(because: error) }
    }
  }

  private func hasOpened() {
    state = .running
    driver.enqueue(.start)
    proceed()
  }

  /// Listens, and makes the calls that were held.
  private func proceed() {
    guard isRunning else { return isDying ? kill() : () }
    handleInbox()
    handleHeldCalls()
    listenToMissing()
  }

  private func handleHeldCalls() {
    guard !isBusy else { return }
    while isRunning, !heldCalls.isEmpty {
      driver.enqueue(event(of: heldCalls.removeFirst()))
      handleInbox()
    }
    switch state {
    case .locked: refuseHeldCalls()
    // A process that is gone says nothing.
    case .ended: isDying ? heldCalls = [] : refuseHeldCalls()
    default: break
    }
  }

  private func refuseHeldCalls() {
    let calls = heldCalls
    heldCalls = []
    for call in calls { refuse(call) }
  }

  static func isWorthwhile(_ error: any Error) -> Bool {
    if case CacheError.otherBackend = error { return true }
    return (error as? StoreError)?.kind == .unavailable
  }

  // MARK: - Reopening

  func reopenIfNeeded() {
    while isRunning, !isDying, let client, let cause = client.store.reopening {
      world.note("\(name) reopens its cache: \(cause.reason)")
      if cause.isDamage { reopeningCount += 1 }
      guard reopeningCount < 20 else {
        fail("the cache is reopened again and again: \(cause.reason)")
        return kill()
      }
      let handover = client.engine.handOver()
      if case .fileIsDamaged(let reason) = cause {
        do { try client.cache.markDamaged(reason) } catch { fail("the damage cannot be marked: \(error)") }
        world.wakeAll()
      }
      closeFolder()
      reopen(handover, cause)
    }
  }

  private func reopen(_ handover: SyncHandover, _ cause: Reopening) {
    do {
      try openFolder(as: handover.user)
      client?.engine.takeOver(handover, reason: cause.reason)
      state = .running
      // In the same step: it may be reopened at once, and callers have been answered.
      driver.handle(.start)
    } catch {
      if isDying { return }
      world.note("\(name) waits for the folder: \(error)")
      guard Self.isWorthwhile(error) else {
        abandon(Set(handover.heldWriteIDs.map(\.rawValue)))
        return end(because: error)
      }
      state = .reopening(handover, cause)
    }
  }

  /// Tells the callers of writes that have no answer, except of those that wait for the folder.
  ///
  /// - Parameter unsaved: The writes that are not stored.
  private func abandon(_ unsaved: Set<Int>) {
    let held = Set(heldCalls.flatMap(\.writes).map(\.id.rawValue))
    for number in world.ledger.waiting(in: name) where !held.contains(number) {
      if unsaved.contains(number) { notSaved(number) } else { world.ledger.told(number, .outOfReach) }
    }
  }

  private var unsavedWrites: Set<Int> { Set(client?.engine.heldWriteIDs.map(\.rawValue) ?? []) }

  // MARK: - Giving the folder back

  func giveWayIfNeeded() {
    guard isRunning, let client else { return }
    if let error = client.store.ending {
      driver.handle(.shutdown)
      return end(because: error)
    }
    guard wasAskedToYield else { return }
    wasAskedToYield = false
    guard client.cache.isWantedByOther else { return }
    giveBack(.yielding(attempts: 0))
  }

  private func giveBack(_ state: State) {
    world.note("\(name) gives the folder back")
    driver.handle(.suspend)
    if isDying { return }
    client?.cache.suspend()
    wasAway = true
    self.state = state
  }

  /// The system suspends the process.
  func suspend() {
    guard isRunning, !isBusy, !isStopped else { return }
    giveBack(.asleep)
    if isDying { kill() }
  }

  private func comeBack(attempts: Int) {
    guard let client else { return }
    if client.cache.isWantedByOther, attempts < Self.attemptLimit {
      state = .yielding(attempts: attempts)
      return
    }
    do {
      try resume(client)
    } catch {
      end(because: (error as? StoreError)?.kind == .newerSchema ? error : FolderSimulation.wasTaken)
    }
  }

  func wakeUp() {
    guard case .asleep = state, !isStopped, let client else { return }
    do {
      try resume(client)
    } catch {
      world.note("\(name) cannot use the folder any more: \(error)")
      abandon(unsavedWrites)
      closeFolder()
      state = .locked
      if !heldCalls.isEmpty { tryOnce() }
      handleHeldCalls()
    }
  }

  private func resume(_ client: Client) throws {
    guard try client.cache.resume() else { throw FolderSimulation.wasTaken }
    state = .running
    world.note("\(name) uses the folder again")
    driver.enqueue(.resume)
    proceed()
  }

  // MARK: - Ends

  /// The client ends with an error, and leaves the cache as it is.
  private func end(because error: any Error) {
    world.note("\(name) ends: \(error)")
    world.checkReason(error, of: self)
    endRequest.withdraw()
    abandon(unsavedWrites)
    closeFolder()
    state = .ended
    refuseHeldCalls()
  }

  /// Ends in good order.
  func stop() {
    guard !isBusy, !isStopped else { return }
    wakeUp()
    if case .yielding = state { comeBack(attempts: Self.attemptLimit) }
    tick()
    guard !isEnded else { return }
    world.note("\(name) is terminated")
    switch state {
    case .running:
      driver.handle(.stopSending)
      if !isDying { driver.handle(.shutdown) }
    case .reopening(let handover, _): abandon(Set(handover.heldWriteIDs.map(\.rawValue)))
    default: break
    }
    if isDying { return kill() }
    abandon(unsavedWrites)
    closeFolder()
    endRequest.withdraw()
    state = .ended
    refuseHeldCalls()
  }

  /// The process is gone. Its files stay as they are, without its locks.
  func kill() {
    guard !isEnded else { return }
    world.note("\(name) is gone")
    let stored = world.numbersInFile()
    if let client {
      client.cache.database.injectFailure = nil
      client.cache.database.keepLogAtClose()
      client.cache.suspend()
      client.cache.database.close()
    }
    endRequest.withdraw()
    forgetClient()
    heldCalls = []
    state = .ended
    for number in world.ledger.waiting(in: name) {
      world.ledger.callerIsGone(number, isStored: stored.contains(number))
    }
  }
}
