internal import HearthCache
internal import HearthModel
internal import HearthPlan

/// A listen whose first result is being computed in the background.
struct BackgroundListen {
  var targetID: TargetID
  let backgroundQuery: BackgroundQuery
  /// The number of times that the query has been started.
  var attempt: Int
  /// In the order of registration; never empty.
  var listeners: [(id: ListenerID, options: ListenOptions)]
  /// The documents of the query's collections whose local view has changed since the query was made, as they are now.
  var changes: DocumentMap = [:]
  /// The backend, or a bundle, has changed which documents it confirms for the target.
  var targetHasChanged = false
  /// Changes were missed, so that the result cannot be brought up to date, or the process was suspended, which ends its query.
  var isOutdated = false
}

/// A one-time read that is being computed in the background.
private struct BackgroundRead {
  let request: RequestID
  let query: Query
  /// Empty for a read of documents.
  let aggregations: [Aggregation]
  let connections: Int
  /// The process was suspended, which ends the query.
  var isOutdated = false
}

/// Runs queries on the cache for one-time reads, and for the first results of listeners. Big queries run in the background, so that nothing
/// else waits for them; the others run on the loop.
///
/// A background query is listed here from its request until its end is known, or until nothing needs it.
///
/// | event | a read | a listen |
/// |---|---|---|
/// | a request, the query is big | runs in the background | waits; its target is in use, and not watched |
/// | a request, the query is not big | is answered | continues at once |
/// | its documents change | - | are noted |
/// | its query ends with a result | is answered | begins with the result and the noted changes; a result that may lack documents is computed again |
/// | its query fails | fails | fails |
/// | its query fails after the process was suspended | is started again | is computed again |
/// | its last listener leaves, or its target is refused | - | is cancelled |
struct QueryRuns {
  enum Action {
    case emit(SyncAction)
    /// Begin the listener with this state of its view; nil for running the query now.
    case begin(ListenerID, to: Query, ListenOptions, InitialViewState?)
    /// The listener's target could not be taken into use.
    case listenFailed(HeldListen, any Error)
    /// Release the target, unless something else uses it.
    case release(TargetID)
    /// Look for what other clients want of targets: one that has waited for its first result had no view for that.
    case followOthers
    /// The query has run, and may lack an index.
    case considerIndexes(for: Query, after: QueryExecution)
  }

  let localStore: LocalStore
  private let limits: BackgroundQueryLimits?
  private var listens: [BackgroundQueryID: BackgroundListen] = [:]
  private var reads: [BackgroundQueryID: BackgroundRead] = [:]
  private var lastID = 0

  init(localStore: LocalStore, configuration: SyncConfiguration) {
    self.localStore = localStore
    limits = configuration.backgroundQueryLimits
  }

  private mutating func nextID() -> BackgroundQueryID {
    lastID += 1
    return BackgroundQueryID(rawValue: lastID)
  }

  /// Makes a query for the background.
  ///
  /// - Returns: Nil if the query should run on the loop.
  func makeBackgroundQuery(
    _ query: Query, _ aggregations: [Aggregation] = [], wantsConfirmedKeys: Bool, _ actions: inout [Action]
  ) -> BackgroundQuery? {
    guard let limits else { return nil }
    do {
      return try localStore.queries.makeBackgroundQuery(
        query, aggregations: aggregations, wantsConfirmedKeys: wantsConfirmedKeys, limits: limits,
        connections: limits.connections - connections)
    } catch {
      // If the cache itself has failed, the query fails on the loop, and its caller hears why.
      actions.append(.emit(.log(.debug, "A query cannot run in the background: \(error)")))
      return nil
    }
  }

  /// The number of open connections.
  private var connections: Int {
    listens.values.reduce(0) { $0 + $1.backgroundQuery.connectionCount }
      + reads.values.reduce(0) { $0 + $1.connections }
  }

  // MARK: - Reads

  /// Runs the query of a read in the background.
  ///
  /// - Parameters:
  ///   - query: The query of the request.
  ///   - aggregations: The aggregations of the request; empty for a read of documents.
  mutating func start(
    _ request: RequestID, _ query: Query, _ aggregations: [Aggregation], _ backgroundQuery: BackgroundQuery,
    as purpose: BackgroundQueryJob.Purpose
  ) -> Action {
    let id = nextID()
    reads[id] = BackgroundRead(
      request: request, query: query, aggregations: aggregations, connections: backgroundQuery.connectionCount)
    return .emit(.runBackgroundQuery(BackgroundQueryJob(id: id, backgroundQuery: backgroundQuery, purpose: purpose)))
  }

  /// The query of a read has ended.
  ///
  /// - Returns: Nil if it is not known.
  mutating func endRead(
    _ id: BackgroundQueryID, _ result: Result<BackgroundQueryResult, any Error>
  ) -> [Action]? {
    guard let read = reads.removeValue(forKey: id) else { return nil }
    switch result.map(\.content) {
    case .success(.snapshot(let snapshot)): return [.emit(.answer(read.request, .snapshot(snapshot)))]
    case .success(.aggregation(let result)): return [.emit(.answer(read.request, .aggregation(result)))]
    case .success(.view):
      assertionFailure("A view was computed for the one-time read \(read.request).")
      return []
    case .failure where read.isOutdated:
      guard !read.aggregations.isEmpty else { return readQuery(read.request, read.query) }
      return readAggregation(read.request, read.query, read.aggregations)
    case .failure(let error): return [.emit(.requestFailed(read.request, .readFailed(error)))]
    }
  }

  // MARK: - Listens

  /// Runs the query of a listen in the background.
  mutating func start(_ listen: BackgroundListen) -> Action {
    let id = nextID()
    listens[id] = listen
    return .emit(
      .runBackgroundQuery(BackgroundQueryJob(id: id, backgroundQuery: listen.backgroundQuery, purpose: .listen)))
  }

  mutating func removeListen(_ id: BackgroundQueryID) -> BackgroundListen? {
    listens.removeValue(forKey: id)
  }

  /// The queries of listeners that wait for their first result.
  var listenQueries: [Query] { listens.values.map(\.backgroundQuery.query) }

  /// The targets of those queries.
  var targets: Set<TargetID> { Set(listens.values.lazy.map(\.targetID)) }

  func hasBackgroundListen(_ listener: ListenerID) -> Bool {
    listens.values.contains { $0.listeners.contains { $0.id == listener } }
  }

  func hasBackgroundListen(for target: TargetID) -> Bool {
    listens.values.contains { $0.targetID == target }
  }

  /// True if a listen that waits for its first result may come to show the document.
  func mayShow(_ key: DocumentKey) -> Bool {
    listens.values.contains { $0.backgroundQuery.covers(key) }
  }

  /// Lets a listener share a listen of the same query that waits for its first result.
  ///
  /// - Returns: False if there is none.
  mutating func join(_ listener: ListenerID, to query: Query, _ options: ListenOptions) -> Bool {
    assert(!hasBackgroundListen(listener), "Listener \(listener.rawValue) waits for a first result already.")
    guard let id = listens.first(where: { $0.value.backgroundQuery.query == query })?.key else { return false }
    listens[id]?.listeners.append((listener, options))
    return true
  }

  /// Removes a listener.
  ///
  /// - Returns: Its listen, if no other listener waits for it. It is then removed.
  mutating func leave(_ listener: ListenerID) -> (id: BackgroundQueryID, listen: BackgroundListen)? {
    for (id, var listen) in listens {
      guard let index = listen.listeners.firstIndex(where: { $0.id == listener }) else { continue }
      listen.listeners.remove(at: index)
      listens[id] = listen.listeners.isEmpty ? nil : listen
      return listen.listeners.isEmpty ? (id, listen) : nil
    }
    return nil
  }

  /// Removes the listens for a target, in the order in which they began.
  mutating func removeListens(for target: TargetID) -> [(id: BackgroundQueryID, listen: BackgroundListen)] {
    let ids = listens.filter { $0.value.targetID == target }.keys.sorted()
    return ids.compactMap { id in listens.removeValue(forKey: id).map { (id, $0) } }
  }

  /// Forgets everything.
  /// - Returns: the queries that run, in order.
  mutating func removeAll() -> [BackgroundQueryID] {
    defer {
      listens = [:]
      reads = [:]
    }
    return (Array(listens.keys) + reads.keys).sorted()
  }

  // MARK: - Changes during a run

  /// Takes note of documents whose local view has changed.
  mutating func note(_ changes: DocumentMap) {
    guard !listens.isEmpty, !changes.isEmpty else { return }
    for id in listens.keys {
      guard let query = listens[id]?.backgroundQuery else { continue }
      for (key, document) in changes where query.covers(key) { listens[id]?.changes[key] = document }
    }
  }

  /// Takes note that other documents may be confirmed now for these targets.
  mutating func noteTargets(_ isConcerned: (TargetID) -> Bool) {
    for (id, listen) in listens where isConcerned(listen.targetID) {
      listens[id]?.targetHasChanged = true
    }
  }

  /// The process is suspended, and holds no file open then. Queries that fail because of it are run again.
  mutating func noteSuspension() {
    noteGap()
    for id in reads.keys { reads[id]?.isOutdated = true }
  }

  /// Notes that other clients have made unknown changes.
  mutating func noteGap() {
    for id in listens.keys { listens[id]?.isOutdated = true }
  }

  /// The targets that listeners wait for, with true for those to watch at the backend.
  var ownTargets: [TargetID: Bool] {
    listens.values.reduce(into: [:]) { targets, listen in
      let isWatched = listen.listeners.contains { $0.options.source == .default }
      targets[listen.targetID] = (targets[listen.targetID] ?? false) || isWatched
    }
  }

  /// The row of a target has gone while this client was taken for dead, and another one has taken its place.
  mutating func move(_ former: TargetID, to target: TargetID) {
    for (id, listen) in listens where listen.targetID == former { listens[id]?.targetID = target }
  }

  /// Checks in debug builds what must hold between two events.
  ///
  /// - Parameter isActive: True if the listener has a view.
  func assertInvariants(isActive: (ListenerID) -> Bool) {
    assert(
      listens.values.allSatisfy { !$0.listeners.isEmpty },
      "A background query runs for no listener: \(listens).")
    assert(
      listens.values.allSatisfy { !$0.listeners.contains { isActive($0.id) } },
      "A listener waits for a first result although it has a view: \(listens).")
    assert(
      listens.keys.allSatisfy { reads[$0] == nil && $0.rawValue <= lastID },
      "Queries in the background share numbers: \(listens.keys.sorted()), \(reads.keys.sorted()).")
  }
}
