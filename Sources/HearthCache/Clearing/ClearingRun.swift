internal import HearthModel
internal import HearthStore

/// The removal of chosen documents from a cache in use, in short steps. Other work may run between two steps.
///
/// | step | does | then |
/// |---|---|---|
/// | targets | for the whole cache: deletes the rows of all targets that are not in use | documents |
/// | documents | deletes documents, bounded in number and bytes | writes |
/// | writes | counts the documents that only the outboxes hold | keys |
/// | keys | deletes the remaining keys of removed targets, a few hundred at most | vacuum, or outcomes |
/// | outcomes | takes the results of transforms and the messages of errors out of kept outcomes of writes | uses |
/// | uses | removes the marks of use of documents that only writes have named | rewriting |
/// | vacuum | returns free pages to the file system | end |
/// | rewriting | rewrites the file in one transaction | erasing |
/// | erasing | empties the log | end |
///
/// Every step is one transaction and leaves a consistent state. Each step checks again what is pending and in use, so any client of a
/// shared cache may do it, and the process may end between two steps:
/// * Before a document is removed, the row of each target that holds it is removed, with the resume token and the version from which the
///   result could be completed. A later listen starts without a token.
/// * A document stays if some user has a pending write for it, or if a listener of some client shows it. So no target in use loses a
///   document, and its owner's knowledge in memory stays right.
/// * The record of loaded bundles is deleted, so that they can be loaded again.
package struct ClearingRun: Equatable, Sendable {
  private enum Phase: Equatable, Sendable {
    case removingTargets(after: TargetTable.Position)
    case removingKeys(from: Int)
    case removingDocuments(collection: Int, after: WalkPosition?)
    case countingWrites(after: MutationQueue.PendingDocument?)
    case removingEntries
    case removingResults(from: Int64?)
    case removingUses(after: DocumentUses.Position)
    case vacuuming
    case rewriting
    case erasing
    case finished
  }

  /// The limits of one step, chosen for a few milliseconds of processor time.
  struct StepLimits: Equatable {
    var targets = 200
    var keys = 500
    var documents = 200
    /// Reading a large document reads all its pages.
    var documentBytes = 4 << 20
    var pages = 128
  }

  private let scope: ClearingScope
  private let isSecure: Bool
  private let limits: StepLimits
  private var phase: Phase
  package private(set) var report = ClearingReport()

  /// - Parameter isSecure: True to leave nothing of the documents in the file and its log.
  package init(_ scope: ClearingScope, isSecure: Bool) {
    self.init(scope, isSecure: isSecure, limits: StepLimits())
  }

  init(_ scope: ClearingScope, isSecure: Bool, limits: StepLimits) {
    self.scope = scope
    self.isSecure = isSecure
    self.limits = limits
    phase =
      scope.isEverything && scope.confirmedBefore == nil ? .removingTargets(after: .start) : .removingKeys(from: 0)
  }

  package var isFinished: Bool { phase == .finished }

  /// True if only the log is left to empty, which must wait while another connection reads.
  package var awaitsReaders: Bool { phase == .erasing }

  /// Does the next step. When it throws, the run is as it was before.
  ///
  /// - Parameter isShown: Returns true if a view of this client shows a document, or may do so once its first result is there.
  mutating func step(on cache: CacheTransactions, isShown: (DocumentKey) -> Bool) throws {
    var next = self
    next.report.stepCount += 1
    switch phase {
    case .removingTargets(let position):
      next.phase =
        try next.removeTargets(cache, after: position).map { .removingTargets(after: $0) } ?? .removingKeys(from: 0)
    case .removingKeys(let index):
      let end = min(index + limits.documents, scope.keys.count)
      try next.removeDocuments(cache, isShown: isShown) {
        let found = try cache.tables.documents.documents(for: scope.keys[index..<end])
        return scope.keys[index..<end].compactMap { found[$0] }
      }
      next.phase =
        end < scope.keys.count ? .removingKeys(from: end) : .removingDocuments(collection: 0, after: nil)
    case .removingDocuments(let index, _) where index == scope.collections.count:
      next.phase = .countingWrites(after: nil)
    case .removingDocuments(let index, let position):
      var end: WalkPosition?
      try next.removeDocuments(cache, isShown: isShown) {
        let page = try cache.tables.documents.page(
          of: scope.collections[index], after: position, limit: limits.documents, byteLimit: limits.documentBytes)
        end = page.end
        return page.documents
      }
      next.phase = .removingDocuments(collection: end == nil ? index + 1 : index, after: end)
    case .countingWrites(let position):
      let (count, end) = try cache.read("Count waiting documents") {
        try scope.countWrittenDocuments(in: cache.tables, after: position, limit: limits.documents)
      }
      next.report.pendingDocumentCount += count
      next.phase = end.map { .countingWrites(after: $0) } ?? .removingEntries
    case .removingEntries:
      if try !next.removeEntries(cache) { next.phase = isSecure ? .removingResults(from: nil) : .vacuuming }
    case .removingResults(let position):
      // Their rows do not say which documents they come from.
      let end = try cache.run("Clear cache") {
        try cache.tables.outcomes.removeContents(from: position, limit: limits.documents)
      }
      next.phase = end.map { .removingResults(from: $0) } ?? .removingUses(after: .start)
    case .removingUses(let position):
      let end = try next.removeUses(cache, after: position)
      next.phase = end.map { .removingUses(after: $0) } ?? .rewriting
    case .vacuuming:
      try next.vacuum(cache)
    case .rewriting:
      try next.rewrite(cache)
    case .erasing:
      next.report.isErased = try cache.tables.database.truncateLog()
      if next.report.isErased { next.phase = .finished }
    case .finished:
      return
    }
    self = next
  }

  /// Ends a run that waits for other connections to end their reading. ``ClearingReport/isErased`` stays false.
  package mutating func giveUpErasing() {
    if phase == .erasing { phase = .finished }
  }

  // MARK: - Removing

  /// - Returns: the position to continue from, nil at the end.
  private mutating func removeTargets(
    _ cache: CacheTransactions, after position: TargetTable.Position
  ) throws -> TargetTable.Position? {
    let limits = limits
    let (last, count) = try cache.run("Clear cache") {
      try cache.tables.bundles.removeAll()
      let found = try cache.tables.targets.leastRecentlyUsed(after: position, upTo: .max, limit: limits.targets)
      let count = try found.count { try cache.dropForClearing($0.targetID) }
      return (found.last, count)
    }
    report.removedTargetCount += count
    return last
  }

  private mutating func removeDocuments(
    _ cache: CacheTransactions, isShown: (DocumentKey) -> Bool, _ page: () throws -> [Document]
  ) throws {
    let (scope, before) = (scope, report)
    report = try cache.run("Clear cache") {
      var report = before
      var others: TargetsInUse?
      for document in try page() where try scope.takes(document, in: cache) {
        let key = document.key
        if try cache.tables.queue.hasPendingBatch(for: key) {
          report.pendingDocumentCount += 1
          continue
        }
        let inUse = try others ?? TargetsInUse(of: cache)
        others = inUse
        let targetIDs = try cache.tables.targets.targetIDs(of: key)
        if isShown(key) || inUse.hold(targetIDs) || inUse.mayShow(document) {
          report.listenedDocumentCount += 1
          continue
        }
        // Before the document: no resume token is ahead of what is stored.
        for targetID in targetIDs where try cache.dropForClearing(targetID) { report.removedTargetCount += 1 }
        try cache.removeForClearing(key)
        report.removedDocumentCount += 1
      }
      if report.removedDocumentCount > before.removedDocumentCount { try cache.tables.bundles.forgetLoaded() }
      return report
    }
  }

  /// - Returns: True if there may be more to do.
  private func removeEntries(_ cache: CacheTransactions) throws -> Bool {
    // With eager collection a target goes with all its entries.
    guard !cache.isEager else { return false }
    return try cache.run("Clear cache") { try cache.tables.targets.removeSomeKeysOfRemovedTargets(limits.keys) }
  }

  /// Removes the marks of documents that only writes have named. Garbage collection would do that sooner or later.
  ///
  /// - Returns: The position to continue from; nil at the end.
  private func removeUses(
    _ cache: CacheTransactions, after position: DocumentUses.Position
  ) throws -> DocumentUses.Position? {
    try cache.run("Clear cache") {
      let page = try cache.tables.uses.unneeded(after: position, upTo: .max, limit: limits.documents)
      for (key, _) in page where try cache.tables.documents.document(for: key).isUnknown {
        try cache.tables.uses.remove(key)
      }
      return page.count < limits.documents ? nil : page.last?.position
    }
  }

  // MARK: - Giving space back

  private mutating func vacuum(_ cache: CacheTransactions) throws {
    let (database, limits) = (cache.tables.database, limits)
    let (released, remaining) = try cache.run("Clear cache") {
      try database.releaseFreePages(limit: limits.pages)
    }
    report.releasedBytes += released
    if released > 0, remaining > 0 { return }
    if report.releasedBytes > 0 { try database.truncateLog() }
    phase = .finished
  }

  private mutating func rewrite(_ cache: CacheTransactions) throws {
    guard case .file = cache.tables.database.location else {
      report.isErased = true
      phase = .finished
      return
    }
    let before = try cache.tables.database.fileSizeBytes
    try cache.rewriteFile()
    report.releasedBytes += max(before - (try cache.tables.database.fileSizeBytes), 0)
    phase = .erasing
  }
}

extension ClearingScope {
  /// Returns true if a document of its collections belongs to it.
  fileprivate func takes(_ document: Document, in cache: CacheTransactions) throws -> Bool {
    guard !document.isUnknown else { return false }
    if let query, !query.matches(document) { return false }
    guard let confirmedBefore else { return true }
    guard max(document.readTime, document.version) < confirmedBefore else { return false }
    // The backend does not send again what has not changed: the document is as new as the results that hold it.
    return try cache.tables.targets.targetIDs(of: document.key).allSatisfy {
      try (cache.tables.targets.targetData($0)?.snapshotVersion ?? .none) < confirmedBefore
    }
  }
}
