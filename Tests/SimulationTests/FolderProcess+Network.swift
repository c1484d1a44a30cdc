import EngineHarness
import HearthCache
import HearthModel
import HearthSync

extension FolderProcess {
  /// Another process has touched the file by which this one is woken.
  func lookForNews() {
    isWoken = false
    guard isRunning, !isStopped else { return }
    lookForDamage()
    post(.othersChanged)
  }

  private func lookForDamage() {
    guard let client else { return }
    do {
      try client.store.lookForFiles()
      if let damage = client.cache.markedDamage { client.store.noteDamagedFile(damage) }
    } catch {
      // The cache is reopened.
    }
  }

  // MARK: - Timers

  func fire(_ kind: TimerKind) {
    guard isRunning, !isStopped, driver.passTime(until: kind) else { return }
    if kind == .clientMetadataRefresh {
      _ = try? client?.cache.client?.makeMissing()
      lookForDamage()
    }
    post(.timerFired(kind))
  }

  /// The next timer that has a part in the history.
  var nextTimer: DeviceTimers.Timer? {
    guard isRunning, !isStopped, !isBusy else { return nil }
    return timers.next { $0 != .lruGarbageCollection && $0 != .indexBackfill }
  }

  /// The timers that must fire before the process has come to rest.
  var busyTimers: [TimerKind] {
    let pauses: [TimerKind] = isOnline ? [.listenStreamConnectionBackoff, .writeStreamConnectionBackoff] : []
    return timers.running.map(\.kind).filter { $0 == .asyncQueueRetry || pauses.contains($0) }
  }

  // MARK: - Streams

  /// Lets an attempt to open a stream succeed or fail.
  func answerOpening(succeeds: Bool) {
    guard isRunning else { return }
    // There is no token of another user than the one who is signed in.
    let succeeds = succeeds && isOnline && streamUser == user
    let error = StatusError(code: streamUser == user ? .unavailable : .aborted, message: "refused")
    driver.endOpening(with: succeeds ? nil : error)
  }

  func switchNetwork(on isOn: Bool) {
    guard isOn != isOnline else { return }
    world.note("\(name) is \(isOn ? "online" : "cut off")")
    isOnline = isOn
    let error = StatusError(code: .unavailable, message: "cut off")
    if !isOn {
      driver.breakWatchStream(error)
      driver.breakWriteStream(error)
    }
  }

  func sendSnapshot() {
    if watchStream != nil { watch.sendSnapshot(world.backend, &world.generator) }
  }

  /// Sends a snapshot, unless the stream has had it.
  func sendSnapshotOfNews() {
    guard let id = watchStream else { return }
    let state = SharedClient.SnapshotState(stream: id, requestCount: watchRequestCount, version: world.backend.now)
    if state != lastSnapshot { sendSnapshot() }
    lastSnapshot = state
  }

  func deliverWatchMessage() {
    guard isRunning, !isBusy, let id = watchStream, case .response(let response) = watch.takeMessage() else { return }
    post(.watchStreamMessage(id, response))
  }

  // MARK: - Writes

  /// A batch goes out on a stream of the user who wrote it, and nobody else is signed in.
  func sent(_ batch: SentBatch, on id: StreamID) -> SentBatch? {
    let user = streamUser ?? "nobody"
    if streamUser != self.user { fail("a stream of \(user) is used while \(self.user ?? "nobody") is signed in") }
    guard let number = batch.label.flatMap(BatchLabel.init(parsing:)).map({ Int($0.identity.low) }) else {
      fail("\(batch.mutations) were sent without a label")
      return nil
    }
    if let problem = world.ledger.problemWithSending(number, batch.mutations, as: streamUser) { fail(problem) }
    return SentBatch(batch.mutations, label: batch.label, number: number)
  }

  /// The backend commits or refuses the oldest batch.
  ///
  /// - Parameter answerIsLost: the stream breaks before the answer reaches the client.
  func answerWrite(answerIsLost: Bool) {
    guard isRunning else { return }
    driver.answerWrite { request in
      world.checkOrder(of: request.number, from: self)
      let answer = response(to: request)
      return answerIsLost ? .failure(StatusError(code: .unavailable, message: "lost")) : answer
    }
  }

  private func response(to request: SentBatch) -> Result<WriteResponse, StatusError> {
    world.answer(request).map { WriteResponse(committedAt: $0.version, $0.results) }
  }

  /// The oldest of the write streams that the client has closed ends, or the backend answers one more batch there before.
  ///
  /// - Returns: false if there is none.
  func answerParting(ends: Bool) -> Bool {
    isRunning && answerParting(ends: ends, response)
  }
}
