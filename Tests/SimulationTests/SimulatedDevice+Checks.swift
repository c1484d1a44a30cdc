import EngineHarness
import HearthCache
import HearthModel
import HearthSync

extension SimulatedDevice {
  typealias Failure = Simulation.Failure

  /// Compares the queue with what it was and what was answered, and the views with the reference.
  func check() throws {
    try world.check()
    guard engine.outstandingWriteCount <= 10 else { throw Failure(description: "more than ten batches are under way") }
    try checkLookups()
    if watchStream != nil || writeStream != nil, streamUser != user || store.user != user {
      let users = [streamUser, store.user, user].map { $0 ?? "nobody" }
      throw Failure(description: "users of the open stream, of the cache and of the token: \(users)")
    }
    repeatListeners()
    // Reading the cache may repair it, and the client has to come to that by itself.
    guard !world.history.isDamaged else { return }
    try readQueues()
    guard world.history.isExact else { return }
    let pending = queues[store.user] ?? []
    for (id, listener) in listeners
    where !engine.hasBackgroundListen(id) && !reference.isCatchingUp(listener.query, pending) {
      let expected = reference.run(listener.query, pending)
      guard let snapshot = listener.snapshot else {
        if !expected.isEmpty, !listener.options.waitForSyncWhenOnline {
          throw Failure(description: "listener \(id.rawValue) was not told of \(expected.map(\.key))")
        }
        continue
      }
      try compare(
        Array(snapshot.documents), expected, "\(name), listener \(id.rawValue) \(listener.query.canonicalID)")
    }
  }

  /// At most two documents are looked up at a time. Those that were found give their places to others, and as many of them are followed.
  private func checkLookups() throws {
    let lookups = engine.activeLimboDocuments
    guard lookups.values.count(where: { !reference.hasFound($0) }) <= 2, lookups.count <= 4 else {
      throw Failure(description: "more than two lookups are active, or followed after that: \(lookups)")
    }
  }

  /// Brings `queues` up to date.
  func readQueues() throws {
    guard hasCommitted else { return }
    hasCommitted = false
    for owner in Self.users {
      let pending = try looking { try store.pendingBatches(of: .user(owner)) }
      try checkQueue(pending, of: owner)
      queues[owner] = pending
    }
    reference.queues = Array(queues.values)
    try checkInvariants()
  }

  /// The rows of the cache keep their rules after each commit.
  private func checkInvariants() throws {
    lookCount += 1
    guard !world.history.isDamaged, world.checksInvariants(at: lookCount) else { return }
    guard let violation = try looking({ try CacheInvariants.violations(in: store) }).first else { return }
    throw Failure(description: "\(name), the cache after \(driver.event.map(\.brief) ?? "its opening"): \(violation)")
  }

  /// Every user's queue as it is now. Only that of the current user changes between two checks.
  func pendingQueues() -> [[MutationBatch]] {
    var current = queues
    current[store.user] = try? looking { try store.pendingBatches() }
    return Array(current.values)
  }

  private func checkQueue(_ pending: [MutationBatch], of owner: String?) throws {
    guard pending.allSatisfy({ $0.localWriteTime.seconds == Self.seconds(of: owner) }) else {
      throw Failure(description: "the queue of \(owner ?? "nobody") holds another's writes: \(pending)")
    }
    let before = queues[owner] ?? []
    let left = before.prefix { batch in !pending.contains { $0.batchID == batch.batchID } }
    for batch in left {
      guard let answer = heard[batch.number] else {
        throw Failure(description: "\(name): batch \(batch.batchID) left the queue without an answer")
      }
      if case .success(let commit) = answer { reference.acknowledged(batch, commit) }
    }
    let former = before.dropFirst(left.count)
    let stays = zip(former, pending).allSatisfy { former, now in
      var former = former
      // Those of batches that were saved from a damaged file are kept.
      if now.keepsOutcome { former.keepsOutcome = true }
      // Base values behind a refused batch are recalculated.
      return former.batchID == now.batchID && former.mutations == now.mutations && (!left.isEmpty || former == now)
    }
    guard stays, pending.count >= former.count else {
      throw Failure(description: "the queue changed other than at its ends: \(before) became \(pending)")
    }
  }

  func compare(_ actual: [Document], _ expected: [Document], _ what: String) throws {
    guard actual.count == expected.count, zip(actual, expected).allSatisfy({ $0.hasSameData(as: $1) }) else {
      throw Failure(
        description: "\(what) shows \(actual.map(\.brief)), but must show \(expected.map(\.brief))")
    }
  }

  // MARK: - The end

  /// Nothing fails any more.
  func calm() {
    failures.transactions = []
    failures.statements = 0..<0
    // Nothing but what has to happen: the client comes back by itself.
    if !isNetworkEnabled { switchNetwork(on: true) }
  }

  /// Every user's queue becomes empty.
  func settle() throws {
    calm()
    for owner in [user] + Self.users.filter({ $0 != user }) {
      if owner != user { changeUser(to: owner) }
      try drain()
      let pending = try pendingAfterDamage()
      guard pending.isEmpty else {
        throw Failure(description: "the queue of \(name), \(owner ?? "nobody") is not empty: \(pending)")
      }
    }
  }

  /// The queue of the current user, in a file that is reopened if reading it is what shows its damage.
  private func pendingAfterDamage() throws -> [MutationBatch] {
    do {
      return try looking { try store.pendingBatches() }
    } catch  where world.history.isDamaged && store.reopening != nil {
      reopenIfNeeded()
      try drain()
      return try looking { try store.pendingBatches() }
    }
  }

  /// Nobody waits.
  func checkEnd() throws {
    guard driver.openWrites.isEmpty, openWaits.isEmpty else {
      throw Failure(description: "callers still wait: \(driver.openWrites) \(openWaits)")
    }
    guard engine.activeLimboDocuments.isEmpty, engine.enqueuedLimboDocuments.isEmpty else {
      throw Failure(description: "still in limbo: \(engine.activeLimboDocuments) \(engine.enqueuedLimboDocuments)")
    }
    try checkListeners()
  }

  /// Everything was delivered: the views are what the backend has.
  func checkListeners() throws {
    for (id, listener) in listeners where listener.options.source == .default {
      let what = "at the end \(name), listener \(id.rawValue) \(listener.query.canonicalID)"
      guard let snapshot = listener.snapshot else { throw Failure(description: "\(what) was never told anything") }
      try compare(Array(snapshot.documents), world.backend.run(listener.query), what)
      if listener.options.includeQueryMetadataChanges, snapshot.isFromCache || snapshot.hasPendingWrites {
        throw Failure(description: "\(what) is not in sync: \(snapshot.isFromCache) \(snapshot.hasPendingWrites)")
      }
    }
  }

  /// Delivers until nothing happens any more.
  func drain() throws {
    for _ in 0..<400 {
      while !backgroundQueries.isEmpty {
        endBackgroundQuery()
        try check()
      }
      while answerParting(ends: false) { try check() }
      while !opening.isEmpty { answerOpening(succeeds: true) }
      while !writeRequests.isEmpty, writeStream != nil {
        answerWrite(answerIsLost: false)
        try check()
      }
      let (stream, requestCount) = (watchStream, watch.requestCount)
      sendSnapshot()
      while watchStream != nil, !watch.messages.isEmpty {
        deliverWatchMessage()
        try check()
      }
      try check()
      let busy = timers.running.filter {
        [.asyncQueueRetry, .listenStreamConnectionBackoff, .writeStreamConnectionBackoff].contains($0.kind)
      }
      // After streams that have ended again and again, the client asks for its targets one by one, the next after each snapshot.
      let hasAskedOn = watchStream == stream && watch.requestCount > requestCount
      if busy.isEmpty, !hasAskedOn, backgroundQueries.isEmpty, opening.isEmpty, writeRequests.isEmpty,
        listenersToRepeat.isEmpty || !world.backend.poisoned.isEmpty,
        try world.history.isDamaged || store.pendingBatches().isEmpty,
        engine.activeLimboDocuments.isEmpty, engine.enqueuedLimboDocuments.isEmpty
      {
        return
      }
      if !busy.isEmpty { fireNextTimer() }
    }
    let limbo = "\(engine.activeLimboDocuments) \(engine.enqueuedLimboDocuments)"
    throw Failure(
      description:
        "\(name) does not come to rest: in limbo \(limbo), queued \(try store.pendingBatches()), timers \(timers.running)"
    )
  }
}

extension Document {
  func hasSameData(as other: Document) -> Bool {
    key == other.key && hasSameContents(as: other)
  }

  var brief: String {
    "\(key)@\(version.microseconds) \((try? fields.decoded()).map { "\($0.entries.map { "\($0.key)=\($0.value)" })" } ?? "?")"
  }
}
