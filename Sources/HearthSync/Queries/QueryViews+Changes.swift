internal import HearthCache
internal import HearthModel

/// Bringing views and their listeners up to date.
extension QueryViews {
  /// Shows changed documents in all views, as one round of snapshots.
  ///
  /// - Parameters:
  ///   - event: The snapshot of the backend that changed them, if it was one.
  ///   - refill: Runs a query on the cache, for a view whose limit lost documents. Must not use these views.
  ///   - localDocuments: Reads documents that the user may have written. Must not use these views.
  /// - Returns: The failure of a read as well, if there was one. A view that needed it asks for it again in the next round.
  mutating func apply(
    _ changes: DocumentMap, event: RemoteEvent? = nil, refill: (Query) throws -> DocumentMap,
    localDocuments: (Set<DocumentKey>) throws -> [DocumentKey: WrittenDocument]
  ) -> (actions: [Action], failure: (any Error)?) {
    // Before the views change: a document that was found leaves limbo in that step, and its target is no longer needed.
    if let event { noteLimboDocuments(event) }
    var actions: [Action] = []
    var round: [(QueryID, ViewSnapshot)] = []
    var reports: [LocalViewChanges] = []
    var failure: (any Error)?
    var answered: Set<QueryID> = []
    var undecided: [QueryID] = []
    for id in queries.ids {
      let outcome = queries.update(id) { query in
        let computed = Self.computeChanges(changes, of: &query, refill, &failure)
        let target = query.targetID
        let outcome = query.view.apply(
          computed, targetChange: event?.targetChanges[target],
          isPendingReset: event?.targetMismatches[target] != nil, isLeftOut: event?.isComplete(target) == false,
          snapshotVersion: event?.snapshotVersion ?? .none)
        if query.view.isUndecided {
          undecided.append(id)
        } else if outcome.snapshot == nil, query.view.isAnswered != query.wasAnswered {
          answered.insert(id)
        }
        return outcome
      }
      guard let outcome, let query = queries[id] else { continue }
      // Also for a view without a snapshot: what is in limbo may change without a visible change.
      actions += limboChanged(by: id, outcome)
      if let snapshot = outcome.snapshot {
        round.append((id, snapshot))
        reports.append(LocalViewChanges(snapshot, targetID: query.targetID))
      }
    }
    decide(undecided, in: &round, &answered, localDocuments: localDocuments, &failure)
    // In one round after all views have changed, so that the mark "snapshots in sync" comes once, and behind all of them.
    actions += raise(round)
    actions += raiseAnswers(of: answered)
    if !reports.isEmpty { actions.append(.report(reports)) }
    return (actions, failure)
  }

  /// True if a view shows a document as it was before the acknowledgement of a write.
  var holdBack: Bool { queries.ids.contains { queries[$0]?.view.holdsBack ?? false } }

  /// The documents that views hold back although a snapshot of this version includes their writes.
  func keysHeldBack(at version: SnapshotVersion) -> Set<DocumentKey> {
    queries.ids.reduce(into: []) { $0.formUnion(queries[$1]?.view.keysHeldBack(at: version) ?? []) }
  }

  /// Lets the next change show these documents as they are.
  mutating func release(_ keys: Set<DocumentKey>) {
    for id in queries.ids { queries.update(id) { $0.view.release(keys) } }
  }

  /// Takes note of documents from which a write has gone without an effect: the next change shows them as they are.
  ///
  /// - Parameter areOthers: True if they are those of a former user.
  mutating func release(reverted documents: DocumentMap, areOthers: Bool = false) {
    for id in queries.ids { queries.update(id) { $0.view.release(reverted: documents, areOthers: areOthers) } }
  }

  /// Shows the online state to views and listeners.
  mutating func show(_ state: OnlineState) -> [Action] {
    var round: [(QueryID, ViewSnapshot)] = []
    var actions: [Action] = []
    for id in queries.ids {
      let snapshot = queries.update(id) { query -> ViewSnapshot? in
        let outcome = query.view.apply(onlineState: state)
        for index in query.listeners.indices {
          if let snapshot = query.listeners[index].onlineStateChanged(state) {
            actions.append(.emit(.raiseSnapshot(query.listeners[index].id, snapshot)))
          }
        }
        return outcome.snapshot
      }
      if let snapshot = snapshot ?? nil { round.append((id, snapshot)) }
    }
    if !actions.isEmpty { actions += snapshotsInSync }
    let overdue: Set<DocumentKey> = queries.ids.reduce(into: []) { $0.formUnion(queries[$1]?.view.overdueKeys ?? []) }
    return actions + raise(round) + (overdue.isEmpty ? [] : [.reread(overdue)])
  }

  /// Computes changes, with a second look at the cache where documents fell out of a limit.
  private static func computeChanges(
    _ changes: DocumentMap, of query: inout ActiveQuery, _ refill: (Query) throws -> DocumentMap,
    _ failure: inout (any Error)?
  ) -> View.Changes {
    let computed = query.view.computeChanges(changes)
    guard computed.needsRefill || query.viewIsIncomplete else { return computed }
    do {
      let documents = try refill(query.query)
      query.viewIsIncomplete = false
      return query.view.computeChanges(documents, after: computed)
    } catch {
      query.viewIsIncomplete = true
      failure = error
      return computed
    }
  }

  /// Hands the state of these views to the listeners that wait for an answer of the backend: it is one now, or is none any more.
  mutating func raiseAnswers(of answered: Set<QueryID>) -> [Action] {
    if answered.isEmpty { return [] }
    var actions: [Action] = []
    for id in queries.ids where answered.contains(id) {
      queries.update(id) { query in
        let viewSnapshot = query.view.snapshot()
        query.wasAnswered = viewSnapshot.isAnswered
        for index in query.listeners.indices {
          guard let snapshot = query.listeners[index].viewAnswered(viewSnapshot) else { continue }
          actions.append(.emit(.raiseSnapshot(query.listeners[index].id, snapshot)))
        }
      }
    }
    return actions.isEmpty ? [] : actions + snapshotsInSync
  }

  /// Hands one round of snapshots to the listeners.
  private mutating func raise(_ round: [(QueryID, ViewSnapshot)]) -> [Action] {
    var actions: [Action] = []
    for (id, viewSnapshot) in round {
      queries.update(id) { query in
        query.wasAnswered = viewSnapshot.isAnswered
        for index in query.listeners.indices {
          let isWatched = query.view.watcher != .nobody
          guard let snapshot = query.listeners[index].viewChanged(viewSnapshot, isWatched: isWatched) else { continue }
          actions.append(.emit(.raiseSnapshot(query.listeners[index].id, snapshot)))
        }
      }
    }
    return actions.isEmpty ? [] : actions + snapshotsInSync
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
