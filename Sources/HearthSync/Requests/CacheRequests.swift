internal import HearthCache
internal import HearthModel

/// Answers the requests that one call of the cache answers.
///
/// Nothing of them is left when they are answered, except what a change of the cache means for other parts: that is an action behind the
/// answer.
struct CacheRequests {
  enum Action {
    case emit(SyncAction)
    /// An observer of the outbox may see a difference.
    case outboxChanges
    /// Indexes were made or dropped.
    case indexesChange
  }

  private let localStore: LocalStore

  init(localStore: LocalStore) {
    self.localStore = localStore
  }

  // MARK: - Reads

  func readDocument(_ id: RequestID, _ key: DocumentKey) -> [Action] {
    answer(id, failure: "Document \(key.canonicalString) could not be read from the cache") {
      .document(try localStore.readDocument(key))
    }
  }

  func readPendingWrites(_ id: RequestID, in query: Query, maximumDocuments: Int) -> [Action] {
    answer(id, failure: "The pending writes could not be read from the cache") {
      .pendingWrites(try localStore.outbox.pendingWrites(in: query, maximumDocuments: maximumDocuments))
    }
  }

  func readNamedQuery(_ id: RequestID, _ name: String) -> [Action] {
    answer(id, failure: "The named query could not be read from the cache") {
      .query(try localStore.bundles.query(named: name)?.query)
    }
  }

  func readPinnedQueries(_ id: RequestID) -> [Action] {
    answer(id, failure: "The pinned queries could not be read") { .queries(try localStore.pinnedQueries()) }
  }

  // MARK: - Changes

  func discardRejected(
    _ id: RequestID, _ batches: [BatchID]?, _ identities: [BatchID: BatchIdentity], of user: String?
  ) -> [Action] {
    change(id, failure: "Rejected writes could not be discarded", then: [.outboxChanges]) {
      try localStore.discardRejected(batches, identities: identities, of: user)
    }
  }

  func discardResolvedConflicts(_ id: RequestID, _ conflicts: [KeptConflict.ID]?, of user: String?) -> [Action] {
    change(id, failure: "Resolved conflicts could not be discarded", then: [.outboxChanges]) {
      try localStore.discardResolvedConflicts(conflicts, of: user)
    }
  }

  func setIndexes(_ id: RequestID, _ definitions: [IndexDefinition]) -> [Action] {
    change(id, failure: "The index configuration could not be stored", then: [.indexesChange]) {
      try localStore.setIndexes(definitions)
    }
  }

  func deleteAllIndexes(_ id: RequestID) -> [Action] {
    change(id, failure: "The indexes could not be deleted", then: [.indexesChange]) {
      try localStore.deleteAllIndexes()
    }
  }

  func pin(_ id: RequestID, _ query: Query) -> [Action] {
    change(id, failure: "The pin could not be stored") { try localStore.pin(query) }
  }

  func unpin(_ id: RequestID, _ query: Query) -> [Action] {
    change(id, failure: "The pin could not be stored") { try localStore.unpin(query) }
  }

  /// Does one step of a clearing. The caller asks for the next, so that what is waiting comes in between.
  ///
  /// - Parameter isShown: True if a listener shows the document, or may come to show it. Such documents stay, in whichever client the listener
  ///   is, so that no view changes.
  func clear(_ id: RequestID, _ run: ClearingRun, isShown: (DocumentKey) -> Bool) -> [Action] {
    answer(id, failure: "The cache could not be cleared") {
      var run = run
      try localStore.advance(&run, isShown: isShown)
      return .clearing(run)
    }
  }

  // MARK: - Answers

  /// Answers a request with the result of an operation on the cache.
  ///
  /// - Parameter failure: Stands before the error if the operation fails.
  private func answer(_ id: RequestID, failure: String, _ operation: () throws -> EngineAnswer) -> [Action] {
    do {
      return [.emit(.answer(id, try operation()))]
    } catch {
      return [.emit(.requestFailed(id, .storage(failure, error)))]
    }
  }

  /// Answers a request when a change of the cache is done.
  ///
  /// - Parameters:
  ///   - failure: Stands before the error if the change fails.
  ///   - consequences: The actions that follow the answer unless the change fails.
  private func change(
    _ id: RequestID, failure: String, then consequences: [Action] = [], _ change: () throws -> Void
  ) -> [Action] {
    do {
      try change()
      return [.emit(.answer(id, .done))] + consequences
    } catch {
      return [.emit(.requestFailed(id, .storage(failure, error)))]
    }
  }
}
