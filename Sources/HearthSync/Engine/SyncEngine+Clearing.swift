internal import HearthCache
internal import HearthModel

extension SyncEngine {
  /// Does one step of clearing a part of the cache; the caller asks for the next, so that what is waiting comes in between.
  ///
  /// No view changes: documents that a listener shows stay, in whichever client it is.
  func clear(_ id: RequestID, _ run: ClearingRun) {
    var run = run
    do {
      try localStore.advance(&run) { backgroundQueries.mayShow($0) || views.shows($0) }
      emit(.answer(id, .clearing(run)))
    } catch {
      emit(.requestFailed(id, .storage("The cache could not be cleared", error)))
    }
  }

  // MARK: - Pins

  func changePins(_ id: RequestID, _ change: () throws -> Void) {
    do {
      try change()
      emit(.answer(id, .done))
    } catch {
      emit(.requestFailed(id, .storage("The pin could not be stored", error)))
    }
  }

  func readPinnedQueries(_ id: RequestID) {
    do {
      emit(.answer(id, .queries(try localStore.pinnedQueries())))
    } catch {
      emit(.requestFailed(id, .storage("The pinned queries could not be read", error)))
    }
  }
}
