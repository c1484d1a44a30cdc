internal import HearthCache
internal import HearthModel

/// Documents about which client and backend disagree.
extension QueryViews {
  /// A watch stream is about to be asked for all targets. The answers of a former stream about documents that were looked up may no longer
  /// be true.
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

  /// The documents to be looked at before the query's view can say whether it is answered; nil if it can.
  func keysOfPossibleGap(of query: Query) -> Set<DocumentKey>? {
    queries.id(of: query).flatMap { queries[$0]?.view.keysOfPossibleGap }
  }

  /// Takes note of the documents that ``keysOfPossibleGap(of:)`` names; nil if they could not be read. This raises nothing.
  mutating func noteOwnWrites(_ written: [DocumentKey: WrittenDocument]?, of query: Query) {
    guard let id = queries.id(of: query) else { return }
    queries.update(id) { $0.view.noteOwnWrites(written) }
    ownWriteWaits.noteGap()
  }

  /// Finds the limbo documents that are in dispute, and the gaps that writes of the user have left in a full limit, and updates the round
  /// of snapshots accordingly.
  ///
  /// - Parameters:
  ///   - undecided: The views that have changed. It is still unknown whether they are answered.
  ///   - answered: Receives the views outside the round that are answered now, or no longer.
  ///   - localDocuments: Reads the documents that may have left a gap.
  mutating func decide(
    _ undecided: [QueryID], in round: inout [(QueryID, ViewSnapshot)], _ answered: inout Set<QueryID>,
    localDocuments: (Set<DocumentKey>) throws -> [DocumentKey: WrittenDocument], _ failure: inout (any Error)?
  ) {
    // Nearly always there is none.
    if undecided.isEmpty { return }
    let found = limbo.foundKeys
    for id in undecided {
      queries.update(id) { query in
        query.view.noteFound(found)
        // Nobody waits for a view that is kept for others: they look for writes of their own.
        guard !query.listeners.isEmpty, let keys = query.view.keysOfPossibleGap else { return }
        ownWriteWaits.noteGap()
        do {
          query.view.noteOwnWrites(try localDocuments(keys))
        } catch {
          query.view.noteOwnWrites(nil)
          failure = error
        }
      }
      guard let query = queries[id] else { continue }
      if let index = round.firstIndex(where: { $0.0 == id }) {
        round[index].1.isAnswered = query.view.isAnswered
      } else if query.view.isAnswered != query.wasAnswered {
        answered.insert(id)
      }
    }
  }
}
