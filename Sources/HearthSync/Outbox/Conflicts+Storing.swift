internal import HearthCache
internal import HearthModel

/// Storing the ends of conflicts.
extension Conflicts {
  /// Stores how a conflict ends, and lets the outbox go on.
  ///
  /// - Parameter time: The device's time.
  mutating func store(_ conflict: SettledConflict, at time: Timestamp, in localStore: LocalStore) -> [Action] {
    let batchID = conflict.batch.batchID
    let changes: DocumentMap
    do {
      changes =
        switch conflict.end {
        case .resolved(let outcome):
          try localStore.resolveConflict(conflict.batch, outcome, of: .user(conflict.owner), at: time)
        case .rejected(let error):
          try localStore.rejectConflict(conflict.batch, error, of: .user(conflict.owner), at: time)
        }
    } catch CacheError.unknownBatch {
      let message = "Write \(batchID) has left the outbox or changed while it was compared."
      return [.emit(.log(.debug, message)), .sendOn]
    } catch {
      return [.rest(after: error)]
    }
    stored(batchID)
    var actions = [Action.settle(batchID)]
    if conflict.leavesOutbox { actions.append(.complete(conflict)) }
    actions.append(.outboxChanges)
    if !conflict.reports.isEmpty { actions.append(.emit(.conflictsResolved(conflict.reports))) }
    return actions + [.show(changes, isReversal: conflict.leavesOutbox), .sendOn]
  }
}
