internal import HearthCache
internal import HearthModel

/// The present result of one query: the cached documents that match, in order, with their known agreement with the backend.
///
/// Each change takes two steps, because the first may have to be repeated: ``computeChanges(_:after:)`` computes the effect of a set of
/// changed documents on the result, and whether the cache must be read again (because a document fell out of a full limit);
/// ``apply(_:targetChange:isPendingReset:isLeftOut:snapshotVersion:)`` makes the change and returns the snapshot.
///
/// Invariants: `documents` holds at most `query.limit` documents, and all match the query; a document in exact `limboKeys` is in
/// `documents` and not in `confirmedKeys`; a view in sync with the backend has no document in limbo. ``assertInvariants()`` checks those
/// that cost little.
struct View {
  /// The outcome of the first step.
  struct Changes {
    fileprivate(set) var changeSet: DocumentViewChangeSet
    fileprivate(set) var mutatedKeys: Set<DocumentKey>
    /// The documents after the changes, only where a limit or a second pass has to look at them.
    fileprivate var documents: DocumentSet?
    /// Documents that are shown as they were before the acknowledgement of a write, by the version that it made.
    fileprivate(set) var heldBack: [DocumentKey: SnapshotVersion]
    /// The cache may hold documents that now belong into the limit: run the query and compute again.
    fileprivate(set) var needsRefill: Bool
  }

  /// The outcome of the second step.
  struct Outcome {
    /// `nil` if nothing that anybody could see has changed.
    var snapshot: ViewSnapshot?
    /// In key order.
    var enteredLimbo: [DocumentKey] = []
    /// In key order.
    var leftLimbo: [DocumentKey] = []
  }

  /// The client of the cache that receives the target from the backend.
  enum Watcher {
    /// The backend is not asked for the target: only listeners to the cache are left. The view shows the cache's state, and does not wait
    /// for a confirmation by the backend.
    case nobody
    /// The primary client, at another one.
    case otherClient
    case thisClient
  }

  /// Documents that match here although the backend did not send them, at a client that does not hear from the backend itself.
  private struct DisputeElsewhere {
    /// True if what is shown is compared with the keys of the target: with a limit, and where the client that hears from the backend has another
    /// user, whose waiting writes may hide there what is in dispute here.
    var comparesKeys: Bool
    /// True if the other client has found such documents. Which ones it does not say.
    var isReported = false
    /// True if documents are shown that the backend has not confirmed; nil if that is not known.
    var showsUnconfirmed: Bool?

    var isKnown: Bool { isReported || showsUnconfirmed == true }
  }

  private enum SyncState {
    /// No snapshot has been computed yet.
    case initial
    case local
    case synced
  }

  let query: Query
  /// The key of a query for one document.
  private let documentKey: DocumentKey?
  private(set) var documents: DocumentSet
  /// The documents that the backend has confirmed to belong to the target.
  private(set) var confirmedKeys: Set<DocumentKey>
  /// The documents that match here although the backend, which has sent everything, did not send them.
  private(set) var limboKeys: Set<DocumentKey> = []
  /// The limbo keys whose documents exist at the backend as they are shown. All targets of a stream are at one version in a snapshot, so a
  /// further look-up would tell nothing new: backend and client disagree about the documents of the query.
  private var disputedKeys: Set<DocumentKey> = []
  private var disputeElsewhere: DisputeElsewhere
  private(set) var mutatedKeys: Set<DocumentKey> = []
  /// Documents that are shown as they were before the acknowledgement of a write, by the version that it made: the watch stream will bring
  /// the outcome.
  private var heldBack: [DocumentKey: SnapshotVersion] = [:]
  /// Documents that are not held back any more.
  private var released = ReleasedDocuments()
  private var progress: SnapshotProgress
  /// True if a document is shown as it was before the acknowledgement of a write.
  var holdsBack: Bool { !heldBack.isEmpty }
  /// True if the backend has sent everything that the target holds.
  private(set) var isCurrent = false
  /// Only with ``Watcher/thisClient`` something can be found out about unconfirmed documents.
  private(set) var watcher: Watcher
  private var syncState = SyncState.initial
  private var hasCachedResults: Bool
  /// True if the cache had a complete result before, which it has lost.
  private let wasDropped: Bool
  /// True if writes without an outcome have made a ``LimitGap``, which the backend fills with what it sends after them; nil if that must be
  /// found out.
  private var awaitsOwnWrites: Bool? = false
  /// True if `limboKeys` is exact, so that only documents touched by a change need a new look.
  private var limboKeysAreExact = false

  /// - Parameters:
  ///   - confirmedKeys: The documents that the backend had confirmed when the target was last listened to.
  ///   - hasCachedResults: True if the cache remembers a complete result of the target.
  ///   - completeVersion: The version of that result.
  ///   - wasDropped: True if the cache had one before, which it has lost.
  ///   - hasOtherUsers: True if another client of the cache has another user.
  init(
    query: Query, confirmedKeys: Set<DocumentKey>, hasCachedResults: Bool, completeVersion: SnapshotVersion = .none,
    wasDropped: Bool = false, watcher: Watcher = .thisClient, hasOtherUsers: Bool = false
  ) {
    self.query = query
    disputeElsewhere = DisputeElsewhere(comparesKeys: query.limit != nil || hasOtherUsers)
    progress = SnapshotProgress(completeVersion: completeVersion)
    self.wasDropped = wasDropped
    self.watcher = watcher
    documentKey = query.documentKey
    self.confirmedKeys = confirmedKeys
    self.hasCachedResults = hasCachedResults
    self.documents = DocumentSet(query: query)
  }

  var isSynced: Bool { syncState == .synced }

  /// True if the backend has answered for everything in the view: it agrees, or disagrees for good, and the user's own writes have left no gap.
  var isAnswered: Bool { agreement != .open && awaitsOwnWrites == false }

  /// True if nothing but a gap that the user's own writes may have left keeps it from being answered.
  var awaitsOnlyOwnWrites: Bool { agreement != .open && awaitsOwnWrites != false }

  /// The agreement of the target with the backend, which concerns all clients: a gap that the writes of one user have made is no part of it.
  var agreement: TargetAgreement {
    if isSynced { return .complete }
    guard isCurrent else { return .open }
    guard watcher == .thisClient else { return disputeElsewhere.isKnown ? .disputed : .open }
    return !limboKeys.isEmpty && limboKeys.isSubset(of: disputedKeys) ? .disputed : .open
  }

  /// The documents of the result that the backend has not confirmed to belong to the target.
  var unconfirmedKeys: Set<DocumentKey> {
    Set(documents.documents.lazy.map(\.key).filter { !confirmedKeys.contains($0) })
  }

  // MARK: - The first state

  /// Takes over what running the query has given as the first state.
  ///
  /// - Parameter agreement: The known agreement of the target's result with the backend.
  mutating func begin(with first: InitialViewState, _ agreement: TargetAgreement) -> Outcome {
    assert(
      syncState == .initial && documents.isEmpty,
      "A view begins once; this one is \(syncState) with \(documents.count) documents.")
    assert(first.query == query, "A view of \(query) begins with a result of \(first.query).")
    documents = first.documents
    mutatedKeys = first.mutatedKeys
    isCurrent = agreement != .open
    disputeElsewhere.isReported = agreement == .disputed && watcher != .thisClient
    var outcome = Outcome()
    updateLimbo(DocumentViewChangeSet(), nil, isPendingReset: false, &outcome)
    syncState = agrees ? .synced : .local
    if isSynced { hasCachedResults = true }
    awaitsOwnWrites = mayHaveGap ? nil : false
    assertInvariants()
    return outcome
  }

  // MARK: - Watching

  /// Takes note of who hears from the backend from now on. This raises no snapshot.
  ///
  /// Without a listener to the backend, its agreement is not known any more: nothing tells this client of later changes. If another client
  /// keeps the view current, that client says when this ends.
  ///
  /// Documents are looked up here only while this client can hear the answer; they would stay in limbo permanently.
  mutating func setWatcher(_ new: Watcher) -> Outcome {
    guard watcher != new else { return Outcome() }
    let former = watcher
    watcher = new
    limboKeysAreExact = false
    progress.watcherChanges()
    if former == .thisClient || new == .thisClient { disputeElsewhere.showsUnconfirmed = nil }
    // From now on it is found out here.
    if new == .thisClient { disputeElsewhere.isReported = false }
    if former == .nobody, new == .thisClient {
      isCurrent = false
      if isSynced { syncState = .local }
    }
    guard former == .thisClient else { return Outcome() }
    if new == .nobody || !limboKeys.isEmpty { isCurrent = false }
    if new == .nobody { syncState = .local }
    let left = limboKeys.sorted()
    limboKeys = []
    disputedKeys = []
    return Outcome(leftLimbo: left)
  }

  /// The documents that show an acknowledged write as it was before, or as a pending one: those wait for the backend.
  var keysAwaitingBackend: Set<DocumentKey> {
    mutatedKeys.filter { documents[$0]?.hasLocalMutations == false }.union(heldBack.keys)
  }

  /// Takes note of whether another client of the cache has another user. Before the next change the keys of the file have to be taken over.
  mutating func noteOtherUsers(_ exist: Bool) {
    disputeElsewhere.comparesKeys = query.limit != nil || exist
    disputeElsewhere.showsUnconfirmed = nil
  }

  /// Takes over the keys that the file has: another client, or a bundle, has confirmed them.
  mutating func takeOver(confirmedKeys: Set<DocumentKey>) {
    self.confirmedKeys = confirmedKeys
    limboKeysAreExact = false
    disputeElsewhere.showsUnconfirmed = nil
    awaitsOwnWrites = mayHaveGap ? nil : false
  }

  // MARK: - Documents in dispute

  /// Takes note of documents that the backend was asked for one by one, and has.
  mutating func noteFound(_ keys: Set<DocumentKey>) {
    if !limboKeys.isEmpty { disputedKeys = limboKeys.intersection(keys) }
  }

  /// True if the view itself does not tell whether it is answered, and more must be looked at.
  var isUndecided: Bool { !limboKeys.isEmpty || awaitsOwnWrites == nil }

  var hasDisputes: Bool { !disputedKeys.isEmpty }

  /// The backend is about to be asked for everything again.
  mutating func forgetDisputes() {
    disputedKeys = []
  }

  // MARK: - Writes of the user

  /// The documents to be looked at to say whether writes have left a gap; nil if that is known.
  var keysOfPossibleGap: Set<DocumentKey>? { awaitsOwnWrites == nil ? gap.keys : nil }

  /// Takes note of the documents that ``keysOfPossibleGap`` names.
  ///
  /// The outcome of a write is in the last snapshot, but not in what the view knows of its target if that was left out.
  ///
  /// - Parameter written: Nil if they could not be read.
  mutating func noteOwnWrites(_ written: [DocumentKey: WrittenDocument]?) {
    awaitsOwnWrites = written.map { progress.isBehind && !$0.isEmpty || gap.exists($0) } ?? true
  }

  private var mayHaveGap: Bool { isCurrent && query.limit != nil && !gap.isRuledOut }

  private var gap: LimitGap { LimitGap(query: query, documents: documents, confirmedKeys: confirmedKeys) }

  // MARK: - Documents that are held back

  /// The documents that are held back although a snapshot of this version includes their writes: they have left the result without a
  /// message.
  func keysHeldBack(at version: SnapshotVersion) -> Set<DocumentKey> {
    guard isCurrent, !heldBack.isEmpty else { return [] }
    return Set(heldBack.lazy.filter { $0.value <= version }.map(\.key))
  }

  /// Shows documents with the next change as they are, also those that are held back.
  mutating func release(_ keys: Set<DocumentKey>) {
    released.release(keys.filter { heldBack[$0] != nil })
  }

  /// Shows documents from which a write has gone with the next change as they are, if the backend has been heard of since they were acknowledged,
  /// so that it need not say anything of them again, or is not heard of.
  ///
  /// - Parameter areOthers: True if they are those of a former user, which must not be shown in any case.
  mutating func release(reverted documents: DocumentMap, areOthers: Bool) {
    let written = documents.filter { $0.value.hasCommittedMutations }
    let overdue = written.filter { key, document in
      areOthers || !isCurrent || (!confirmedKeys.contains(key) && document.version <= progress.latest)
    }
    released.release(Set(overdue.keys))
    // A view over few documents remembers few.
    released.noteReverted(Set(written.keys.filter { overdue[$0] == nil && self.documents.contains($0) }))
  }

  /// The documents that may show a removed write although the backend has not reported them: they must be read again.
  var overdueKeys: Set<DocumentKey> { isCurrent ? [] : released.keysReverted }

  private func isReleased(_ key: DocumentKey) -> Bool {
    watcher == .nobody || released.contains(key, isHeard: isCurrent)
  }

  // MARK: - First step

  /// Says what changed documents do to the result.
  ///
  /// - Parameter earlier: The outcome of a pass that asked for a refill; the changes of both are merged.
  func computeChanges(_ changed: DocumentMap, after earlier: Changes? = nil) -> Changes {
    var result =
      earlier
      ?? Changes(
        changeSet: DocumentViewChangeSet(), mutatedKeys: mutatedKeys, heldBack: heldBack, needsRefill: false)
    result.needsRefill = false
    var changed = changed
    // Thousands of documents may be listened to one by one; each view looks at its own only.
    if let documentKey, changed.count > 1 { changed = changed[documentKey].map { [documentKey: $0] } ?? [:] }
    let before = documentsAfter(result)
    let edge = limitEdge(of: before)
    var inserted: [Document] = []
    var removed: [DocumentKey] = []
    // A view over few documents takes few of the changes.
    result.changeSet.reserveCapacity(min(changed.count, before.count))

    for (key, document) in changed {
      let old = before[key]
      let new = query.matches(document) ? document : nil
      guard let kind = changeKind(from: old, to: new) else {
        // The watch stream will bring the outcome of an acknowledged write.
        if watcher != .nobody, let old, old.hasLocalMutations, let new, new.hasCommittedMutations {
          result.heldBack[key] = new.version
        }
        continue
      }
      result.heldBack[key] = nil
      if let new {
        result.changeSet.track(kind, new)
        inserted.append(new)
        if showsPendingWrite(new) {
          result.mutatedKeys.insert(key)
        } else {
          result.mutatedKeys.remove(key)
        }
        if old != nil, let edge, query.sorts(new, beyond: edge) { result.needsRefill = true }
      } else if let old {
        result.changeSet.track(.removed, old)
        removed.append(key)
        result.mutatedKeys.remove(key)
        if edge != nil { result.needsRefill = true }
      }
    }
    if let limit = query.limit {
      var after = before
      for key in removed { after.remove(key) }
      after.insert(contentsOf: inserted)
      cut(&after, to: max(limit, 0), &result)
      result.documents = after
    }
    return result
  }

  private func documentsAfter(_ changes: Changes) -> DocumentSet {
    if let known = changes.documents { return known }
    var after = documents
    _ = changes.changeSet.apply(to: &after, query: query)
    return after
  }

  /// The kind of change that a listener should see, `nil` for none.
  private func changeKind(from old: Document?, to new: Document?) -> DocumentViewChange.Kind? {
    guard let old else { return new == nil ? nil : .added }
    guard let new else { return .removed }
    if !old.hasSameContents(as: new) {
      // The acknowledgement of a local write arrived, but the backend's contents may still differ from what it implies
      // (server timestamps). The watch stream brings them soon: wait for it instead of showing an interim state.
      // If it has brought a later state, in which the document was not part of the result, there is nothing to wait for; nor where
      // nobody asks the backend.
      let hasPassed = isCurrent && !confirmedKeys.contains(old.key) && new.version <= progress.latest
      let isOverdue = hasPassed || isReleased(old.key)
      return old.hasLocalMutations && new.hasCommittedMutations && !isOverdue ? nil : .modified
    }
    return mutatedKeys.contains(old.key) == showsPendingWrite(new) ? nil : .metadata
  }

  /// A committed write counts as pending only while the view has shown it as a local one and waits for the backend to send it: a view
  /// that starts after the acknowledgement never saw it pending.
  ///
  /// A view that nobody watches shows the acknowledgement at once (see ``ListenOptions/leavesOutAcknowledgements``).
  private func showsPendingWrite(_ document: Document) -> Bool {
    if document.hasLocalMutations { return true }
    return document.hasCommittedMutations && mutatedKeys.contains(document.key) && !isReleased(document.key)
  }

  /// The document at the end where a full limit cuts the result off, `nil` if there is no limit or it is not full.
  private func limitEdge(of documents: DocumentSet) -> Document? {
    guard let limit = query.limit, documents.count == limit else { return nil }
    return query.edge(first: documents.first, last: documents.last)
  }

  private func cut(_ documents: inout DocumentSet, to limit: Int, _ result: inout Changes) {
    while documents.count > limit {
      guard let outside = query.edge(first: documents.first, last: documents.last) else { return }
      documents.remove(outside.key)
      result.mutatedKeys.remove(outside.key)
      result.heldBack[outside.key] = nil
      result.changeSet.track(.removed, outside)
    }
  }

  // MARK: - Second step

  /// Takes over computed changes and what the backend said about the target.
  ///
  /// Changes that ask for a refill are applied as they are only when the cache cannot be read; the result then lacks
  /// documents until it is computed from the cache again.
  ///
  /// - Parameters:
  ///   - targetChange: The target's part of a snapshot of the backend, `nil` if there is none.
  ///   - isPendingReset: The target's result did not agree with an existence filter and has been requested again. Until
  ///     the answer is there, nothing can be said about documents that the backend has not confirmed.
  ///   - isLeftOut: The snapshot is not one of everything that the target holds.
  ///   - snapshotVersion: The version of the snapshot, `none` if there is none.
  mutating func apply(
    _ changes: Changes, targetChange: TargetChange? = nil, isPendingReset: Bool = false, isLeftOut: Bool = false,
    snapshotVersion: SnapshotVersion = .none
  ) -> Outcome {
    let old = documents.documents
    let carriedOut = changes.changeSet.apply(to: &documents, query: query)
    mutatedKeys = changes.mutatedKeys
    heldBack = changes.heldBack
    released.changed(changes.changeSet.keys)
    if let targetChange {
      confirmedKeys.formUnion(targetChange.added)
      confirmedKeys.subtract(targetChange.removed)
      isCurrent = targetChange.isCurrent
      disputeElsewhere.isReported = targetChange.isDisputed && watcher != .thisClient
    }
    progress.snapshot(
      snapshotVersion, isComplete: isCurrent && !isPendingReset && !isLeftOut,
      endsResult: isPendingReset || targetChange?.isPartial == true)
    var outcome = Outcome()
    updateLimbo(
      changes.changeSet, targetChange, isPendingReset: isPendingReset,
      snapshotVersion: isLeftOut ? .none : snapshotVersion, &outcome)

    if targetChange != nil || !carriedOut.isEmpty { disputeElsewhere.showsUnconfirmed = nil }
    awaitsOwnWrites = mayHaveGap ? nil : false

    let newState: SyncState = agrees && !isPendingReset ? .synced : .local
    let syncStateChanged = newState != syncState
    syncState = newState
    if newState == .synced { hasCachedResults = true }
    assertInvariants()
    if syncStateChanged || !carriedOut.isEmpty {
      outcome.snapshot = ViewSnapshot(
        query: query, documents: documents.documents, oldDocuments: old,
        changes: carriedOut, isFromCache: newState != .synced,
        mutatedKeys: mutatedKeys, syncStateChanged: syncStateChanged, excludesMetadataChanges: false,
        hasCachedResults: hasCachedResults, completeness: completeness)
      outcome.snapshot?.isAnswered = isAnswered
    }
    return outcome
  }

  /// A view that was in sync with the backend no longer is once the client is offline.
  mutating func apply(onlineState: OnlineState) -> Outcome {
    guard isCurrent, onlineState == .offline else { return Outcome() }
    isCurrent = false
    return apply(computeChanges([:]))
  }

  /// The state as it stands, without changes.
  func snapshot() -> ViewSnapshot {
    var snapshot = ViewSnapshot(
      query: query, documents: documents.documents, oldDocuments: [], changes: [], isFromCache: !isSynced,
      mutatedKeys: mutatedKeys, syncStateChanged: true, excludesMetadataChanges: false,
      hasCachedResults: hasCachedResults, completeness: completeness)
    snapshot.isAnswered = isAnswered
    return snapshot
  }

  private var completeness: ResultCompleteness {
    ResultKnowledge(version: progress.completeVersion, confirmedKeys: confirmedKeys, wasDropped: wasDropped)
      .completeness(
        of: documents.documents, of: query, isSynced: isSynced, versionIsLatest: watcher == .thisClient || !isSynced)
  }

  /// True if the backend has sent everything and confirms what is shown, as far as that is known here.
  private var agrees: Bool {
    mutating get {
      guard isCurrent, limboKeys.isEmpty else { return false }
      guard watcher != .thisClient else { return true }
      guard disputeElsewhere.comparesKeys else { return !disputeElsewhere.isReported }
      let known = disputeElsewhere.showsUnconfirmed ?? documents.documents.contains(where: isUnconfirmed)
      disputeElsewhere.showsUnconfirmed = known
      return !known
    }
  }

  private func isUnconfirmed(_ document: Document) -> Bool {
    !document.hasLocalMutations && !confirmedKeys.contains(document.key)
  }

  /// Checks in debug builds what must hold after every step.
  private func assertInvariants() {
    assert(
      documents.count <= query.limit.map { max($0, 0) } ?? .max,
      "A view shows \(documents.count) documents; its limit is \(query.limit ?? 0).")
    assert(
      !limboKeysAreExact || limboKeys.allSatisfy { documents.contains($0) && !confirmedKeys.contains($0) },
      "In limbo are documents that the view does not show, or that are confirmed: \(limboKeys.sorted()).")
    assert(!isSynced || limboKeys.isEmpty, "A view in sync has documents in limbo: \(limboKeys.sorted()).")
    assert(
      watcher == .thisClient || limboKeys.isEmpty,
      "A view that is not watched has documents in limbo: \(limboKeys.sorted()).")
  }

  private mutating func updateLimbo(
    _ changeSet: DocumentViewChangeSet, _ targetChange: TargetChange?, isPendingReset: Bool,
    snapshotVersion: SnapshotVersion = .none, _ outcome: inout Outcome
  ) {
    // Without everything from the backend nothing new can be said: what is being resolved stays so.
    guard isCurrent, watcher == .thisClient, !isPendingReset else {
      limboKeysAreExact = false
      return
    }
    let before = limboKeys
    if limboKeysAreExact {
      for key in changeSet.keys { updateLimbo(of: key) }
      for key in targetChange?.added ?? [] { updateLimbo(of: key) }
      for key in targetChange?.removed ?? [] { updateLimbo(of: key) }
    } else {
      limboKeys = Set(documents.documents.lazy.map(\.key).filter(isInLimbo))
      limboKeysAreExact = true
    }
    for (key, version) in heldBack where version <= snapshotVersion && !confirmedKeys.contains(key) {
      // The snapshot includes the write but not its document, so the document has left the result again without a message.
      limboKeys.insert(key)
    }
    if !disputedKeys.isEmpty { disputedKeys.formIntersection(limboKeys) }
    outcome.enteredLimbo = limboKeys.subtracting(before).sorted()
    outcome.leftLimbo = before.subtracting(limboKeys).sorted()
  }

  private mutating func updateLimbo(of key: DocumentKey) {
    if isInLimbo(key) {
      limboKeys.insert(key)
    } else if !limboKeys.isEmpty {
      limboKeys.remove(key)
    }
  }

  private func isInLimbo(_ key: DocumentKey) -> Bool {
    // First what is true of nearly all.
    guard !confirmedKeys.contains(key), let document = documents[key] else { return false }
    // One that is held back stays in limbo once it is.
    return !document.hasLocalMutations || (heldBack[key] != nil && limboKeys.contains(key))
  }
}
