internal import HearthCache
internal import HearthModel

/// Documents about which client and backend disagree.
extension QueryViews {
  /// A watch stream is about to be asked for all targets. What a former one has said of documents that were looked up may be over.
  mutating func streamBegins() -> [Action] {
    let actions = Self.lookups(limbo.streamBegins())
    let disputed = queries.ids.filter { queries[$0]?.view.hasDisputes == true }
    for id in disputed { queries.update(id) { $0.view.forgetDisputes() } }
    return actions + raiseAnswers(of: Set(disputed))
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
      query.view.noteFound(found)
      return outcome
    }
    return outcome.map { limboChanged(by: id, $0) } ?? []
  }

  /// True if the query's view cannot say before ``apply(_:event:refill:localDocuments:)`` whether client and backend disagree.
  func mustLookForOwnWrites(of query: Query) -> Bool {
    queries.id(of: query).flatMap { queries[$0]?.view.mustLookForOwnWrites } ?? false
  }

  /// Finds out which documents in limbo are there because a pending write of the user has taken others out of a full limit, and brings the
  /// round of snapshots in line with that.
  ///
  /// - Parameters:
  ///   - answered: Gets the views that are not in the round and whose listeners may wait for this.
  ///   - localDocuments: Reads documents with the pending writes.
  mutating func noteOwnWrites(
    in round: inout [(QueryID, ViewSnapshot)], _ answered: inout Set<QueryID>,
    localDocuments: (Set<DocumentKey>) throws -> DocumentMap, _ failure: inout (any Error)?
  ) {
    // Nearly always there is none.
    if limbo.isEmpty { return }
    let found = limbo.foundKeys
    for id in queries.ids {
      guard let view = queries[id]?.view, !view.limboKeys.isEmpty else { continue }
      let keys = view.keysMissingFromLimit
      var missing: DocumentMap? = [:]
      if !keys.isEmpty {
        do {
          missing = try localDocuments(keys)
        } catch {
          missing = nil
          failure = error
        }
      }
      queries.update(id) { $0.view.noteOwnWrites(to: missing, found: found) }
      guard let isAnswered = queries[id]?.view.isAnswered, isAnswered != view.isAnswered else { continue }
      if let index = round.firstIndex(where: { $0.0 == id }) {
        round[index].1.isAnswered = isAnswered
      } else {
        answered.insert(id)
      }
    }
  }
}
