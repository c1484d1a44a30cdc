internal import HearthCache
internal import HearthModel

extension SyncEngine {
  // MARK: - Query listeners

  func listen(_ id: ListenerID, to query: Query, _ options: ListenOptions) {
    guard queries.id(of: id) == nil, !backgroundQueries.hasBackgroundListen(id) else {
      log(.error, "Listener \(id.rawValue) is in use; a second listen under the same number is ignored.")
      return
    }
    if listenInBackground(id, to: query, options) { return }
    begin(id, to: query, options, nil)
  }

  /// Starts a listener and gives it its first snapshot.
  ///
  /// - Parameter initial: the first state of the view if the query has none, nil for running the query now.
  func begin(_ id: ListenerID, to query: Query, _ options: ListenOptions, _ initial: InitialViewState?) {
    var listener = QueryListener(id: id, options: options, onlineState: link.onlineState)
    let queryID: QueryID
    do {
      let active = queries.id(of: query)
      let isWatched = active.flatMap { queries[$0]?.hasBackendListeners } ?? false
      if let active, isWatched || !listener.listensToBackend {
        queryID = active
      } else {
        let target = try localStore.allocateTarget(query.target)
        queryID = try active ?? activate(query, target, initial)
        if listener.listensToBackend {
          queries.update(queryID) { $0.view.startWatching() }
          follow(link.watch(target, confirmed: confirmedKeys))
        }
      }
    } catch {
      emit(.raiseError(id, .listenFailed(error)))
      return
    }
    let first = queries[queryID].flatMap { listener.viewChanged($0.view.snapshot()) }
    queries.add(listener, to: queryID)
    if let first {
      emit(.raiseSnapshot(id, first))
      raiseSnapshotsInSync()
    }
  }

  func unlisten(_ id: ListenerID) {
    guard let queryID = queries.id(of: id) else { return stopBackgroundListen(for: id) }
    queries.removeListener(id)
    guard let query = queries[queryID] else { return }
    if query.listeners.isEmpty {
      deactivate(queryID)
    } else {
      unwatchIfUnused(query.targetID)
    }
  }

  /// Gives the query a view on what the cache holds.
  private func activate(_ query: Query, _ target: TargetData, _ initial: InitialViewState?) throws -> QueryID {
    let sharesSyncedTarget = queries.queries(of: target.targetID).contains { $0.view.isSynced }
    do {
      let first = try initial ?? run(query)
      var view = View(query: query, confirmedKeys: first.confirmedKeys, hasCachedResults: !target.resumeToken.isEmpty)
      let outcome = view.begin(with: first, isCurrent: sharesSyncedTarget && link.onlineState != .offline)
      let id = queries.insert(query, targetID: target.targetID, view: view)
      resolveLimbo(limbo.viewChanged(id, entered: outcome.enteredLimbo, left: outcome.leftLimbo))
      return id
    } catch {
      releaseIfUnused(target.targetID, views: [])
      throw error
    }
  }

  private func run(_ query: Query) throws -> InitialViewState {
    let result = try localStore.run(query, usePreviousResults: true)
    considerIndexes(for: query, after: result.execution)
    return InitialViewState(query: query, result: result.documents, confirmedKeys: result.confirmedKeys)
  }

  /// Ends a query that has no listener any more.
  private func deactivate(_ id: QueryID) {
    guard let query = queries.remove(id) else { return }
    releaseIfUnused(query.targetID, views: [query.view])
    unwatchIfUnused(query.targetID)
    resolveLimbo(limbo.viewRemoved(id))
  }

  /// Releases a target that neither shows a result nor waits for one.
  func releaseIfUnused(_ target: TargetID, views: [View]) {
    guard queries.ids(of: target).isEmpty, !backgroundQueries.hasBackgroundListen(for: target),
      localStore.isActive(target)
    else { return }
    release(target, views: views)
  }

  /// Releases a target that is not listened to any more. Its row would only get a newer last-use mark and resume token. Stale ones
  /// are safe, so a failure is only logged.
  ///
  /// - Parameter views: what showed its documents until now.
  private func release(_ target: TargetID, views: [View]) {
    let unconfirmed = views.reduce(into: Set()) { $0.formUnion($1.unconfirmedKeys) }
    do {
      try localStore.releaseTarget(target, unconfirmedKeys: unconfirmed)
    } catch {
      log(.warning, "The end of target \(target) could not be stored: \(error)")
    }
  }

  private func unwatchIfUnused(_ target: TargetID) {
    guard !queries.queries(of: target).contains(where: \.hasBackendListeners) else { return }
    follow(link.unwatch(target))
    for id in queries.ids(of: target) {
      guard let outcome = queries.update(id, { $0.view.stopWatching() }) else { continue }
      resolveLimbo(limbo.viewChanged(id, entered: [], left: outcome.leftLimbo))
    }
  }

  /// The backend refused the target: all its listeners end.
  func rejectQueries(of target: TargetID, _ error: StatusError) {
    release(target, views: queries.queries(of: target).map(\.view))
    rejectBackgroundListens(for: target, error)
    for id in queries.ids(of: target) {
      guard let query = queries.remove(id) else { continue }
      if error.deservesWarning {
        log(.warning, "Listen for query at \(query.query.path.canonicalString) failed: \(error.message)")
      }
      for listener in query.listeners { emit(.raiseError(listener.id, error)) }
      resolveLimbo(limbo.viewRemoved(id))
    }
  }

  // MARK: - Snapshots in sync

  func addSnapshotsInSyncListener(_ id: ListenerID) {
    guard !snapshotsInSyncListeners.contains(id) else { return }
    snapshotsInSyncListeners.append(id)
    emit(.snapshotsInSync(id))
  }

  private func raiseSnapshotsInSync() {
    for id in snapshotsInSyncListeners { emit(.snapshotsInSync(id)) }
  }

  // MARK: - Views

  /// Shows changed documents in all views, as one round of snapshots.
  ///
  /// - Parameter event: The snapshot of the backend that changed them, if it was one.
  /// - Returns: Why some view could not be brought up to date, which is then on the list of what is repeated.
  @discardableResult
  func refreshViews(_ changes: DocumentMap, event: RemoteEvent? = nil) -> (any Error)? {
    // A result that is computed meanwhile does not have these changes.
    backgroundQueries.note(changes)
    var round: [(QueryID, ViewSnapshot)] = []
    var reports: [LocalViewChanges] = []
    var failure: (any Error)?
    for id in queries.ids {
      let outcome = queries.update(id) { query in
        let computed = computeChanges(changes, of: &query, &failure)
        return query.view.apply(
          computed, targetChange: event?.targetChanges[query.targetID],
          isPendingReset: event?.targetMismatches[query.targetID] != nil,
          snapshotVersion: event?.snapshotVersion ?? .none)
      }
      guard let outcome, let query = queries[id] else { continue }
      // Also for a view without a snapshot: what is in limbo may change without a visible change.
      resolveLimbo(limbo.viewChanged(id, entered: outcome.enteredLimbo, left: outcome.leftLimbo))
      if let snapshot = outcome.snapshot {
        round.append((id, snapshot))
        reports.append(LocalViewChanges(snapshot, targetID: query.targetID))
      }
    }
    // In one round after all views have changed, so that the mark "snapshots in sync" comes once, and behind all of them.
    raise(round)
    // A second transaction: what the views show follows from what was stored, and is only a help for later queries.
    report(reports)
    if let failure, !retries.refreshesViews {
      log(.error, "Views could not be read from the cache: \(failure)")
      retry(.refreshViews)
    }
    return failure
  }

  /// Computes changes, with a second look at the cache where documents fell out of a limit.
  private func computeChanges(
    _ changes: DocumentMap, of query: inout ActiveQuery, _ failure: inout (any Error)?
  ) -> View.Changes {
    let computed = query.view.computeChanges(changes)
    guard computed.needsRefill || query.viewIsIncomplete else { return computed }
    do {
      let documents = try localStore.execute(query.query, usePreviousResults: false).documents
      query.viewIsIncomplete = false
      return query.view.computeChanges(documents, after: computed)
    } catch {
      query.viewIsIncomplete = true
      failure = error
      return computed
    }
  }

  /// Tells the cache what the views show now. It uses that to answer queries faster, so a failure is of no consequence.
  private func report(_ changes: [LocalViewChanges]) {
    guard !changes.isEmpty else { return }
    do {
      try localStore.notifyLocalViewChanges(changes)
    } catch {
      log(.warning, "What the views show could not be stored: \(error)")
    }
  }

  /// Tells the listeners about one round of snapshots.
  private func raise(_ round: [(QueryID, ViewSnapshot)]) {
    var hasRaised = false
    for (id, viewSnapshot) in round {
      let raised = queries.update(id) { query in
        query.listeners.indices.compactMap { index -> SyncAction? in
          let snapshot = query.listeners[index].viewChanged(viewSnapshot)
          return snapshot.map { .raiseSnapshot(query.listeners[index].id, $0) }
        }
      }
      emit(raised ?? [])
      if raised?.isEmpty == false { hasRaised = true }
    }
    if hasRaised { raiseSnapshotsInSync() }
  }

  /// Tells views and listeners what the online state is now.
  func showOnlineState(_ state: OnlineState) {
    var round: [(QueryID, ViewSnapshot)] = []
    var first: [SyncAction] = []
    for id in queries.ids {
      let snapshot = queries.update(id) { query -> ViewSnapshot? in
        let outcome = query.view.apply(onlineState: state)
        for index in query.listeners.indices {
          if let snapshot = query.listeners[index].onlineStateChanged(state) {
            first.append(.raiseSnapshot(query.listeners[index].id, snapshot))
          }
        }
        return outcome.snapshot
      }
      if let snapshot = snapshot ?? nil { round.append((id, snapshot)) }
    }
    emit(first)
    if !first.isEmpty { raiseSnapshotsInSync() }
    raise(round)
  }

  // MARK: - Limbo

  func resolveLimbo(_ actions: [LimboResolutions.Action]) {
    for action in actions {
      switch action {
      case .listen(let key, let targetID):
        log(.debug, "New document in limbo: \(key.canonicalString)")
        let target = TargetData(target: Query(path: key.path).target, targetID: targetID, purpose: .limboResolution)
        follow(link.watch(target, confirmed: confirmedKeys))
      case .unlisten(let targetID):
        follow(link.unwatch(targetID))
      }
    }
  }
}

extension LocalViewChanges {
  fileprivate init(_ snapshot: ViewSnapshot, targetID: TargetID) {
    self.init(targetID: targetID, isFromCache: snapshot.isFromCache)
    for change in snapshot.changes {
      switch change.kind {
      case .added: addedKeys.insert(change.document.key)
      case .removed: removedKeys.insert(change.document.key)
      case .modified, .metadata: break
      }
    }
  }
}
