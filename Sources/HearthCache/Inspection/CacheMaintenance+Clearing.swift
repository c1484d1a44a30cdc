package import HearthModel
internal import HearthStore

extension CacheMaintenance {
  /// Removes documents from the cache in a folder, also while clients share it. Documents with pending writes, and those that a listener of
  /// a client shows, stay.
  ///
  /// - Parameters:
  ///   - isSecure: True to leave nothing of them in the file and its log.
  ///   - clientName: A name that no client of a cache has had; this is one for the time.
  ///   - progress: Called after each step.
  ///   - report: Told of a recovery, if damage is found that reading the cache has not.
  ///   - waitsForReaders: Called while others read an older state, which keeps the log; false gives up.
  /// - Throws: ``CacheInspectionError``: `inUse` if a process has the cache for itself; as
  ///   ``CacheInspection/read(folder:isRepeatable:_:)``. Each step that was done stands.
  package static func clear(
    folder: String, scope: ClearingScope, isSecure: Bool, clientName: String, progress: (ClearingReport) -> Void,
    report: (CacheRecovery) -> Void = { _ in }, waitsForReaders: () -> Bool
  ) throws -> ClearingReport {
    // Nothing is opened for writing that could not be read.
    let (name, backend) = try CacheInspection.read(folder: folder) { cache in
      (cache.databaseID, try cache.overview().backend)
    }
    let databaseID = name ?? DatabaseID(projectID: "unknown")
    let files = CacheFiles(folder: folder)
    if let damage = files.knownDamage { throw CacheInspectionError.damaged(path: files.main, reason: damage) }
    do {
      let (cache, store) = try CacheFile.openStore(
        folder: folder, databaseID: databaseID, options: CacheFile.Options(sharing: .shared, clientName: clientName),
        report: report
      ) { database, client in
        try LocalStore(
          database: database, databaseID: databaseID,
          garbageCollection: .leastRecentlyUsed(thresholdBytes: GarbageCollectionParameters.unlimitedBytes), user: nil,
          newCacheID: clientName, locks: client, backend: backend, namesDatabase: name != nil)
      }
      defer { cache.close() }
      func wakeOthers() throws {
        if store.takeHasTold() { cache.client?.wake(try store.otherClientNames()) }
      }
      var run = ClearingRun(scope, isSecure: isSecure)
      while !run.isFinished {
        let waited = run.awaitsReaders
        try store.advance(&run) { _ in false }
        try wakeOthers()
        progress(run.report)
        if waited, run.awaitsReaders, !waitsForReaders() { run.giveUpErasing() }
      }
      if store.isShared { try store.leave() }
      try wakeOthers()
      return run.report
    } catch let error as StoreError where error.kind == .unavailable {
      throw CacheInspectionError.inUse(folder: folder)
    } catch {
      throw CacheInspectionError.translating(error, path: files.main)
    }
  }
}

extension ClearingReport {
  package var json: JSONText {
    .object([
      ("removedDocuments", .integer(removedDocumentCount)), ("pendingDocuments", .integer(pendingDocumentCount)),
      ("listenedDocuments", .integer(listenedDocumentCount)), ("removedTargets", .integer(removedTargetCount)),
      ("releasedBytes", .integer(releasedBytes)), ("isErased", .bool(isErased)), ("steps", .integer(stepCount)),
    ])
  }
}
