internal import HearthCache
internal import HearthModel
internal import HearthPlan

/// One-time reads of the cache.
extension QueryRuns {
  mutating func readAggregation(_ id: RequestID, _ query: Query, _ aggregations: [Aggregation]) -> [Action] {
    let aggregated = Aggregation.query(query, for: aggregations)
    var actions: [Action] = []
    do {
      // Before the query runs: its result must not be older than what is said of it. A limit is one of the query with all its orders;
      // without one, the query itself has every document that takes part.
      let knowledge = try knowledge(of: query.limit == nil ? query : aggregated)
      // Knowledge about a result with a limit depends on its documents.
      let computed = query.limit == nil ? aggregations : []
      if let big = makeBackgroundQuery(aggregated, computed, wantsConfirmedKeys: false, &actions) {
        return actions + [start(id, query, aggregations, big, as: .aggregate(aggregations, knowledge))]
      }
      let result: AggregateResult
      let execution: QueryExecution
      if computed.isEmpty {
        let answer = try localStore.read(aggregated)
        result = try AggregateResult(aggregations, ofCached: answer.documents, of: aggregated, knowledge)
        execution = answer.execution
      } else {
        let answer = try localStore.queries.aggregate(aggregations, over: aggregated)
        result = AggregateResult(cached: answer.totals, of: query, knowledge)
        execution = answer.execution
      }
      return actions + [.emit(.answer(id, .aggregation(result))), .considerIndexes(for: aggregated, after: execution)]
    } catch {
      return actions + [.emit(.requestFailed(id, .readFailed(error)))]
    }
  }

  mutating func readQuery(_ id: RequestID, _ query: Query) -> [Action] {
    var actions: [Action] = []
    do {
      // Before the query runs: its result must not be older than what is said of it.
      let knowledge = try knowledge(of: query)
      if let big = makeBackgroundQuery(query, wantsConfirmedKeys: false, &actions) {
        return actions + [start(id, query, [], big, as: .read(knowledge))]
      }
      let result = try localStore.read(query)
      let snapshot = ViewSnapshot(query: query, cachedResult: result.documents, knowledge)
      return actions + [.emit(.answer(id, .snapshot(snapshot))), .considerIndexes(for: query, after: result.execution)]
    } catch {
      return actions + [.emit(.requestFailed(id, .readFailed(error)))]
    }
  }

  private func knowledge(of query: Query) throws -> ResultKnowledge {
    guard let target = try localStore.targetData(for: query.target), target.completeVersion > .none else {
      var knowledge = ResultKnowledge.none
      knowledge.wasDropped = try localStore.queries.wasDropped(query.target)
      return knowledge
    }
    return ResultKnowledge(
      version: target.completeVersion,
      confirmedKeys: query.limit == nil ? [] : try localStore.confirmedKeys(for: target.targetID))
  }
}
