import EngineHarness
import HearthCache
import HearthModel
import HearthStore
import HearthSync

extension SharedSimulation {
  /// Something happens to one of the clients, or at the backend.
  func step() throws {
    if history.holding > 0, generator.chance(history.holding) { try holdOrReleaseFile() }
    endStoppingClients()
    if generator.chance(10) {
      try lifeStep()
    } else if generator.chance(10) {
      backendStep()
    } else if let client = awake.randomElement(using: &generator) {
      // Most of what happens concerns the client that has the streams.
      let active = awake.filter { $0.watchStream != nil || $0.writeStream != nil || !$0.opening.isEmpty }
      if generator.chance(40), let active = active.randomElement(using: &generator) {
        networkStep(of: active)
      } else {
        userStep(of: client)
      }
    }
    removeEndedClients()
    try checkStep()
    if history.collection > 0, generator.chance(history.collection) {
      collectGarbage()
      removeEndedClients()
      try checkStep()
    }
    guard history.clearing > 0, generator.chance(history.clearing) else { return }
    clearSomething()
    removeEndedClients()
    try checkStep()
  }

  /// Clients come and go.
  private func lifeStep() throws {
    guard let client = living.randomElement(using: &generator) else {
      releaseFile()
      return try beginClient()
    }
    switch Int.random(in: 0..<20, using: &generator) {
    case 0, 1: if living.count < 4, fileHolder == nil { try beginClient() }
    case 2:
      guard client.life == .running else { break }
      if generator.chance(50) { client.stopSending() } else { client.shutDown() }
    case 3: bury(client)
    case 4, 5: client.deathStatement = client.statementCount + Int.random(in: 1...60, using: &generator)
    case 6: client.deathAction = Int.random(in: 0...4, using: &generator)
    case 7, 8: if client.life == .running { client.suspend() }
    case 9, 10, 11: client.resume()
    case 12:
      note("the lock of the lease is lost")
      locks.loseLease()
    case 13, 14, 15: client.stopStatement = client.statementCount + Int.random(in: 1...60, using: &generator)
    case 16 where history.reopens && client.life == .running: try reopen(client)
    case 17..<19 where history.hasNetworks && client.life == .running: client.setReach(generator.chance(50))
    case 19 where history.hasNetworks: try passTime()
    default: client.post(.setVisibility(generator.chance(50)))
    }
  }

  /// The clients that are being shut down hear the answers to what they have sent, or do not.
  private func endStoppingClients() {
    for client in living where client.isStopping && client.life == .running && generator.chance(40) {
      if client.engine.awaitsAnswers, generator.chance(80) {
        _ = client.answerParting(ends: generator.chance(30))
      } else {
        client.shutDown()
      }
    }
  }

  private func backendStep() {
    _ = backend.commit(generator.mutations(), label: nil)
    note("backend: another client commits, now \(backend.now)")
  }

  private func networkStep(of client: SharedClient) {
    if !client.parting.isEmpty, generator.chance(30), client.answerParting(ends: generator.chance(30)) { return }
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<6: breakSomething(of: client)
    case 6..<26: client.answerOpening(succeeds: generator.chance(88))
    case 26..<46: client.answerWrite(answerIsLost: generator.chance(12))
    case 46..<56: client.sendSnapshot()
    case 56..<60: client.sendChanges()
    case 60..<62: client.rejectTarget()
    default: for _ in 0..<Int.random(in: 1...5, using: &generator) { client.deliverWatchMessage() }
    }
  }

  private func userStep(of client: SharedClient) {
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<15: client.listen(to: generator.query(), generator.options())
    case 15..<23: client.unlisten()
    case 23..<42:
      var batches: [[Mutation]] = []
      for _ in 0..<(generator.chance(20) ? 3 : 1) { batches.append(generator.mutations()) }
      client.write(batches)
    case 42..<57: wake(client)
    case 57..<69: client.fire(.clientMetadataRefresh)
    case 69..<75: client.fireNextTimer()
    case 75..<79: client.switchNetwork(on: generator.chance(60))
    case 79..<82 where history.changesUsers: client.changeUser(to: generator.pick(history.users))
    case 82..<84: client.request(.waitForPendingWrites)
    case 84..<89: readCache(of: client)
    case 89..<91: client.loadBundle()
    case 91: client.request(.setIndexes(generator.indexes()))
    case 92: client.request(.deleteAllIndexes)
    case 93: collectGarbage()
    case 94: client.resubmitSomething()
    case 95: collectWhatOneShows(client)
    case 96: client.withdrawSomething()
    case 97: client.clearings.isEmpty ? client.clearSomething() : client.continueClearing()
    default: failStorage(of: client)
    }
  }

  /// Something that a client may do in the middle of an event of another.
  func smallStep(of client: SharedClient) {
    switch Int.random(in: 0..<13, using: &generator) {
    case 0, 1: client.write([generator.mutations()])
    case 2, 3: wake(client)
    case 4: client.fire(.clientMetadataRefresh)
    case 5: client.answerWrite(answerIsLost: false)
    case 6, 7: client.listen(to: generator.query(), generator.options())
    case 8: client.fireNextTimer()
    case 9: readCache(of: client)
    case 10: client.withdrawSomething()
    case 11: client.clearings.isEmpty ? client.clearSomething() : client.continueClearing()
    default: for _ in 0..<Int.random(in: 1...8, using: &generator) { client.deliverWatchMessage() }
    }
  }

  /// Reads the cache once, or ends a read or a listen in the background.
  private func readCache(of client: SharedClient) {
    if !client.backgroundQueries.isEmpty, generator.chance(70) {
      client.endBackgroundQuery()
    } else {
      client.read(generator.query())
    }
  }

  /// A garbage collection while one client shows, from the cache, what nobody watches any more.
  private func collectWhatOneShows(_ client: SharedClient) {
    // Here the others get their news, or have no part in it.
    if generator.chance(50) {
      for other in awake { other.unlistenToBackend() }
      client.listen(to: generator.query(), ListenOptions(source: .cache))
    } else {
      client.listen(to: generator.query(), ListenOptions(source: .cache))
      for other in awake { other.unlistenToBackend() }
    }
    collectGarbage()
  }

  /// The holder of the lease collects garbage, whether it knows the latest changes of the others or not.
  private func collectGarbage() {
    if generator.chance(50) { for client in awake { client.post(.othersChanged) } }
    guard let client = awake.first(where: \.engine.isPrimary) else { return }
    note("\(client.name) collects garbage")
    _ = try? client.engine.collectGarbage(GarbageCollectionParameters(thresholdBytes: 0, percentile: 100))
    // The loop carries out what has come up, and tells the others.
    client.post(.othersChanged)
  }

  private func wake(_ client: SharedClient) {
    guard client.isWoken || generator.chance(20) else { return }
    client.isWoken = false
    client.post(.othersChanged)
  }

  private func breakSomething(of client: SharedClient) {
    let code = generator.pick([StatusCode.unavailable, .internal, .resourceExhausted, .unauthenticated, .aborted])
    let error = StatusError(code: code, message: "broken")
    if generator.chance(50) { client.driver.breakWatchStream(error) } else { client.driver.breakWriteStream(error) }
  }

  private func failStorage(of client: SharedClient) {
    let names = [
      "Allocate target", "Release target", "Locally write mutations", "notifyLocalViewChanges", "Acknowledge batch",
      "Reject batch", "Get last remote snapshot version", "Apply remote event", "Handle user change",
      "Read notices", "Note read notices", "updateClientMetadataAndTryBecomePrimary", "Publish target states",
      "Publish online state", "Get targets of other clients", "Synchronize views", "Join cache", "Leave cache",
      "Give back lease", "Get target data", "Execute query", "Lookup mutation documents", "Get new document changes",
      "List clients", "Stop watching target", "Note sent batches", "Note end of sending", "Note failed attempt",
      "Withdraw batch", "Clear cache",
    ]
    switch Int.random(in: 0..<4, using: &generator) {
    case 0:
      client.failingTransactions = [generator.pick(names), generator.pick(names)]
      note("\(client.name) failing: \(client.failingTransactions.sorted())")
    case 1:
      let first = client.statementCount + Int.random(in: 1...60, using: &generator)
      client.failingStatements = first..<first + Int.random(in: 1...20, using: &generator)
      client.failureKind = generator.pick([.full, .io, .readOnly, .unavailable])
      note("\(client.name) failing: \(client.failingStatements) \(client.failureKind)")
    default:
      client.failingTransactions = []
      client.failingStatements = 0..<0
    }
  }
}
