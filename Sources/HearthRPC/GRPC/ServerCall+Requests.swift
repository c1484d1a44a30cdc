internal import NIOCore
internal import Synchronization

// The client's requests, and the other events that a stream waits for.

extension ServerCall {
  /// Adds a request. Called by the connection, and by the task that has changed what the connection had.
  ///
  /// - Returns: The bytes of requests that wait now.
  @discardableResult
  func deliver(_ message: ByteBuffer, passingIntake: Bool = false) -> Int {
    let (reader, waiting) = state.withLock { state -> (CheckedContinuation<Input, any Error>?, Int) in
      guard !state.isOver else { return (nil, 0) }
      if let intake = state.intake, !passingIntake {
        intake.yield(message)
        return (nil, 0)
      }
      if let reader = state.reader {
        state.reader = nil
        return (reader, 0)
      }
      state.requests.append(message)
      state.requestBytes += message.readableBytes + Self.messageOverhead
      return (nil, state.requestBytes)
    }
    guard let reader else { return waiting }
    // Now, because the task may be long in coming to it.
    reader.resume(with: begun(message))
    return 0
  }

  private func begun(_ message: ByteBuffer) -> Result<Input, any Error> {
    do throws(CallStatus) {
      try requestBegins(message, isBody: false)
      return .success(.message(message))
    } catch {
      return .failure(error)
    }
  }

  /// Counted for each message that waits: the smallest have five bytes.
  private static let messageOverhead = 64

  /// The client has closed its side, or sent a request that is refused. The task gets that once it has answered the requests before: a
  /// client takes the end of a stream for the answer to its first request without one.
  func deliverEnd(_ end: Result<Input, any Error> = .success(.end), passingIntake: Bool = false) {
    let reader = state.withLock { state -> CheckedContinuation<Input, any Error>? in
      if let intake = state.intake, !passingIntake {
        Self.finish(intake, end)
        return nil
      }
      state.requestsEnd = end
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume(with: end)
  }

  private static func finish(
    _ intake: AsyncThrowingStream<ByteBuffer, any Error>.Continuation, _ end: Result<Input, any Error>
  ) {
    if case .failure(let error) = end { intake.finish(throwing: error) } else { intake.finish() }
  }

  /// Posts a signal. Several of the same kind are one until they are taken.
  package func post(_ signal: Signals) {
    let reader = state.withLock { state -> CheckedContinuation<Input, any Error>? in
      guard !state.isOver else { return nil }
      if let reader = state.reader {
        state.reader = nil
        return reader
      }
      state.signals.formUnion(signal)
      return nil
    }
    reader?.resume(returning: .signals(signal))
  }

  /// Waits for the next request, signal or end, in this order where there are several. The request before is no longer in progress.
  ///
  /// - Throws: `CallStatus` once the call was ended from outside; RESOURCE_EXHAUSTED for a request that has no room among those in
  ///   progress.
  package func nextInput() async throws -> Input {
    requestEnded()
    return try await withCheckedThrowingContinuation { continuation in
      var idleWaiter: CheckedContinuation<Void, Never>?
      let (result, isNews) = state.withLock { state -> (Result<Input, any Error>?, Bool) in
        if let cause = state.cause { return (.failure(cause), false) }
        // Before signals: the task acts on these with each request, too, and a signal that always comes again must not keep requests waiting.
        if !state.requests.isEmpty {
          let message = state.requests.removeFirst()
          state.requestBytes -= message.readableBytes + Self.messageOverhead
          guard state.requests.isEmpty, state.keepsWindow else { return (.success(.message(message)), false) }
          (state.keepsWindow, state.returnsWindow) = (false, true)
          return (.success(.message(message)), true)
        }
        if !state.signals.isEmpty {
          defer { state.signals = [] }
          return (.success(.signals(state.signals)), false)
        }
        if let end = state.requestsEnd { return (end, false) }
        state.reader = continuation
        (idleWaiter, state.idleWaiter) = (state.idleWaiter, nil)
        return (nil, false)
      }
      idleWaiter?.resume()
      if isNews { outlet.wake(self) }
      switch result {
      case .success(.message(let message)): continuation.resume(with: begun(message))
      case .some(let result): continuation.resume(with: result)
      case nil: break
      }
    }
  }

  /// Waits until the task has answered all it was given and waits for its next input, or the call is over.
  func untilIdle() async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let waits = state.withLock { state in
        guard !state.isOver, state.reader == nil else { return false }
        state.idleWaiter = continuation
        return true
      }
      if !waits { continuation.resume() }
    }
  }

  /// Keeps the request of a call with one until its task takes it.
  func keepRequest(_ request: ByteBuffer) {
    state.withLock { $0.request = request }
  }

  func takeRequest() -> ByteBuffer {
    state.withLock { $0.request.take() ?? ByteBuffer() }
  }

  /// The bytes of requests that wait.
  var requestBytes: Int { state.withLock { $0.requestBytes } }

  /// Asks to be told (``Output/returnsWindow``) when no requests wait any more.
  ///
  /// - Returns: false if none wait now.
  func keepWindow() -> Bool {
    state.withLock { state in
      guard !state.requests.isEmpty, !state.isOver else { return false }
      state.keepsWindow = true
      return true
    }
  }

  /// The requests, those that wait first, which the task no longer gets by itself: it gets what is then delivered passing the intake.
  func divertRequests() -> AsyncThrowingStream<ByteBuffer, any Error> {
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
    let end = state.withLock { state in
      defer { (state.requests, state.requestBytes, state.requestsEnd) = ([], 0, nil) }
      // Yielded with the lock, before any later one.
      for request in state.requests { continuation.yield(request) }
      state.intake = continuation
      return state.isOver ? .success(.end) : state.requestsEnd
    }
    if let end { Self.finish(continuation, end) }
    return stream
  }
}
