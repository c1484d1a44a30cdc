import EngineHarness
import HearthCache
import HearthModel
import HearthSync

extension SimulatedDevice {
  func switchNetwork(on isOn: Bool) {
    isNetworkEnabled = isOn
    watchAttempts.mayBeginAtOnce()
    let id = RequestID(rawValue: 0)
    openWaits.insert(id)
    post(.request(id, isOn ? .enableNetwork : .disableNetwork))
  }

  /// Lets an attempt to open a stream succeed or fail.
  func answerOpening(succeeds: Bool) {
    guard let attempt = opening.first else { return }
    // There is no token of another user than the one who is signed in.
    let succeeds = succeeds && streamUser == user
    let error = StatusError(code: streamUser == user ? .unavailable : .aborted, message: "refused")
    if attempt.kind == .watch, !succeeds { watchAttempts.failed() }
    driver.endOpening(with: succeeds ? nil : error)
  }

  func fireNextTimer() {
    guard let next = timers.next() else { return }
    if next.kind == .asyncQueueRetry { watchAttempts.mayBeginAtOnce() }
    driver.fire(next.kind)
  }

  // MARK: - The watch stream

  func breakWatchStream(_ error: StatusError) {
    guard watchStream != nil else { return }
    watchAttempts.failed()
    driver.breakWatchStream(error)
  }

  func sendSnapshot() {
    if watchStream != nil { watch.sendSnapshot(world.backend, &world.generator) }
  }

  func sendChanges() {
    if watchStream != nil { watch.sendChanges(world.backend, &world.generator) }
  }

  func deliverWatchMessage() {
    guard let id = watchStream, let message = watch.takeMessage() else { return }
    switch message {
    case .response(let response):
      let canStore = failures.transactions.isDisjoint(with: ["Apply remote event", "Get last remote snapshot version"])
      reference.queues = pendingQueues()
      reference.received(response, canStore: canStore)
      if case .targetChange(let change) = response, change.readTime > .none { watchAttempts.snapshotWasComplete() }
      post(.watchStreamMessage(id, response))
    case .poison(let targets):
      let error = StatusError(code: .internal, message: "an answer to \(targets) makes no sense")
      // A message that does not even name its targets ends the stream.
      guard world.generator.chance(80) else { return breakWatchStream(error) }
      let isTargetChange = world.generator.chance(20)
      let message = UnreadableWatchMessage(targetIDs: targets, isTargetChange: isTargetChange, error: error)
      if isTargetChange { watchAttempts.failed() }
      post(.watchStreamMessage(id, .unreadable(message)))
    }
  }

  // MARK: - The write stream

  /// A batch goes out on a stream of the user who wrote it, nobody else is signed in, and the client knows no answer to it.
  func sent(_ batch: SentBatch, on id: StreamID) -> SentBatch? {
    let name = streamUser ?? "nobody"
    if streamUser != user { fail("a stream of \(name) is used while \(user ?? "nobody") is signed in") }
    if (batch.label != nil) != world.history.backendKnowsLabels {
      fail("a request has the label \(batch.label ?? "none")")
    }
    guard let number = world.history.isDamaged ? numberInDamagedCache(of: batch) : number(of: batch) else { return nil }
    return SentBatch(batch.mutations, label: batch.label, number: number)
  }

  private func number(of batch: SentBatch) -> Int? {
    let mutations = batch.mutations
    let seconds = Self.seconds(of: streamUser)
    let alike = looking { (try? store.pendingBatches(of: .user(streamUser))) ?? [] }
      .filter { $0.mutations == mutations && $0.localWriteTime.seconds == seconds }.map(\.number)
    if alike.isEmpty { fail("\(mutations) went out for \(streamUser ?? "nobody"), who did not write it") }
    // Also what may still be answered on a stream that the client has closed.
    let underWay = driver.streams.underWay.map(\.number)
    let number = alike.first { heard[$0] == nil && !underWay.contains($0) }
    if number == nil { fail("\(mutations) was sent again after its answer had come") }
    return number
  }

  /// The backend commits or refuses the oldest batch.
  ///
  /// - Parameter answerIsLost: the stream breaks before the answer reaches the client.
  func answerWrite(answerIsLost: Bool) {
    driver.answerWrite { request in
      let answer = world.answer(request)
      if answerIsLost { return .failure(StatusError(code: .unavailable, message: "lost")) }
      heard[request.number] = answer
      return answer.map { response(to: request, $0) }
    }
  }

  private func response(to request: SentBatch, _ commit: SimulatedBackend.Commit) -> WriteResponse {
    world.ledger.acknowledged(request.number)
    return WriteResponse(committedAt: commit.version, commit.results)
  }

  /// The oldest of the write streams that the client has closed ends, or the backend answers one more batch there before.
  ///
  /// - Returns: false if there is none.
  func answerParting(ends: Bool) -> Bool {
    answerParting(ends: ends) { request in
      world.answer(request).map { commit in
        heard[request.number] = .success(commit)
        return response(to: request, commit)
      }
    }
  }
}
