internal import HearthModel
internal import HearthStore

/// The rows of targets: their documents, their resume tokens and their uses.
///
/// Its methods run inside a transaction. `ActiveTargets` has the targets in use; other parts read it as well.
final class CacheTargets {
  /// The snapshot time after which a resume token is written although nothing else has changed: five minutes
  /// (firebase-ios-sdk local_store.cc, ShouldPersistTargetData).
  private static let resumeTokenMaxAgeSeconds: Int64 = 300

  private let transactions: CacheTransactions
  private let active: ActiveTargets
  private let references: DocumentReferences
  private let table: TargetTable
  private let pins: PinTable
  private let globals: CacheGlobals
  private let documents: DocumentStore
  private let localDocuments: LocalDocuments

  init(_ transactions: CacheTransactions) {
    self.transactions = transactions
    active = transactions.targets
    references = transactions.references
    table = transactions.tables.targets
    pins = transactions.tables.pins
    globals = transactions.tables.globals
    documents = transactions.tables.documents
    localDocuments = transactions.tables.localDocuments
  }

  // MARK: - In use

  /// Takes a target into use, with a new row if it has none.
  ///
  /// - Throws: `StoreError` `unavailable` if the target is in use without a row.
  func takeIntoUse(_ target: Target) throws -> TargetData {
    if let known = transactions.activeTarget(target) { return known.data }
    let data = try row(for: target)
    if let known = active.targetID(of: target), known != data.targetID {
      // The row went while the others took this client for dead. ``LocalStore/rejoin(isWatched:)`` gives its targets their new ids.
      throw StoreError(kind: .unavailable, message: "Target \(known) has no row before the client rejoins its cache.")
    }
    try active.take(data)
    return data
  }

  /// The target's row, or a new one.
  private func row(for target: Target) throws -> TargetData {
    if var known = try table.target(target) {
      if known.resumeToken.isEmpty { known.wasDropped = try table.wasDropped(target) }
      return known
    }
    var data = TargetData(
      target: target, targetID: try globals.takeTargetID(), sequenceNumber: try references.sequenceNumber())
    try table.insert(data)
    data.wasDropped = try table.wasDropped(target)
    return data
  }

  /// Takes a target in use into use again, with another row if the former one is gone.
  ///
  /// - Returns: Its row; nil if it is not in use.
  func enterAgain(_ former: TargetID) throws -> TargetData? {
    guard let target = active[former]?.data.target else { return nil }
    let data = try active.row(of: former) ?? row(for: target)
    active.leaveNumber(former)
    try active.take(data)
    return data
  }

  /// Forgets a target and what its view shows.
  func forget(_ targetID: TargetID) {
    active.remove(targetID)
    active.forgetLoaded(targetID)
    references.abandonView(of: targetID)
  }

  /// Writes what is known of a target whose last listener has gone. With eager garbage collection its row goes unless it is pinned.
  ///
  /// - Parameter unconfirmedKeys: documents that its views showed although the target does not hold them; they count as used.
  func release(_ active: ActiveTarget, unconfirmedKeys: Set<DocumentKey>) throws {
    let targetID = active.data.targetID
    try references.touch(references.endView(of: targetID).sorted())
    if references.isEager, try !pins.contains(active.data.target) { return try remove(targetID) }
    try references.touch(unconfirmedKeys.sorted())
    if transactions.isPrimary {
      try table.update(active.data.with(sequenceNumber: references.sequenceNumber()))
    } else {
      // The rest of the row is the business of the holder of the lease.
      try table.setSequenceNumber(references.sequenceNumber(), of: targetID)
    }
  }

  /// Writes what is known of a target that no client uses any more, and forgets it.
  ///
  /// - Returns: False if it was not in use.
  func drop(_ targetID: TargetID, unconfirmedKeys: Set<DocumentKey>) throws -> Bool {
    guard let data = active[targetID]?.data else { return false }
    try references.touch(unconfirmedKeys.sorted())
    try table.update(data.with(sequenceNumber: references.sequenceNumber()))
    active.remove(targetID)
    return true
  }

  private func remove(_ targetID: TargetID) throws {
    try references.touch(table.keys(of: targetID))
    try table.remove(targetID)
  }

  // MARK: - Snapshots

  /// Part of ``LocalStore/apply(_:)``.
  ///
  /// - Parameter tellOfKeys: Called with each target that has got other documents than before and whose keys others compare, and with whether
  ///   these are its complete result.
  /// - Returns: the documents that changed, as the local view now has them.
  func apply(_ event: RemoteEvent, tellOfKeys: (TargetID, Bool) throws -> Void) throws -> DocumentMap {
    let updatedKeys = event.documentUpdates.keys.sorted()
    for targetID in Set(event.targetChanges.keys).union(event.targetMismatches.keys).sorted() {
      let change = event.targetChanges[targetID] ?? TargetChange()
      let added = Self.sorted(change.added, among: updatedKeys)
      if let areComplete = try apply(change, added: added, of: event, to: targetID) {
        try tellOfKeys(targetID, areComplete)
      }
    }
    // Before the documents change: an overlay is kept or recalculated by the document that it was calculated on.
    let owned = try localDocuments.owned(among: updatedKeys)
    let changed = try localDocuments.setNewer(
      event.documentUpdates, keys: updatedKeys, isVoid: event.contradicts(_:at:),
      prepare: { document in
        document.readTime = event.snapshotVersion > .none ? event.snapshotVersion : document.version
      })
    // After the targets: a mark of use looks up which targets hold the document.
    if references.isEager {
      try references.touch(event.documentUpdates.keys)
    } else {
      try references.touch(event.limboDocumentChanges.union(unlistenedKeys(event)).sorted())
    }
    // Never back, also for events without a version: the engine ignores snapshots that are older than this one.
    if try event.snapshotVersion > globals.lastRemoteSnapshotVersion() {
      try globals.setLastRemoteSnapshotVersion(event.snapshotVersion)
    }
    try transactions.tell(ofDocuments: changed.keys)
    return try localDocuments.remoteDocumentsChanged(changed, from: owned, user: transactions.user.row())
  }

  /// Documents of a snapshot that arrived for targets without a listener. Without a note of their use they
  /// would never be collected.
  private func unlistenedKeys(_ event: RemoteEvent) -> Set<DocumentKey> {
    // The usual case: what came is exactly what changed in one target.
    if event.targetChanges.count == 1, let (targetID, change) = event.targetChanges.first,
      active[targetID] != nil, change.removed.isEmpty,
      change.added.count + change.modified.count == event.documentUpdates.count
    {
      return []
    }
    var keys = Set(event.documentUpdates.keys)
    for (targetID, change) in event.targetChanges where active[targetID] != nil {
      keys.subtract(change.added)
      keys.subtract(change.modified)
      keys.subtract(change.removed)
    }
    return keys
  }

  /// Keys in their order. A target mostly gains documents of the same snapshot, whose order is known: looking each up in a set is cheaper
  /// than comparing paths.
  private static func sorted(_ keys: Set<DocumentKey>, among ordered: [DocumentKey]) -> [DocumentKey] {
    guard keys.count >= ordered.count / 2 else { return keys.sorted() }
    let found = ordered.filter(keys.contains)
    return found.count == keys.count ? found : keys.sorted()
  }

  /// - Returns: Nil unless the target has other documents than before, and others compare them; then true if these are its complete result.
  private func apply(
    _ change: TargetChange, added: [DocumentKey], of event: RemoteEvent, to targetID: TargetID
  ) throws -> Bool? {
    // Without a listener, keys and token must stay as they agree with each other in the row.
    guard var active = active[targetID] else { return nil }
    assert(added.count == change.added.count, "the order of \(added) lacks some of \(change.added)")
    let removed = change.removed.sorted()
    for key in removed { try table.remove(key, from: targetID) }
    try references.touch(removed)
    try references.add(added, toTarget: targetID)

    let isMismatch = event.targetMismatches[targetID] != nil
    active.data.sequenceNumber = try references.sequenceNumber()
    if isMismatch {
      active.data = active.data.with(resumeToken: [], snapshotVersion: .none)
        .with(lastLimboFreeSnapshotVersion: .none)
    } else {
      active.data = active.data.after(change, at: event.snapshotVersion)
    }
    // A former result with the changes since then lacks a document that has left it without a change. Clients that show the document would
    // not hear of it from one that takes the target over with that result, and has nothing in limbo. With a limit each compares the keys.
    if active.data.target.limit == nil, removed.contains(where: { event.documentUpdates[$0] == nil }) {
      active.data.lastLimboFreeSnapshotVersion = .none
    }
    // After a mismatch or a reset the stored token must go. Otherwise an older token is safe, so it is written together with changed
    // documents or when it is due.
    if isMismatch || change.isPartial || change.changesDocuments || Self.isDue(active) {
      try table.update(active.data)
      active.persisted = active.data
    }
    self.active.update(active)
    let areCompared = active.data.target.limit != nil || transactions.sharing.hasOtherUsers
    guard areCompared, isMismatch || !added.isEmpty || !removed.isEmpty else { return nil }
    return change.isCurrent && !isMismatch
  }

  // MARK: - Views

  /// Part of ``LocalStore/notifyLocalViewChanges(_:)``.
  func note(_ change: LocalViewChanges) throws {
    assert(change.addedKeys.isDisjoint(with: change.removedKeys), "a view shows what it no longer shows: \(change)")
    try references.touch(change.removedKeys.sorted())
    guard var active = active[change.targetID] else { return }
    references.viewChanged(of: change.targetID, added: change.addedKeys, removed: change.removedKeys)
    guard !change.isFromCache, transactions.isPrimary else { return }
    let version = active.data.snapshotVersion
    active.data.lastLimboFreeSnapshotVersion = version
    let persisted = active.persisted.lastLimboFreeSnapshotVersion
    if version > .none, persisted == .none || Self.isDue(version, since: persisted) {
      try table.setLimboFreeVersion(version, of: change.targetID)
      active.persisted.lastLimboFreeSnapshotVersion = version
    }
    self.active.update(active)
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

  // MARK: - Pins

  /// Part of ``LocalStore/unpin(_:)``.
  func unpin(_ query: Query) throws {
    guard try pins.remove(query), references.isEager else { return }
    // With least recently used documents, the next run finds what is not needed any more.
    try references.touch(keysMatching(query))
    guard try !pins.contains(query.target), let data = try transactions.knownTarget(query.target),
      try !transactions.isInUse(data.targetID)
    else { return }
    // Otherwise done when its last listener went.
    try remove(data.targetID)
  }

  private func keysMatching(_ query: Query) throws -> [DocumentKey] {
    if let key = query.documentKey { return [key] }
    var keys: [DocumentKey] = []
    try documents.forEach(in: CollectionScope(of: query)) { stored in
      let document = try stored.document()
      if query.matches(document) { keys.append(document.key) }
      return true
    }
    return keys
  }
}
