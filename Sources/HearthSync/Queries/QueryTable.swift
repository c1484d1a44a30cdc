internal import HearthModel

/// A query that has listeners: its target, its view and its listeners.
struct ActiveQuery {
  /// Rises with every query that becomes active; gives the order of everything that is done for each of them.
  let id: QueryID
  let query: Query
  fileprivate(set) var targetID: TargetID
  var view: View
  /// True if the view was answered when the listeners that wait for that last heard of it. It may change in steps that raise nothing.
  var wasAnswered = false
  /// In the order of registration.
  var listeners: [QueryListener] = []
  /// The cache could not be read when the view needed it: its documents must be computed again.
  var viewIsIncomplete = false

  var hasBackendListeners: Bool { listeners.contains(where: \.listensToBackend) }
}

struct QueryID: Hashable, Comparable {
  var rawValue: Int

  static func < (a: QueryID, b: QueryID) -> Bool { a.rawValue < b.rawValue }
}

/// The active queries, found by query, by target and by listener.
///
/// Queries that differ only in how they present a result (a limit to the first documents, and the mirrored limit to the
/// last ones) share a target; each has its own entry.
struct QueryTable {
  private var queries: [QueryID: ActiveQuery] = [:]
  private var idByQuery: [Query: QueryID] = [:]
  private var idByListener: [ListenerID: QueryID] = [:]
  private var idsByTarget: [TargetID: [QueryID]] = [:]
  private var targetIDs: [Target: TargetID] = [:]
  private var nextID = 1

  /// All ids, ascending, so that what is done for each is done in the same order every time.
  private(set) var ids: [QueryID] = []

  var isEmpty: Bool { ids.isEmpty }
  var listenerCount: Int { idByListener.count }

  subscript(id: QueryID) -> ActiveQuery? { queries[id] }

  func id(of query: Query) -> QueryID? { idByQuery[query] }
  func id(of listener: ListenerID) -> QueryID? { idByListener[listener] }
  func targetID(of target: Target) -> TargetID? { targetIDs[target] }
  func ids(of target: TargetID) -> [QueryID] { idsByTarget[target] ?? [] }

  func queries(of target: TargetID) -> some Sequence<ActiveQuery> {
    ids(of: target).lazy.compactMap { queries[$0] }
  }

  /// Adds a query without listeners.
  mutating func insert(_ query: Query, targetID: TargetID, view: View) -> QueryID {
    assert(idByQuery[query] == nil, "A query at \(query.path.canonicalString) is active already.")
    let id = QueryID(rawValue: nextID)
    nextID += 1
    ids.append(id)
    queries[id] = ActiveQuery(id: id, query: query, targetID: targetID, view: view)
    idByQuery[query] = id
    idsByTarget[targetID, default: []].append(id)
    targetIDs[query.target] = targetID
    return id
  }

  /// Removes a query and all its listeners.
  @discardableResult
  mutating func remove(_ id: QueryID) -> ActiveQuery? {
    guard let removed = queries.removeValue(forKey: id) else {
      assertionFailure("\(id) is removed, which is not among the active ones: \(ids).")
      return nil
    }
    ids.removeAll { $0 == id }
    idByQuery[removed.query] = nil
    for listener in removed.listeners { idByListener[listener.id] = nil }
    idsByTarget[removed.targetID]?.removeAll { $0 == id }
    if idsByTarget[removed.targetID]?.isEmpty == true {
      idsByTarget[removed.targetID] = nil
      targetIDs[removed.query.target] = nil
    }
    return removed
  }

  /// Gives the queries of a target another one, which has none.
  mutating func move(_ former: TargetID, to target: TargetID) {
    guard let moved = idsByTarget.removeValue(forKey: former) else { return }
    assert(idsByTarget[target] == nil, "Target \(target) has queries already.")
    idsByTarget[target] = moved
    for id in moved { update(id) { $0.targetID = target } }
    if let query = moved.first.flatMap({ queries[$0]?.query }) { targetIDs[query.target] = target }
  }

  mutating func add(_ listener: QueryListener, to id: QueryID) {
    assert(queries[id] != nil, "Listener \(listener.id) is added to \(id), which is not active.")
    assert(idByListener[listener.id] == nil, "Listener \(listener.id) is in use already.")
    queries[id]?.listeners.append(listener)
    idByListener[listener.id] = id
  }

  /// Removes a listener.
  ///
  /// - Returns: Its query, which stays active even without listeners.
  mutating func removeListener(_ listener: ListenerID) -> ActiveQuery? {
    guard let id = idByListener.removeValue(forKey: listener) else {
      assertionFailure("\(listener) is removed, which listens to none of \(ids).")
      return nil
    }
    queries[id]?.listeners.removeAll { $0.id == listener }
    return queries[id]
  }

  /// Changes one query's view or listeners in place.
  @discardableResult
  mutating func update<Result>(_ id: QueryID, _ body: (inout ActiveQuery) -> Result) -> Result? {
    // Taken out while it changes, so that its collections are not copied.
    guard var query = queries.removeValue(forKey: id) else {
      assertionFailure("\(id) is changed, which is not among the active ones: \(ids).")
      return nil
    }
    defer { queries[id] = query }
    return body(&query)
  }

  /// Checks in debug builds that the indexes agree in size. Their contents are not compared: thousands of queries may be active,
  /// and this runs after every event.
  func assertInvariants() {
    assert(
      ids.count == queries.count && ids.count == idByQuery.count,
      "\(ids.count) ids stand for \(queries.count) queries, \(idByQuery.count) of them found by query.")
    assert(idsByTarget.count <= ids.count, "\(idsByTarget.count) targets serve \(ids.count) queries.")
    assert(targetIDs.count == idsByTarget.count, "\(targetIDs.count) of \(idsByTarget.count) targets are found.")
  }
}
