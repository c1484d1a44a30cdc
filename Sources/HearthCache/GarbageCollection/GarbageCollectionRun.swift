package import HearthModel
internal import HearthStore

/// One run of least-recently-used garbage collection, in short steps. Other work may run between two steps.
///
/// The rule (firebase-ios-sdk lru_garbage_collector.cc): the oldest tenth of all targets and unneeded documents, at most 1,000, gives a
/// bound on the scale of sequence numbers. First the run removes the targets that were last used up to the bound, have no listener and are
/// not pinned. Then it removes the documents up to the bound that no target holds, that have no pending writes, and that no view and no
/// pinned query shows. Unlike in the official SDK, a cache that is larger than its threshold always becomes smaller if anything in it can
/// be removed:
///
/// * Entries that must stay do not use up the share: targets that are in use or pinned, and documents with pending writes, do not count,
///   and a run that finds only documents that must stay continues after them.
/// * With fewer than ten entries, one is removed, and then the next one, until the cache is smaller than the threshold.
///
/// | step | does | then |
/// |---|---|---|
/// | finishing | completes the removal of targets that an interrupted run has left | measuring |
/// | measuring | compares the size with the threshold, finds the bound | targets, vacuum or end |
/// | targets | deletes rows of targets, a few hundred at most | keys |
/// | keys | deletes the keys of those targets, and notes documents that become unneeded | documents |
/// | documents | deletes documents, bounded in number and bytes | vacuum, or measuring again |
/// | vacuum | moves pages from the end of the file into free ones, and cuts the file | end |
///
/// Every step is one transaction and leaves a consistent state: a target's row, with its resume token, is removed before the first of its
/// documents, and each step checks again what is listened to, pending and shown. So the process may end, and a target or a document may
/// come into use, between any two steps. The cost of a step is proportional to what it removes. It does not look at entries that stay, with
/// these exceptions: the targets with listeners; once in a run the documents that only views or pinned queries need; and the results of
/// pinned queries with a limit. Those results are also read once, and a step reads no more of them than it may remove.
package struct GarbageCollectionRun {
  private enum Phase {
    case finishing
    case measuring
    case removingTargets(after: TargetTable.Position)
    case removingKeys
    case removingDocuments(after: DocumentUses.Position)
    case vacuuming
    case finished
  }

  /// The limits of one step, chosen for a few milliseconds of processor time.
  struct StepLimits {
    var targets = 200
    var keys = 500
    var documents = 200
    /// Deleting a large document reads all its pages.
    var documentBytes = 4 << 20
    var pages = 128
  }

  /// One comparison of the size with the threshold, and the removals that follow from it.
  private struct Pass {
    /// The sequence number up to which it removes; -1 for nothing.
    var bound: Int64 = -1
    /// The place of the bound in the order of what may be removed, and how much that is.
    var rank: Int64 = 0
    var count: Int64 = 0
    /// True if the share of what may be removed is less than one.
    var isOfFew = false
    var hasRemoved = false
    /// Unneeded documents that stay, and how far they were looked at. A pass that follows goes on behind them.
    var sparedCount: Int64 = 0
    var position = DocumentUses.Position.start

    var findsMore: Bool { !hasRemoved && sparedCount > 0 && rank < count }
  }

  private let parameters: GarbageCollectionParameters
  private let limits: StepLimits
  private var phase = Phase.finishing
  private var pass = Pass()
  private var edges = ResultEdges()
  package private(set) var report = GarbageCollectionReport()

  package init(_ parameters: GarbageCollectionParameters) {
    self.init(parameters, limits: StepLimits())
  }

  init(_ parameters: GarbageCollectionParameters, limits: StepLimits) {
    self.parameters = parameters
    self.limits = limits
  }

  package var isFinished: Bool {
    if case .finished = phase { true } else { false }
  }

  /// Does the next step. When it throws, the run is as it was before.
  ///
  /// - Parameter isShown: Returns true if a view or a limbo resolution needs a document beyond what targets and batches say.
  mutating func step(on cache: CacheTransactions, isShown: (DocumentKey) -> Bool) throws {
    var next = self
    next.report.stepCount += 1
    switch phase {
    case .finishing:
      if try !next.removeKeys(cache) { next.phase = .measuring }
    case .measuring:
      try next.measure(cache)
    case .removingTargets(let position):
      next.phase = try next.removeTargets(cache, after: position).map { .removingTargets(after: $0) } ?? .removingKeys
    case .removingKeys:
      if try !next.removeKeys(cache) {
        // The documents of targets that are gone may come before those that stay.
        if next.pass.hasRemoved { (next.pass.sparedCount, next.pass.position) = (0, .start) }
        next.phase = .removingDocuments(after: next.pass.position)
      }
    case .removingDocuments(let position):
      let last = try next.removeDocuments(cache, after: position, isShown: isShown)
      next.phase = last.map { .removingDocuments(after: $0) } ?? (next.goesOn ? .measuring : .vacuuming)
    case .vacuuming:
      try next.vacuum(cache)
    case .finished:
      return
    }
    self = next
  }

  // MARK: - Measuring

  private mutating func measure(_ cache: CacheTransactions) throws {
    let database = cache.tables.database
    let used = try database.usedBytes
    let free = try database.fileSizeBytes - used
    if !report.hasCollected {
      report.cacheBytesBefore = used
      report.releasedBytes = 0
    }
    report.cacheBytesAfter = used
    guard used >= parameters.thresholdBytes else {
      // Free pages left by ordinary deletes, by an earlier pass, or by a vacuum that was interrupted.
      phase = report.hasCollected || free > used / 3 ? .vacuuming : .finished
      return
    }
    let former = pass
    pass = try cache.read("Collect garbage") { try makePass(cache, sparing: former.sparedCount) }
    (pass.sparedCount, pass.position) = (former.sparedCount, former.position)
    report.hasCollected = true
    phase = .removingTargets(after: .start)
  }

  /// True if there is another pass. Without a threshold there is nothing to become smaller than.
  private var goesOn: Bool {
    pass.findsMore || pass.isOfFew && pass.hasRemoved && parameters.thresholdBytes > 0
  }

  /// - Parameter spared: The documents at the beginning of the order that were found to stay.
  private func makePass(_ cache: CacheTransactions, sparing spared: Int64) throws -> Pass {
    guard parameters.percentile > 0, parameters.maxSequenceNumbers > 0 else { return Pass() }
    // Counting further could not change the result.
    let (product, overflow) = parameters.maxSequenceNumbers.multipliedReportingOverflow(by: 100)
    let (limit, limitOverflow) = (product / parameters.percentile).addingReportingOverflow(spared + 1)
    let enough = overflow || limitOverflow ? .max : limit
    let kept = try cache.tables.pins.targetIDs(in: cache.tables.targets).union(cache.targetsInUse())
    let targetCount = try min(
      max(cache.tables.globals.targetCount() - cache.tables.targets.rowCount(of: kept), 0), enough)
    let documentCount = try cache.tables.uses.unneededCount(limit: enough)
    let (count, countOverflow) = targetCount.addingReportingOverflow(documentCount)
    guard count > 0 else { return Pass() }
    let share = countOverflow ? parameters.maxSequenceNumbers : Self.share(parameters.percentile, of: count)
    let rank = min(min(max(share, 1), parameters.maxSequenceNumbers) + spared, countOverflow ? .max : count)
    assert(rank >= 1 && rank <= count || countOverflow, "the bound has place \(rank) among \(count)")
    let bound = try cache.tables.targets.sequenceNumber(at: rank, except: kept) ?? -1
    return Pass(bound: bound, rank: rank, count: count, isOfFew: share == 0)
  }

  private static func share(_ percentile: Int64, of count: Int64) -> Int64 {
    let (product, overflow) = count.multipliedReportingOverflow(by: percentile)
    return overflow ? .max : product / 100
  }

  // MARK: - Removing

  /// - Returns: the position to continue from, nil at the end.
  private mutating func removeTargets(
    _ cache: CacheTransactions, after position: TargetTable.Position
  ) throws -> TargetTable.Position? {
    let (bound, limits) = (pass.bound, limits)
    let (last, count) = try cache.run("Collect garbage", needsLease: true) {
      let found = try cache.tables.targets.leastRecentlyUsed(after: position, upTo: bound, limit: limits.targets)
      let pinned = try cache.tables.pins.targetIDs(in: cache.tables.targets)
      let removable = try found.map(\.targetID).filter { try !pinned.contains($0) && !cache.isInUse($0) }
      for targetID in removable { try cache.tables.targets.removeRow(targetID) }
      if !removable.isEmpty { try cache.tables.targets.trimDroppedTargets() }
      return (found.last, removable.count)
    }
    report.removedTargetCount += count
    if count > 0 { pass.hasRemoved = true }
    return last
  }

  /// - Returns: True if there may be more to do.
  private func removeKeys(_ cache: CacheTransactions) throws -> Bool {
    try cache.run("Collect garbage", needsLease: true) {
      try cache.tables.targets.removeSomeKeysOfRemovedTargets(limits.keys)
    }
  }

  /// - Returns: the position to continue from, nil at the end.
  private mutating func removeDocuments(
    _ cache: CacheTransactions, after position: DocumentUses.Position, isShown: (DocumentKey) -> Bool
  ) throws -> DocumentUses.Position? {
    let (bound, limits, edges) = (pass.bound, limits, edges)
    assert(!cache.isEager, "a cache that collects at once keeps no marks of use")
    let (last, count, sparedCount, edgesAfter) = try cache.run("Collect garbage", needsLease: true) {
      () -> (DocumentUses.Position?, Int, Int64, ResultEdges) in
      // Before the news are taken, it is not known what clients show if they have just come or have other targets.
      guard !cache.sharing.hasNewsOfClients else { return (position, 0, 0, edges) }
      var kept = try KeptDocuments(
        in: cache.tables, edges, within: ResultEdges.Allowance(documents: limits.documents, bytes: limits.documentBytes)
      )
      var last: DocumentUses.Position?
      var (count, sparedCount) = (0, Int64(0))
      var bytes = 0
      for (key, next) in try cache.tables.uses.unneeded(after: position, upTo: bound, limit: limits.documents) {
        guard let isKept = try isShown(key) ? true : kept.contains(key) else {
          // The next step goes on with this document, and reads the result that it needs for it.
          return (last ?? position, count, sparedCount, kept.edges)
        }
        last = next
        if isKept {
          sparedCount += 1
          continue
        }
        if try cache.tables.targets.hasTarget(for: key) || cache.tables.queue.hasPendingBatch(for: key) {
          // A damaged mark. The references decide.
          try cache.tables.uses.markNeeded(key)
          continue
        }
        bytes += try cache.tables.documents.fieldsByteCount(of: key)
        try cache.tables.documents.remove(key)
        try cache.tables.uses.remove(key)
        try cache.tell(ofDocuments: [key])
        count += 1
        if bytes >= limits.documentBytes { break }
      }
      return (last, count, sparedCount, kept.edges)
    }
    assert(count + Int(sparedCount) <= limits.documents, "a step has looked at more documents than it may remove")
    self.edges = edgesAfter
    report.removedDocumentCount += count
    if count > 0 { pass.hasRemoved = true }
    pass.sparedCount += sparedCount
    if let last { pass.position = last }
    return last
  }

  // MARK: - Giving space back

  private mutating func vacuum(_ cache: CacheTransactions) throws {
    let (database, limits) = (cache.tables.database, limits)
    let (released, remaining) = try cache.run("Collect garbage", needsLease: true) {
      try database.releaseFreePages(limit: limits.pages)
    }
    report.releasedBytes += released
    if released > 0, remaining > 0 { return }
    if report.releasedBytes > 0 { try database.truncateLog() }
    report.cacheBytesAfter = try database.usedBytes
    phase = .finished
  }
}

extension LocalStore {
  /// The parameters of this cache's periodic garbage collection; nil when it has none.
  package var garbageCollectionParameters: GarbageCollectionParameters? {
    guard case .leastRecentlyUsed(let thresholdBytes) = garbageCollection,
      thresholdBytes != GarbageCollectionParameters.unlimitedBytes
    else { return nil }
    return GarbageCollectionParameters(thresholdBytes: thresholdBytes)
  }

  /// Does the next step of a run. Does nothing on a cache with eager garbage collection.
  ///
  /// - Parameter isShown: Returns true if a view or a limbo resolution needs a document, also one that its target does not hold.
  /// - Returns: True if the run has ended.
  /// - Throws: when the step could not be stored; the run can be continued or given up then.
  package func advance(_ run: inout GarbageCollectionRun, isShown: (DocumentKey) -> Bool) throws -> Bool {
    guard !transactions.isEager else { return true }
    try run.step(on: transactions, isShown: isShown)
    return run.isFinished
  }

  /// Does a whole run, for a client that is alone. Ends early once other clients have come: nobody takes their news here.
  package func collectGarbage(
    _ parameters: GarbageCollectionParameters, isShown: (DocumentKey) -> Bool
  ) throws -> GarbageCollectionReport {
    var run = GarbageCollectionRun(parameters)
    while try !advance(&run, isShown: isShown), !sharing.hasNewsOfClients {}
    return run.report
  }
}
