package import HearthCache
internal import HearthModel

extension SyncEngine {
  // MARK: - Garbage collection

  /// The first garbage collection comes some time after the start, which has enough to do; later ones at intervals. A cache that
  /// is not collected at intervals gets no timer.
  func startGarbageCollectionTimer(after delay: Duration) {
    guard localStore.garbageCollectionParameters != nil else { return }
    emit(.startTimer(.lruGarbageCollection, after: delay))
  }

  func stopGarbageCollection() {
    garbageCollection = nil
    guard localStore.garbageCollectionParameters != nil else { return }
    emit(.cancelTimer(.lruGarbageCollection))
  }

  /// Does one step of a garbage collection and lets what is waiting come before the next: the timer for it runs out at once.
  ///
  /// A step that the storage refuses ends the garbage collection; what it has done so far stands, and the next one goes on there.
  func garbageCollectionTimerFired() {
    guard let parameters = localStore.garbageCollectionParameters else { return }
    lookForNews()
    runRetries()
    // The lease may be lost by now. What clients show that are not followed yet is not known.
    guard isPrimary else { return }
    let isBehind = retries.holds { if case .followOthers = $0 { true } else { false } }
    guard !isBehind else { return startGarbageCollectionTimer(after: configuration.clientRefreshInterval) }
    var run = garbageCollection ?? GarbageCollectionRun(parameters)
    garbageCollection = nil
    do {
      guard try localStore.advance(&run, isShown: isShown) else {
        garbageCollection = run
        startGarbageCollectionTimer(after: .zero)
        return
      }
      if run.report.hasCollected || run.report.releasedBytes > 0 { log(.debug, "\(run.report)") }
    } catch {
      if leaseIsLost(error) { return }
      log(.warning, "The cache's garbage could not be collected: \(error)")
    }
    startGarbageCollectionTimer(after: configuration.garbageCollectionInterval)
  }

  /// Runs a whole garbage collection at once, with parameters of the caller's choice. Does nothing on a cache with eager garbage
  /// collection.
  package func collectGarbage(_ parameters: GarbageCollectionParameters) throws -> GarbageCollectionReport {
    try localStore.collectGarbage(parameters, isShown: isShown) {
      lookForNews()
      runRetries()
    }
  }

  /// True if a view shows the document, or may do so once its first result is there. Documents in limbo are among those.
  private func isShown(_ key: DocumentKey) -> Bool {
    backgroundQueries.mayShow(key) || views.shows(key)
  }
}
