internal import HearthCache
internal import HearthModel
internal import HearthPlan

/// The queries that have listeners: their views, the listeners, and the documents in limbo.
///
/// It reads the cache that it is passed. It writes what its views show, and the use of a target for another client. The engine reports
/// changes and carries out the actions that each method returns, in order.
///
/// | state | written by |
/// |---|---|
/// | `queries`: a query's entry | ``activate(_:on:with:agreement:isWatched:onlineState:)``, ``unlisten(_:)``, ``reject(_:_:)`` |
/// | `queries`: a query's listeners | ``listen(_:to:_:target:onlineState:awaitsFreshAnswer:)``, ``unlisten(_:)`` |
/// | `queries`: a query's view | all of these, ``apply(_:event:refill:localDocuments:)``, ``show(_:)`` |
/// | `limbo` | every method that changes a view, ``limboRejected(_:)`` |
/// | `ownWriteWaits` | the check whether a view has a gap, ``boundWaitsForOwnWrites(now:)``, ``ownWritesTimerFired(now:)`` |
/// | `answerWaits` | ``listen(_:to:_:target:onlineState:awaitsFreshAnswer:)``, ``heard(of:now:)``, ``boundWaitsForAnswers(isWatching:now:)``, ``answerTimerFired(now:)`` |
/// | `freshReads` | ``readFreshly(_:_:)``, and every method that ends a read |
/// | `unreadKeys` | ``noteUnread(_:)``, ``noteRead()`` |
/// | `inSyncListeners` | ``addSnapshotsInSyncListener(_:)``, ``removeSnapshotsInSyncListener(_:)`` |
struct QueryViews {
  enum Action {
    case emit(SyncAction)
    /// Ask the backend for a target.
    case watch(TargetData)
    /// The backend need not send a target any more.
    case unwatch(TargetID)
    /// The target has no listener any more, but a view that other clients need.
    case leave(TargetID)
    /// Only listeners to the cache are left, of this client's.
    case stopWatching(TargetID)
    /// The target's last view is gone; the keys are those of the documents that it showed without confirmation.
    case release(TargetID, unconfirmedKeys: Set<DocumentKey>)
    /// The changes of views that have new snapshots. The cache uses them to answer queries faster.
    case report([LocalViewChanges])
    /// Show these documents as the cache has them, also those that were shown as before the acknowledgement of a write.
    case reread(Set<DocumentKey>)
    /// Show these documents, which were read from the cache.
    case show(DocumentMap)
    /// A view could not read the cache when it needed it: show later what it lacks.
    case readFailed(any Error)
    /// Show later the documents that could not be read.
    case showLater
    /// A query has run, and may lack an index.
    case considerIndexes(for: Query, after: QueryExecution)
    /// Bring all views in line with the file: there is news that a new one does not agree with.
    case synchronize
    /// Another client has the lease.
    case loseLease
  }

  var queries = QueryTable()
  var limbo: LimboResolutions
  var freshReads = FreshReads()
  var ownWriteWaits: OwnWriteWaits
  var answerWaits: AnswerWaits
  /// The targets that other clients use; true if they want the backend to be asked for it. Empty at a secondary client.
  var foreignTargets: [TargetID: Bool] = [:]
  /// True if documents in limbo are looked up: at the client that has the streams.
  var resolvesLimbo: Bool
  /// True if another client has another user, so that what a view shows is compared with the keys of its target.
  var hasOtherUsers: Bool
  /// The changes to store.
  var reports = ViewReports()
  /// The documents that views will show as the cache has them, and that are not read yet.
  private(set) var unreadKeys: Set<DocumentKey> = []
  /// The listeners that are notified when all views are in sync after a change, in the order of registration.
  private var inSyncListeners: [ListenerID] = []

  /// - Parameters:
  ///   - limboLimit: The number of documents that are looked up at a time.
  ///   - resolvesLimbo: False at a client that has no streams.
  ///   - hasOtherUsers: True if another client of the cache has another user.
  ///   - answerTimeout: The time that a read waits for a word of the backend, or for answers to writes of the user.
  init(
    limboLimit: Int, resolvesLimbo: Bool = true, hasOtherUsers: Bool = false, answerTimeout: Duration = .seconds(10)
  ) {
    self.hasOtherUsers = hasOtherUsers
    ownWriteWaits = OwnWriteWaits(timeout: answerTimeout)
    // A backend that says nothing at all is found to be out of reach before that.
    answerWaits = AnswerWaits(timeout: answerTimeout * 2)
    limbo = LimboResolutions(limit: limboLimit)
    self.resolvesLimbo = resolvesLimbo
  }

  // MARK: - State

  /// The confirmed keys of all targets, for one call of the link.
  var confirmedKeys: ConfirmedKeys { ConfirmedKeys(of: queries, and: limbo, freshReads) }

  /// The queries that have views, in the order in which they became active.
  var activeQueries: [Query] { queries.ids.compactMap { queries[$0]?.query } }

  /// The documents that are being looked up, with their targets.
  var activeLimboDocuments: [DocumentKey: TargetID] { limbo.active }
  /// The documents that wait to be looked up, in order.
  var enqueuedLimboDocuments: [DocumentKey] { limbo.enqueued }

  /// True if a view may have to run its query on the cache again when documents change.
  var mayReadCache: Bool {
    queries.ids.contains { id in queries[id].map { $0.query.limit != nil || $0.viewIsIncomplete } ?? false }
  }

  func hasListener(_ id: ListenerID) -> Bool { queries.id(of: id) != nil }
  func hasView(of query: Query) -> Bool { queries.id(of: query) != nil }
  func hasView(on target: TargetID) -> Bool { !queries.ids(of: target).isEmpty }

  func targetID(of query: Query) -> TargetID? {
    queries.id(of: query).flatMap { queries[$0]?.targetID }
  }

  /// True if a listener with these options needs the query's target: for a new view, or to be the first that listens to the backend.
  func needsTarget(for query: Query, _ options: ListenOptions) -> Bool {
    guard let active = queries.id(of: query).flatMap({ queries[$0] }), !active.listeners.isEmpty else { return true }
    return options.source == .default && !active.hasBackendListeners
  }

  /// True if a view shows the document. Documents in limbo are among those.
  func shows(_ key: DocumentKey) -> Bool {
    queries.ids.contains { queries[$0]?.view.documents.contains(key) ?? false }
  }

  /// The documents that views of the target show without confirmation.
  func unconfirmedKeys(of target: TargetID) -> Set<DocumentKey> {
    queries.queries(of: target).reduce(into: []) { $0.formUnion($1.view.unconfirmedKeys) }
  }

  /// The document that is looked up with the target; nil for the target of a query.
  func limboDocument(of target: TargetID) -> DocumentKey? { limbo.resolution(of: target)?.key }

  /// Checks in debug builds what must hold between two events.
  ///
  /// - Parameter isWatched: True if the link watches the target.
  func assertInvariants(isWatched: (TargetID) -> Bool) {
    queries.assertInvariants()
    assert(
      foreignTargets.isEmpty ? queries.listenerCount >= queries.ids.count : resolvesLimbo,
      "\(queries.listenerCount) listeners listen to \(queries.ids.count) queries; for other clients there are \(foreignTargets)."
    )
    limbo.assertInvariants()
    assert(
      limbo.active.values.allSatisfy(isWatched),
      "Documents are looked up with targets that are not watched: \(limbo.active).")
  }

  // MARK: - Listening

  /// Gives a query a view of what the cache holds. It has no listener yet.
  ///
  /// - Parameters:
  ///   - first: The result of running the query.
  ///   - agreement: The agreement of the result with the backend, as another client knows it.
  ///   - isWatched: True if the view is for a listener to the backend, of this client or another one.
  mutating func activate(
    _ query: Query, on target: TargetData, with first: InitialViewState, agreement: TargetAgreement = .open,
    isWatched: Bool, onlineState: OnlineState
  ) -> [Action] {
    let agreement = queries.queries(of: target.targetID).lazy.map(\.view.agreement).reduce(agreement, max)
    var view = View(
      query: query, confirmedKeys: first.confirmedKeys, hasCachedResults: target.completeVersion > .none,
      completeVersion: target.completeVersion, wasDropped: target.wasDropped,
      watcher: watcher(isWanted: isWatched || isWanted(target.targetID)), hasOtherUsers: hasOtherUsers)
    let outcome = view.begin(with: first, onlineState == .offline ? .open : agreement)
    let id = queries.insert(query, targetID: target.targetID, view: view)
    let actions = limboChanged(by: id, outcome)
    // No listener waits for it yet.
    let found = limbo.foundKeys
    if !found.isEmpty { queries.update(id) { $0.view.noteFound(found) } }
    return onlineState == .offline ? actions : actions + joinTarget(id)
  }

  /// Adds a listener to a query that has a view, and gives it its first snapshot.
  ///
  /// - Parameter target: The query's target, if the listener needs it: see ``needsTarget(for:_:)``.
  mutating func listen(
    _ id: ListenerID, to query: Query, _ options: ListenOptions, target: TargetData?, onlineState: OnlineState,
    awaitsFreshAnswer: Bool = false
  ) -> [Action] {
    guard let queryID = queries.id(of: query) else {
      assertionFailure("Listener \(id) is added to a query at \(query.path.canonicalString) that has no view.")
      return []
    }
    assert(target != nil || !needsTarget(for: query, options), "Listener \(id) is added without the target it needs.")
    var actions: [Action] = []
    var listener = QueryListener(
      id: id, options: options, onlineState: onlineState, awaitsFreshAnswer: awaitsFreshAnswer)
    if let target, listener.listensToBackend {
      actions += setWatcher(watcher(isWanted: true), of: target.targetID)
      actions.append(.watch(target))
    }
    let first = queries[queryID].flatMap { listener.viewChanged($0.view.snapshot()) }
    queries.add(listener, to: queryID)
    if listener.awaitsAnswer { answerWaits.noteRead() }
    if queries[queryID]?.view.awaitsOnlyOwnWrites == true { ownWriteWaits.noteGap() }
    if let first { actions += [.emit(.raiseSnapshot(id, first))] + snapshotsInSync }
    // The new listener may have brought an answer that others wait for.
    let hasChanged = queries[queryID].map { $0.view.isAnswered != $0.wasAnswered } ?? false
    return hasChanged ? actions + raiseAnswers(of: [queryID]) : actions
  }

  /// Removes a listener, and the query's view with the last one.
  mutating func unlisten(_ id: ListenerID) -> [Action] {
    guard let query = queries.removeListener(id) else { return [] }
    return endFreshRead(of: id) + viewActions(afterRemovalFrom: query)
  }

  private mutating func viewActions(afterRemovalFrom query: ActiveQuery) -> [Action] {
    guard query.listeners.isEmpty else { return unwatchIfUnused(query.targetID) }
    let target = query.targetID
    // The last view of a target that others use stays for them.
    if foreignTargets[target] != nil, queries.ids(of: target) == [query.id] {
      return [.leave(target)] + unwatchIfUnused(target)
    }
    queries.remove(query.id)
    var actions: [Action] = []
    if !hasView(on: query.targetID) {
      actions.append(.release(query.targetID, unconfirmedKeys: query.view.unconfirmedKeys))
    }
    actions += unwatchIfUnused(query.targetID)
    return actions + Self.lookups(limbo.viewRemoved(query.id))
  }

  /// The backend refused the target: all its listeners end. The engine has released the target.
  mutating func reject(_ target: TargetID, _ error: StatusError) -> [Action] {
    foreignTargets[target] = nil
    var actions: [Action] = []
    for id in queries.ids(of: target) {
      guard let query = queries.remove(id) else { continue }
      if error.deservesWarning {
        let path = query.query.path.canonicalString
        actions.append(.emit(.log(.warning, "Listen for query at \(path) failed: \(error.message)")))
      }
      for listener in query.listeners { actions += endFreshRead(of: listener.id) }
      actions += query.listeners.map { .emit(.raiseError($0.id, error)) }
      actions += Self.lookups(limbo.viewRemoved(id))
    }
    return actions
  }

  /// The backend refuses a read whose query has a listener: only the read fails.
  mutating func rejectRead(of listener: ListenerID, _ error: StatusError) -> [Action] {
    unlisten(listener) + [.emit(.raiseError(listener, error))]
  }

  /// Ends all listeners without a word. Lookups of documents in limbo stay as they are: the link's streams are closed.
  mutating func removeAllListeners() {
    queries = QueryTable()
    freshReads = FreshReads()
    inSyncListeners = []
  }

  /// Lets the backend stop sending a target for which only listeners to the cache are left.
  mutating func unwatchIfUnused(_ target: TargetID) -> [Action] {
    guard !queries.queries(of: target).contains(where: \.hasBackendListeners) else { return [] }
    var actions: [Action] = hasListeners(on: target) ? [.stopWatching(target)] : []
    guard foreignTargets[target] != true else { return actions }
    actions.append(.unwatch(target))
    return actions + setWatcher(.nobody, of: target)
  }

  // MARK: - Documents to be read

  /// Notes documents that views must show as the cache has them.
  mutating func noteUnread(_ keys: Set<DocumentKey>) {
    unreadKeys.formUnion(keys)
  }

  /// The cache has been read: the next change shows what was not read before.
  mutating func noteRead() {
    unreadKeys = []
  }
}

// MARK: - Snapshots in sync

extension QueryViews {
  mutating func addSnapshotsInSyncListener(_ id: ListenerID) -> [Action] {
    guard !inSyncListeners.contains(id) else { return [] }
    inSyncListeners.append(id)
    return [.emit(.snapshotsInSync(id))]
  }

  mutating func removeSnapshotsInSyncListener(_ id: ListenerID) {
    inSyncListeners.removeAll { $0 == id }
  }

  var snapshotsInSync: [Action] { inSyncListeners.map { .emit(.snapshotsInSync($0)) } }
}

// MARK: - Limbo

extension QueryViews {
  /// The backend refused to look a document up, and the consequence is stored.
  mutating func limboRejected(_ target: TargetID) -> [Action] {
    Self.lookups(limbo.rejected(target))
  }

  mutating func noteLimboDocuments(_ event: RemoteEvent) {
    for (id, change) in event.targetChanges {
      guard let key = limboDocument(of: id) else { continue }
      if change.added.contains(key) || change.modified.contains(key) {
        limbo.received(id, holdsDocument: true)
      } else if change.removed.contains(key) {
        limbo.received(id, holdsDocument: false)
      }
      limbo.noteCurrent(id, change.isCurrent)
    }
  }

  mutating func limboChanged(by id: QueryID, _ outcome: View.Outcome) -> [Action] {
    Self.lookups(limbo.viewChanged(id, entered: outcome.enteredLimbo, left: outcome.leftLimbo))
  }

  static func lookups(_ changes: [LimboResolutions.Action]) -> [Action] {
    changes.flatMap { change -> [Action] in
      switch change {
      case .listen(let key, let targetID):
        let target = TargetData(target: Query(path: key.path).target, targetID: targetID, purpose: .limboResolution)
        return [.emit(.log(.debug, "New document in limbo: \(key.canonicalString)")), .watch(target)]
      case .unlisten(let targetID):
        return [.unwatch(targetID)]
      }
    }
  }
}
