internal import HearthCache
internal import HearthModel

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
  /// Changes were missed, so that the result cannot be brought up to date.
  var isOutdated = false
}

/// The queries that run in the background, and what they are for.
///
/// A query is in here from the moment when the engine asks for it until it hears of its end, or has no use for it any more.
struct BackgroundQueryTable {
  private var listens: [BackgroundQueryID: BackgroundListen] = [:]
  private var reads: [BackgroundQueryID: (request: RequestID, connections: Int)] = [:]
  private var lastID = 0

  mutating func nextID() -> BackgroundQueryID {
    lastID += 1
    return BackgroundQueryID(rawValue: lastID)
  }

  /// The number of open connections.
  var connections: Int {
    listens.values.reduce(0) { $0 + $1.backgroundQuery.connectionCount }
      + reads.values.reduce(0) { $0 + $1.connections }
  }

  // MARK: - Reads

  mutating func add(_ request: RequestID, connections: Int, as id: BackgroundQueryID) {
    assert(reads[id] == nil && listens[id] == nil, "Background query \(id.rawValue) runs already.")
    reads[id] = (request, connections)
  }

  mutating func removeRead(_ id: BackgroundQueryID) -> RequestID? {
    reads.removeValue(forKey: id)?.request
  }

  // MARK: - Listens

  mutating func add(_ listen: BackgroundListen, as id: BackgroundQueryID) {
    assert(reads[id] == nil && listens[id] == nil, "Background query \(id.rawValue) runs already.")
    listens[id] = listen
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

  // MARK: - Changes meanwhile

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

  /// Takes note that other clients have made changes of which nothing is known.
  mutating func noteGap() {
    for id in listens.keys { listens[id]?.isOutdated = true }
  }

  /// The targets that listeners wait for, and whether the backend is to be asked for them.
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
