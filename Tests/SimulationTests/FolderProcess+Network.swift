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
      // The cache is opened anew.
    }
  }

  // MARK: - Timers

  func fire(_ kind: TimerKind) {
    guard isRunning, !isStopped, let index = timers.firstIndex(where: { $0.kind == kind }) else { return }
    world.now = max(world.now, timers.remove(at: index).due)
    if kind == .clientMetadataRefresh {
      _ = try? client?.cache.client?.makeMissing()
      lookForDamage()
    }
    post(.timerFired(kind))
  }

  /// The next timer that has a part in the history.
  var nextTimer: (kind: TimerKind, due: Duration)? {
    guard isRunning, !isStopped, !isBusy else { return nil }
    return timers.filter { $0.kind != .lruGarbageCollection && $0.kind != .indexBackfill }.min { $0.due < $1.due }
  }

  /// The timers that must fire before the process has come to rest.
  var busyTimers: [TimerKind] {
    let pauses: [TimerKind] = isOnline ? [.listenStreamConnectionBackoff, .writeStreamConnectionBackoff] : []
    return timers.map(\.kind).filter { $0 == .asyncQueueRetry || pauses.contains($0) }
  }

  // MARK: - Streams

  /// Lets an attempt to open a stream succeed or fail.
  func answerOpening(succeeds: Bool) {
    guard isRunning, !opening.isEmpty else { return }
    let event = opening.removeFirst()
    // There is no token of another user than the one who is signed in.
    let succeeds = succeeds && isOnline && streamUser == user
    let error = StatusError(code: streamUser == user ? .unavailable : .aborted, message: "refused")
    switch event {
    case .watchStreamOpened(let id):
      if succeeds { watchStream = id }
      post(succeeds ? event : .watchStreamClosed(id, error))
    case .writeStreamOpened(let id):
      if succeeds { writeStream = id }
      post(succeeds ? event : .writeStreamClosed(id, error))
    default: break
    }
  }

  func switchNetwork(on isOn: Bool) {
    guard isOn != isOnline else { return }
    world.note("\(name) is \(isOn ? "online" : "cut off")")
    isOnline = isOn
    let error = StatusError(code: .unavailable, message: "cut off")
    if !isOn {
      breakWatchStream(error)
      breakWriteStream(error)
    }
  }

  /// - Parameter error: The error that the client gets; nil if it ended the stream itself.
  func breakWatchStream(_ error: StatusError?) {
    guard let id = watchStream else { return }
    watchStream = nil
    watch = SimulatedWatch()
    if let error { post(.watchStreamClosed(id, error)) }
  }

  func breakWriteStream(_ error: StatusError?) {
    guard let id = writeStream else { return }
    writeStream = nil
    writeRequests = []
    if let error { post(.writeStreamClosed(id, error)) }
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
  func sent(_ mutations: [Mutation], _ label: String?) {
    let user = streamUser ?? "nobody"
    if streamUser != self.user { fail("a stream of \(user) is used while \(self.user ?? "nobody") is signed in") }
    guard let number = label.flatMap(BatchLabel.init(parsing:)).map({ Int($0.identity.low) }) else {
      return fail("\(mutations) were sent without a label")
    }
    if let problem = world.ledger.problemWithSending(number, mutations, as: streamUser) { fail(problem) }
    writeRequests.append(Request(number: number, mutations: mutations, label: label))
  }

  /// The backend commits or refuses the oldest batch.
  ///
  /// - Parameter answerIsLost: the stream breaks before the answer reaches the client.
  func answerWrite(answerIsLost: Bool) {
    guard isRunning, let id = writeStream, !writeRequests.isEmpty else { return }
    let request = writeRequests.removeFirst()
    world.checkOrder(of: request.number, from: self)
    let answer = world.answer(request)
    if answerIsLost { return breakWriteStream(StatusError(code: .unavailable, message: "lost")) }
    switch answer {
    case .success(let commit): acknowledge(commit, on: id)
    case .failure(let error): breakWriteStream(error)
    }
  }

  private func acknowledge(_ commit: SimulatedBackend.Commit, on id: StreamID) {
    post(
      .writeStreamMessage(
        id, WriteResponse(streamToken: [1], commitVersion: commit.version, results: commit.results)))
  }

  /// The oldest of the write streams that the client has closed ends, or the backend answers one more batch there before.
  ///
  /// - Returns: false if there is none.
  func answerParting(ends: Bool) -> Bool {
    guard isRunning, let stream = parting.first else { return false }
    if !ends, let request = stream.requests.first {
      parting[0].requests.removeFirst()
      if case .success(let commit) = world.answer(request) {
        acknowledge(commit, on: stream.id)
        return true
      }
      // A refusal ends the stream, and the client does not hear why.
    }
    parting.removeFirst()
    post(.writeStreamClosed(stream.id, nil))
    return true
  }
}
