internal import HearthCache

/// The work that a client does in steps, between which other events are handled.
///
/// Each part keeps its state private and decides when its next step is due. The engine does the steps, on the cache.
struct BackgroundWork {
  var garbageCollection: GarbageCollectionSchedule
  var indexFill: IndexFillSchedule
  var bundles: BundleLoads

  init(localStore: LocalStore, configuration: SyncConfiguration, isPrimary: Bool) {
    garbageCollection = GarbageCollectionSchedule(
      localStore.garbageCollectionParameters, configuration: configuration)
    indexFill = IndexFillSchedule(configuration: configuration, isPrimary: isPrimary)
    bundles = BundleLoads { BundleLoader(localStore: localStore) }
  }

  /// This client has the streams, and does from now on what one client of a cache does for all.
  ///
  /// - Parameter hasIndexWork: True if some index is not filled.
  mutating func start(hasIndexWork: Bool) -> [SyncAction] {
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

  /// Checks in debug builds what must hold between two events.
  func assertInvariants(isPrimary: Bool) {
    garbageCollection.assertInvariants(isPrimary: isPrimary)
    indexFill.assertInvariants(isPrimary: isPrimary)
  }
}
