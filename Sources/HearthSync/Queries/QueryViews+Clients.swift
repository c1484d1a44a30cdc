internal import HearthCache
internal import HearthModel

/// The views that one client keeps for the other clients of its cache, and the change of roles.
extension QueryViews {
  /// The targets that have views.
  var targets: Set<TargetID> { Set(queries.ids.compactMap { queries[$0]?.targetID }) }

  /// The targets that have views and must be watched.
  var watchedTargets: Set<TargetID> {
    targets.filter(isWanted)
  }

  /// The targets that have listeners here, with true for those to watch at the backend.
  var ownTargets: [TargetID: Bool] {
    queries.ids.reduce(into: [:]) { targets, id in
      guard let query = queries[id], !query.listeners.isEmpty else { return }
      targets[query.targetID] = (targets[query.targetID] ?? false) || query.hasBackendListeners
    }
  }

  /// True if the target has a listener here.
  func hasListeners(on target: TargetID) -> Bool {
    queries.queries(of: target).contains { !$0.listeners.isEmpty }
  }

  /// True if another client may show the document although the view that this one keeps for it does not.
  ///
  /// That happens where a pending write of its user takes a document out of a limited result, and the next one moves up.
  func mayBeShownByOthers(_ key: DocumentKey) -> Bool {
    foreignTargets.keys.contains { target in
      queries.queries(of: target).contains { $0.query.limit != nil && CollectionScope(of: $0.query).contains(key) }
    }
  }

  /// The documents that some view shows.
  var shownKeys: Set<DocumentKey> {
    queries.ids.reduce(into: []) { keys, id in
      for document in queries[id]?.view.documents.documents ?? [] { keys.insert(document.key) }
    }
  }

  /// The agreement of each target's views with the backend. Other clients, which know nothing of documents in limbo, would wait permanently
  /// without hearing of a dispute.
  var syncStates: [TargetID: TargetAgreement] {
    var states: [TargetID: TargetAgreement] = [:]
    for id in queries.ids {
      guard let query = queries[id] else { continue }
      states[query.targetID] = min(states[query.targetID] ?? .complete, query.view.agreement)
    }
    return states
  }

  /// True if a view with listeners to the backend's state waits for it.
  var waitForBackend: Bool {
    queries.ids.contains { id in
      queries[id].map { $0.hasBackendListeners && !$0.view.isAnswered } ?? false
    }
  }

  /// True if a view has listeners to the backend's state.
  var wantBackend: Bool { queries.ids.contains { queries[$0]?.hasBackendListeners ?? false } }

  /// Notes that other clients use a target that has a view.
  ///
  /// - Parameter isWatched: True if they want the backend to be asked for it.
  mutating func keepForOthers(_ target: TargetID, isWatched: Bool) {
    assert(hasView(on: target), "Target \(target) is kept for others without a view.")
    foreignTargets[target] = isWatched
    // That nobody wants it any more is noted when the backend is told so.
    if isWatched { _ = updateWatcher(of: target) }
  }

  /// Notes that no other client uses a target any more. Its view goes if it has no listener here.
  private mutating func dropForOthers(_ target: TargetID) -> [Action] {
    guard foreignTargets.removeValue(forKey: target) != nil else { return [] }
    var actions: [Action] = []
    for id in queries.ids(of: target) where queries[id]?.listeners.isEmpty == true {
      queries.remove(id)
      actions += Self.lookups(limbo.viewRemoved(id))
    }
    return unwatchIfUnused(target) + actions
  }

  /// The targets whose use by other clients may have changed, first those that they do not use any more.
  ///
  /// - Parameter others: The targets of other clients; true if they want the backend to be asked for it.
  func targetsToFollow(_ others: [TargetID: Bool]) -> [TargetID] {
    foreignTargets.keys.filter { others[$0] == nil }.sorted() + others.keys.sorted()
  }

  /// Follows what other clients want of a target, at the client that has the streams.
  ///
  /// - Parameters:
  ///   - isWatched: True if they want the backend to be asked for it; nil if they do not use it any more.
  ///   - isAskedFor: True if the backend is asked for it now.
  ///   - hasWaitingListener: True if a listener of this client waits for its first result.
  mutating func follow(
    _ target: TargetID, isWatched: Bool?, isAskedFor: Bool, hasWaitingListener: Bool, onlineState: OnlineState,
    in localStore: LocalStore
  ) throws -> [Action] {
    guard let isWatched else {
      if !hasListeners(on: target) {
        try localStore.dropTarget(target, unconfirmedKeys: unconfirmedKeys(of: target))
      }
      return dropForOthers(target)
    }
    guard foreignTargets[target] != isWatched else { return [] }
    var data: TargetData?
    var actions: [Action] = []
    if !hasView(on: target) {
      (data, actions) = try adopt(
        target, isWatched: isWatched, hasWaitingListener: hasWaitingListener, onlineState: onlineState, in: localStore)
    } else if isWatched, !isAskedFor {
      data = try localStore.adoptTarget(target)
      try takeOverConfirmedKeys(of: target, from: localStore)
    } else if foreignTargets[target] == nil {
      try localStore.followTarget(target)
    }
    guard hasView(on: target) else { return actions }
    keepForOthers(target, isWatched: isWatched)
    if !isWatched { return actions + unwatchIfUnused(target) }
    return actions + (data.map { [.watch($0)] } ?? [])
  }

  /// The row of a target has gone while this client was taken for dead, and another one has taken its place.
  mutating func move(_ former: TargetID, to target: TargetID) {
    assert(!resolvesLimbo, "Target \(former) is moved at the client that has the streams.")
    queries.move(former, to: target)
  }

  /// Takes note of whether another client has another user. So far the views may not have heard of each change of the keys.
  mutating func noteOtherUsers(_ exist: Bool) -> [Action] {
    guard hasOtherUsers != exist else { return [] }
    hasOtherUsers = exist
    for id in queries.ids { queries.update(id) { $0.view.noteOtherUsers(exist) } }
    return resolvesLimbo ? [] : [.synchronize]
  }

  /// Takes over the keys that the file has for a target.
  mutating func takeOver(_ confirmedKeys: Set<DocumentKey>, of target: TargetID) {
    for id in queries.ids(of: target) { queries.update(id) { $0.view.takeOver(confirmedKeys: confirmedKeys) } }
  }

  /// This client has the streams from now on.
  ///
  /// - Parameter confirmedKeys: The keys that the file has for each target.
  mutating func beginToResolveLimbo(confirmedKeys: [TargetID: Set<DocumentKey>]) {
    resolvesLimbo = true
    for id in queries.ids {
      queries.update(id) { $0.view.takeOver(confirmedKeys: confirmedKeys[$0.targetID] ?? []) }
    }
    for target in targets { _ = updateWatcher(of: target) }
  }

  /// Another client has the streams from now on. The views of targets without listeners here go.
  ///
  /// - Returns: The targets whose views went.
  mutating func stopResolvingLimbo() -> [TargetID] {
    // Includes targets that only other clients want: the next holder keeps them, and reports when they are no longer in sync.
    let wanted = watchedTargets
    resolvesLimbo = false
    limbo.removeAll()
    let gone = foreignTargets.keys.filter { !hasListeners(on: $0) }.sorted()
    for id in queries.ids {
      if queries[id]?.listeners.isEmpty == true { queries.remove(id) }
    }
    foreignTargets = [:]
    // The documents that views wait for are read again with everything else.
    for target in targets { _ = setWatcher(wanted.contains(target) ? .otherClient : .nobody, of: target) }
    return gone
  }
}
