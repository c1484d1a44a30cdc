import HearthCache
import HearthModel
import HearthSync

extension ConflictClient {
  /// Lets one thing happen that the client waits for.
  ///
  /// - Returns: false if it waits for nothing but timers and its application.
  func advance(succeeds: Bool = true) -> Bool {
    if isWoken {
      isWoken = false
      post(.othersChanged)
    } else if !opening.isEmpty {
      answerOpening(succeeds: succeeds)
    } else if let stream = partingStreams.first {
      partingStreams.removeFirst()
      post(.writeStreamClosed(stream, nil))
    } else if !lookUps.isEmpty {
      answerLookUp(succeeds: succeeds)
    } else if writeStream != nil, !requests.isEmpty {
      answerWrite(isLost: !succeeds)
    } else if watchStream != nil, let message = watch.takeMessage() {
      if case .response(let response) = message, let id = watchStream { post(.watchStreamMessage(id, response)) }
    } else {
      return false
    }
    return true
  }

  private func answerOpening(succeeds: Bool) {
    let error = StatusError(code: .unavailable, message: "refused")
    switch opening.removeFirst() {
    case .watchStreamOpened(let id):
      if succeeds { watchStream = id }
      post(succeeds ? .watchStreamOpened(id) : .watchStreamClosed(id, error))
    case .writeStreamOpened(let id):
      if succeeds { writeStream = id }
      post(succeeds ? .writeStreamOpened(id) : .writeStreamClosed(id, error))
    default: break
    }
  }

  private func answerLookUp(succeeds: Bool) {
    let (id, keys) = lookUps.removeFirst()
    guard succeeds, isNetworkEnabled else {
      return post(.lookedUp(id, .failure(StatusError(code: .unavailable, message: "no connection"))))
    }
    let time = SnapshotVersion(microseconds: world.backend.now)
    let documents = keys.map { key in
      let document = world.backend.document(key)
      return document.isFound ? document : Document.missing(key, version: time, readTime: time)
    }
    post(.lookedUp(id, .success(documents)))
  }

  private func answerWrite(isLost: Bool) {
    guard let id = writeStream else { return }
    let request = requests.removeFirst()
    if isLost, world.generator.chance(30) { return breakWriteStream(StatusError(code: .unavailable, message: "lost")) }
    let answer = world.answer(request)
    if isLost { return breakWriteStream(StatusError(code: .unavailable, message: "lost")) }
    switch answer {
    case .success(let commit):
      post(
        .writeStreamMessage(
          id, WriteResponse(streamToken: [1], commitVersion: commit.version, results: commit.results)))
    case .failure(let error):
      if let identity = request.identity { world.ledger.refused(identity) }
      breakWriteStream(error)
    }
  }

  /// The backend carries out what waits on the write stream first, and nobody on the device hears of it.
  func loseAnswer() {
    if writeStream != nil, let request = requests.first { _ = world.answer(request) }
  }

  private func breakWriteStream(_ error: StatusError) {
    guard let id = writeStream else { return }
    writeStream = nil
    requests = []
    post(.writeStreamClosed(id, error))
  }

  func breakStreams() {
    breakWriteStream(StatusError(code: .unavailable, message: "broken"))
    guard let id = watchStream else { return }
    watchStream = nil
    watch = SimulatedWatch()
    post(.watchStreamClosed(id, StatusError(code: .unavailable, message: "broken")))
  }

  /// True if the listener hears of what changes.
  var isInTouch: Bool {
    number == world.history.deafClient || watchStream != nil || device.place == .shared && !engine.isPrimary
  }

  func sendSnapshot() {
    if watchStream != nil { watch.sendSnapshot(world.backend, &world.generator) }
  }
}
