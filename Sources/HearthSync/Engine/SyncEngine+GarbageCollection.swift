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
    let mayCollect = knowsWhatOthersShow()
    // The lease may be lost by now.
    guard isPrimary else { return }
    guard mayCollect else { return startGarbageCollectionTimer(after: configuration.clientRefreshInterval) }
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

  /// Runs garbage collection at once, with parameters of the caller's choice, until it is complete or this client no longer knows
  /// what the others show. Does nothing on a cache with eager garbage collection.
  package func collectGarbage(_ parameters: GarbageCollectionParameters) throws -> GarbageCollectionReport {
    var run = GarbageCollectionRun(parameters)
    while knowsWhatOthersShow(), try !localStore.advance(&run, isShown: isShown) {}
    return run.report
  }

  /// Takes in the news of other clients.
  ///
  /// - Returns: False if this client may not collect now, because something that another one shows may have no view here yet.
  private func knowsWhatOthersShow() -> Bool {
    lookForNews()
    runRetries()
    let isBehind = retries.holds(where: \.bringsOthersIn)
    return isPrimary && !isBehind
  }

  /// True if a view shows the document, or may do so once its first result is there. Documents in limbo are among those.
  private func isShown(_ key: DocumentKey) -> Bool {
    backgroundQueries.mayShow(key) || views.shows(key) || views.mayBeShownByOthers(key)
  }
}
