internal import HearthModel
internal import HearthStore

/// The rows for the targets that the clients use. Its methods do nothing for a cache with a single client.
extension ClientSharing {
  // MARK: - The uses of this client

  /// Enters that this client uses a target.
  func use(_ target: TargetID, isWatched: Bool) throws {
    guard let member = membership else { return }
    try clients.use(target, by: member.client, isWatched: isWatched)
  }

  /// Tells other clients that this one uses a target. One that was taken for dead does so when it rejoins: nobody would ever remove what
  /// it enters under its former id.
  func announceUse(of target: TargetID, isWatched: Bool) throws {
    guard let member = membership, try clients.contains(member.client) else { return }
    try clients.use(target, by: member.client, isWatched: isWatched)
    try tell(.clients)
  }

  /// Enters that a bundle of this client has filled a target, if nobody uses that.
  func useForBundle(_ target: TargetID) throws {
    guard let member = membership, try !clients.isUsed(target), try clients.contains(member.client) else { return }
    try clients.use(target, by: member.client, isWatched: false)
  }

  /// Returns true if some client wants the backend to be asked for the target.
  func isWatched(_ target: TargetID) throws -> Bool { try clients.isWatched(target) }

  func stopWatching(_ target: TargetID) throws {
    guard let member = membership else { return }
    try clients.stopWatching(target, by: member.client)
    try tell(.clients)
  }

  func stopUsing(_ target: TargetID) throws {
    guard let member = membership else { return }
    try clients.stopUsing(target, by: member.client)
    try tell(.clients)
  }

  /// Ends the use of a target whose last listener has gone. The holder of the lease gives it up for all.
  func release(_ target: TargetID) throws {
    guard let member = membership else { return }
    try clients.stopUsing(target, by: member.client)
    if isPrimary { try giveUp(target) }
    try tell(.clients)
  }

  /// The uses that the file has of this client; nil for one that others have taken for dead, which joins them again first.
  func storedUses() throws -> [TargetID: Bool]? {
    guard let client = membership?.client, try clients.contains(client) else { return nil }
    return try clients.targets(of: client)
  }

  /// Ends uses of this client that were not ended in the file.
  func endUses(_ ended: [TargetID], unwatched: [TargetID]) throws {
    guard let client = membership?.client else { return }
    for target in ended { try clients.stopUsing(target, by: client) }
    for target in unwatched { try clients.stopWatching(target, by: client) }
  }

  // MARK: - The targets of others

  /// The targets that other clients use, and whether one of them wants the backend to be asked for it.
  func targetsOfOthers() throws -> [TargetID: Bool] {
    guard let member = membership else { return [:] }
    return try clients.targets(exceptOf: member.client)
  }

  /// The targets that other clients use or, if this is not the holder of the lease, that the holder keeps in memory for them.
  func targetsKeptForOthers() throws -> Set<TargetID> {
    guard isShared else { return [] }
    let followed = isPrimary ? [] : try clients.followedTargets()
    return Set(try targetsOfOthers().keys).union(followed)
  }

  /// The targets that any client uses.
  func usedTargets() throws -> Set<TargetID> { isShared ? try clients.usedTargets() : [] }

  func isUsed(_ target: TargetID) throws -> Bool { try isShared && clients.isUsed(target) }

  /// Lets other clients know that the row of a target must stay as it is when none of them uses it any more.
  func noteFollowed(_ target: TargetID) throws {
    guard let member = membership, member.holdsLease else { return }
    try clients.follow(target, leaseNumber: member.sharing.leaseNumber)
  }

  /// Notes that the holder of the lease has no view of a target any more.
  func giveUp(_ target: TargetID) throws {
    try clients.setAgreement(of: target, .open)
    try clients.stopFollowing(target)
  }

  /// Ends all uses of a target whose row is about to be cleared.
  ///
  /// - Parameter isOfBundle: True for a target under which a bundle keeps its documents.
  /// - Returns: False if it has to stay.
  func endUsesForClearing(_ target: TargetID, isOfBundle: Bool) throws -> Bool {
    guard let member = membership else { return true }
    // Loaded bundles count as used until their client ends, so that nothing but this removes them.
    if try !isOfBundle && clients.isUsed(target, byOthersThan: member.client) { return false }
    // The holder of the lease gives it up when it hears that nobody uses it any more.
    if try !isPrimary && clients.isFollowed(target) { return false }
    try clients.stopUsing(target)
    try clients.setAgreement(of: target, .open)
    return true
  }

  // MARK: - Agreement with the backend

  /// Returns how far the view of the target at the holder of the lease agrees with the backend.
  func agreement(of target: TargetID) throws -> TargetAgreement {
    isShared ? try clients.agreement(of: target) : .open
  }

  /// Tells the others how far targets agree with the backend.
  func publish(_ states: [TargetID: TargetAgreement]) throws {
    for (target, agreement) in states.sorted(by: { $0.key < $1.key }) {
      try clients.setAgreement(of: target, agreement)
      try tell(.targetState(target))
    }
  }

  /// Tells the others that the backend has refused a target.
  func publishRejection(of target: TargetID, _ error: StatusError) throws {
    try clients.setAgreement(of: target, .open)
    try clients.stopUsing(target)
    try tell(.targetRejected(target, error))
  }

  /// Tells the others that a target whose keys they compare has other documents.
  func tellOfKeys(of target: TargetID, areComplete: Bool) throws {
    guard hasOthers else { return }
    // The documents do not count as the result until the holder of the lease has said so again.
    if !areComplete { try clients.setAgreement(of: target, .open) }
    try tell(.targetState(target))
  }
}
