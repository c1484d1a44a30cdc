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
    guard !opening.isEmpty else { return }
    let event = opening.removeFirst()
    // There is no token of another user than the one who is signed in.
    let succeeds = succeeds && streamUser == user
    let error = StatusError(code: streamUser == user ? .unavailable : .aborted, message: "refused")
    switch event {
    case .watchStreamOpened(let id):
      if succeeds { watchStream = id } else { watchAttempts.failed() }
      post(succeeds ? event : .watchStreamClosed(id, error))
    case .writeStreamOpened(let id):
      if succeeds { writeStream = id }
      post(succeeds ? event : .writeStreamClosed(id, error))
    default: break
    }
  }

  func fireNextTimer() {
    guard let next = timers.min(by: { $0.due < $1.due }) else { return }
    timers.removeAll { $0.kind == next.kind }
    now = max(now, next.due)
    if next.kind == .asyncQueueRetry { watchAttempts.mayBeginAtOnce() }
    post(.timerFired(next.kind))
  }

  // MARK: - The watch stream

  /// - Parameter error: The error that the client gets; nil if it ended the stream itself.
  func breakWatchStream(_ error: StatusError?) {
    guard let id = watchStream else { return }
    watchStream = nil
    watch = SimulatedWatch()
    reference.watchStreamClosed()
    if let error {
      watchAttempts.failed()
      post(.watchStreamClosed(id, error))
    }
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
      let canStore = failingTransactions.isDisjoint(with: ["Apply remote event", "Get last remote snapshot version"])
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

  func breakWriteStream(_ error: StatusError?) {
    guard let id = writeStream else { return }
    writeStream = nil
    writeRequests = []
    if let error { post(.writeStreamClosed(id, error)) }
  }

  /// A batch goes out on a stream of the user who wrote it, nobody else is signed in, and the client knows no answer to it.
  func sent(_ mutations: [Mutation], _ label: String?) {
    let name = streamUser ?? "nobody"
    if streamUser != user { fail("a stream of \(name) is used while \(user ?? "nobody") is signed in") }
    if (label != nil) != world.history.backendKnowsLabels { fail("a request has the label \(label ?? "none")") }
    if world.history.isDamaged { return sentFromDamagedCache(mutations, label) }
    let seconds = Self.seconds(of: streamUser)
    let alike = looking { (try? store.pendingBatches(of: .user(streamUser))) ?? [] }
      .filter { $0.mutations == mutations && $0.localWriteTime.seconds == seconds }.map(\.number)
    if alike.isEmpty { return fail("\(mutations) went out for \(name), who did not write it") }
    // Also what may still be answered on a stream that the client has closed.
    let underWay = (writeRequests + parting.flatMap(\.requests)).map(\.number)
    guard let number = alike.first(where: { heard[$0] == nil && !underWay.contains($0) }) else {
      return fail("\(mutations) was sent again after its answer had come")
    }
    writeRequests.append(Request(number: number, mutations: mutations, label: label))
  }

  /// The backend commits or refuses the oldest batch.
  ///
  /// - Parameter answerIsLost: the stream breaks before the answer reaches the client.
  func answerWrite(answerIsLost: Bool) {
    guard let id = writeStream, !writeRequests.isEmpty else { return }
    let request = writeRequests.removeFirst()
    let answer = world.answer(request)
    if answerIsLost { return breakWriteStream(StatusError(code: .unavailable, message: "lost")) }
    heard[request.number] = answer
    switch answer {
    case .success(let commit): acknowledge(request, commit, on: id)
    case .failure(let error): breakWriteStream(error)
    }
  }

  private func acknowledge(_ request: Request, _ commit: SimulatedBackend.Commit, on id: StreamID) {
    world.ledger.acknowledged(request.number)
    post(
      .writeStreamMessage(
        id, WriteResponse(streamToken: [1], commitVersion: commit.version, results: commit.results)))
  }

  /// The oldest of the write streams that the client has closed ends, or the backend answers one more batch there before.
  ///
  /// - Returns: false if there is none.
  func answerParting(ends: Bool) -> Bool {
    guard let stream = parting.first else { return false }
    if !ends, let request = stream.requests.first {
      parting[0].requests.removeFirst()
      if case .success(let commit) = world.answer(request) {
        heard[request.number] = .success(commit)
        acknowledge(request, commit, on: stream.id)
        return true
      }
      // A refusal ends the stream, and the client does not hear why.
    }
    parting.removeFirst()
    post(.writeStreamClosed(stream.id, nil))
    return true
  }
}
