package import HearthModel
package import HearthStore

/// One of several clients of a cache.
extension LocalStore {
  // MARK: - Joining and leaving

  /// Takes this client from those of the cache, and gives the lease back. The others hear of it.
  package func leave() throws {
    defer { sharing.locks?.releaseLease() }
    guard sharing.isShared else { return }
    try transactions.run("Leave cache") { try sharing.leave() }
  }

  /// Resumes after a time in which the others may have taken this client for dead, and its targets for unused.
  ///
  /// - Parameter isWatched: True for a target in use that is watched at the backend.
  /// - Returns: The targets in use whose rows were removed, with their replacements.
  package func rejoin(isWatched: (TargetID) -> Bool) throws -> [TargetID: TargetID] {
    guard sharing.locks != nil else { return [:] }
    return try transactions.run("Join cache") {
      guard try sharing.rejoin(userKey: transactions.user.key) else { return [:] }
      let moved = try enter(Set(transactions.targets.targetIDs), isWatched: isWatched)
      try transactions.targets.forgetLoadedWithoutRow()
      for target in transactions.targets.loaded { try sharing.use(target, isWatched: false) }
      return moved
    }
  }

  /// Returns false when others have taken this client for dead.
  package func isMember() throws -> Bool {
    guard let member = sharing.membership else { return true }
    return try transactions.read("Look for client") { try sharing.clients.contains(member.client) }
  }

  /// The names of the other clients.
  package func otherClientNames() throws -> [String] {
    if let known = sharing.knownNamesOfOthers { return known }
    guard let member = sharing.membership else { return [] }
    let names = try transactions.read("List clients") {
      try sharing.clients.clients().filter { $0.id != member.client }.map(\.name)
    }
    sharing.noteNamesOfOthers(names, asOf: member)
    return names
  }

  /// Asks all clients of a cache to give its folder back.
  package static func askAllToEnd(_ database: Database) throws {
    try database.transaction("Ask clients to end") {
      _ = try NoticeTable(database: database).insert(.end, from: 0)
    }
  }

  /// The number of clients that have the cache open, this one included.
  package func clientCount() throws -> Int {
    try transactions.read("Count clients") { try sharing.clients.clients().count }
  }

  // MARK: - The lease

  /// True if this client may do what only the holder of the lease may, as far as it knows.
  package var isPrimary: Bool { sharing.isPrimary }

  /// The number of the lease that this client holds, as far as it knows.
  package var leaseNumber: Int64? { sharing.membership?.leaseNumber }

  /// True if there may be other clients.
  package var isShared: Bool { sharing.isShared }
  package var hasOtherClients: Bool { sharing.hasOthers }

  /// True if another client has another user, as of the last transaction.
  package var hasOtherUsers: Bool { sharing.hasOtherUsers }

  /// The online state that the last holder of the lease has told; unknown if it has left the cache.
  package var sharedOnlineState: OnlineState { sharing.onlineState }

  /// True if the file says that nobody holds the lease.
  package var leaseIsFree: Bool { sharing.leaseIsFree }

  /// True if this client takes itself for the holder of the lease and the file says otherwise.
  package var leaseIsLost: Bool { sharing.leaseIsLost }

  package enum LeaseState {
    /// As before, and no other client had it since.
    case held
    case taken
    case notHeld
  }

  /// Stores what this client says of itself, and keeps, takes or gives back the lease.
  ///
  /// A holder keeps it while its network is wanted, or while no other client would be better. Another client takes it if the lock is
  /// free, and either it wants its network and is visible or the one to whom the lease was left, or no living client is better: one that
  /// wants its network is better than one that does not, then a visible one is better than a hidden one (firebase-js-sdk
  /// indexeddb_persistence.ts, canActAsPrimary).
  ///
  /// - Returns: The state of the lease, which says if this client holds it now.
  package func updateClient(wantsNetwork: Bool, isVisible: Bool) throws -> LeaseState {
    guard let locks = sharing.locks, sharing.isShared else { return .held }
    do {
      return try transactions.run("updateClientMetadataAndTryBecomePrimary") {
        let state = try sharing.update(wantsNetwork: wantsNetwork, isVisible: isVisible, locks)
        if state == .taken { try transactions.targets.readAllAgain() }
        return state
      }
    } catch {
      sharing.releaseLockOfFailedUpdate()
      throw error
    }
  }

  /// True if ``updateClient(wantsNetwork:isVisible:)`` may change something. Writes nothing.
  package func roleMayChange(wantsNetwork: Bool, isVisible: Bool) throws -> Bool {
    guard let locks = sharing.locks, let member = sharing.membership else { return false }
    // It could not be stored when it changed, and the others go by what the file says of this client.
    if member.wantsNetwork != wantsNetwork || member.isVisible != isVisible { return true }
    guard member.leaseNumber != nil else { return locks.leaseIsFree }
    if leaseIsLost || !wantsNetwork { return true }
    return try otherClientNames().contains { !locks.isAlive($0) }
  }

  /// This client finds out that it does not hold the lease any more.
  package func leaseWasLost() { sharing.leaseWasLost() }

  /// Gives the lease back before this client stops for a while. It stays one of the clients.
  ///
  /// - Throws: The errors of the transaction. After an error the client still holds the lease, unless the lease is lost.
  package func giveBackLease() throws {
    try transactions.run("Give back lease", needsLease: true) { try sharing.setLease(holder: 0) }
    sharing.leaseWasLost()
  }

  // MARK: - Turns with the lease

  /// The client that should get the lease next: a living client with its network enabled, of another user with pending writes, or any
  /// client if the holder is cut off.
  ///
  /// - Returns: Nil if no other client would make better use of it.
  package func nextLeaseHeir(_ turn: LeaseTurnState) throws -> ClientID? {
    guard sharing.hasOthers else { return nil }
    let heirs = try transactions.read("Look for waiting users") {
      try sharing.heirs(turn, userKey: transactions.user.key, in: tables.queue)
    }
    return sharing.next(among: heirs, turn)
  }

  /// Leaves the lease to another client, whose turn it is now.
  ///
  /// - Parameter isFutile: True if this client's turn was of no use: without a connection, or with an outbox that waits for the
  ///   application. Its next turn is further away then.
  /// - Throws: The errors of the transaction. After an error the client still holds the lease, unless the lease is lost.
  package func leaveLease(to heir: ClientID, isFutile: Bool) throws {
    try transactions.run("Leave lease", needsLease: true) { try sharing.leaveLease(to: heir, isFutile: isFutile) }
    sharing.leaseWasLost()
  }

  /// Notes that this client, which holds the lease, has a connection, so that its former turns do not count any more.
  ///
  /// - Parameter endsOutage: True if it had none before. Then nobody could have had one, and nobody's former turns count.
  package func noteConnection(endsOutage: Bool) throws {
    guard endsOutage && sharing.hasOthers || futileTurnCount > 0 else { return }
    try transactions.run("Note connection", needsLease: true) { try sharing.forgetFutileTurns(ofAll: true) }
  }

  /// Makes this client one that may have its turn like all others, because something has changed that may help it.
  package func forgetFutileTurns() throws {
    guard futileTurnCount > 0 || wasPassedOver else { return }
    try transactions.run("Forget futile turns") {
      try sharing.forgetFutileTurns(ofAll: false)
      try sharing.tell(.clients)
    }
  }

  /// The number of this client's last turns with the lease that were of no use.
  package var futileTurnCount: Int { sharing.membership?.futileTurns ?? 0 }

  /// True if others have counted a turn with the lease that this client did not take, as one does that is stopped for a while.
  package var wasPassedOver: Bool { sharing.wasPassedOver }

  /// True if the lease is free and was left to another client, which had better take it.
  package var leaseIsLeftToOther: Bool { sharing.leaseIsLeftToOther }

  // MARK: - Publishing

  /// Returns true if notices were written since the last call: the others must be woken.
  package func takeHasTold() -> Bool { sharing.takeHasTold() }

  /// Tells the others how far targets agree with the backend. Only the holder of the lease may.
  package func publish(_ states: [TargetID: TargetAgreement]) throws {
    guard sharing.hasOthers, !states.isEmpty else { return }
    try transactions.run("Publish target states", needsLease: true) { try sharing.publish(states) }
  }

  /// Forgets which targets agree with the backend, while there is nobody to be told.
  package func unpublish() throws {
    try transactions.run("Publish target states", needsLease: true) { try sharing.clients.removeCurrentTargets() }
  }

  /// Tells the others the online state. Only the holder of the lease may.
  package func publish(_ online: OnlineState) throws {
    guard let member = sharing.membership, sharing.hasOthers, sharing.onlineState != online else { return }
    try transactions.run("Publish online state", needsLease: true) {
      try sharing.setLease(holder: member.client, online)
    }
  }

  /// Tells the others that the backend has refused a target.
  package func publishRejection(of target: TargetID, _ error: StatusError) throws {
    guard sharing.hasOthers else { return }
    try transactions.run("Publish rejected target", needsLease: true) {
      try sharing.publishRejection(of: target, error)
    }
  }

  /// Asks whether the holder of the lease runs.
  package func askForSignOfLife() throws {
    try transactions.run("Ask for sign of life") { try sharing.tell(.question) }
  }

  package func giveSignOfLife() throws {
    try transactions.run("Give sign of life", needsLease: true) { try sharing.tell(.signOfLife) }
  }

  /// Asks the holder of the lease to try at once to send what waits.
  package func askForRetry() throws {
    try transactions.run("Ask for retry") { try sharing.tell(.retryNow) }
  }

  // MARK: - Targets of others

  /// The targets that other clients use, and whether one of them wants the backend to be asked for it.
  package func targetsOfOthers() throws -> [TargetID: Bool] {
    guard sharing.isShared else { return [:] }
    return try transactions.read("Get targets of other clients") { try sharing.targetsOfOthers() }
  }

  /// Returns how far the view of the target at the holder of the lease agrees with the backend.
  package func agreement(of target: TargetID) throws -> TargetAgreement {
    guard sharing.isShared else { return .open }
    return try transactions.read("Get target state") { try sharing.agreement(of: target) }
  }

  /// The backend need not be asked for the target any more, as far as this client is concerned, which goes on using it.
  package func stopWatching(_ target: TargetID) throws {
    guard sharing.isShared else { return transactions.targets.setWatched(target, false) }
    try transactions.run("Stop watching target") { try sharing.stopWatching(target) }
  }

  /// The target has no listener of this client any more, but goes on being used for other clients.
  package func leaveTarget(_ target: TargetID) throws {
    guard sharing.isShared else { return }
    try transactions.run("Release target") { try sharing.stopUsing(target) }
  }
}
