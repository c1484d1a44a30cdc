package import HearthModel
internal import HearthStore

/// The targets that listeners of all clients use, in one transaction.
///
/// What this client's listeners show its views say. Of the others only the queries are known: a document that matches one, and that no
/// user has a pending write for, may be shown. With a limit that is more than is shown.
struct TargetsInUse {
  private var own: Set<TargetID>
  private var others: [TargetID: Query] = [:]

  init(of store: LocalStore) throws {
    own = Set(store.state.targets.keys)
    guard let client = store.state.membership?.client else { return }
    let followed = store.isPrimary ? [] : try store.clients.followedTargets()
    for target in try Set(store.clients.targets(exceptOf: client).keys).union(followed) {
      guard let data = try store.targets.targetData(target), !data.target.isOfBundle else { continue }
      others[target] = data.target.query
    }
  }

  func hold(_ targetIDs: [TargetID]) -> Bool {
    targetIDs.contains { own.contains($0) || others[$0] != nil }
  }

  /// Returns true if another client may show the document.
  func mayShow(_ document: Document) -> Bool {
    others.values.contains { query in
      query.path == document.key.path || CollectionScope(of: query).contains(document.key) && query.matches(document)
    }
  }
}

extension LocalStore {
  /// Removes the row of a target that no listener uses, with its resume token.
  ///
  /// - Returns: False if it stays, or has no row.
  func dropForClearing(_ targetID: TargetID) throws -> Bool {
    guard state.targets[targetID] == nil, let data = try targets.targetData(targetID) else { return false }
    if let member = state.membership {
      // Loaded bundles count as used until their client ends, so that nothing but this removes them.
      if try !data.target.isOfBundle && clients.isUsed(targetID, byOthersThan: member.client) { return false }
      // The holder of the lease gives it up when it hears that nobody uses it any more.
      if try !isPrimary && clients.isFollowed(targetID) { return false }
      try clients.stopUsing(targetID)
      try clients.setAgreement(of: targetID, .open)
    }
    state.bundleTargets.remove(targetID)
    guard isEager else {
      try targets.removeRow(targetID)
      return true
    }
    try touch(targets.keys(of: targetID))
    try targets.remove(targetID)
    return true
  }

  /// Removes a document that no target with a row holds and that has no pending writes.
  func removeForClearing(_ key: DocumentKey) throws {
    try targets.removeFromAll(key)
    try documents.remove(key)
    if !isEager { try uses.remove(key) }
    try tell(ofDocuments: [key])
  }

  /// Writes the file anew, without anything that was deleted.
  func rewriteFile() throws {
    // So that tests can make it fail like every other step.
    try transaction("Rewrite cache") {}
    try database.rewrite()
  }

  /// Does the next step of a run.
  ///
  /// - Parameter isShown: Returns true if a view of this client shows a document, or may do so once its first result is there.
  /// - Throws: when the step could not be stored; the run can be continued or given up then.
  package func advance(_ run: inout ClearingRun, isShown: (DocumentKey) -> Bool) throws {
    try run.step(on: self, isShown: isShown)
  }
}

extension Target {
  /// True for the targets under which bundles keep their documents. No listener can have them.
  var isOfBundle: Bool { path.segments.first == LocalStore.bundleCollection }
}
