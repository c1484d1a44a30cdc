import EngineHarness
import HearthCache
import HearthModel
import HearthSync

extension SharedSimulation {
  func run() throws {
    defer { close() }
    for _ in 0..<history.stepCount { try step() }
    try settle()
  }

  /// Everything works again and is delivered: then the outboxes are empty, and the views are what the backend has.
  private func settle() throws {
    note("the end")
    isSettling = true
    releaseFile()
    for client in living where client.isStopping {
      client.resume()
      client.shutDown()
    }
    removeEndedClients()
    if living.isEmpty { try beginClient() }
    for client in living {
      client.calm()
      client.resume()
      if !client.isNetworkEnabled { client.switchNetwork(on: true) }
      client.setReach(true)
    }
    try drain()
    // The writes of users whom the client with the streams does not serve.
    for user in history.users where !outbox(of: user).isEmpty {
      try serve(user)
      try drain()
    }
    try checkStep()
    try checkEnd()
    ledger.checkEnd()
    try check()
  }

  /// Some client sends the outbox of a user who has none.
  private func serve(_ user: String?) throws {
    guard history.changesUsers else {
      if !living.contains(where: { $0.user == user }) { try beginClient(for: user) }
      return
    }
    guard let primary = living.first(where: { $0.engine.isPrimary }) else {
      throw Failure(description: "no client has the streams")
    }
    primary.changeUser(to: user)
  }

  /// Delivers until nothing happens any more.
  private func drain() throws {
    var quietRounds = 0
    for _ in 0..<(300 + secondsUntilTurn) {
      let before = try fileVersion()
      for client in awake { try drain(client) }
      let isBusy = awake.contains(where: \.hasWork)
      quietRounds = try isBusy || fileVersion() != before ? 0 : quietRounds + 1
      // A client whose user's outbox waits has its turn after some seconds.
      let isWaiting = history.users.contains { !outbox(of: $0).isEmpty }
      if quietRounds >= (isWaiting ? 10 + secondsUntilTurn : 3) { return }
    }
    throw Failure(description: "the clients do not come to rest: \(awake.map { "\($0.name) \($0.busyTimers)" })")
  }

  /// The time after which each client has had its turn, also one whose former turns were in vain: in rounds of a second.
  private var secondsUntilTurn: Int {
    let turns = awake.map(\.store.futileTurnCount).max() ?? 0
    guard turns > 0 else { return 0 }
    return Int(history.configuration.futileTurnPause.components.seconds) << min(turns - 1, 5)
  }

  func drain(_ client: SharedClient) throws {
    if client.isWoken {
      client.isWoken = false
      client.post(.othersChanged)
    }
    client.fire(.clientMetadataRefresh)
    while !client.backgroundQueries.isEmpty { client.endBackgroundQuery() }
    while client.answerParting(ends: false) { try check() }
    while !client.opening.isEmpty { client.answerOpening(succeeds: true) }
    while !client.writeRequests.isEmpty, client.writeStream != nil {
      client.answerWrite(answerIsLost: false)
      try check()
    }
    client.sendSnapshotOfNews()
    while client.watchStream != nil, !client.watch.messages.isEmpty {
      client.deliverWatchMessage()
      try check()
    }
    if !client.busyTimers.isEmpty { client.fireNextTimer() }
    try check()
  }
}
