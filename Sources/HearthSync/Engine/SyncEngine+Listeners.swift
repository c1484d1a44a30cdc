internal import HearthCache
internal import HearthModel
internal import HearthStore

extension SyncEngine {
  // MARK: - Listening

  func listen(_ id: ListenerID, to query: Query, _ options: ListenOptions) {
    guard !views.hasListener(id), !queryRuns.hasBackgroundListen(id), !held.holds(id) else {
      log(.error, "Listener \(id.rawValue) is in use; a second listen under the same number is ignored.")
      return
    }
    let needsTarget = views.needsTarget(for: query, options)
    // To take the target into use, a read would wait for the same process a second time.
    if options.isOneTimeRead, let error = storeWritesBeforeRead(needsFile: needsTarget), needsTarget {
      return emit(.raiseError(id, .listenFailed(error)))
    }
    if options.reportsTransfer { transfers.begin(id, query) }
    let listen = HeldListen(id: id, query: query, options: options)
    // The writes before it wait: it begins with them.
    if !held.isEmpty, needsTarget, !options.isOneTimeRead { return follow(held.wait(listen)) }
    follow(queryRuns.listen(listen, hasView: views.hasView(of: query)))
  }

  /// Starts a listener and gives it its first snapshot.
  ///
  /// - Parameter initial: the first state of the view if the query has none, nil for running the query now.
  func begin(_ id: ListenerID, to query: Query, _ options: ListenOptions, _ initial: InitialViewState?) {
    // Then the listener may get what was said before.
    let isOpen =
      options.needsFreshAnswer && isPrimary && link.onlineState != .offline
      && views.targetID(of: query.target).map(link.isWatched) ?? false
    var target: TargetData?
    do {
      if views.needsTarget(for: query, options) {
        var allocated = try localStore.allocateTarget(query.target, isWatched: options.source == .default)
        if !isPrimary, options.source == .default, views.hasView(of: query) {
          try showNews()
          // The backend has refused the target in between.
          guard views.hasView(of: query) else { return begin(id, to: query, options, nil) }
          // The use of the target may have been stored again without this listener.
          allocated = try localStore.allocateTarget(query.target)
        }
        if isPrimary, options.source == .default, !link.isWatched(allocated.targetID) {
          try views.takeOverConfirmedKeys(of: allocated.targetID, from: localStore)
        }
        if !views.hasView(of: query) {
          let (actions, failure) = views.activate(
            query, on: allocated, initial, isWatched: options.source == .default, isPrimary: isPrimary,
            onlineState: link.onlineState, in: localStore)
          follow(actions)
          if let failure { throw failure }
        }
        target = allocated
      }
    } catch {
      let listen = HeldListen(id: id, query: query, options: options)
      return follow(held.listenFailed(listen, error, now: now, in: localStore))
    }
    follow(views.lookForOwnWrites(of: query, in: localStore))
    let awaitsPrimary = membership.mustHearPrimary(
      options, isOffline: link.onlineState == .offline, isAnswered: views.isAnswered(query), at: now)
    follow(
      views.listen(
        id, to: query, options, target: target, onlineState: link.onlineState,
        awaitsFreshAnswer: isOpen || awaitsPrimary))
    if awaitsPrimary {
      views.awaitSignOfLife(id)
      return follow(membership.primaryWatch.readWaits())
    }
    guard isOpen, let known = views.targetID(of: query.target).flatMap({ link.request(for: $0) }) else { return }
    follow(views.readFreshly(id, known))
  }

  // MARK: - Listening while another process holds the file

  /// Begins the listeners that had to wait for another process, unless this one is about to be suspended: a query in the background would
  /// hold the file open.
  func beginHeldListens() throws {
    guard held.listens.isEmpty || !membership.isSuspended else {
      throw StoreError(kind: .unavailable, message: "The process is suspended.")
    }
    let waiting = held.takeListens()
    for (index, listen) in waiting.enumerated() {
      follow(queryRuns.listen(listen, hasView: views.hasView(of: listen.query)))
      guard held.listens.isEmpty else {
        waiting[(index + 1)...].forEach { held.hold($0) }
        throw StoreError(kind: .unavailable, message: "\(held.listens.count) listeners still wait for another process.")
      }
    }
  }

  /// Carries out actions of queries that have run, in order.
  func follow(_ runActions: [QueryRuns.Action]) {
    for action in runActions {
      switch action {
      case .emit(let action): emit(action)
      case .begin(let id, let query, let options, let view): begin(id, to: query, options, view)
      case .listenFailed(let listen, let error):
        follow(held.listenFailed(listen, error, now: now, in: localStore))
      case .release(let target): releaseIfUnused(target)
      case .followOthers: if isPrimary, localStore.hasOtherClients { emit(retries.appendOnce(.followOthers)) }
      case .considerIndexes(let query, let execution): emit(work.considerIndexes(for: query, after: execution))
      }
    }
  }

  func unlisten(_ id: ListenerID) {
    transfers.end(id)
    held.remove(id)
    guard views.hasListener(id) else { return follow(queryRuns.unlisten(id)) }
    follow(views.unlisten(id))
  }

  /// The backend refused the target: all its listeners end.
  func rejectQueries(of target: TargetID, _ error: StatusError) {
    follow(membership.publishRejection(of: target, error, in: localStore))
    follow(membership.release(target, unconfirmedKeys: views.unconfirmedKeys(of: target), in: localStore))
    emit(queryRuns.reject(target, error))
    follow(views.reject(target, error))
  }

  // MARK: - Targets

  /// Releases a target that neither shows a result nor waits for one.
  ///
  /// - Parameter unconfirmedKeys: The documents that its last view showed without confirmation.
  func releaseIfUnused(_ target: TargetID, unconfirmedKeys: Set<DocumentKey> = []) {
    guard !views.hasView(on: target), !queryRuns.hasBackgroundListen(for: target), localStore.isActive(target)
    else { return }
    follow(membership.release(target, unconfirmedKeys: unconfirmedKeys, in: localStore))
  }
}
