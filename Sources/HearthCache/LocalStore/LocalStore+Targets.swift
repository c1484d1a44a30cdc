package import HearthModel
package import HearthStore

extension LocalStore {
  /// The snapshot time after which a resume token is written although nothing else has changed: five minutes
  /// (firebase-ios-sdk local_store.cc, ShouldPersistTargetData).
  private static let resumeTokenMaxAgeSeconds: Int64 = 300

  // MARK: - Targets

  /// Finds the target's row, or makes one under a new target id, and counts the target as listened to.
  ///
  /// The same target gets the same row as long as it exists. No id is consumed when the transaction fails.
  ///
  /// - Parameter isWatched: true if the backend is to be asked for it.
  package func allocateTarget(_ target: Target, isWatched: Bool = true) throws -> TargetData {
    try transaction("Allocate target") {
      if let active = activeTarget(target) {
        if isWatched { state.targets[active.data.targetID]?.isWatched = true }
        try use(active.data.targetID, isWatched: isWatched)
        return active.data
      }
      let data = try row(for: target)
      if let known = state.targetIDs[target], known != data.targetID {
        // The row went while the others took this client for dead. ``rejoin(isWatched:)`` gives its targets their new ids.
        throw StoreError(kind: .unavailable, message: "Target \(known) has no row before the client rejoins its cache.")
      }
      try setActive(data)
      if isWatched { state.targets[data.targetID]?.isWatched = true }
      try use(data.targetID, isWatched: isWatched)
      return data
    }
  }

  /// The target's row, or a new one.
  func row(for target: Target) throws -> TargetData {
    if var known = try targets.target(target) {
      if known.resumeToken.isEmpty { known.wasDropped = try targets.wasDropped(target) }
      return known
    }
    var data = TargetData(
      target: target, targetID: try globals.takeTargetID(), sequenceNumber: try sequenceNumber())
    try targets.insert(data)
    data.wasDropped = try targets.wasDropped(target)
    return data
  }

  /// Takes a target into use as its row has it.
  ///
  /// - Throws: if its number is that of another target in use, or it is in use under another number.
  func setActive(_ data: TargetData) throws {
    try checkRow(data)
    if let known = state.targetIDs[data.target], known != data.targetID, state.targets[known] != nil {
      throw StoreError(kind: .unavailable, message: "Target \(data.targetID) is in use as target \(known).")
    }
    state.targets[data.targetID] = ActiveTarget(data: data, persisted: data)
    state.targetIDs[data.target] = data.targetID
  }

  /// Tells other clients that this one uses a target. One that was taken for dead does so when it rejoins: nobody would ever remove what
  /// it enters under its former id.
  private func use(_ target: TargetID, isWatched: Bool) throws {
    guard let member = state.membership, try clients.contains(member.client) else { return }
    try clients.use(target, by: member.client, isWatched: isWatched)
    try tell(.clients)
  }

  /// The backend need not be asked for the target any more, as far as this client is concerned, which goes on using it.
  package func stopWatching(_ target: TargetID) throws {
    guard let member = state.membership else {
      state.targets[target]?.isWatched = false
      return
    }
    try transaction("Stop watching target") {
      try clients.stopWatching(target, by: member.client)
      try tell(.clients)
    }
  }

  /// The target has no listener of this client any more, but goes on being used for other clients.
  package func leaveTarget(_ target: TargetID) throws {
    guard let member = state.membership else { return }
    try transaction("Release target") {
      try clients.stopUsing(target, by: member.client)
      try tell(.clients)
    }
  }

  /// The state of a target, with or without a listener; nil if the cache has no row for it.
  package func targetData(for target: Target) throws -> TargetData? {
    try read("Get target data") { try knownTarget(target) }
  }

  /// True if the cache had a complete result of the target once, which was collected or cleared, as far as that is remembered.
  package func wasDropped(_ target: Target) throws -> Bool {
    try read("Look for dropped target") { try targets.wasDropped(target) }
  }

  /// Ends listening to a target, with its latest resume token written.
  ///
  /// With eager garbage collection the row goes unless it is pinned, and with it the documents that nothing else needs. The target is no longer
  /// listened to even when the transaction fails: then the row keeps an older token, which still agrees with the
  /// documents.
  ///
  /// - Parameter unconfirmedKeys: documents that its views showed although the target does not hold them; they count as used.
  package func releaseTarget(_ targetID: TargetID, unconfirmedKeys: Set<DocumentKey> = []) throws {
    guard let active = state.targets[targetID] else { throw CacheError.unknownTarget(targetID) }
    defer {
      state.targets[targetID] = nil
      state.targetIDs[active.data.target] = nil
      state.bundleTargets.remove(targetID)
      _ = state.viewReferences.removeAll(target: targetID)
    }
    try transaction("Release target", needsLease: isPrimary && isShared) {
      if let member = state.membership {
        try clients.stopUsing(targetID, by: member.client)
        if isPrimary {
          try clients.setAgreement(of: targetID, .open)
          try clients.stopFollowing(targetID)
        }
        try tell(.clients)
      }
      try touch(state.viewReferences.removeAll(target: targetID).sorted())
      if isEager, try !pins.contains(active.data.target) {
        try touch(targets.keys(of: targetID))
        try targets.remove(targetID)
      } else {
        try touch(unconfirmedKeys.sorted())
        if isPrimary {
          try targets.update(active.data.with(sequenceNumber: sequenceNumber()))
        } else {
          // The rest of the row is the business of the holder of the lease.
          try targets.setSequenceNumber(sequenceNumber(), of: targetID)
        }
      }
    }
  }

  /// The documents that the backend has confirmed for a target.
  package func confirmedKeys(for targetID: TargetID) throws -> Set<DocumentKey> {
    try read("Remote document keys") { try targets.keys(of: targetID) }
  }

  /// - Returns: Nil at a secondary client: the holder of the lease writes the rows, so what is in memory is old.
  private func activeTarget(_ target: Target) -> ActiveTarget? {
    guard isPrimary else { return nil }
    return state.targetIDs[target].flatMap { state.targets[$0] }
  }

  func knownTarget(_ target: Target) throws -> TargetData? {
    try activeTarget(target)?.data ?? targets.target(target)
  }

  /// The target of a query that is to be run, with what is known of its result for the active user.
  func plannedTarget(of query: Query) throws -> TargetData? {
    try knownTarget(query.target).map { try Self.planned($0, of: query, for: userRow(), queue) }
  }

  /// A query's target with what is known of its result for a user; nil for one who has written nothing.
  ///
  /// A view counts as free of documents in limbo although the waiting writes of its user keep some of them from being looked up: for
  /// another user such a result is no beginning, because it leaves those documents out.
  static func planned(
    _ data: TargetData, of query: Query, for user: MutationQueue.UserRow?, _ queue: MutationQueue
  ) throws -> TargetData {
    let path = query.collectionGroup == nil ? query.path : ResourcePath()
    guard data.lastLimboFreeSnapshotVersion > .none, try queue.hasPendingBatch(ofOthersThan: user, below: path)
    else { return data }
    return data.with(lastLimboFreeSnapshotVersion: .none)
  }

  // MARK: - Reading

  /// The version of the last snapshot that was applied.
  package func lastRemoteSnapshotVersion() throws -> SnapshotVersion {
    try read("Get last remote snapshot version") { try globals.lastRemoteSnapshotVersion() }
  }

  /// Runs a query on the local view.
  ///
  /// - Parameter usePreviousResults: start from the documents that the backend confirmed for the target earlier, where
  ///   the planner finds that safe.
  /// - Returns: the matching documents in the order of the query (limit applied), the keys that the backend has
  ///   confirmed for the target, and how the query was answered.
  package func run(_ query: Query, usePreviousResults: Bool) throws
    -> (documents: [Document], confirmedKeys: Set<DocumentKey>, execution: QueryExecution)
  {
    try read("Execute query") {
      let data = try usePreviousResults ? plannedTarget(of: query) : knownTarget(query.target)
      let confirmedKeys = try data.map { try targets.keys(of: $0.targetID) } ?? []
      let previous = usePreviousResults ? data.flatMap { Self.previousResult(of: $0, keys: confirmedKeys) } : nil
      let answer = try run(query, previous: previous)
      return (answer.documents, confirmedKeys, answer.execution)
    }
  }

  /// As ``run(_:usePreviousResults:)``, with the documents by key.
  package func execute(_ query: Query, usePreviousResults: Bool) throws
    -> (documents: DocumentMap, confirmedKeys: Set<DocumentKey>)
  {
    let result = try run(query, usePreviousResults: usePreviousResults)
    let documents = DocumentMap(result.documents.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    return (documents, result.confirmedKeys)
  }

  /// Runs a query once on the local view, without a listener.
  ///
  /// - Returns: the matching documents in the order of the query, with its limit applied, and how it was answered.
  package func read(_ query: Query) throws -> (documents: [Document], execution: QueryExecution) {
    try read("Execute query") { try answer(query) }
  }

  /// Adds up what a query gives on the local view.
  package func aggregate(
    _ aggregations: [Aggregation], over query: Query
  ) throws -> (totals: AggregationTotals, execution: QueryExecution) {
    try read("Execute query") {
      try executor().aggregate(aggregations, over: query, previous: previousResult(of: query))
    }
  }

  func answer(
    _ query: Query, clock: (() -> Duration)? = nil
  ) throws -> (documents: [Document], execution: QueryExecution) {
    try run(query, previous: previousResult(of: query), clock: clock)
  }

  private func previousResult(of query: Query) throws -> PreviousResult? {
    // The keys of a query for all documents are all there are, and the planner does not ask for them.
    guard !query.matchesAllDocuments, let data = try plannedTarget(of: query) else { return nil }
    return Self.previousResult(of: data, keys: try targets.keys(of: data.targetID))
  }

  static func previousResult(of data: TargetData, keys: Set<DocumentKey>) -> PreviousResult? {
    guard data.lastLimboFreeSnapshotVersion > .none else { return nil }
    return PreviousResult(keys: keys, limboFreeVersion: data.lastLimboFreeSnapshotVersion)
  }

  private func run(
    _ query: Query, previous: PreviousResult?, clock: (() -> Duration)? = nil
  ) throws -> (documents: [Document], execution: QueryExecution) {
    try executor().run(query, previous: previous, clock: clock)
  }

  private func executor() throws -> QueryExecutor {
    QueryExecutor(documents: documents, localMutations: UserOverlays(table: overlays, user: try userRow()))
  }

  /// One document of the local view, `.unknown` if the cache knows nothing of it.
  package func readDocument(_ key: DocumentKey) throws -> Document {
    try read("read document") { try localDocuments.document(for: key, user: userRow()) }
  }

  // MARK: - Snapshots

  /// Applies one consistent snapshot of the backend: documents, target keys, resume tokens and the snapshot version.
  ///
  /// A document only moves forward: it is taken when it is newer than the cached one, or of the same version while the
  /// cached one is the result of an acknowledged write. A document that is missing at version `.none` is forgotten
  /// instead (a limbo resolution that the backend refused). The snapshot version never goes back.
  ///
  /// - Returns: the documents that changed, as the local view now has them.
  package func apply(_ event: RemoteEvent) throws -> DocumentMap {
    event.assertInvariants()
    return try transaction("Apply remote event", needsLease: true) {
      let updatedKeys = event.documentUpdates.keys.sorted()
      for targetID in Set(event.targetChanges.keys).union(event.targetMismatches.keys).sorted() {
        let change = event.targetChanges[targetID] ?? TargetChange()
        let added = Self.sorted(change.added, among: updatedKeys)
        try apply(change, added: added, of: event, to: targetID)
      }
      // Before the documents change: an overlay is kept or recalculated by the document that it was calculated on.
      let owned = try localDocuments.owned(among: updatedKeys)
      let changed = try applyNewer(event.documentUpdates, keys: updatedKeys) { document in
        document.readTime = event.snapshotVersion > .none ? event.snapshotVersion : document.version
      }
      // After the targets: a mark of use looks up which targets hold the document.
      if isEager {
        try touch(event.documentUpdates.keys)
      } else {
        try touch(event.limboDocumentChanges.union(unlistenedKeys(event)).sorted())
      }
      // Never back, also for events without a version: the engine ignores snapshots that are older than this one.
      if try event.snapshotVersion > globals.lastRemoteSnapshotVersion() {
        try globals.setLastRemoteSnapshotVersion(event.snapshotVersion)
      }
      try tell(ofDocuments: changed.keys)
      return try localDocuments.remoteDocumentsChanged(changed, from: owned, user: userRow())
    }
  }

  /// Documents of a snapshot that arrived for targets without a listener. Without a note of their use they
  /// would never be collected.
  private func unlistenedKeys(_ event: RemoteEvent) -> Set<DocumentKey> {
    // The usual case: what came is exactly what changed in one target.
    if event.targetChanges.count == 1, let (targetID, change) = event.targetChanges.first,
      state.targets[targetID] != nil, change.removed.isEmpty,
      change.added.count + change.modified.count == event.documentUpdates.count
    {
      return []
    }
    var keys = Set(event.documentUpdates.keys)
    for (targetID, change) in event.targetChanges where state.targets[targetID] != nil {
      keys.subtract(change.added)
      keys.subtract(change.modified)
      keys.subtract(change.removed)
    }
    return keys
  }

  /// Keys in their order. What a target gains are mostly documents of the same snapshot, whose order is known: looking
  /// each up in a set is cheaper than comparing paths.
  private static func sorted(_ keys: Set<DocumentKey>, among ordered: [DocumentKey]) -> [DocumentKey] {
    guard keys.count >= ordered.count / 2 else { return keys.sorted() }
    let found = ordered.filter(keys.contains)
    return found.count == keys.count ? found : keys.sorted()
  }

  private func apply(
    _ change: TargetChange, added: [DocumentKey], of event: RemoteEvent, to targetID: TargetID
  ) throws {
    // Without a listener, keys and token must stay as they agree with each other in the row.
    guard var active = state.targets[targetID] else { return }
    assert(added.count == change.added.count, "the order of \(added) lacks some of \(change.added)")
    let removed = change.removed.sorted()
    for key in removed { try targets.remove(key, from: targetID) }
    try touch(removed)
    try add(added, toTarget: targetID)

    let isMismatch = event.targetMismatches[targetID] != nil
    active.data.sequenceNumber = try sequenceNumber()
    if isMismatch {
      active.data = active.data.with(resumeToken: [], snapshotVersion: .none)
        .with(lastLimboFreeSnapshotVersion: .none)
    } else if !change.resumeToken.isEmpty {
      active.data = active.data.with(resumeToken: change.resumeToken, snapshotVersion: event.snapshotVersion)
    }
    // After a mismatch the stored token must go. Otherwise an older token is safe, so it is written together with changed
    // documents or when it is due.
    if isMismatch || change.changesDocuments || Self.isDue(active) {
      try targets.update(active.data)
      active.persisted = active.data
    }
    state.targets[targetID] = active
    guard active.data.target.limit != nil, isMismatch || !added.isEmpty || !removed.isEmpty else { return }
    try tellOfKeys(of: targetID, areComplete: change.isCurrent && !isMismatch)
  }

  /// Tells the others that a target with a limit has other documents.
  private func tellOfKeys(of target: TargetID, areComplete: Bool) throws {
    guard hasOtherClients else { return }
    // Nobody is to take the documents for the result before the holder of the lease has said so again.
    if !areComplete { try clients.setAgreement(of: target, .open) }
    try tell(.targetState(target))
  }

  /// Returns whether the row is stale enough to be worth a write of its own.
  private static func isDue(_ active: ActiveTarget) -> Bool {
    active.persisted.resumeToken.isEmpty
      || isDue(active.data.snapshotVersion, since: active.persisted.snapshotVersion)
      || isDue(active.data.lastLimboFreeSnapshotVersion, since: active.persisted.lastLimboFreeSnapshotVersion)
  }

  private static func isDue(_ version: SnapshotVersion, since persisted: SnapshotVersion) -> Bool {
    let (age, overflow) = version.timestamp.seconds.subtractingReportingOverflow(persisted.timestamp.seconds)
    return overflow || age >= resumeTokenMaxAgeSeconds
  }

  /// Takes those documents that are newer than the cached ones.
  ///
  /// - Parameters:
  ///   - keys: those of `updates`, in order.
  ///   - prepare: completes a document before it is stored.
  func applyNewer(
    _ updates: DocumentMap, keys: [DocumentKey], prepare: (inout Document) -> Void = { _ in }
  ) throws -> DocumentMap {
    var changed: DocumentMap = [:]
    changed.reserveCapacity(updates.count)
    for key in keys {
      guard var document = updates[key] else { continue }
      if document.isMissing && document.version == .none {
        try documents.remove(key)
        changed[key] = document
        continue
      }
      prepare(&document)
      let isNews = try documents.set(document) { known in
        guard let known else { return true }
        return document.version > known.version
          || (document.version == known.version && known.hasCommittedMutations)
      }
      if isNews { changed[key] = document }
    }
    return changed
  }

  /// Takes note of what views show now: which documents they hold, and whether they agree with the backend.
  ///
  /// A view without documents in limbo makes its target's keys a safe start for the next run of the query.
  package func notifyLocalViewChanges(_ changes: [LocalViewChanges]) throws {
    // A secondary client has nothing to say but what has come out of use: several of them would wait for each other's turn to write.
    if !isPrimary, changes.allSatisfy(\.removedKeys.isEmpty) { return }
    try transaction("notifyLocalViewChanges", needsLease: isPrimary) {
      for change in changes {
        assert(change.addedKeys.isDisjoint(with: change.removedKeys), "a view shows what it no longer shows: \(change)")
        try touch(change.removedKeys.sorted())
        guard var active = state.targets[change.targetID] else { continue }
        if isEager {
          state.viewReferences.add(change.addedKeys, target: change.targetID)
          state.viewReferences.remove(change.removedKeys, target: change.targetID)
        }
        guard !change.isFromCache, isPrimary else { continue }
        let version = active.data.snapshotVersion
        active.data.lastLimboFreeSnapshotVersion = version
        let persisted = active.persisted.lastLimboFreeSnapshotVersion
        if version > .none, persisted == .none || Self.isDue(version, since: persisted) {
          try targets.setLimboFreeVersion(version, of: change.targetID)
          active.persisted.lastLimboFreeSnapshotVersion = version
        }
        state.targets[change.targetID] = active
      }
    }
  }
}
