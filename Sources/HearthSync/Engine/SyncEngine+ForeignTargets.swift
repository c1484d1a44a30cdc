internal import HearthCache
internal import HearthModel

/// Targets that other clients use, at the client that has the streams, and rows of targets that others have removed.
extension SyncEngine {
  /// Watches what other clients want to be watched, and nothing else of theirs.
  func followOthers() throws {
    guard isPrimary else { return }
    let others = try localStore.targetsOfOthers()
    // With the last client of a target goes what was told of it. The next one is told again.
    for target in membership.published.agreeing(among: others.keys)
    where try localStore.agreement(of: target) == .open { membership.published.forget(target) }
    // One that cannot be followed does not keep the others from it.
    var failure: (any Error)?
    func attempt(_ operation: () throws -> Void) throws {
      do {
        try operation()
      } catch {
        guard localStore.mayConcernOneTarget(error) else { throw error }
        failure = error
      }
    }
    for target in views.foreignTargets.keys.sorted() where others[target] == nil {
      try attempt { try leaveOut(target) }
    }
    for (target, isWatched) in others.sorted(by: { $0.key < $1.key }) {
      try attempt { try follow(target, isWatched: isWatched) }
    }
    if let failure { throw failure }
  }

  /// Ends the view of a target that no other client uses any more.
  private func leaveOut(_ target: TargetID) throws {
    if !views.hasListeners(on: target) {
      try localStore.dropTarget(target, unconfirmedKeys: views.unconfirmedKeys(of: target))
    }
    follow(views.dropForOthers(target))
  }

  private func follow(_ target: TargetID, isWatched: Bool) throws {
    guard views.foreignTargets[target] != isWatched else { return }
    var data: TargetData?
    if !views.hasView(on: target) {
      data = try adopt(target, isWatched: isWatched)
    } else if isWatched, !link.isWatched(target) {
      data = try localStore.adoptTarget(target)
      try views.takeOverConfirmedKeys(of: target, from: localStore)
    } else if views.foreignTargets[target] == nil {
      try localStore.followTarget(target)
    }
    guard views.hasView(on: target) else { return }
    views.keepForOthers(target, isWatched: isWatched)
    if isWatched, let data {
      follow(link.watch(data, confirmed: confirmedKeys))
    } else if !isWatched {
      follow(views.unwatchIfUnused(target))
    }
  }

  /// Gives a target that another client uses a view here.
  ///
  /// - Returns: Nil if it has no row any more.
  private func adopt(_ target: TargetID, isWatched: Bool) throws -> TargetData? {
    let (data, actions) = try views.adopt(
      target, isWatched: isWatched, hasWaitingListener: queryRuns.hasBackgroundListen(for: target),
      onlineState: link.onlineState, in: localStore)
    follow(actions)
    return data
  }

  /// Takes the targets of all clients into use, each with a view.
  ///
  /// - Returns: The targets, and false if one of another client could not be taken into use.
  func adoptAll() throws -> (targets: [TargetID: TargetData], isComplete: Bool) {
    let others = try localStore.targetsOfOthers()
    var targets: [TargetID: TargetData] = [:]
    var isComplete = true
    for target in views.targets.union(queryRuns.targets).sorted() {
      targets[target] = try localStore.adoptTarget(target)
    }
    for (target, isWatched) in others.sorted(by: { $0.key < $1.key }) {
      do {
        if targets[target] == nil { targets[target] = try adopt(target, isWatched: isWatched) }
        if views.hasView(on: target) { views.keepForOthers(target, isWatched: isWatched) }
      } catch {
        guard localStore.mayConcernOneTarget(error) else { throw error }
        isComplete = false
      }
    }
    return (targets, isComplete)
  }

  // MARK: - Own targets

  /// The targets of the listeners of this client, and whether the backend should be asked for them.
  var ownTargets: [TargetID: Bool] {
    queryRuns.ownTargets.merging(views.ownTargets) { $0 || $1 }
  }
}
