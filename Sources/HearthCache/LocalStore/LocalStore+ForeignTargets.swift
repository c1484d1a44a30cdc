package import HearthModel
internal import HearthStore

/// Targets whose rows other clients use, have written or have removed.
extension LocalStore {
  /// Takes a target that another client uses into use here as well, or reads its row again if it is.
  ///
  /// - Returns: Nil if it has no row any more.
  package func adoptTarget(_ targetID: TargetID) throws -> TargetData? {
    // A former holder of the lease that has not found out yet writes nothing here, and does no harm.
    try transaction("Get target data") {
      guard let known = try targets.targetData(targetID) else { return nil }
      return try database.part("Allocate target") {
        try noteFollowed(targetID)
        try setActive(known)
        return known
      }
    }
  }

  /// Lets other clients know that the row of a target must stay as it is when none of them uses it any more.
  package func followTarget(_ targetID: TargetID) throws {
    try transaction("Follow target") { try noteFollowed(targetID) }
  }

  private func noteFollowed(_ targetID: TargetID) throws {
    guard let member = state.membership, member.holdsLease else { return }
    try clients.follow(targetID, leaseNumber: member.sharing.leaseNumber)
  }

  /// Forgets a target without a word in the file: this client has no view of it any more.
  package func forgetTarget(_ targetID: TargetID) {
    guard let active = state.targets.removeValue(forKey: targetID) else { return }
    state.targetIDs[active.data.target] = nil
  }

  /// Releases a target that no client uses any more, or fails and leaves it as it is.
  package func dropTarget(_ targetID: TargetID, unconfirmedKeys: Set<DocumentKey>) throws {
    try transaction("Release target", needsLease: true) {
      guard let active = state.targets[targetID] else { return }
      try touch(unconfirmedKeys.sorted())
      try targets.update(active.data.with(sequenceNumber: sequenceNumber()))
      try clients.setAgreement(of: targetID, .open)
      try clients.stopFollowing(targetID)
      forgetTarget(targetID)
    }
  }

  /// Reads the rows of the targets in use again, when the lease is taken: they were another client's business, and what is in memory
  /// of them must not be written back.
  func readActiveTargetsAgain() throws {
    for target in state.targets.keys.sorted() {
      guard let data = try rowOfActiveTarget(target) else { continue }
      state.targets[target] = ActiveTarget(data: data, persisted: data)
    }
  }

  /// The row of a target in use; nil if it has none.
  func rowOfActiveTarget(_ targetID: TargetID) throws -> TargetData? {
    guard let data = try targets.targetData(targetID) else { return nil }
    try checkRow(data)
    return data
  }

  /// The number of a target is never given again. What memory has of a target in use would else be taken for another one's.
  func checkRow(_ data: TargetData) throws {
    guard let active = state.targets[data.targetID], active.data.target != data.target else { return }
    throw CacheError.corruptRecord(
      table: "cache_targets", row: "\(data.targetID)", reason: "it holds another target than the one in use")
  }

  // MARK: - The uses of this client

  /// Brings the uses that the file has for this client in line with those that it has.
  ///
  /// A use that is missing was ended by the holder of the lease, because the backend had refused the target, and the notice of that was
  /// removed before this client read it. Watched again, it is refused again, and this client hears of it. One that should not be there
  /// has ended without being stored.
  ///
  /// - Parameter uses: The targets that have listeners here, and whether the backend is to be asked for them.
  /// - Returns: The targets in use whose rows were removed, with those that have taken their place.
  package func storeTargetUses(_ uses: [TargetID: Bool]) throws -> [TargetID: TargetID] {
    guard let client = state.membership?.client else { return [:] }
    let stored = try read("Look for targets") {
      // One that others have taken for dead joins them again first.
      try clients.contains(client) ? clients.targets(of: client) : nil
    }
    guard let stored else { return [:] }
    let wanted = uses.merging(state.bundleTargets.map { ($0, false) }) { isWatched, _ in isWatched }
    let missing = Set(uses.keys).subtracting(stored.keys).intersection(state.targets.keys)
    let ended = stored.keys.filter { wanted[$0] == nil }.sorted()
    let unwatched = stored.filter { $0.value && wanted[$0.key] == false }.keys.sorted()
    guard !missing.isEmpty || !ended.isEmpty || !unwatched.isEmpty else { return [:] }
    return try transaction("Allocate target") {
      for target in ended { try clients.stopUsing(target, by: client) }
      for target in unwatched { try clients.stopWatching(target, by: client) }
      let moved = try enter(missing) { uses[$0] ?? false }
      try tell(.clients)
      return moved
    }
  }

  /// Enters targets in use for this client, each with a row of its own if the former one is gone.
  ///
  /// - Returns: The targets that have got another row, with that.
  func enter(_ targetIDs: Set<TargetID>, isWatched: (TargetID) -> Bool) throws -> [TargetID: TargetID] {
    guard let client = state.membership?.client else { return [:] }
    var moved: [TargetID: TargetID] = [:]
    for former in targetIDs.sorted() {
      guard let active = state.targets[former] else { continue }
      let data = try rowOfActiveTarget(former) ?? row(for: active.data.target)
      if data.targetID != former { moved[former] = data.targetID }
      state.targets[former] = nil
      try setActive(data)
      try clients.use(data.targetID, by: client, isWatched: isWatched(former))
    }
    return moved
  }
}
