internal import HearthCache
internal import HearthModel

/// A listen whose first result is being computed beside the engine.
struct Preparation {
  let targetID: TargetID
  let detached: DetachedQuery
  /// How often the query has been started.
  var attempt: Int
  /// In the order of registration; never empty.
  var listeners: [(id: ListenerID, options: ListenOptions)]
  /// The documents of the query's collections whose local view has changed since the query was detached, as they are now.
  var changes: DocumentMap = [:]
  /// The backend, or a bundle, has changed which documents it confirms for the target.
  var targetHasChanged = false
}

/// The queries that run beside the engine, and what they are for.
///
/// A query is in here from the moment when the engine asks for it until it hears of its end, or has no use for it any more.
struct BesideTable {
  private var preparations: [BesideID: Preparation] = [:]
  private var reads: [BesideID: (request: RequestID, connections: Int)] = [:]
  private var lastID = 0

  mutating func nextID() -> BesideID {
    lastID += 1
    return BesideID(rawValue: lastID)
  }

  /// How many connections are open.
  var connections: Int {
    preparations.values.reduce(0) { $0 + $1.detached.connectionCount }
      + reads.values.reduce(0) { $0 + $1.connections }
  }

  // MARK: - Reads

  mutating func add(_ request: RequestID, connections: Int, as id: BesideID) {
    reads[id] = (request, connections)
  }

  mutating func removeRead(_ id: BesideID) -> RequestID? {
    reads.removeValue(forKey: id)?.request
  }

  // MARK: - Preparations

  mutating func add(_ preparation: Preparation, as id: BesideID) {
    preparations[id] = preparation
  }

  mutating func removePreparation(_ id: BesideID) -> Preparation? {
    preparations.removeValue(forKey: id)
  }

  /// The queries of listeners that are being prepared.
  var preparedQueries: [Query] { preparations.values.map(\.detached.query) }

  func isPreparing(_ listener: ListenerID) -> Bool {
    preparations.values.contains { $0.listeners.contains { $0.id == listener } }
  }

  func isPreparing(for target: TargetID) -> Bool {
    preparations.values.contains { $0.targetID == target }
  }

  /// True if a view that is being prepared may come to show the document.
  func mayShow(_ key: DocumentKey) -> Bool {
    preparations.values.contains { $0.detached.covers(key) }
  }

  /// Lets a listener wait for a preparation of its query.
  /// - Returns: false when there is none.
  mutating func join(_ listener: ListenerID, to query: Query, _ options: ListenOptions) -> Bool {
    guard let id = preparations.first(where: { $0.value.detached.query == query })?.key else { return false }
    preparations[id]?.listeners.append((listener, options))
    return true
  }

  /// Removes a listener.
  /// - Returns: its preparation, when it was the last one that waited for it. It is then removed.
  mutating func leave(_ listener: ListenerID) -> (id: BesideID, preparation: Preparation)? {
    for (id, var preparation) in preparations {
      guard let index = preparation.listeners.firstIndex(where: { $0.id == listener }) else { continue }
      preparation.listeners.remove(at: index)
      preparations[id] = preparation.listeners.isEmpty ? nil : preparation
      return preparation.listeners.isEmpty ? (id, preparation) : nil
    }
    return nil
  }

  /// Removes the preparations for a target, in the order in which they began.
  mutating func removePreparations(for target: TargetID) -> [(id: BesideID, preparation: Preparation)] {
    let ids = preparations.filter { $0.value.targetID == target }.keys.sorted()
    return ids.compactMap { id in preparations.removeValue(forKey: id).map { (id, $0) } }
  }

  /// Forgets everything.
  /// - Returns: the queries that run, in order.
  mutating func removeAll() -> [BesideID] {
    defer {
      preparations = [:]
      reads = [:]
    }
    return (Array(preparations.keys) + reads.keys).sorted()
  }

  // MARK: - Changes meanwhile

  /// Takes note of documents whose local view has changed.
  mutating func note(_ changes: DocumentMap) {
    guard !preparations.isEmpty, !changes.isEmpty else { return }
    for id in preparations.keys {
      guard let query = preparations[id]?.detached else { continue }
      for (key, document) in changes where query.covers(key) { preparations[id]?.changes[key] = document }
    }
  }

  /// Takes note that other documents may be confirmed now for these targets.
  mutating func noteTargets(_ isConcerned: (TargetID) -> Bool) {
    for (id, preparation) in preparations where isConcerned(preparation.targetID) {
      preparations[id]?.targetHasChanged = true
    }
  }

  /// Checks in debug builds what must hold between two events.
  ///
  /// - Parameter isActive: True if the listener has a view.
  func assertInvariants(isActive: (ListenerID) -> Bool) {
    assert(
      preparations.values.allSatisfy { !$0.listeners.isEmpty },
      "A query is being prepared for no listener: \(preparations).")
    assert(
      preparations.values.allSatisfy { !$0.listeners.contains { isActive($0.id) } },
      "A listener waits for a first result although it has a view: \(preparations).")
    assert(
      preparations.keys.allSatisfy { reads[$0] == nil && $0.rawValue <= lastID },
      "Queries beside the engine share numbers: \(preparations.keys.sorted()), \(reads.keys.sorted()).")
  }
}
