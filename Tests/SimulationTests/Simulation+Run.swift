import HearthCache
import HearthModel
import HearthSync

extension Simulation {
  /// Runs a seed; one that fails is run again for its trace.
  static func run(seed: UInt64, steps: Int, mode: Mode? = nil) throws {
    do {
      try Simulation(seed: seed, mode: mode, keepsTrace: false).run(steps)
    } catch {
      let again = try Simulation(seed: seed, mode: mode, keepsTrace: true)
      let repeated = Result { try again.run(steps) }
      let last = again.trace.suffix(12).map { String($0.prefix(300)) }.joined(separator: "\n  ")
      var text =
        "seed \(seed) (\(again.mode)): \(error)\nHEARTH_SIMULATION_SEED=\(seed) shows it all; the end:\n  \(last)"
      if case .success = repeated {
        text += "\n(a second run did not fail: something in it depends on more than the seed)"
      }
      throw Failure(description: text)
    }
  }

  /// Runs one seed and prints what happens.
  static func show(seed: UInt64, steps: Int) throws {
    let simulation = try Simulation(seed: seed, keepsTrace: true)
    defer { for line in simulation.trace { print(line) } }
    try simulation.run(steps)
  }

  /// Runs a seed's history with statements failing in it.
  ///
  /// - Returns: how many statements and commits there were.
  @discardableResult
  static func run(seed: UInt64, steps: Int, disturbance: Disturbance?, userChangeChance: Int = 0) throws -> Int {
    let simulation = try Simulation(seed: seed, mode: .disturbed, keepsTrace: false)
    simulation.disturbance = disturbance
    simulation.userChangeChance = userChangeChance
    do {
      try simulation.run(steps)
    } catch {
      throw Failure(description: "seed \(seed), \(disturbance.map { "\($0)" } ?? "undisturbed"): \(error)")
    }
    return simulation.statementCount
  }

  private func run(_ steps: Int) throws {
    defer { close() }
    for _ in 0..<steps {
      if userChangeChance > 0, generator.chance(userChangeChance) { changeUser() }
      try step()
      try check()
    }
    try settle()
  }

  // MARK: - One step

  private func step() throws {
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<12: listen(to: query(), options())
    case 12..<16: unlisten()
    case 16..<30: write(mutations())
    case 30..<32: waitForPendingWrites()
    case 32..<34: changeUser()
    case 34..<36: switchNetwork(on: generator.chance(60))
    case 36..<37: if mode != .eager { try restart() }
    case 37..<39: failStorage()
    case 39..<42: try checkCacheRead()
    case 42..<50: _ = backend.commit(mutations(), label: nil)
    case 50..<53: breakSomething()
    case 53..<60: answerOpening(succeeds: generator.chance(85))
    case 60..<66: answerWrite(answerIsLost: generator.chance(15))
    case 66..<70: if watchStream != nil { backend.sendSnapshot(&generator) }
    case 70..<72: if watchStream != nil { backend.sendChanges(&generator) }
    case 72..<75: fireNextTimer()
    case 76..<84 where mode == .exactBeside: endBeside()
    case 75..<76:
      if mode == .collected {
        _ = try? engine.collectGarbage(CollectionParameters(thresholdBytes: 0, percentile: 100))
      }
    default: for _ in 0..<Int.random(in: 1...4, using: &generator) { deliverWatchMessage() }
    }
  }

  private func switchNetwork(on isOn: Bool) {
    isNetworkEnabled = isOn
    post(isOn ? .enableNetwork(nil) : .disableNetwork(nil))
  }

  private func changeUser() {
    user = generator.pick([nil, "anna", "otto"])
    post(.changeUser(user))
  }

  private func breakSomething() {
    let code = generator.pick([StatusCode.unavailable, .internal, .resourceExhausted, .unauthenticated, .aborted])
    let error = StatusError(code: code, message: "broken")
    if generator.chance(50) { breakWatchStream(error) } else { breakWriteStream(error) }
  }

  private func failStorage() {
    let names = [
      "Allocate target", "Release target", "Locally write mutations", "notifyLocalViewChanges", "Acknowledge batch",
      "Reject batch", "Get last remote snapshot version", "Apply remote event", "Handle user change",
    ]
    failingTransactions = generator.chance(60) ? [] : [generator.pick(names), generator.pick(names)]
    note("failing: \(failingTransactions.sorted())")
  }

  private func checkCacheRead() throws {
    guard isExact else { return }
    let query = query()
    readCache(query, expecting: reference.run(query, try store.pendingBatches()))
  }

  // MARK: - What users ask for and write

  private static let keys: [DocumentKey] = [
    "rooms/a", "rooms/b", "rooms/c", "rooms/d", "rooms/a/seats/1", "rooms/b/seats/2", "halls/h",
  ]
  .compactMap { try? DocumentKey(parsing: $0) }

  private func field(_ name: String) -> FieldPath {
    do { return try FieldPath(parsingUserFormat: name) } catch { fatalError("bad field in a test: \(error)") }
  }

  private func query() -> Query {
    let rooms = Query(path: ResourcePath(["rooms"]))
    let byNumber = rooms.with(order: OrderBy(path: field("n")))
    switch Int.random(in: 0..<11, using: &generator) {
    case 0: return rooms
    case 1: return rooms.with(filter: .field(field("n"), .greaterThanOrEqual, .integer(2)))
    case 2: return byNumber.with(limit: 2, type: .first)
    case 3: return byNumber.with(limit: 2, type: .last)
    case 4: return rooms.with(order: OrderBy(path: field("n"), direction: .descending)).with(limit: 3, type: .first)
    case 5: return rooms.with(filter: .field(field("tag"), .equal, .string("x")))
    case 6: return Query(path: ResourcePath(), collectionGroup: "seats")
    case 7: return Query(path: ResourcePath(["halls"]))
    case 8: return rooms.with(filter: .field(field("list"), .arrayContains, .integer(1))).with(limit: 1, type: .first)
    default: return Query(path: generator.pick(Self.keys).path)
    }
  }

  private func options() -> ListenOptions {
    var options = ListenOptions(includeDocumentMetadataChanges: true, includeQueryMetadataChanges: true)
    if generator.chance(15) { options.source = .cache }
    if generator.chance(15) { options.waitForSyncWhenOnline = true }
    if generator.chance(30) { options.includeDocumentMetadataChanges = false }
    if generator.chance(30) { options.includeQueryMetadataChanges = false }
    return options
  }

  private func mutations() -> [Mutation] {
    (0..<(generator.chance(20) ? 2 : 1)).map { _ in mutation() }
  }

  private func mutation() -> Mutation {
    let key = generator.pick(Self.keys)
    let n = Value.integer(Int64.random(in: 0...5, using: &generator))
    let tag = Value.string(generator.pick(["x", "y"]))
    switch Int.random(in: 0..<10, using: &generator) {
    case 0, 1, 2: return .set(key, ["n": n, "tag": tag])
    case 3: return .set(key, ["n": n, "list": [1, n]])
    case 4: return .patch(key, ["tag": tag], mask: FieldMask([field("tag")]))
    case 5: return .patch(key, ["n": n], mask: FieldMask([field("n")]), precondition: .none)
    case 6: return .patch(key, [:], mask: FieldMask([field("tag")]))
    case 7: return .delete(key)
    case 8:
      return .patch(
        key, [:], mask: .empty, precondition: .none,
        transforms: [
          FieldTransform(path: field("n"), operation: .increment(1)),
          FieldTransform(path: field("list"), operation: .arrayUnion([n])),
        ])
    default:
      return .set(key, ["n": n, Mutation.forbiddenField: true])
    }
  }

  // MARK: - The end

  /// Everything works again and is delivered: then the queues are empty, and the views are what the backend has.
  private func settle() throws {
    failingTransactions = []
    disturbance = nil
    // Nothing but what has to happen: the client comes back by itself.
    if !isNetworkEnabled { switchNetwork(on: true) }
    for owner in [user] + [nil, "anna", "otto"].filter({ $0 != user }) {
      if owner != user {
        user = owner
        post(.changeUser(owner))
      }
      try drain()
      guard try store.pendingBatches().isEmpty else {
        throw Failure(description: "the queue of \(owner ?? "nobody") is not empty: \(try store.pendingBatches())")
      }
    }
    guard openWrites.isEmpty, openWaits.isEmpty else {
      throw Failure(description: "callers still wait: \(openWrites) \(openWaits)")
    }
    guard engine.activeLimboDocuments.isEmpty, engine.enqueuedLimboDocuments.isEmpty else {
      throw Failure(description: "still in limbo: \(engine.activeLimboDocuments) \(engine.enqueuedLimboDocuments)")
    }
    guard backend.commitsPerBatch.values.allSatisfy({ $0 == 1 }) else {
      throw Failure(description: "a batch was committed twice")
    }
    for (id, listener) in listeners where listener.options.source == .default {
      let what = "at the end listener \(id.rawValue) \(listener.query.canonicalID)"
      guard let snapshot = listener.snapshot else { throw Failure(description: "\(what) was never told anything") }
      try compare(Array(snapshot.documents), backend.run(listener.query), what)
      if listener.options.includeQueryMetadataChanges, snapshot.isFromCache || snapshot.hasPendingWrites {
        throw Failure(description: "\(what) is not in step: \(snapshot.isFromCache) \(snapshot.hasPendingWrites)")
      }
    }
  }

  /// Delivers until nothing happens any more.
  private func drain() throws {
    for _ in 0..<400 {
      while !besideQueries.isEmpty {
        endBeside()
        try check()
      }
      while !opening.isEmpty { answerOpening(succeeds: true) }
      while !writeRequests.isEmpty, writeStream != nil {
        answerWrite(answerIsLost: false)
        try check()
      }
      if watchStream != nil { backend.sendSnapshot(&generator) }
      while watchStream != nil, !backend.messages.isEmpty {
        deliverWatchMessage()
        try check()
      }
      try check()
      let busy = timers.filter {
        [.asyncQueueRetry, .listenStreamConnectionBackoff, .writeStreamConnectionBackoff].contains($0.kind)
      }
      if busy.isEmpty, besideQueries.isEmpty, opening.isEmpty, writeRequests.isEmpty,
        try store.pendingBatches().isEmpty,
        engine.activeLimboDocuments.isEmpty, engine.enqueuedLimboDocuments.isEmpty
      {
        return
      }
      if !busy.isEmpty { fireNextTimer() }
    }
    let limbo = "\(engine.activeLimboDocuments) \(engine.enqueuedLimboDocuments)"
    throw Failure(
      description: "it does not come to rest: in limbo \(limbo), queued \(try store.pendingBatches()), timers \(timers)"
    )
  }
}
