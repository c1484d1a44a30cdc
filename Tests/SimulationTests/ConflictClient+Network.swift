import EngineHarness
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
      driver.endOpening(with: succeeds ? nil : StatusError(code: .unavailable, message: "refused"))
    } else if driver.endParting() {
      return true
    } else if !driver.lookUps.isEmpty {
      answerLookUp(succeeds: succeeds)
    } else if writeStream != nil, !writeRequests.isEmpty {
      answerWrite(isLost: !succeeds)
    } else if watchStream != nil, let message = watch.takeMessage() {
      if case .response(let response) = message { driver.send(response) }
    } else {
      return false
    }
    return true
  }

  private func answerLookUp(succeeds: Bool) {
    let (id, keys) = driver.lookUps.removeFirst()
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
    let lost = StatusError(code: .unavailable, message: "lost")
    driver.answerWrite { request in
      if isLost, world.generator.chance(30) { return .failure(lost) }
      let answer = world.answer(request)
      if isLost { return .failure(lost) }
      if case .failure = answer, let identity = request.identity { world.ledger.refused(identity) }
      return answer.map { WriteResponse(committedAt: $0.version, $0.results) }
    }
  }

  /// The backend carries out what waits on the write stream first, and nobody on the device hears of it.
  func loseAnswer() {
    if writeStream != nil, let request = writeRequests.first { _ = world.answer(request) }
  }

  func breakStreams() {
    let error = StatusError(code: .unavailable, message: "broken")
    driver.breakWriteStream(error)
    driver.breakWatchStream(error)
  }

  /// True if the listener hears of what changes.
  var isInTouch: Bool {
    number == world.history.deafClient || watchStream != nil || device.place == .shared && !engine.isPrimary
  }

  func sendSnapshot() {
    if watchStream != nil { watch.sendSnapshot(world.backend, &world.generator) }
  }
}
