import EngineHarness
import HearthCache
import HearthModel
import HearthSync

extension SharedClient {
  /// Lets an attempt to open a stream succeed or fail.
  func answerOpening(succeeds: Bool) {
    guard let attempt = opening.first else { return }
    // There is no token of another user than the one who is signed in.
    let succeeds = succeeds && streamUser == user && canConnect
    let error = StatusError(code: streamUser == user ? .unavailable : .aborted, message: "refused")
    if attempt.kind == .write, succeeds { lastSentBatchID = -1 }
    driver.endOpening(with: succeeds ? nil : error)
  }

  // MARK: - Timers

  func fire(_ kind: TimerKind) {
    driver.fire(kind)
  }

  /// Fires the next timer, except for the one that looks after the other clients.
  func fireNextTimer() {
    if let next = timers.next(where: { $0 != .clientMetadataRefresh && $0 != .lruGarbageCollection }) {
      fire(next.kind)
    }
  }

  /// The timers that must fire before the client has come to rest.
  var busyTimers: [TimerKind] {
    timers.running.map(\.kind).filter {
      [.asyncQueueRetry, .listenStreamConnectionBackoff, .writeStreamConnectionBackoff].contains($0)
    }
  }

  /// True if something waits to be delivered.
  var hasWork: Bool {
    isWoken || !backgroundQueries.isEmpty || !busyTimers.isEmpty || !opening.isEmpty || !writeRequests.isEmpty
  }

  // MARK: - The watch stream

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

  /// A batch goes out on a stream of its user, from the client that has the streams, in order, and unanswered.
  func sent(_ batch: SentBatch, on id: StreamID) -> SentBatch? {
    let user = streamUser ?? "nobody"
    let (mutations, label) = (batch.mutations, batch.label)
    if streamUser != self.user { fail("a stream of \(user) is used while \(self.user ?? "nobody") is signed in") }
    if (label != nil) != world.backendKnowsLabels { fail("a request has the label \(label ?? "none")") }
    if let number = world.number(of: label, mutations), world.ledger.owner(of: number) != streamUser {
      fail("write \(number) of \(world.ledger.owner(of: number) ?? "nobody") goes out for \(user)")
    }
    if !engine.isPrimary, !wasPrimary { fail("\(mutations) went out from a secondary client") }
    let pending = world.outbox(of: streamUser).filter { $0.batchID > lastSentBatchID && $0.mutations == mutations }
    let underWay = driver.streams.underWay.map(\.number)
    let unanswered = pending.filter { !heard.contains($0.number) && !underWay.contains($0.number) }
    // A batch that a user has given up may be on its way.
    func givenUp() -> MutationBatch? {
      world.givenUp[streamUser]?.first { $0.batchID > lastSentBatchID && $0.mutations == mutations }
    }
    // Two of them may be alike.
    let alike = (unanswered + [givenUp()].compactMap(\.self)).sorted { $0.batchID < $1.batchID }
    if let known = alike.first(where: { engine.batchesAtBackend.contains($0.batchID) }) ?? alike.first {
      lastSentBatchID = known.batchID
      return SentBatch(mutations, label: label, number: known.number)
    }
    // A client that does not know yet that it has lost the lease may send a batch whose answer another client has received in between.
    guard store.leaseNumber == world.lease.number, world.lease.holder == name else {
      if let number = world.number(of: label, mutations) {
        return SentBatch(mutations, label: label, number: number)
      }
      driver.breakWriteStream(StatusError(code: .unavailable, message: "unknown batch"))
      return nil
    }
    fail("\(mutations) went out for \(user), whose outbox holds \(world.outbox(of: streamUser))")
    return nil
  }

  /// The backend commits or refuses the oldest batch.
  ///
  /// - Parameter answerIsLost: the stream breaks before the answer reaches the client.
  func answerWrite(answerIsLost: Bool) {
    driver.answerWrite { request in
      let answer = world.answer(request)
      if answerIsLost { return .failure(StatusError(code: .unavailable, message: "lost")) }
      heard.insert(request.number)
      return answer.map { WriteResponse(committedAt: $0.version, $0.results) }
    }
  }

  /// The oldest of the write streams that the client has closed ends, or the backend answers one more batch there before.
  ///
  /// - Returns: false if there is none.
  func answerParting(ends: Bool) -> Bool {
    answerParting(ends: ends) { request in
      world.answer(request).map { commit in
        heard.insert(request.number)
        return WriteResponse(committedAt: commit.version, commit.results)
      }
    }
  }
}
