internal import HearthCache
internal import HearthModel
internal import HearthPlan

/// The work that a client does in steps. Other events are handled between two steps.
///
/// Each part keeps its state private and decides when its next step is due. Indexes are filled here. Steps of garbage collection need the
/// shown documents, so the engine does them.
struct BackgroundWork {
  private let localStore: LocalStore
  var garbageCollection: GarbageCollectionSchedule
  private var indexFill: IndexFillSchedule
  var bundles: BundleLoads

  init(localStore: LocalStore, configuration: SyncConfiguration, isPrimary: Bool) {
    self.localStore = localStore
    garbageCollection = GarbageCollectionSchedule(
      localStore.garbageCollectionParameters, configuration: configuration)
    indexFill = IndexFillSchedule(configuration: configuration, isPrimary: isPrimary)
    bundles = BundleLoads { BundleLoader(localStore: localStore) }
  }

  /// This client has the streams, and does from now on what one client of a cache does for all.
  mutating func start() -> [SyncAction] {
    garbageCollection.start() + indexFill.start(hasWork: hasIndexWork)
  }

  /// Another client does it, or none.
  mutating func stop() -> [SyncAction] {
    garbageCollection.stop() + indexFill.stop()
  }

  /// The work in progress, in a fixed order.
  var inProgress: [SyncWork] {
    var work: [SyncWork] = []
    if let steps = indexFill.stepsInProgress { work.append(.indexFilling(steps: steps)) }
    if let count = garbageCollection.removedDocumentCount { work.append(.garbageCollection(removedDocuments: count)) }
    return work + bundles.progress.map { .bundle($0.id, $0.progress) }
  }

  // MARK: - Indexes

  /// True if the last run of the program has left something to do. If that cannot be read, the step that comes will say so.
  private var hasIndexWork: Bool { (try? localStore.indexes.hasWork()) ?? true }

  /// Indexes were made or dropped in this client.
  mutating func indexesChanged() -> [SyncAction] { indexFill.indexesChanged() }

  /// Another client has made or dropped indexes.
  mutating func othersChangedIndexes() -> [SyncAction] { indexFill.start(hasWork: hasIndexWork) }

  /// Fills the indexes for one step.
  mutating func indexTimerFired() -> [SyncAction] {
    indexFill.timerFired { [localStore] in try localStore.advanceIndexFill() }
  }

  /// Makes indexes that the query lacked, where that is switched on. Not having them is no failure.
  mutating func considerIndexes(for query: Query, after execution: QueryExecution) -> [SyncAction] {
    do {
      guard try localStore.considerIndexes(for: query, after: execution) else { return [] }
      return [.log(.debug, "The query at \(query.path.canonicalString) gets an index.")] + indexFill.indexesChanged()
    } catch {
      return [.log(.warning, "An index could not be made: \(error)")]
    }
  }

  /// Checks in debug builds what must hold between two events.
  func assertInvariants(isPrimary: Bool) {
    garbageCollection.assertInvariants(isPrimary: isPrimary)
    indexFill.assertInvariants(isPrimary: isPrimary)
  }
}
