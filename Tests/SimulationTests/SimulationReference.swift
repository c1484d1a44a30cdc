import HearthModel

/// The state that the client must have, computed the simple way: the documents that the backend has delivered, with the pending
/// batches applied one after the other (``KeptChanges`` says where that is not all).
struct SimulationReference {
  /// The pending batches of each user, as they are when the backend changes documents.
  var queues: [[MutationBatch]] = []
  private var kept = KeptChanges()
  private(set) var remote: [DocumentKey: Document] = [:]
  private(set) var lastSnapshot = SnapshotVersion.none
  private var pending: [DocumentKey: Document] = [:]
  /// Targets as the client last asked for them on the open stream.
  private var listened: [TargetID: Target] = [:]
  private var outstanding: [TargetID: Int] = [:]
  private var current: Set<TargetID> = []
  private var delivered: [DocumentKey: Set<TargetID>] = [:]
  /// For targets of one document: whether the backend has confirmed it. Kept by the target for as long as its row lives, and for
  /// a lookup as long as it lasts.
  private var confirmed: [Target: Bool] = [:]
  private var confirmedLookups: [TargetID: Bool] = [:]
  /// The lookups that have found their documents up to the last snapshot.
  private var foundLookups: Set<TargetID> = []

  // MARK: - What the client sends

  mutating func sent(_ request: WatchRequest) {
    switch request {
    case .addTarget(let request):
      outstanding[request.targetID, default: 0] += 1
      if listened[request.targetID] == nil, request.purpose == .limboResolution {
        confirmedLookups[request.targetID] = false
      }
      listened[request.targetID] = request.target
    case .removeTarget(let id):
      outstanding[id, default: 0] += 1
      listened[id] = nil
    }
  }

  mutating func watchStreamClosed() {
    listened = [:]
    outstanding = [:]
    current = []
    confirmedLookups = [:]
    foundLookups = []
    dropWindow()
  }

  private mutating func dropWindow() {
    pending = [:]
    delivered = [:]
  }

  // MARK: - What the backend says

  /// - Parameter canStore: True if the cache takes a snapshot at the moment.
  mutating func received(_ message: WatchResponse, canStore: Bool) {
    switch message {
    case .targetChange(let change): received(change, canStore: canStore)
    case .documentChange(let change): received(change)
    // The simulated backend counts only results of collections; what follows from a wrong count is an ordinary request.
    case .existenceFilter, .unreadable: break
    }
  }

  /// Returns true if the last snapshot had everything about the document of a lookup, which exists.
  func hasFound(_ lookup: TargetID) -> Bool { foundLookups.contains(lookup) }

  private func isActive(_ id: TargetID) -> Bool { listened[id] != nil && outstanding[id] == 0 }

  private mutating func received(_ change: WatchTargetChange, canStore: Bool) {
    switch change.state {
    case .added, .removed:
      for id in change.targetIDs {
        outstanding[id] = max(0, outstanding[id, default: 0] - 1)
        if change.state == .removed, outstanding[id] == 0 { current.remove(id) }
      }
    case .current:
      for id in change.targetIDs where isActive(id) { current.insert(id) }
    case .reset:
      for id in change.targetIDs where isActive(id) {
        current.remove(id)
        if let target = listened[id], target.documentKey != nil { setConfirmed(false, id, target) }
      }
    case .noChange:
      guard change.targetIDs.isEmpty, change.readTime >= lastSnapshot, canStore else { return }
      applySnapshot(change.readTime)
    }
  }

  private mutating func received(_ change: WatchDocumentChange) {
    if let document = change.document {
      let ids = document.isFound ? change.updatedTargetIDs : change.updatedTargetIDs + change.removedTargetIDs
      for id in ids where isActive(id) {
        pending[change.key] = document
        if document.isFound { delivered[change.key, default: []].insert(id) }
      }
      if document.isFound, change.removedTargetIDs.contains(where: isActive) { pending[change.key] = document }
    }
    for id in change.updatedTargetIDs { note(change.document?.isFound == true, change.key, id) }
    for id in change.removedTargetIDs { note(false, change.key, id) }
  }

  private mutating func note(_ isPresent: Bool, _ key: DocumentKey, _ id: TargetID) {
    guard isActive(id), let target = listened[id], target.documentKey == key else { return }
    setConfirmed(isPresent, id, target)
  }

  private mutating func setConfirmed(_ value: Bool, _ id: TargetID, _ target: Target) {
    if confirmedLookups[id] != nil { confirmedLookups[id] = value } else { confirmed[target] = value }
  }

  private func isConfirmed(_ id: TargetID, _ target: Target) -> Bool {
    confirmedLookups[id] ?? confirmed[target] ?? false
  }

  private mutating func applySnapshot(_ version: SnapshotVersion) {
    for (id, target) in listened {
      guard isActive(id), current.contains(id), let key = target.documentKey else { continue }
      if delivered[key]?.contains(id) != true, !isConfirmed(id, target) {
        pending[key] = .missing(key, version: version)
      }
    }
    for (key, document) in pending {
      let known = remote[key]
      if known == nil || document.version > known!.version
        || (document.version == known!.version && known!.hasCommittedMutations)
      {
        kept.remoteChanges(from: known ?? .unknown(key), to: document, queues)
        remote[key] = document
      }
    }
    lastSnapshot = version
    foundLookups = current.filter { confirmedLookups[$0] == true }
    dropWindow()
  }

  /// A batch of the queue was answered and has left it.
  mutating func acknowledged(_ batch: MutationBatch, _ commit: SimulatedBackend.Commit) {
    let result = MutationBatchResult(
      batch: batch, commitVersion: commit.version, results: commit.results)
    for (key, version) in result.documentVersions {
      var document = remote[key] ?? .unknown(key)
      guard document.version < version else { continue }
      let known = document
      try? batch.applyToRemoteDocument(&document, result: result)
      guard !document.isUnknown else { continue }
      kept.remoteChanges(from: known, to: document, queues)
      remote[key] = document
    }
  }

  // MARK: - What views must show

  func local(_ key: DocumentKey, _ batches: [MutationBatch]) -> Document {
    kept.overlaid(remote[key] ?? .unknown(key), batches).document
  }

  /// Returns true if a view may still show the former state of a document: after the acknowledgement of a write it waits until the
  /// watch stream has caught up, so that no state in between is seen (official SDK behaviour).
  func isCatchingUp(_ query: Query, _ batches: [MutationBatch]) -> Bool {
    remote.keys.contains { key in
      let document = local(key, batches)
      return document.hasCommittedMutations && !document.hasLocalMutations
        && (query.collectionGroup.map { key.collectionGroup == $0 } ?? query.path.isPrefix(of: key.path))
    }
  }

  func run(_ query: Query, _ batches: [MutationBatch]) -> [Document] {
    let keys = Set(remote.keys).union(batches.flatMap(\.keys))
    let matching = keys.map { local($0, batches) }.filter { $0.isFound && query.matches($0) }
      .sorted { query.compare($0, $1) == .ascending }
    guard let limit = query.limit else { return matching }
    return query.isLimitToLast ? Array(matching.suffix(limit)) : Array(matching.prefix(limit))
  }
}
