internal import HearthModel
internal import HearthPlan
internal import HearthRPC
internal import HearthStore
internal import Logging
internal import Synchronization

/// Indexes are created on demand: a query whose scan costs much more than its result asks for one. The writer fills them, in steps between
/// the commits. Queries use an index from the start, and scan the documents that it does not hold yet.
extension EmbeddedStorage {
  /// One step of filling: about two milliseconds, so that commits wait no longer for it than for another commit.
  static let fillLimits = IndexTable.FillLimits(
    documents: 400, documentBytes: 512 << 10, newEntries: 2_000, entries: 2_000)

  /// Asks for indexes. Returns at once.
  nonisolated func wish(for definitions: [IndexDefinition]) {
    guard !definitions.isEmpty else { return }
    let now = clock.now().microseconds
    let new = indexDemand.withLock { $0.wish(definitions, at: now) }
    guard !new.isEmpty else { return }
    Task { await self.addAutomatic(new) }
  }

  /// The time after which indexes that could not be made may be asked for again.
  private static let retryTime: IndexDemand.Time = 60_000_000

  private func addAutomatic(_ wishes: [IndexDefinition]) {
    let now = clock.now().microseconds
    // Unless this comes to its end.
    var full = Dictionary(wishes.map { ($0.collectionGroup, now + Self.retryTime) }) { first, _ in first }
    defer { indexDemand.withLock { $0.answer(wishes, full: full) } }
    guard let (present, automatic) = knownIndexes() else { return }
    let plan = AutomaticIndexPlan(for: wishes, beside: present, automatic, now: now)
    if plan.isEmpty || changeIndexes("Create indexes", { try apply(plan, at: now) }) { full = plan.full }
  }

  /// Inside a transaction.
  private func apply(_ plan: AutomaticIndexPlan, at now: IndexDemand.Time) throws {
    try store.indexes.dropAutomatic(plan.dropped)
    for definition in plan.added { try store.indexes.add(definition, origin: .automatic) }
    try store.indexes.save(uses: Dictionary(plan.added.map { ($0, now) }) { first, _ in first })
  }

  /// All indexes, and the automatic ones with their latest uses; nil if they cannot be read.
  private func knownIndexes() -> (all: Set<IndexDefinition>, automatic: [AutomaticIndex])? {
    guard !isClosed else { return nil }
    do {
      let (all, saved) = try database.readTransaction("Read indexes") {
        store.indexes.use(indexState)
        return (try store.indexes.definitions(), try store.indexes.automaticIndexes())
      }
      var automatic = saved
      indexDemand.withLock { demand in
        demand.keepUses(of: all)
        for index in automatic.indices {
          guard let use = demand.latestUse(of: automatic[index].definition) else { continue }
          automatic[index].latestUse = max(automatic[index].latestUse, use)
        }
      }
      return (all, automatic)
    } catch {
      note(error, "indexes cannot be read")
      return nil
    }
  }

  private func note(_ error: any Error, _ what: Logger.Message) {
    store.indexes.forget()
    if let error = error as? StoreError, error.isFailedSync { noteFailedSync(error) }
    logger.error(what, metadata: ["database": .escaped(databaseID), "error": .escaped("\(error)")])
  }

  func declare(_ definitions: [IndexDefinition]) {
    published.withLock { $0.declared = definitions }
    guard (try? store.indexes.declaredDefinitions()) != Set(definitions) else { return }
    changeIndexes("Declare indexes") { try store.indexes.declare(definitions) }
  }

  /// Changes definitions, and has what they need filled.
  ///
  /// - Returns: False if that is not possible. Queries are answered all the same, by a scan.
  @discardableResult
  private func changeIndexes(_ name: String, _ body: () throws -> Void) -> Bool {
    guard !isClosed, (try? requireSafeDisk()) != nil else { return false }
    do {
      try writeStep(name) {
        try body()
        try nextIndexState()
      }
      indexState += 1
      continueFilling()
      return true
    } catch {
      note(error, "indexes cannot be changed")
      return false
    }
  }

  private func nextIndexState() throws {
    try ServerState.save(indexState: indexState + 1, in: database)
  }

  /// Fills indexes in the background until all hold everything.
  func continueFilling() {
    guard fillsIndexes, !isFilling else { return }
    isFilling = true
    Task {
      self.isFilling = false
      if self.fillIndexes(Self.fillLimits) { self.continueFilling() }
    }
  }

  /// Does one step.
  ///
  /// - Returns: True if there may be more to do.
  func fillIndexes(_ limits: IndexTable.FillLimits) -> Bool {
    guard mayWriteInBackground else { return false }
    do {
      // Not durable by itself: a power cut that takes the latest entries takes the mark of how far the index is filled too.
      let hasMore = try writeStep("Fill indexes", synchronous: .normal) {
        store.indexes.use(indexState)
        guard try store.indexes.hasWork() else { return false }
        _ = try store.indexes.fill(limits)
        try nextIndexState()
        return true
      }
      if hasMore { indexState += 1 }
      return hasMore
    } catch {
      note(error, "indexes cannot be filled")
      return false
    }
  }
}

// MARK: - Uses

extension EmbeddedStorage {
  /// Keeps which indexes a query has used. Nothing is written.
  nonisolated func noteUse(by execution: QueryExecution?) {
    guard let execution, execution.plan == .index else { return }
    let now = clock.now().microseconds
    indexDemand.withLock { demand in
      var last: IndexDefinition?
      for case .index(let definition, _, _) in execution.accesses where definition != last {
        demand.use(definition, at: now)
        last = definition
      }
      for definition in execution.mergedIndexes { demand.use(definition, at: now) }
    }
  }

  /// Drops automatic indexes that are unused, at most once an hour, and saves when the others were used.
  func tendIndexes() {
    let now = clock.now().microseconds
    guard now >= nextIndexCheck else { return }
    nextIndexCheck = now + IndexDemand.saveInterval
    saveIndexUses()
    guard let (_, automatic) = knownIndexes() else { return }
    let plan = AutomaticIndexPlan(dropping: automatic, openedAt: openingTime, now: now)
    if !plan.isEmpty { changeIndexes("Drop indexes") { try apply(plan, at: now) } }
  }

  /// Saves uses whose times on disk are old.
  func saveIndexUses() {
    guard (try? requireSafeDisk()) != nil else { return }
    let uses = indexDemand.withLock { $0.takeUnsaved() }
    guard !uses.isEmpty else { return }
    do {
      // A power cut may take them: then an index is dropped a little too soon.
      try writeStep("Save uses of indexes", synchronous: .normal) { try store.indexes.save(uses: uses) }
    } catch {
      note(error, "uses of indexes cannot be saved")
    }
  }
}
