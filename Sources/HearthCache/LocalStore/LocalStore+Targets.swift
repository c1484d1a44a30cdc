package import HearthModel
package import HearthPlan
package import HearthStore

/// Targets, snapshots of the backend and reports of views.
extension LocalStore {
  // MARK: - Targets

  /// Finds the target's row, or makes one under a new target id, and counts the target as listened to.
  ///
  /// The same target gets the same row as long as it exists. No id is consumed when the transaction fails.
  ///
  /// - Parameter isWatched: True if the target is watched at the backend.
  package func allocateTarget(_ target: Target, isWatched: Bool = true) throws -> TargetData {
    try transactions.run("Allocate target") {
      let data = try targets.takeIntoUse(target)
      if isWatched { transactions.targets.setWatched(data.targetID, true) }
      try sharing.announceUse(of: data.targetID, isWatched: isWatched)
      return data
    }
  }

  /// Returns whether the target has a listener.
  package func isActive(_ targetID: TargetID) -> Bool { transactions.targets[targetID] != nil }

  /// Ends listening to a target, with its latest resume token written.
  ///
  /// With eager garbage collection the row goes unless it is pinned, and with it the documents that nothing else needs. The target is no longer
  /// listened to even when the transaction fails: then the row keeps an older token, which still agrees with the
  /// documents.
  ///
  /// - Parameter unconfirmedKeys: documents that its views showed although the target does not hold them; they count as used.
  package func releaseTarget(_ targetID: TargetID, unconfirmedKeys: Set<DocumentKey> = []) throws {
    guard let active = transactions.targets[targetID] else { throw CacheError.unknownTarget(targetID) }
    defer { targets.forget(targetID) }
    try transactions.run("Release target", needsLease: isPrimary && isShared) {
      try sharing.release(targetID)
      try targets.release(active, unconfirmedKeys: unconfirmedKeys)
    }
  }

  // MARK: - Targets of others

  /// Takes a target that another client uses into use here as well, or reads its row again if it is.
  ///
  /// - Returns: Nil if it has no row any more.
  package func adoptTarget(_ targetID: TargetID) throws -> TargetData? {
    // A former holder of the lease that has not found out yet writes nothing here, and does no harm.
    try transactions.run("Get target data") {
      guard let known = try tables.targets.targetData(targetID) else { return nil }
      return try database.part("Allocate target") {
        try sharing.noteFollowed(targetID)
        try transactions.targets.take(known)
        return known
      }
    }
  }

  /// Lets other clients know that the row of a target must stay as it is when none of them uses it any more.
  package func followTarget(_ targetID: TargetID) throws {
    try transactions.run("Follow target") { try sharing.noteFollowed(targetID) }
  }

  /// Forgets a target without a word in the file: this client has no view of it any more.
  package func forgetTarget(_ targetID: TargetID) { transactions.targets.remove(targetID) }

  /// Releases a target that no client uses any more, or fails and leaves it as it is.
  package func dropTarget(_ targetID: TargetID, unconfirmedKeys: Set<DocumentKey>) throws {
    try transactions.run("Release target", needsLease: true) {
      if try targets.drop(targetID, unconfirmedKeys: unconfirmedKeys) { try sharing.giveUp(targetID) }
    }
  }

  /// Makes the uses in the file match those of this client.
  ///
  /// A missing use was ended by the holder of the lease because the backend had refused the target, and the notice was removed before this
  /// client read it. Watched again, the target is refused again, and this client is notified. A superfluous use has ended without being
  /// stored.
  ///
  /// - Parameter uses: The targets that have listeners here, with true for those to watch at the backend.
  /// - Returns: The targets in use whose rows were removed, with their replacements.
  package func storeTargetUses(_ uses: [TargetID: Bool]) throws -> [TargetID: TargetID] {
    guard isShared, let stored = try transactions.read("Look for targets", sharing.storedUses) else { return [:] }
    let active = transactions.targets
    let wanted = uses.merging(active.loaded.map { ($0, false) }) { isWatched, _ in isWatched }
    let missing = Set(uses.keys).subtracting(stored.keys).intersection(active.targetIDs)
    let ended = stored.keys.filter { wanted[$0] == nil }.sorted()
    let unwatched = stored.filter { $0.value && wanted[$0.key] == false }.keys.sorted()
    guard !missing.isEmpty || !ended.isEmpty || !unwatched.isEmpty else { return [:] }
    return try transactions.run("Allocate target") {
      try sharing.endUses(ended, unwatched: unwatched)
      let moved = try enter(missing) { uses[$0] ?? false }
      try sharing.tell(.clients)
      return moved
    }
  }

  /// Enters targets in use for this client, each with a row of its own if the former one is gone. Part of a transaction.
  ///
  /// - Returns: The targets that have got another row, with that.
  func enter(_ targetIDs: Set<TargetID>, isWatched: (TargetID) -> Bool) throws -> [TargetID: TargetID] {
    var moved: [TargetID: TargetID] = [:]
    for former in targetIDs.sorted() {
      guard let data = try targets.enterAgain(former) else { continue }
      if data.targetID != former { moved[former] = data.targetID }
      try sharing.use(data.targetID, isWatched: isWatched(former))
    }
    return moved
  }

  // MARK: - Snapshots

  /// The version of the last snapshot that was applied.
  package func lastRemoteSnapshotVersion() throws -> SnapshotVersion {
    try transactions.read("Get last remote snapshot version") { try tables.globals.lastRemoteSnapshotVersion() }
  }

  /// Applies one consistent snapshot of the backend: documents, target keys, resume tokens and the snapshot version.
  ///
  /// A document only moves forward: it is taken when it is newer than the cached one, or of the same version while the
  /// cached one is the result of an acknowledged write. An older one is taken if it shows that the cached one is of a history that the
  /// backend has lost, see ``RemoteEvent/contradicts(_:at:)``. A document that is missing at version `.none` is forgotten
  /// instead (a limbo resolution that the backend refused). The snapshot version never goes back.
  ///
  /// - Returns: the documents that changed, as the local view now has them.
  package func apply(_ event: RemoteEvent) throws -> DocumentMap {
    event.assertInvariants()
    return try transactions.run("Apply remote event", needsLease: true) {
      try targets.apply(event) { try sharing.tellOfKeys(of: $0, areComplete: $1) }
    }
  }

  /// Takes over a bundle that has been read to its end: all of it or, if the transaction fails, nothing.
  ///
  /// Documents are applied like changes of the backend, each only if it is newer than the cached one. They belong to one
  /// artificial target per bundle id, so that garbage collection keeps them until the next start.
  ///
  /// A named query's target takes the bundle's documents of that query as its result if its read time is newer than what is
  /// known, and the backend is not asked for it; then there is no resume token, and the next listen sends the read time
  /// (firebase-ios-sdk local_store.cc, ApplyBundledDocuments and SaveNamedQuery).
  ///
  /// - Returns: the documents that changed, as the local view now has them.
  package func apply(
    _ metadata: BundleMetadata, documents: [BundledDocument], queries: [NamedQuery]
  ) throws -> DocumentMap {
    try transactions.run("Apply bundle documents") {
      let uses = TargetUses(enter: sharing.useForBundle) { [sharing, transactions] target in
        try sharing.isShared ? sharing.isWatched(target) : transactions.targets.isWatched(target)
      }
      return try bundles.apply(metadata, documents: documents, queries: queries, uses: uses)
    }
  }

  /// Takes note of what views show now: which documents they hold, and whether they agree with the backend.
  ///
  /// A view without documents in limbo makes its target's keys a safe start for the next run of the query.
  package func notifyLocalViewChanges(_ changes: [LocalViewChanges]) throws {
    // A secondary client has nothing to say but what has come out of use: several of them would wait for each other's turn to write.
    if !isPrimary, changes.allSatisfy(\.removedKeys.isEmpty) { return }
    try transactions.run("notifyLocalViewChanges", needsLease: isPrimary) {
      for change in changes { try targets.note(change) }
    }
  }

  /// A view begins with these documents. Eager garbage collection keeps them, like those that it comes to show later.
  package func viewBegins(of targetID: TargetID, showing documents: some Sequence<Document>) {
    transactions.references.viewBegins(of: targetID, showing: documents)
  }

  // MARK: - Pins

  /// Lets garbage collection spare what the backend has confirmed for a query. Does nothing if it is pinned already.
  package func pin(_ query: Query) throws {
    try transactions.run("Pin query", synchronous: .full) { _ = try tables.pins.insert(query) }
  }

  /// Lets garbage collection treat a query like every other one again. Does nothing if it is not pinned.
  package func unpin(_ query: Query) throws {
    try transactions.run("Unpin query", synchronous: .full) { try targets.unpin(query) }
  }

  /// The pinned queries, in the order in which they were pinned.
  package func pinnedQueries() throws -> [Query] {
    try transactions.read("List pinned queries") { try tables.pins.queries() }
  }

  // MARK: - Indexes

  /// Makes these the indexes of the cache. Existing ones keep their entries, the others are dropped, and new ones are filled by
  /// ``advanceIndexFill(_:)``. Queries give the same results before, during and after the filling.
  package func setIndexes(_ definitions: [IndexDefinition]) throws {
    try transactions.run("Set indexes") {
      try tables.documents.indexes.set(definitions)
      try sharing.tell(.indexes)
    }
  }

  /// Gives all indexes up, declared and automatic ones.
  package func deleteAllIndexes() throws {
    try transactions.run("Delete all indexes") {
      try tables.documents.indexes.dropAll()
      try sharing.tell(.indexes)
    }
  }

  /// Does a bounded part of the work until all indexes hold all documents and no entries of dropped indexes are left. Each part is a
  /// transaction of its own.
  ///
  /// - Returns: True if there may be more to do.
  package func advanceIndexFill(_ limits: IndexTable.FillLimits = .init()) throws -> Bool {
    try transactions.run("Fill indexes", needsLease: true) { try indexes.advanceFill(limits) }
  }

  /// Creates the indexes that would have made a query faster, if automatic creation is on and the gain is large enough.
  ///
  /// - Returns: True if there is a new index to fill.
  package func considerIndexes(for query: Query, after execution: QueryExecution) throws -> Bool {
    let missing = try indexes.missing(for: query, after: execution)
    guard !missing.isEmpty else { return false }
    try transactions.run("Create indexes") {
      for definition in missing { try tables.documents.indexes.add(definition, origin: .automatic) }
      try sharing.tell(.indexes)
    }
    return true
  }
}
