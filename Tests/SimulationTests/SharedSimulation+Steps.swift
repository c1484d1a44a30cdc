import HearthCache
import HearthModel
import HearthStore
import HearthSync

extension SharedSimulation {
  /// Something happens to one of the clients, or at the backend.
  func step() throws {
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
  }

  /// Clients come and go.
  private func lifeStep() throws {
    guard let client = living.randomElement(using: &generator) else { return try beginClient() }
    switch Int.random(in: 0..<14, using: &generator) {
    case 0, 1: if living.count < 4 { try beginClient() }
    case 2: if client.life == .running { client.shutDown() }
    case 3: bury(client)
    case 4, 5: client.deathStatement = client.statementCount + Int.random(in: 1...60, using: &generator)
    case 6: client.deathAction = Int.random(in: 0...4, using: &generator)
    case 7, 8: if client.life == .running { client.suspend() }
    case 9, 10, 11: client.resume()
    case 12:
      note("the lock of the lease is lost")
      locks.loseLease()
    default: client.post(.setVisibility(generator.chance(50)))
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
    default: for _ in 0..<Int.random(in: 1...5, using: &generator) { client.deliverWatchMessage() }
    }
  }

  private func userStep(of client: SharedClient) {
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<16: client.listen(to: generator.query(), generator.options())
    case 16..<25: client.unlisten()
    case 25..<45:
      var batches: [[Mutation]] = []
      for _ in 0..<(generator.chance(20) ? 3 : 1) { batches.append(generator.mutations()) }
      client.write(batches)
    case 45..<62: wake(client)
    case 62..<76: client.fire(.clientMetadataRefresh)
    case 76..<84: client.fireNextTimer()
    case 84..<88: client.switchNetwork(on: generator.chance(60))
    case 88..<91: client.changeUser(to: generator.pick(SharedClient.users))
    case 91..<93: client.request(.waitForPendingWrites)
    case 93..<96: collectGarbage()
    case 96: collectWhatOneShows(client)
    default: failStorage(of: client)
    }
  }

  /// What a client may do in the middle of an event of another.
  func smallStep(of client: SharedClient) {
    switch Int.random(in: 0..<8, using: &generator) {
    case 0, 1: client.write([generator.mutations()])
    case 2, 3: wake(client)
    case 4: client.fire(.clientMetadataRefresh)
    case 5: client.answerWrite(answerIsLost: false)
    case 6: client.listen(to: generator.query(), generator.options())
    default: for _ in 0..<Int.random(in: 1...8, using: &generator) { client.deliverWatchMessage() }
    }
  }

  /// A garbage collection while one client shows, from the cache, what nobody watches any more.
  private func collectWhatOneShows(_ client: SharedClient) {
    client.listen(to: generator.query(), ListenOptions(source: .cache))
    for other in awake { other.unlistenToBackend() }
    collectGarbage()
  }

  private func wake(_ client: SharedClient) {
    guard client.isWoken || generator.chance(20) else { return }
    client.isWoken = false
    client.post(.othersChanged)
  }

  private func breakSomething(of client: SharedClient) {
    let code = generator.pick([StatusCode.unavailable, .internal, .resourceExhausted, .unauthenticated, .aborted])
    let error = StatusError(code: code, message: "broken")
    if generator.chance(50) { client.breakWatchStream(error) } else { client.breakWriteStream(error) }
  }

  private func failStorage(of client: SharedClient) {
    let names = [
      "Allocate target", "Release target", "Locally write mutations", "notifyLocalViewChanges", "Acknowledge batch",
      "Reject batch", "Get last remote snapshot version", "Apply remote event", "Handle user change",
      "Read notices", "Note read notices", "updateClientMetadataAndTryBecomePrimary", "Publish target states",
      "Publish online state", "Get targets of other clients", "Synchronize views", "Join cache", "Leave cache",
      "Give back lease", "Get target data", "Execute query", "Lookup mutation documents", "Get new document changes",
      "List clients", "Stop watching target",
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
