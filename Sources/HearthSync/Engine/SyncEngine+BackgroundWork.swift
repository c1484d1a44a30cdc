package import HearthCache
internal import HearthModel

/// The steps of background work, which ``BackgroundWork`` asks for.
extension SyncEngine {
  // MARK: - Garbage collection

  func garbageCollectionTimerFired() {
    guard work.garbageCollection.isOn else { return }
    let mayCollect = knowsWhatOthersShow()
    // The lease may be lost by now.
    guard isPrimary else { return }
    guard mayCollect else { return emit(work.garbageCollection.postpone()) }
    do {
      emit(try work.garbageCollection.timerFired { try localStore.advance(&$0, isShown: isShown) })
    } catch CacheError.leaseLost {
      loseLease()
    } catch {
      emit(work.garbageCollection.stepFailed(error))
    }
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
    queryRuns.mayShow(key) || views.shows(key) || views.mayBeShownByOthers(key)
  }

  // MARK: - Bundles

  func bundleEnded(_ id: RequestID, _ error: StatusError?) {
    let (changes, actions) = work.bundles.ended(id, error)
    if let changes {
      queryRuns.noteTargets { _ in true }
      refreshViews(changes)
    }
    emit(actions)
  }
}
