package import HearthModel
internal import HearthStore

/// Targets whose rows other clients use or have written.
extension LocalStore {
  /// Takes a target that another client uses into use here as well, or reads its row again if it is.
  ///
  /// - Returns: Nil if it has no row any more.
  package func adoptTarget(_ targetID: TargetID) throws -> TargetData? {
    // Nothing is written, so a former holder of the lease does no harm.
    try read("Get target data") {
      guard let known = try targets.targetData(targetID) else { return nil }
      return try database.part("Allocate target") {
        setActive(known)
        return known
      }
    }
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
      try clients.setCurrent(targetID, false)
      forgetTarget(targetID)
    }
  }

  /// Reads the rows of the targets in use again, when the lease is taken: they were another client's business, and what is in memory
  /// of them must not be written back.
  func readActiveTargetsAgain() throws {
    for target in state.targets.keys.sorted() {
      guard let data = try targets.targetData(target) else { continue }
      state.targets[target] = ActiveTarget(data: data, persisted: data)
    }
  }
}
