import EngineHarness
import HearthCache
import HearthModel
import HearthSync

extension SharedSimulation {
  /// Checks what must hold between two steps.
  func checkStep() throws {
    observe()
    try check()
    try checkLease()
    for client in awake {
      try checkViews(of: client)
      if !client.isBusy { checkHeldWrites(of: client) }
    }
    try check()
  }

  /// At most one client has the number that the file gives its holder, and no number is given twice.
  private func checkLease() throws {
    let holders = living.filter { $0.store.leaseNumber == lease.number }.map(\.name)
    guard holders.count <= 1 else { throw Failure(description: "lease \(lease.number) is held by \(holders)") }
    if let holder = holders.first, let named = lease.holder, holder != named {
      throw Failure(description: "lease \(lease.number) is held by \(holder), the file names \(named)")
    }
    guard let holder = lease.holder else { return }
    let former = leaseHolders.updateValue(holder, forKey: lease.number)
    guard former ?? holder == holder else {
      throw Failure(description: "lease \(lease.number) of \(former ?? "nobody") was given to \(holder)")
    }
  }

  /// All listeners of a client show the documents of one state of the file, which is not older than the last one that it has read.
  private func checkViews(of client: SharedClient) throws {
    guard showsOneState(client) else { return }
    let states = reference.states(since: shownCommit(of: client))
    let mark = SharedClient.Mark(
      oldest: reference.stateCount - states.count, newest: reference.stateCount, snapshots: client.snapshotCount,
      user: client.store.user)
    guard client.lastMark != mark else { return }
    var difference: String?
    for state in states.reversed() {
      let found = try firstDifference(of: client, state, states)
      if found == nil {
        client.lastMark = mark
        return
      }
      difference = difference ?? found
    }
    throw Failure(description: difference ?? "")
  }

  /// False while a client has news to show, or does not know yet that it has lost the lease.
  private func showsOneState(_ client: SharedClient) -> Bool {
    guard !client.isBusy, !client.busyTimers.contains(.asyncQueueRetry), !client.store.hasNews else { return false }
    // A client that has lost the lease without a word reads everything again when it finds out.
    return client.store.leaseNumber.map { $0 == lease.number } ?? true
  }

  private func firstDifference(
    of client: SharedClient, _ state: SharedReference.State, _ states: [SharedReference.State]
  ) throws -> String? {
    let user = client.store.user
    for (id, listener) in client.listeners.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      if client.engine.hasBackgroundListen(id) { continue }
      if states.contains(where: { $0.isCatchingUp(listener.query, user) }) { continue }
      let expected = state.run(listener.query, user)
      let what = "\(client.name), listener \(id.rawValue) \(listener.query.canonicalID)"
      guard let snapshot = listener.snapshot else {
        if expected.isEmpty || listener.options.waitForSyncWhenOnline { continue }
        return "\(what) was not told of \(expected.map(\.brief))"
      }
      if let difference = difference(Array(snapshot.documents), expected, what) { return difference }
    }
    return nil
  }

  func difference(_ actual: [Document], _ expected: [Document], _ what: String) -> String? {
    if actual.count == expected.count, zip(actual, expected).allSatisfy({ $0.hasSameData(as: $1) }) { return nil }
    return "\(what) shows \(actual.map(\.brief)), but must show \(expected.map(\.brief))"
  }

  func compare(_ actual: [Document], _ expected: [Document], _ what: String) throws {
    if let difference = difference(actual, expected, what) { throw Failure(description: difference) }
  }

  /// Old documents go, but none that some client shows.
  ///
  /// - Parameter before: The state before the collection.
  func checkCollection(of removed: Set<DocumentKey>, _ before: SharedReference.State, by collector: String) {
    guard !removed.isEmpty else { return }
    let known = knownClients
    for client in awake where showsOneState(client) && known.contains(client.name) {
      // One that has seen the state before.
      guard reference.states(since: shownCommit(of: client)).count <= 2 else { continue }
      for (id, listener) in client.listeners {
        guard !before.isCatchingUp(listener.query, client.store.user) else { continue }
        // It ends as soon as its client hears of that.
        if let rejection = rejectedTargets[listener.query.target], id.rawValue < rejection { continue }
        let taken = listener.snapshot?.documents.map(\.key).filter(removed.contains) ?? []
        guard !taken.isEmpty else { continue }
        fail("\(collector) collected \(taken), which listener \(id.rawValue) of \(client.name) shows")
      }
    }
  }

  // MARK: - The end

  /// Everything was delivered: the views are what the backend has.
  func checkEnd() throws {
    try checkOutcomes()
    for client in living {
      guard client.driver.openWrites.isEmpty, client.openWaits.isEmpty, client.reads.isEmpty else {
        throw Failure(
          description:
            "\(client.name): callers wait: \(client.driver.openWrites) \(client.openWaits) \(client.reads.keys)")
      }
      guard client.engine.activeLimboDocuments.isEmpty, client.engine.enqueuedLimboDocuments.isEmpty else {
        throw Failure(description: "\(client.name): still in limbo: \(client.engine.activeLimboDocuments)")
      }
      for (id, listener) in client.listeners.sorted(by: { $0.key.rawValue < $1.key.rawValue })
      where listener.options.source == .default {
        let what = "at the end \(client.name), listener \(id.rawValue) \(listener.query.canonicalID)"
        guard let snapshot = listener.snapshot else { throw Failure(description: "\(what) was never told anything") }
        try compare(Array(snapshot.documents), backend.run(listener.query), what)
        if listener.options.includeQueryMetadataChanges, snapshot.isFromCache || snapshot.hasPendingWrites {
          let target = client.engine.targetID(of: listener.query).map { "\($0)" } ?? "none"
          throw Failure(
            description:
              "\(what) is not in sync: \(snapshot.isFromCache) \(snapshot.hasPendingWrites), target \(target), "
              + "in the file \(currentTargets) are")
        }
      }
    }
    let inUse = try targetsInUse()
    if let ownerless = inUse[nil] { throw Failure(description: "targets are in use by nobody: \(ownerless)") }
    for client in living {
      // More may be in use, where the storage has failed.
      let missing = Set(client.listeners.values.map(\.query.target.canonicalID)).subtracting(inUse[client.name] ?? [])
      guard missing.isEmpty else { throw Failure(description: "\(client.name) shows, but does not use, \(missing)") }
    }
    for user in history.users where !outbox(of: user).isEmpty {
      throw Failure(description: "the outbox of \(user ?? "nobody") is not empty: \(outbox(of: user))")
    }
  }
}
