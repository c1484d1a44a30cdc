package import HearthModel
internal import HearthStore

/// One run of least-recently-used garbage collection, in short steps between which anything else may happen.
///
/// The rule (firebase-ios-sdk lru_garbage_collector.cc): the oldest tenth of all targets and unneeded documents, at most 1,000, gives a
/// bound on the scale of sequence numbers. First go the targets without a listener that were last used up to the
/// bound and are not pinned, then the documents up to it that no target holds, no user has pending writes for and no view shows. Unlike
/// there, documents with pending writes do not count as unneeded, so that many of them cannot keep the rest permanently.
///
/// | step | does | then |
/// |---|---|---|
/// | finishing | ends the removal of targets that an earlier run was cut off in | measuring |
/// | measuring | compares the size with the threshold, finds the bound | targets, vacuum or end |
/// | targets | deletes rows of targets, a few hundred at most | keys |
/// | keys | deletes what those targets held, and notes what is unneeded by that | documents |
/// | documents | deletes documents, bounded in number and bytes | vacuum |
/// | vacuum | moves pages from the end of the file into free ones, and cuts the file | end |
///
/// Every step is one transaction and holds by itself: a target's row, with its resume token, goes before the first of
/// its documents, and each step asks again what is listened to, pending and shown. So the process may end, and a target or
/// a document may come into use, between any two steps. Each step costs what it removes; nothing that stays is looked at,
/// except the targets that are listened to and the documents that only views need.
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

  private let parameters: GarbageCollectionParameters
  private let limits: StepLimits
  private var phase = Phase.finishing
  private var bound: Int64 = -1
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
  mutating func step(on store: LocalStore, isShown: (DocumentKey) -> Bool) throws {
    var next = self
    next.report.stepCount += 1
    switch phase {
    case .finishing:
      if try !next.removeKeys(store) { next.phase = .measuring }
    case .measuring:
      try next.measure(store)
    case .removingTargets(let position):
      next.phase = try next.removeTargets(store, after: position).map { .removingTargets(after: $0) } ?? .removingKeys
    case .removingKeys:
      if try !next.removeKeys(store) { next.phase = .removingDocuments(after: .start) }
    case .removingDocuments(let position):
      let last = try next.removeDocuments(store, after: position, isShown: isShown)
      next.phase = last.map { .removingDocuments(after: $0) } ?? .vacuuming
    case .vacuuming:
      try next.vacuum(store)
    case .finished:
      return
    }
    self = next
  }

  // MARK: - Measuring

  private mutating func measure(_ store: LocalStore) throws {
    let database = store.database
    let used = try database.usedBytes
    let free = try database.fileSizeBytes - used
    report.cacheBytesBefore = used
    report.cacheBytesAfter = used
    report.releasedBytes = 0
    guard used >= parameters.thresholdBytes else {
      // Free pages left by ordinary deletes, or by a vacuum that was interrupted.
      phase = free > used / 3 ? .vacuuming : .finished
      return
    }
    bound = try store.read("Collect garbage") { try findBound(store) }
    report.hasCollected = true
    phase = .removingTargets(after: .start)
  }

  /// The sequence number up to which this run removes, -1 for nothing.
  private func findBound(_ store: LocalStore) throws -> Int64 {
    guard parameters.percentile > 0 else { return -1 }
    // Counting further could not change the result.
    let (product, overflow) = parameters.maxSequenceNumbers.multipliedReportingOverflow(by: 100)
    let (limit, limitOverflow) = (product / parameters.percentile).addingReportingOverflow(1)
    let enough = overflow || limitOverflow ? .max : limit
    // Pinned targets neither count nor use up the share of the others.
    let pinned = try store.pins.targetIDs(in: store.targets)
    let targetCount = try min(max(store.globals.targetCount() - Int64(pinned.count), 0), enough)
    let documentCount = try store.uses.unneededCount(limit: enough)
    let (count, countOverflow) = targetCount.addingReportingOverflow(documentCount)
    let share = countOverflow ? parameters.maxSequenceNumbers : Self.share(parameters.percentile, of: count)
    let number = min(share, parameters.maxSequenceNumbers)
    guard number > 0 else { return -1 }
    return try store.targets.sequenceNumber(at: number, except: pinned) ?? -1
  }

  private static func share(_ percentile: Int64, of count: Int64) -> Int64 {
    let (product, overflow) = count.multipliedReportingOverflow(by: percentile)
    return overflow ? .max : product / 100
  }

  // MARK: - Removing

  /// - Returns: the position to continue from, nil at the end.
  private mutating func removeTargets(
    _ store: LocalStore, after position: TargetTable.Position
  ) throws -> TargetTable.Position? {
    let (bound, limits) = (bound, limits)
    let (last, count) = try store.transaction("Collect garbage", needsLease: true) {
      let found = try store.targets.leastRecentlyUsed(after: position, upTo: bound, limit: limits.targets)
      let pinned = try store.pins.targetIDs(in: store.targets)
      let removable = try found.map(\.targetID).filter { try !pinned.contains($0) && !store.isInUse($0) }
      for targetID in removable { try store.targets.removeRow(targetID) }
      if !removable.isEmpty { try store.targets.trimDroppedTargets() }
      return (found.last, removable.count)
    }
    report.removedTargetCount += count
    return last
  }

  /// - Returns: True if there may be more to do.
  private func removeKeys(_ store: LocalStore) throws -> Bool {
    try store.transaction("Collect garbage", needsLease: true) {
      try store.targets.removeSomeKeysOfRemovedTargets(limits.keys)
    }
  }

  /// - Returns: the position to continue from, nil at the end.
  private mutating func removeDocuments(
    _ store: LocalStore, after position: DocumentUses.Position, isShown: (DocumentKey) -> Bool
  ) throws -> DocumentUses.Position? {
    let (bound, limits) = (bound, limits)
    let (last, count) = try store.transaction("Collect garbage", needsLease: true) {
      () -> (DocumentUses.Position?, Int) in
      // What clients show that have just come or have other targets is not known before the news are taken.
      guard !store.hasNewsOfClients else { return (position, 0) }
      var last: DocumentUses.Position?
      var count = 0
      var bytes = 0
      for (key, position) in try store.uses.unneeded(after: position, upTo: bound, limit: limits.documents) {
        last = position
        if isShown(key) { continue }
        if try store.targets.hasTarget(for: key) || store.queue.hasPendingBatch(for: key) {
          // A damaged mark. The references decide.
          try store.uses.markNeeded(key)
          continue
        }
        bytes += try store.documents.fieldsByteCount(of: key)
        try store.documents.remove(key)
        try store.uses.remove(key)
        try store.tell(ofDocuments: [key])
        count += 1
        if bytes >= limits.documentBytes { break }
      }
      return (last, count)
    }
    report.removedDocumentCount += count
    return last
  }

  // MARK: - Giving space back

  private mutating func vacuum(_ store: LocalStore) throws {
    let (database, limits) = (store.database, limits)
    let (released, remaining) = try store.transaction("Collect garbage", needsLease: true) {
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
    guard !isEager else { return true }
    try run.step(on: self, isShown: isShown)
    return run.isFinished
  }

  /// Does a whole run, for a client that is alone.
  package func collectGarbage(
    _ parameters: GarbageCollectionParameters, isShown: (DocumentKey) -> Bool
  ) throws -> GarbageCollectionReport {
    var run = GarbageCollectionRun(parameters)
    while try !advance(&run, isShown: isShown) {}
    return run.report
  }
}
