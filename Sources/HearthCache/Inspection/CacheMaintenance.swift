package import HearthModel
internal import HearthStore

/// Operations on a cache that no process uses.
package enum CacheMaintenance {
  // MARK: - Deleting

  /// The writes that exist only in a cache.
  package struct Holdings: Equatable, Sendable {
    /// Pending batches, also those that were set aside, as far as they could be counted.
    package var pending = WriteCount()
    /// Batches that the backend has refused and that are kept.
    package var rejected = WriteCount()
    /// The first of those, in words.
    var firstRejected: [String] = []
    /// False if there may be other pending batches.
    var isPendingComplete = true
    /// False if there may be other refused batches.
    var isRejectedComplete = true
  }

  /// Deletes the cache in a folder, files that were set aside included.
  ///
  /// - Parameters:
  ///   - discardsPendingWrites: True to delete it even if it holds writes that the backend does not have.
  ///   - discardsRejectedWrites: True to delete it even if it keeps writes that the backend has refused.
  /// - Returns: The writes that were deleted with it.
  /// - Throws: ``CacheInspectionError``: `pendingWrites`; `rejectedWrites`; `inUse`; as ``CacheInspection/read(folder:isRepeatable:_:)``
  ///   for a folder without a cache, or with a cache of another release, whose contents are unknown. Nothing is deleted then.
  package static func clear(
    folder: String, discardsPendingWrites: Bool, discardsRejectedWrites: Bool
  ) throws -> Holdings {
    let files = CacheFiles(folder: folder)
    // Before a lock file is made in the folder.
    do {
      try CacheFolderCheck.run(files)
    } catch .unfinished, .damaged {
      // The remains of a cache may be deleted.
    }
    return try exclusively(folder) { lock in
      let holdings = try holdings(folder: folder)
      if !discardsPendingWrites { try checkPending(holdings, folder) }
      if !discardsRejectedWrites { try checkRejected(holdings, folder) }
      lock.keepNumber()
      do { try files.deleteAll() } catch let error as StoreError {
        throw CacheInspectionError.io(path: folder, reason: error.message)
      }
      return holdings
    }
  }

  private static func checkPending(_ holdings: Holdings, _ folder: String) throws(CacheInspectionError) {
    guard holdings.pending.batches == 0 else { throw .pendingWrites(folder: folder, count: holdings.pending) }
    guard holdings.isPendingComplete else {
      throw .invalid(
        "The cache in \"\(folder)\" is damaged and may hold pending writes that cannot be counted. Start the client, which saves "
          + "what can be read, or repeat the command with --discard-pending-writes.")
    }
  }

  private static func checkRejected(_ holdings: Holdings, _ folder: String) throws(CacheInspectionError) {
    guard holdings.rejected.batches == 0 else {
      throw .rejectedWrites(folder: folder, count: holdings.rejected, first: holdings.firstRejected)
    }
    guard holdings.isRejectedComplete else {
      throw .invalid(
        "The cache in \"\(folder)\" is damaged and may keep writes that the backend has refused and that cannot be read. Start the "
          + "client, which saves what can be read, or repeat the command with --discard-rejected-writes.")
    }
  }

  private static let namedRejected = 10

  private static func holdings(folder: String) throws -> Holdings {
    do {
      let files = CacheFiles(folder: folder)
      if let damage = files.knownDamage { throw CacheInspectionError.damaged(path: files.main, reason: damage) }
      return try CacheInspection.read(folder: folder) { cache in
        // As a client does when it starts. A table and an index that do not fit may both look empty.
        try cache.queue.checkOwners()
        try cache.queue.checkIndexOfBatches()
        var holdings = Holdings(pending: try cache.pendingCounts().total, rejected: try cache.rejectedCounts().total)
        holdings.pending.addUnreadable(try cache.setAsideBatchCount())
        try cache.forEachRejectedBatch {
          holdings.firstRejected.append($0.inWords)
          return holdings.firstRejected.count < namedRejected
        }
        return holdings
      }
    } catch CacheInspectionError.unfinished {
      return Holdings()
    } catch CacheInspectionError.damaged {
      let report = try CacheCheck.run(folder: folder)
      var holdings = Holdings(
        pending: report.saved, rejected: report.savedRejected, isPendingComplete: report.isOutboxComplete,
        isRejectedComplete: report.isRejectedComplete)
      holdings.pending.addUnreadable(report.unreadableBatchCount)
      holdings.rejected.addUnreadable(report.unreadableRejectedBatchCount)
      return holdings
    }
  }

  // MARK: - Collecting garbage

  /// Removes the targets and documents that were not used for the longest time, and gives the space back.
  ///
  /// - Parameters:
  ///   - targetBytes: the size at which it stops; nil for one run, as a client makes it.
  ///   - newCacheID: see ``LocalStore``; needed only for a cache that no client has named.
  ///   - progress: called after each step with the number of documents removed so far.
  /// - Throws: ``CacheInspectionError``: `inUse`, because a running client collects by itself; as
  ///   ``CacheInspection/read(folder:isRepeatable:_:)``. Each step that was done stands.
  package static func collect(
    folder: String, toBytes targetBytes: Int64? = nil, newCacheID: String, progress: (Int) -> Void = { _ in }
  ) throws -> GarbageCollectionReport {
    // Nothing is opened for writing that could not be read.
    let databaseID = try CacheInspection.read(folder: folder) { cache in
      _ = try cache.overview()
      return cache.databaseID
    }
    let files = CacheFiles(folder: folder)
    if let damage = files.knownDamage { throw CacheInspectionError.damaged(path: files.main, reason: damage) }
    return try exclusively(folder) { _ in
      do {
        let database = try Database(.file(path: files.main))
        defer { database.close() }
        let store = try LocalStore(
          database: database, databaseID: databaseID ?? DatabaseID(projectID: "unknown"),
          garbageCollection: .leastRecentlyUsed(thresholdBytes: targetBytes ?? 0), user: nil, newCacheID: newCacheID,
          namesDatabase: databaseID != nil)
        return try collect(store, toBytes: targetBytes, progress)
      } catch {
        throw CacheInspectionError.translating(error, path: files.main)
      }
    }
  }

  private static func collect(
    _ store: LocalStore, toBytes targetBytes: Int64?, _ progress: (Int) -> Void
  ) throws -> GarbageCollectionReport {
    var total = GarbageCollectionReport()
    let parameters = GarbageCollectionParameters(thresholdBytes: targetBytes ?? 0)
    while true {
      var run = GarbageCollectionRun(parameters)
      while try !store.advance(&run, isShown: { _ in false }) {
        progress(total.removedDocumentCount + run.report.removedDocumentCount)
      }
      total.add(run.report)
      guard let targetBytes, run.report.cacheBytesAfter > targetBytes,
        run.report.removedTargetCount + run.report.removedDocumentCount > 0
      else { break }
    }
    try store.database.truncateLog()
    return total
  }

  // MARK: - Locking

  private static func exclusively<Result>(_ folder: String, _ body: (FolderLock) throws -> Result) throws -> Result {
    let lock: FolderLock
    do {
      lock = try FolderLock(folder: folder)
    } catch {
      throw error.kind == .unavailable
        ? CacheInspectionError.inUse(folder: folder)
        : CacheInspectionError.noPermission(path: folder, reason: "its lock file cannot be written")
    }
    defer { lock.release() }
    return try body(lock)
  }
}

extension GarbageCollectionReport {
  /// Adds a later run.
  fileprivate mutating func add(_ later: GarbageCollectionReport) {
    if stepCount == 0 { cacheBytesBefore = later.cacheBytesBefore }
    hasCollected = hasCollected || later.hasCollected
    removedTargetCount += later.removedTargetCount
    removedDocumentCount += later.removedDocumentCount
    cacheBytesAfter = later.cacheBytesAfter
    releasedBytes += later.releasedBytes
    stepCount += later.stepCount
  }

  package var json: JSONText {
    .object([
      ("removedTargets", .integer(removedTargetCount)), ("removedDocuments", .integer(removedDocumentCount)),
      ("usedBytesBefore", .integer(cacheBytesBefore)), ("usedBytesAfter", .integer(cacheBytesAfter)),
      ("releasedBytes", .integer(releasedBytes)), ("steps", .integer(stepCount)),
    ])
  }
}
