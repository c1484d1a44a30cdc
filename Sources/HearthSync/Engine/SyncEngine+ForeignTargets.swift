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
    for target in views.targetsToFollow(others) {
      do {
        follow(
          try views.follow(
            target, isWatched: others[target], isAskedFor: link.isWatched(target),
            hasWaitingListener: queryRuns.hasBackgroundListen(for: target), onlineState: link.onlineState,
            in: localStore))
      } catch {
        guard localStore.mayConcernOneTarget(error) else { throw error }
        failure = error
      }
      // To store what the views show may have found that another client has the lease by now.
      guard isPrimary else { return }
    }
    if let failure { throw failure }
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
        if targets[target] == nil {
          let (data, actions) = try views.adopt(
            target, isWatched: isWatched, hasWaitingListener: queryRuns.hasBackgroundListen(for: target),
            onlineState: link.onlineState, in: localStore)
          follow(actions)
          targets[target] = data
        }
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
