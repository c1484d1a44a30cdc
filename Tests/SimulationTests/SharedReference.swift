import HearthModel

/// The contents of several clients' cache file and of their views, computed without the cache.
///
/// The file says only which version of each document it has and which batches wait. Contents of documents come from the backend's
/// history and from its answers, and the effect of pending batches from the model. A state follows the one before by one commit.
struct SharedReference {
  typealias Failure = Simulation.Failure

  /// The row of a document in the file, without its contents.
  struct Row: Equatable {
    enum Kind: Int64 {
      case found = 1
      case missing = 2
      case foundWithUnknownContents = 3
    }

    var kind: Kind
    var version: SnapshotVersion
    var hasCommittedMutations: Bool
  }

  /// One state of the file.
  struct State {
    var rows: [DocumentKey: Row] = [:]
    /// The documents as the backend has delivered them, or as its answers to writes have left them.
    var remote: [DocumentKey: Document] = [:]
    var kept = KeptChanges()
    /// The batches of each user that wait for answers, in order.
    var outboxes: [String?: [MutationBatch]] = [:]
    /// For each user, the documents of ``remote`` with the pending batches on top, as far as either exists.
    fileprivate(set) var views: [String?: [DocumentKey: Document]] = [:]

    func local(_ key: DocumentKey, _ user: String?) -> Document { views[user]?[key] ?? .unknown(key) }

    /// The result of a query, in its order.
    func run(_ query: Query, _ user: String?) -> [Document] {
      let matching = (views[user] ?? [:]).values.filter { $0.isFound && query.matches($0) }
        .sorted { query.compare($0, $1) == .ascending }
      guard let limit = query.limit else { return matching }
      return query.isLimitToLast ? Array(matching.suffix(limit)) : Array(matching.prefix(limit))
    }

    /// True if a view may still show the former state of a document, until the watch stream has brought the outcome of a write
    /// (official SDK behaviour).
    func isCatchingUp(_ query: Query, _ user: String?) -> Bool {
      (views[user] ?? [:]).contains { key, document in
        document.hasCommittedMutations && !document.hasLocalMutations
          && (query.collectionGroup.map { key.collectionGroup == $0 } ?? query.path.isPrefix(of: key.path))
      }
    }

    fileprivate mutating func refreshViews(of keys: Set<DocumentKey>, _ user: String?) {
      for key in keys {
        views[user, default: [:]][key] = kept.overlaid(remote[key] ?? .unknown(key), outboxes[user] ?? []).document
      }
    }
  }

  /// The states with the numbers of the commits that made them, oldest first.
  private var states: [(commit: Int, state: State)] = [(0, State())]

  var current: State { states[states.count - 1].state }
  var stateCount: Int { states.count }

  /// The state that a commit has left behind, and all later ones.
  func states(since commit: Int) -> [State] {
    let first = states.lastIndex { $0.commit <= commit } ?? 0
    return states[first...].map(\.state)
  }

  /// The state at an index, and all later ones.
  func states(from index: Int) -> [State] { states[index...].map(\.state) }

  // MARK: - Commits

  /// The state that a transaction has left in the file, and the known answers to writes.
  struct Observation {
    var commit: Int
    var transaction: String
    var rows: [DocumentKey: Row]
    var outboxes: [String?: [MutationBatch]]
  }

  /// Goes on to the next state.
  ///
  /// - Throws: If no rule leads from the last state to this one.
  mutating func advance(to next: Observation, _ backend: SimulatedBackend, _ ledger: WriteLedger) throws {
    let before = current
    let changedRows = Set(before.rows.keys).union(next.rows.keys).filter { before.rows[$0] != next.rows[$0] }
    let left = try batchesThatLeft(before.outboxes, next, ledger)
    guard !changedRows.isEmpty || before.outboxes != next.outboxes else { return }
    var state = before
    let queues = Array(before.outboxes.values)
    for key in changedRows.sorted() {
      let known = before.remote[key] ?? .unknown(key)
      let document = try document(key, next.rows[key], after: known, left, next.transaction, backend, ledger)
      state.kept.remoteChanges(from: known, to: document, queues)
      state.remote[key] = document.isUnknown ? nil : document
    }
    if next.transaction == "Withdraw batch" {
      for queue in queues {
        for batch in left where queue.contains(batch) { state.kept.batchLeaves(batch, queue) }
      }
    }
    state.rows = next.rows
    state.outboxes = next.outboxes
    for user in next.outboxes.keys {
      let (old, new) = (before.outboxes[user] ?? [], next.outboxes[user] ?? [])
      var keys = changedRows
      if old != new { keys.formUnion((old + new).flatMap(\.keys)) }
      state.refreshViews(of: keys, user)
    }
    states.append((next.commit, state))
  }

  /// Batches come at the end of an outbox, and leave it at its front when the backend has answered them.
  private func batchesThatLeft(
    _ before: [String?: [MutationBatch]], _ next: Observation, _ ledger: WriteLedger
  ) throws -> [MutationBatch] {
    var left: [MutationBatch] = []
    for (user, pending) in next.outboxes {
      let known = before[user] ?? []
      if known == pending { continue }
      let remaining = Set(pending.map(\.batchID))
      let gone = known.filter { !remaining.contains($0.batchID) }
      let kept = known.filter { remaining.contains($0.batchID) }
      let isWithdrawal = next.transaction == "Withdraw batch"
      guard isWithdrawal || gone.map(\.batchID) == known.prefix(gone.count).map(\.batchID),
        Self.stay(kept, as: Array(pending.prefix(kept.count)), in: next.transaction)
      else { throw Failure(description: "the outbox changed other than at its ends: \(known) became \(pending)") }
      for batch in gone {
        guard isWithdrawal || ["Acknowledge batch", "Reject batch"].contains(next.transaction),
          !ledger.isSurelyPending(batch.number)
        else { throw Failure(description: "write \(batch.number) left the outbox in \(next.transaction)") }
      }
      for batch in pending.dropFirst(kept.count) {
        guard ledger.owner(of: batch.number) == user, ledger.mutations(of: batch.number) == batch.mutations else {
          throw Failure(description: "the outbox of \(user ?? "nobody") got \(batch), which is no write of theirs")
        }
      }
      left += gone
    }
    return left
  }

  /// Batches that stay are what they were, except for base values behind a batch that has left without an effect.
  private static func stay(_ batches: [MutationBatch], as now: [MutationBatch], in transaction: String) -> Bool {
    guard ["Reject batch", "Withdraw batch"].contains(transaction) else { return batches == now }
    return batches.count == now.count
      && zip(batches, now).allSatisfy { former, now in
        var same = former
        same.baseMutations = now.baseMutations
        return same == now
      }
  }

  /// The document that stands for a row.
  private func document(
    _ key: DocumentKey, _ row: Row?, after known: Document, _ left: [MutationBatch], _ transaction: String,
    _ backend: SimulatedBackend, _ ledger: WriteLedger
  ) throws -> Document {
    let what = "\(key) became \(row.map { "\($0)" } ?? "nothing") in \(transaction)"
    guard let row else {
      if ["Collect garbage", "Clear cache"].contains(transaction) { return .unknown(key) }
      throw Failure(description: "\(what), which may not forget documents")
    }
    if row.version < known.version { throw Failure(description: "\(what), but it was at \(known.version) before") }
    if row.hasCommittedMutations {
      for batch in left {
        for commit in ledger.commits(of: batch.number) {
          let result = MutationBatchResult(batch: batch, commitVersion: commit.version, results: commit.results)
          guard result.documentVersions[key] == row.version else { continue }
          var document = known
          try batch.applyToRemoteDocument(&document, result: result)
          return document
        }
      }
      throw Failure(description: "\(what), but the backend has not answered a write so")
    }
    let document = backend.document(key, at: row.version.microseconds)
    switch row.kind {
    case .found:
      if document.isFound, document.version == row.version { return document }
    case .missing:
      if !document.isFound { return .missing(key, version: row.version) }
    case .foundWithUnknownContents: break
    }
    throw Failure(description: "\(what), which is no state of the backend: that had \(document.brief)")
  }
}
