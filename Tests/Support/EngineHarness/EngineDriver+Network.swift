package import HearthModel
package import HearthSync

/// Events of the network, the clock and background work, sent to the engine at the command of a test.
extension EngineDriver {
  // MARK: - Opening

  /// Ends the oldest attempt to open a stream, or one of this kind: it succeeds, or fails with this error.
  package func endOpening(_ kind: StreamTable.Kind? = nil, with error: StatusError? = nil) {
    guard let attempt = streams.opening.first(where: { kind == nil || $0.kind == kind }) else { return }
    post(endOpening(attempt, with: error))
  }

  // MARK: - The watch stream

  /// Delivers a message on the open watch stream.
  ///
  /// - Returns: false if none is open.
  @discardableResult
  package func send(_ message: WatchResponse) -> Bool {
    guard let id = streams.watch else { return false }
    post(.watchStreamMessage(id, message))
    return true
  }

  /// Ends the open watch stream with an error.
  ///
  /// - Returns: false if none is open.
  @discardableResult
  package func breakWatchStream(_ error: StatusError) -> Bool {
    guard let id = streams.watch else { return false }
    post(.watchStreamClosed(id, error))
    return true
  }

  // MARK: - The write stream

  /// Ends the open write stream with an error.
  ///
  /// - Returns: false if none is open.
  @discardableResult
  package func breakWriteStream(_ error: StatusError) -> Bool {
    guard let id = streams.write else { return false }
    post(.writeStreamClosed(id, error))
    return true
  }

  /// Answers the oldest batch on the open write stream; a failure ends the stream.
  ///
  /// - Returns: false if no batch waits.
  @discardableResult
  package func answerWrite(_ answer: (SentBatch) -> Result<WriteResponse, StatusError>) -> Bool {
    guard let id = streams.write, let batch = streams.takeBatch() else { return false }
    switch answer(batch) {
    case .success(let response): post(.writeStreamMessage(id, response))
    case .failure(let error): breakWriteStream(error)
    }
    return true
  }

  /// Answers the oldest batch on the oldest of the write streams that the engine has closed. A failure ends the stream, and the engine does
  /// not hear why.
  ///
  /// - Returns: false if no batch waits there.
  @discardableResult
  package func answerParting(_ answer: (SentBatch) -> Result<WriteResponse, StatusError>) -> Bool {
    guard let id = streams.parting.first?.id, let batch = streams.takePartingBatch() else { return false }
    if case .success(let response) = answer(batch) { post(.writeStreamMessage(id, response)) } else { endParting() }
    return true
  }

  /// Ends the oldest of the write streams that the engine has closed.
  ///
  /// - Returns: false if there is none.
  @discardableResult
  package func endParting() -> Bool {
    guard let stream = streams.takeParting() else { return false }
    post(.writeStreamClosed(stream.id, nil))
    return true
  }

  // MARK: - Timers

  /// Lets time pass until the timer is due, and fires it.
  ///
  /// - Returns: false if it does not run.
  @discardableResult
  package func fire(_ kind: TimerKind) -> Bool {
    guard passTime(until: kind) else { return false }
    post(.timerFired(kind))
    return true
  }

  /// Lets time pass until the timer is due. The engine does not hear of it yet.
  ///
  /// - Returns: false if it does not run.
  package func passTime(until kind: TimerKind) -> Bool {
    guard let due = timers.take(kind) else { return false }
    clock.now = max(clock.now, due)
    return true
  }

  /// Fires the timer now, due or not.
  package func fireNow(_ kind: TimerKind) {
    if timers.take(kind) != nil { post(.timerFired(kind)) }
  }

  // MARK: - Background work

  /// Runs one of the queries in the background to its end.
  ///
  /// - Parameter isReversed: True to run its parts in reverse: their order must not matter.
  package func runBackgroundQuery(at index: Int = 0, isReversed: Bool = false) {
    let query = takeBackgroundQuery(at: index)
    let result = query.run { count, body in
      if isReversed { (0..<count).reversed().forEach { body($0) } } else { (0..<count).forEach { body($0) } }
    }
    post(.backgroundQueryEnded(query.id, result))
  }
}

extension WriteResponse {
  /// The answer to a batch that was committed.
  package init(committedAt version: SnapshotVersion, _ results: [MutationResult]) {
    self.init(streamToken: [1], commitVersion: version, results: results)
  }
}
