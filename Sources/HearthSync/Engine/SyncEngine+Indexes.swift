internal import HearthCache
internal import HearthModel
internal import HearthStore

extension SyncEngine {
  // MARK: - Indexes

  func setIndexes(_ id: RequestID, _ definitions: [IndexDefinition]) {
    changeIndexes(id, "The index configuration could not be stored") { try localStore.setIndexes(definitions) }
  }

  func deleteAllIndexes(_ id: RequestID) {
    changeIndexes(id, "The indexes could not be deleted") { try localStore.deleteAllIndexes() }
  }

  private func changeIndexes(_ id: RequestID, _ failure: String, _ change: () throws -> Void) {
    do {
      try change()
      emit(.answer(id, .done))
      startIndexFill(after: .zero)
    } catch {
      emit(.requestFailed(id, .storage(failure, error)))
    }
  }

  /// Makes indexes that the query lacked, where that is switched on. Not having them is no failure.
  func considerIndexes(for query: Query, after execution: QueryExecution) {
    do {
      guard try localStore.considerIndexes(for: query, after: execution) else { return }
      log(.debug, "The query at \(query.path.canonicalString) gets an index.")
      startIndexFill(after: .zero)
    } catch {
      log(.warning, "An index could not be made: \(error)")
    }
  }

  // MARK: - Filling

  /// Goes on with what the last run of the program has left, when the start is over.
  func startIndexFillIfNeeded() {
    // If that cannot be read, the step that comes will say so.
    guard (try? localStore.hasIndexWork()) ?? true else { return }
    startIndexFill(after: configuration.firstIndexFillAfter)
  }

  private func startIndexFill(after delay: Duration) {
    // The primary client is told of it.
    guard isPrimary else { return }
    isFillingIndexes = true
    emit(.startTimer(.indexBackfill, after: delay))
  }

  func stopIndexFill() {
    guard isFillingIndexes else { return }
    isFillingIndexes = false
    emit(.cancelTimer(.indexBackfill))
  }

  /// Does one step and lets what is waiting come before the next: the timer for it runs out at once.
  ///
  /// A step that the storage refuses is tried again later; what has been filled so far stands.
  func indexFillTimerFired() {
    isFillingIndexes = false
    indexFillSteps += 1
    do {
      if try localStore.advanceIndexFill() { startIndexFill(after: .zero) }
    } catch {
      log(.warning, "The indexes could not be filled: \(error)")
      startIndexFill(after: configuration.indexFillRetry)
    }
  }
}
