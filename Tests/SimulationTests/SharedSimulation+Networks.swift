import EngineHarness
import HearthModel
import HearthSync

/// Processes of one cache whose networks differ.
extension SharedClient {
  /// The network of the process leads nowhere from now on, or works again.
  func setReach(_ canConnect: Bool) {
    guard self.canConnect != canConnect else { return }
    world.note("\(name) \(canConnect ? "can connect again" : "is cut off")")
    self.canConnect = canConnect
    isSilent = world.generator.chance(50)
    guard !canConnect else { return post(.connectivityChanged) }
    let error = StatusError(code: .unavailable, message: "the network is unreachable")
    driver.breakWatchStream(error)
    driver.breakWriteStream(error)
  }

  /// True if the process could have a connection of its user.
  var mayConnect: Bool { life == .running && canConnect && isNetworkEnabled && streamUser == user }

  /// A second goes by: what waits is delivered, and timers fire.
  func passSecond() throws {
    let end = now + .seconds(1)
    if isWoken {
      isWoken = false
      post(.othersChanged)
    }
    while !backgroundQueries.isEmpty { endBackgroundQuery() }
    while answerParting(ends: !canConnect) { try world.check() }
    for _ in 0..<4 where !opening.isEmpty && (canConnect || !isSilent || world.generator.chance(20)) {
      answerOpening(succeeds: true)
    }
    while !writeRequests.isEmpty, writeStream != nil { answerWrite(answerIsLost: false) }
    sendSnapshotOfNews()
    while watchStream != nil, !watch.messages.isEmpty { deliverWatchMessage() }
    for _ in 0..<20 {
      let due = timers.running.filter { $0.due <= end && $0.kind != .lruGarbageCollection }
      guard let next = due.min(by: { $0.due < $1.due }) else { break }
      fire(next.kind)
    }
    driver.clock.now = max(now, end)
    try world.check()
  }
}

extension SharedSimulation {
  /// Nothing fails any more but networks, until those who can connect have what they want.
  func passTime() throws {
    note("time goes by")
    releaseFile()
    // They are shut down within a second.
    for client in living where client.isStopping && client.life == .running { client.shutDown() }
    removeEndedClients()
    for client in awake {
      client.calm()
      client.setReach(generator.chance(50))
    }
    // Many times as long as everyone's turn.
    for _ in 0..<200 {
      for client in awake where !client.isBusy { try client.passSecond() }
      try checkStep()
      guard let waiting else { return }
      note("waiting: \(waiting)")
    }
    throw Failure(description: "after a long time \(waiting ?? "nobody") waits, while others could connect")
  }

  /// A client that waits for the backend although it could be reached.
  private var waiting: String? {
    let able = awake.filter(\.mayConnect)
    guard !able.isEmpty else { return nil }
    for user in history.users where !outbox(of: user).isEmpty && able.contains(where: { $0.user == user }) {
      return "an outbox of \(user ?? "nobody")"
    }
    let listens = able.contains { $0.listeners.values.contains { $0.options.source == .default } }
    guard listens else { return nil }
    guard let holder = awake.first(where: \.engine.isPrimary) else { return "a listener, without a primary client" }
    return holder.mayConnect && holder.watchStream != nil ? nil : "a listener, for \(holder.name)"
  }
}
