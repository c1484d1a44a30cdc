internal import HearthCache
internal import HearthModel

/// Documents about which client and backend disagree.
extension QueryViews {
  /// A watch stream is about to be asked for all targets. What a former one has said of documents that were looked up may be over.
  mutating func streamBegins() -> [Action] {
    var actions = Self.lookups(limbo.streamBegins())
    for id in queries.ids where queries[id]?.view.hasDisputes == true {
      queries.update(id) { $0.view.forgetDisputes() }
      actions += notifyWaitingListeners(of: id)
    }
    return actions
  }

  /// Lets a view that has just been made know what the other views of its target know of the backend: that it has sent everything, although they
  /// do not agree with it yet. It says so once.
  mutating func joinTarget(_ id: QueryID) -> [Action] {
    guard let new = queries[id], new.view.watcher == .thisClient, !new.view.isCurrent,
      queries.queries(of: new.targetID).contains(where: { $0.view.isCurrent && $0.view.watcher == .thisClient })
    else { return [] }
    let found = limbo.foundKeys
    let outcome = queries.update(id) { query in
      let outcome = query.view.apply(query.view.computeChanges([:]), targetChange: TargetChange(isCurrent: true))
      _ = query.view.noteFound(found)
      return outcome
    }
    return outcome.map { limboChanged(by: id, $0) } ?? []
  }

  /// Hands the state of a view to the listeners that wait for an answer of the backend.
  private mutating func notifyWaitingListeners(of id: QueryID) -> [Action] {
    var actions: [Action] = []
    queries.update(id) { query in
      let viewSnapshot = query.view.snapshot()
      for index in query.listeners.indices {
        guard let snapshot = query.listeners[index].viewAnswered(viewSnapshot) else { continue }
        actions.append(.emit(.raiseSnapshot(query.listeners[index].id, snapshot)))
      }
    }
    return actions.isEmpty ? [] : actions + snapshotsInSync
  }
}
