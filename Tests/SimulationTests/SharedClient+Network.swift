import HearthCache
import HearthModel
import HearthSync

extension SharedClient {
  /// Lets an attempt to open a stream succeed or fail.
  func answerOpening(succeeds: Bool) {
    guard !opening.isEmpty else { return }
    let event = opening.removeFirst()
    // There is no token of another user than the one who is signed in.
    let succeeds = succeeds && streamUser == user && canConnect
    let error = StatusError(code: streamUser == user ? .unavailable : .aborted, message: "refused")
    switch event {
    case .watchStreamOpened(let id):
      if succeeds { watchStream = id }
      post(succeeds ? event : .watchStreamClosed(id, error))
    case .writeStreamOpened(let id):
      if succeeds {
        writeStream = id
        lastSentBatchID = -1
      }
      post(succeeds ? event : .writeStreamClosed(id, error))
    default: break
    }
  }

  // MARK: - Timers

  func fire(_ kind: TimerKind) {
    guard let index = timers.firstIndex(where: { $0.kind == kind }) else { return }
    let timer = timers.remove(at: index)
    now = max(now, timer.due)
    post(.timerFired(kind))
  }

  /// Fires the next timer, except for the one that looks after the other clients.
  func fireNextTimer() {
    let kinds = timers.filter { $0.kind != .clientMetadataRefresh && $0.kind != .lruGarbageCollection }
    if let next = kinds.min(by: { $0.due < $1.due }) { fire(next.kind) }
  }

  /// The timers that must fire before the client has come to rest.
  var busyTimers: [TimerKind] {
    timers.map(\.kind).filter {
      [.asyncQueueRetry, .listenStreamConnectionBackoff, .writeStreamConnectionBackoff].contains($0)
    }
  }

  /// True if something waits to be delivered.
  var hasWork: Bool {
    isWoken || !backgroundQueries.isEmpty || !busyTimers.isEmpty || !opening.isEmpty || !writeRequests.isEmpty
  }

  // MARK: - The watch stream

  /// - Parameter error: The error that the client gets; nil if it ended the stream itself.
  func breakWatchStream(_ error: StatusError?) {
    guard let id = watchStream else { return }
    watchStream = nil
    watch = SimulatedWatch()
    if let error { post(.watchStreamClosed(id, error)) }
  }

  func sendSnapshot() {
    if watchStream != nil { watch.sendSnapshot(world.backend, &world.generator) }
  }

  /// Sends a snapshot, unless the stream has had it.
  func sendSnapshotOfNews() {
    guard let id = watchStream else { return }
    let state = SnapshotState(stream: id, requestCount: watchRequestCount, version: world.backend.now)
    if state != lastSnapshot { sendSnapshot() }
    lastSnapshot = state
  }

  struct SnapshotState: Equatable {
    var stream: StreamID
    var requestCount: Int
    var version: Int64
  }

  func sendChanges() {
    if watchStream != nil { watch.sendChanges(world.backend, &world.generator) }
  }

  func deliverWatchMessage() {
    guard let id = watchStream, case .response(let response) = watch.takeMessage() else { return }
    post(.watchStreamMessage(id, response))
  }

  // MARK: - The write stream

  func breakWriteStream(_ error: StatusError?) {
    guard let id = writeStream else { return }
    writeStream = nil
    writeRequests = []
    if let error { post(.writeStreamClosed(id, error)) }
  }

  /// A batch goes out on a stream of its user, from the client that has the streams, in order, and unanswered.
  func sent(_ mutations: [Mutation], _ label: String?) {
    let user = streamUser ?? "nobody"
    if streamUser != self.user { fail("a stream of \(user) is used while \(self.user ?? "nobody") is signed in") }
    if (label != nil) != world.backendKnowsLabels { fail("a request has the label \(label ?? "none")") }
    if let number = world.number(of: label, mutations), world.ledger.owner(of: number) != streamUser {
      fail("write \(number) of \(world.ledger.owner(of: number) ?? "nobody") goes out for \(user)")
    }
    if !engine.isPrimary, !wasPrimary { fail("\(mutations) went out from a secondary client") }
    let pending = world.outbox(of: streamUser).filter { $0.batchID > lastSentBatchID && $0.mutations == mutations }
    let underWay = (writeRequests + parting.flatMap(\.requests)).map(\.number)
    let unanswered = pending.filter { !heard.contains($0.number) && !underWay.contains($0.number) }
    if let batch = unanswered.first {
      lastSentBatchID = batch.batchID
      writeRequests.append(Request(number: batch.number, mutations: mutations, label: label))
      return
    }
    // What a user has given up may be on its way.
    if let batch = world.givenUp[streamUser]?.first(where: { $0.batchID > lastSentBatchID && $0.mutations == mutations }
    ) {
      lastSentBatchID = batch.batchID
      writeRequests.append(Request(number: batch.number, mutations: mutations, label: label))
      return
    }
    // A client that does not know yet that it has lost the lease may send what another has seen answered meanwhile.
    guard store.leaseNumber == world.lease.number, world.lease.holder == name else {
      if let number = world.number(of: label, mutations) {
        writeRequests.append(Request(number: number, mutations: mutations, label: label))
      } else {
        breakWriteStream(StatusError(code: .unavailable, message: "unknown batch"))
      }
      return
    }
    fail("\(mutations) went out for \(user), whose outbox holds \(world.outbox(of: streamUser))")
  }

  /// The backend commits or refuses the oldest batch.
  ///
  /// - Parameter answerIsLost: the stream breaks before the answer reaches the client.
  func answerWrite(answerIsLost: Bool) {
    guard let id = writeStream, !writeRequests.isEmpty else { return }
    let request = writeRequests.removeFirst()
    let answer = world.answer(request)
    if answerIsLost { return breakWriteStream(StatusError(code: .unavailable, message: "lost")) }
    heard.insert(request.number)
    switch answer {
    case .success(let commit): acknowledge(request, commit, on: id)
    case .failure(let error): breakWriteStream(error)
    }
  }

  private func acknowledge(_ request: Request, _ commit: SimulatedBackend.Commit, on id: StreamID) {
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
        heard.insert(request.number)
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
