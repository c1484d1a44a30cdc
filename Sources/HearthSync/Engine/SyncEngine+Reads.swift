internal import HearthCache
internal import HearthModel

/// One-time reads of the cache.
extension SyncEngine {
  func readDocument(_ id: RequestID, _ key: DocumentKey) {
    do {
      emit(.answer(id, .document(try localStore.readDocument(key))))
    } catch {
      emit(.requestFailed(id, .storage("Document \(key.canonicalString) could not be read from the cache", error)))
    }
  }

  func readAggregation(_ id: RequestID, _ query: Query, _ aggregations: [Aggregation]) {
    if readInBackground(id, query, aggregations, as: .aggregate) { return }
    do {
      let result = try localStore.aggregate(aggregations, over: query)
      emit(.answer(id, .values(result.totals.values)))
      considerIndexes(for: query, after: result.execution)
    } catch {
      emit(.requestFailed(id, .readFailed(error)))
    }
  }

  func readQuery(_ id: RequestID, _ query: Query) {
    do {
      // Before the query runs: its result must not be older than what is said of it.
      let knowledge = try knowledge(of: query)
      if readInBackground(id, query, as: .read(knowledge)) { return }
      let result = try localStore.read(query)
      emit(.answer(id, .snapshot(ViewSnapshot(query: query, cachedResult: result.documents, knowledge))))
      considerIndexes(for: query, after: result.execution)
    } catch {
      emit(.requestFailed(id, .readFailed(error)))
    }
  }

  private func knowledge(of query: Query) throws -> ResultKnowledge {
    guard let target = try localStore.targetData(for: query.target), !target.resumeToken.isEmpty else { return .none }
    return ResultKnowledge(
      version: target.snapshotVersion,
      confirmedKeys: query.limit == nil ? [] : try localStore.confirmedKeys(for: target.targetID))
  }
}
