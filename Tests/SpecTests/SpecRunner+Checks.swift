import EngineHarness
import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// Expectations that hold until a later step replaces them.
struct SpecStickyExpectations {
  var activeTargets: [TargetID: JSON] = [:]
  var activeLimboDocuments: Set<DocumentKey> = []
  var enqueuedLimboDocuments: Set<DocumentKey> = []
}

extension SpecRunner {
  /// Compares everything that can be seen of the client with what the step says, or what holds when it says nothing.
  func check(_ step: JSON) throws {
    let state = step["expectedState"] ?? .object([:])
    try checkEvents(step["expectedSnapshotEvents"]?.array() ?? [])
    try checkCounts(state)
    try updateSticky(state)
    try checkCallbacks(state["userCallbacks"] ?? .object([:]))
    try checkClients(state)
    if !isShutdown {
      try checkLimbo()
      try checkTargets()
    }
    try checkEqual(
      "snapshots-in-sync calls", snapshotsInSyncCount, Int(step["expectedSnapshotsInSyncEvents"]?.integer() ?? 0))
    try checkEqual(
      "pending-writes calls", pendingWritesCount, Int(step["expectedWaitForPendingWritesEvents"]?.integer() ?? 0))
    events = []
    acknowledgedKeys = []
    rejectedKeys = []
    snapshotsInSyncCount = 0
    pendingWritesCount = 0
  }

  private func checkEqual<T: Equatable>(_ what: String, _ actual: T, _ expected: T) throws {
    guard actual == expected else { throw SpecFailure("\(what): \(actual), expected \(expected)") }
  }

  // MARK: - Snapshots

  private func checkEvents(_ expected: [JSON]) throws {
    guard events.count == expected.count else {
      throw SpecFailure("events \(events.map(\.brief)), expected \(expected.count): \(expected)")
    }
    let wanted = try expected.map { (query: try $0["query"]?.query() ?? Query(path: ResourcePath()), event: $0) }
      .enumerated()
      .sorted { ($0.element.query.canonicalID, $0.offset) < ($1.element.query.canonicalID, $1.offset) }.map(\.element)
    let actual = events.enumerated()
      .sorted { ($0.element.query.canonicalID, $0.offset) < ($1.element.query.canonicalID, $1.offset) }.map(\.element)
    for (event, wanted) in zip(actual, wanted) {
      try checkEqual("query of an event", event.query, wanted.query)
      try check(event, wanted.event)
    }
  }

  private func check(_ event: Event, _ expected: JSON) throws {
    let code = try expected["errorCode"]?.integer() ?? 0
    switch event.outcome {
    case .failure(let error):
      try checkEqual("error code of \(event.brief)", Int64(error.code.rawValue), code)
    case .success(let snapshot):
      guard code == 0 else { throw SpecFailure("\(event.brief), expected error \(code)") }
      try checkEqual("fromCache of \(event.brief)", snapshot.isFromCache, expected["fromCache"]?.bool() ?? false)
      try checkEqual(
        "hasPendingWrites of \(event.brief)", snapshot.hasPendingWrites, expected["hasPendingWrites"]?.bool() ?? false)
      try checkChanges(snapshot, expected)
    }
  }

  private func checkChanges(_ snapshot: ViewSnapshot, _ expected: JSON) throws {
    var missing: [String] = []
    var count = 0
    for (name, kind) in Self.changeKinds {
      for json in try expected[name]?.array() ?? [] {
        count += 1
        let document = try json.document()
        if !snapshot.changes.contains(where: { $0.kind == kind && $0.document == document }) {
          missing.append("\(name) \(document.brief)")
        }
      }
    }
    guard missing.isEmpty, count == snapshot.changes.count else {
      let changes = snapshot.changes.map { "\($0.kind) \($0.document.brief)" }
      throw SpecFailure("changes \(changes), expected \(count) with \(missing)")
    }
    try checkOrder(snapshot)
  }

  private static let changeKinds: [(String, DocumentViewChange.Kind)] = [
    ("removed", .removed), ("added", .added), ("modified", .modified), ("metadata", .metadata),
  ]

  /// Removed, then added, then modified and metadata together, each in query order; carried out one after the other, the
  /// changes lead from the old documents to the new ones.
  private func checkOrder(_ snapshot: ViewSnapshot) throws {
    func rank(_ kind: DocumentViewChange.Kind) -> Int { kind == .removed ? 0 : kind == .added ? 1 : 2 }
    for (a, b) in zip(snapshot.changes, snapshot.changes.dropFirst()) {
      guard rank(a.kind) <= rank(b.kind) else { throw SpecFailure("\(a.kind) comes before \(b.kind)") }
      if rank(a.kind) == rank(b.kind), snapshot.query.compare(a.document, b.document) == .descending {
        throw SpecFailure("\(a.document.key) comes before \(b.document.key)")
      }
    }
    var keys = snapshot.oldDocuments.map(\.key)
    for change in snapshot.changes {
      if let old = change.oldIndex {
        guard keys.indices.contains(old), keys[old] == change.document.key else {
          throw SpecFailure("\(change.document.key) does not stand at old index \(old)")
        }
        keys.remove(at: old)
      }
      if let new = change.newIndex {
        guard new >= 0, new <= keys.count else { throw SpecFailure("new index \(new) is outside the result") }
        keys.insert(change.document.key, at: new)
      }
    }
    try checkEqual("result of the changes", keys, snapshot.documents.map(\.key))
  }

  // MARK: - State

  private func checkCounts(_ state: JSON) throws {
    if let count = try state["numOutstandingWrites"]?.integer() {
      try checkEqual("outstanding writes", engine.outstandingWriteCount, Int(count))
    }
    if let count = try state["writeStreamRequestCount"]?.integer() {
      try checkEqual("write stream requests", writeRequestCount, Int(count))
    }
    if let count = try state["watchStreamRequestCount"]?.integer() {
      try checkEqual("watch stream requests", watchRequestCount, Int(count))
    }
  }

  private func updateSticky(_ state: JSON) throws {
    if let targets = try state["activeTargets"]?.object() {
      sticky.activeTargets = [:]
      for (id, target) in targets {
        guard let number = TargetID(id) else { throw SpecFailure("\"\(id)\" is not a target id") }
        sticky.activeTargets[number] = target
      }
    }
    if let keys = try state["activeLimboDocs"]?.array() {
      sticky.activeLimboDocuments = Set(try keys.map { try $0.documentKey() })
    }
    if let keys = try state["enqueuedLimboDocs"]?.array() {
      sticky.enqueuedLimboDocuments = Set(try keys.map { try $0.documentKey() })
    }
  }

  private func checkCallbacks(_ callbacks: JSON) throws {
    let acknowledged = try callbacks["acknowledgedDocs"]?.array().map { try $0.documentKey() } ?? []
    let rejected = try callbacks["rejectedDocs"]?.array().map { try $0.documentKey() } ?? []
    try checkEqual("acknowledged writes", acknowledgedKeys, acknowledged)
    try checkEqual("rejected writes", rejectedKeys, rejected)
  }

  private func checkClients(_ state: JSON) throws {
    if stage.test.mode != .shared { try checkEqual("primary", engine.isPrimary, true) }
    if let isPrimary = try state["isPrimary"]?.bool() { try checkEqual("primary", engine.isPrimary, isPrimary) }
    if let expected = try state["isShutdown"]?.bool() { try checkEqual("shut down", isShutdown, expected) }
    if let count = try state["numActiveClients"]?.integer() {
      try checkEqual("active clients", store.clientCount(), Int(count))
    }
    if let indexes = try state["indexes"]?.array() {
      let expected = try indexes.map { try $0.storedIndexDefinition() }
      try checkEqual("indexes", Set(store.indexes.listings().map(\.definition)), Set(expected))
    }
  }

  private func checkLimbo() throws {
    try checkEqual("documents in limbo", Set(engine.activeLimboDocuments.keys), sticky.activeLimboDocuments)
    try checkEqual("waiting limbo documents", Set(engine.enqueuedLimboDocuments), sticky.enqueuedLimboDocuments)
    guard driver.streams.watch != nil else { return }
    for (key, id) in engine.activeLimboDocuments where sticky.activeTargets[id] == nil {
      throw SpecFailure("limbo target \(id) of \(key) is not among the active targets")
    }
  }

  // MARK: - Targets

  private func checkTargets() throws {
    guard isNetworkEnabled, engine.isPrimary else {
      return try checkEqual("active targets without streams", driver.streams.watched.keys.sorted(), [])
    }
    try checkEqual("active targets", driver.streams.watched.keys.sorted(), sticky.activeTargets.keys.sorted())
    for (id, request) in driver.streams.watched {
      guard let expected = sticky.activeTargets[id] else { continue }
      for query in try expected["queries"]?.array() ?? [] {
        try checkEqual("target \(id)", request.target, query.query().target)
      }
      try checkEqual(
        "resume token of target \(id)", String(decoding: request.resumeToken, as: UTF8.self),
        expected["resumeToken"]?.string() ?? "")
      try checkEqual("read time of target \(id)", request.readTime ?? .none, expected["readTime"]?.version() ?? .none)
      try checkEqual(
        "purpose of target \(id)", Self.purposes[request.purpose],
        expected["targetPurpose"]?.string() ?? "TargetPurposeListen")
      if let count = try expected["expectedCount"]?.integer() {
        try checkEqual("expected count of target \(id)", request.expectedCount, Int(count))
      }
    }
  }

  private static let purposes: [TargetPurpose: String] = [
    .listen: "TargetPurposeListen", .limboResolution: "TargetPurposeLimboResolution",
    .existenceFilterMismatch: "TargetPurposeExistenceFilterMismatch",
    .existenceFilterMismatchBloom: "TargetPurposeExistenceFilterMismatchBloom",
  ]
}

// MARK: - For messages

extension SpecRunner.Event {
  var brief: String {
    switch outcome {
    case .failure(let error): "error \(error.code) of \(query.canonicalID)"
    case .success(let snapshot):
      "\(query.canonicalID)\(snapshot.isFromCache ? " from cache" : "")\(snapshot.hasPendingWrites ? " pending" : "") "
        + snapshot.changes.map { "\($0.kind) \($0.document.brief)" }.joined(separator: ", ")
    }
  }
}

extension Document {
  var brief: String {
    let fields = (try? fields.decoded()).map { "\($0)" } ?? "unreadable"
    return "\(key)@\(version.microseconds) \(kind) \(mutationState) \(fields)"
  }
}
