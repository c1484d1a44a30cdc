internal import GRPCCore
internal import GRPCProtobuf
package import HearthModel
internal import HearthWire
internal import Logging
internal import SwiftProtobuf
internal import Synchronization

/// The way in which a stream ends when its owner closes it.
enum StreamEnding: Sendable {
  /// At once: outstanding messages do not matter any more.
  case cancel
  /// Properly, if the backend answers in time, so that it does not treat the end as a failure, and so that the answers to requests are not
  /// lost.
  case halfClose(patience: Duration)

  /// True if answers that come after the end still matter.
  var takesLateMessages: Bool {
    switch self {
    case .cancel: false
    case .halfClose: true
    }
  }
}

/// The method, messages and ending of one kind of stream.
struct StreamKind<Request: Sendable, Response: Sendable, Outgoing: Message, Incoming: Message>: Sendable {
  var method: MethodDescriptor
  var ending: StreamEnding
  var encode: @Sendable (Request) -> Outgoing
  var decode: @Sendable (Incoming) throws -> Response
}

extension FirestoreTransport {
  /// Opens the stream that listens to targets.
  ///
  /// `onEvent` is called in order, on threads of the transport, and must not block. A backend that cannot be
  /// reached is reported as `closed` with `unavailable`: at once when it refuses, else after the configured
  /// time to open.
  ///
  /// - Parameter credit: Bounds the messages that were delivered and not handled; used by this stream alone. Nil for no bound.
  package func openWatchStream(
    within credit: DeliveryCredit? = nil, onEvent: @escaping @Sendable (StreamEvent<WatchResponse>) -> Void
  ) -> StreamHandle<WatchRequest> {
    let translator = translator
    return open(
      StreamKind(
        method: Google_Firestore_V1_Firestore.Method.Listen.descriptor, ending: .cancel,
        encode: { (request: WatchRequest) -> Google_Firestore_V1_ListenRequest in translator.encode(request) },
        decode: { (message: Google_Firestore_V1_ListenResponse) in
          try translator.decodeNamingTargets(message)
        }),
      credit: credit, onEvent: onEvent)
  }

  /// Opens the stream that writes. The first request must be the handshake. Events are those of
  /// ``openWatchStream(within:onEvent:)``, and answers that come within a second after the stream was closed.
  package func openWriteStream(
    onEvent: @escaping @Sendable (StreamEvent<WriteResponse>) -> Void
  ) -> StreamHandle<WriteRequest> {
    let translator = translator
    return open(
      StreamKind(
        method: Google_Firestore_V1_Firestore.Method.Write.descriptor, ending: .halfClose(patience: .seconds(1)),
        encode: { (request: WriteRequest) -> Google_Firestore_V1_WriteRequest in translator.encode(request) },
        decode: { (message: Google_Firestore_V1_WriteResponse) in try translator.decode(message) }),
      onEvent: onEvent)
  }

  private func open<Request, Response, Outgoing, Incoming>(
    _ kind: StreamKind<Request, Response, Outgoing, Incoming>, credit: DeliveryCredit? = nil,
    onEvent: @escaping @Sendable (StreamEvent<Response>) -> Void
  ) -> StreamHandle<Request> {
    let delivery = StreamDelivery(credit: credit, takesLateMessages: kind.ending.takesLateMessages, onEvent: onEvent)
    let (requests, input) = AsyncStream.makeStream(of: Request.self, bufferingPolicy: .unbounded)
    // The lock is held until the stream is registered, so that one that fails at once cannot be missed at its end.
    let close = state.withLock { state in
      state.lastStreamNumber += 1
      let number = state.lastStreamNumber
      let task = Task {
        await self.run(kind, requests: requests, input: input, delivery: delivery)
        self.state.withLock { $0.streams[number] = nil }
      }
      let close: @Sendable () -> Void = {
        guard delivery.ownerCloses() else { return }
        input.finish()
        Self.end(task, kind.ending)
      }
      state.streams[number] = RunningStream(close: close, task: task)
      return close
    }
    return StreamHandle(send: { input.yield($0) }, close: close)
  }

  private static func end(_ task: Task<Void, Never>, _ ending: StreamEnding) {
    switch ending {
    case .cancel:
      task.cancel()
    case .halfClose(let patience):
      Task {
        try? await Task.sleep(for: patience)
        task.cancel()
      }
    }
  }

  private func run<Request, Response, Outgoing, Incoming>(
    _ kind: StreamKind<Request, Response, Outgoing, Incoming>, requests: AsyncStream<Request>,
    input: AsyncStream<Request>.Continuation, delivery: StreamDelivery<Response>
  ) async {
    var used: Connection?
    var tokens: RequestTokens?
    do {
      let connection = try connection()
      used = connection
      // Fetching tokens has a limit of its own: a slow token provider must not be treated as a silent backend.
      let present = try await RequestTokens(configuration)
      tokens = present
      let headers = try RequestHeaders(configuration, present)
      try await limitingOpening(delivery) { [self] in
        try await exchange(
          kind, on: connection, metadata: headers.metadata, requests: requests, input: input, delivery: delivery)
      }
      delivery.closed(nil)
    } catch {
      let error = StatusError(
        error, endpoint: configuration.endpoint, stage: delivery.hasOpened ? .connected : .connecting
      ).hiding(tokens?.secrets ?? [])
      if error.code == .unauthenticated, let tokens {
        state.withLock { $0.refusedTokens[kind.method.method] = tokens }
      }
      if let used {
        review(used, after: error)
      }
      configuration.logger.debug(
        "Stream ended",
        metadata: ["method": "\(kind.method.method)", "code": "\(error.code)", "reason": "\(error.message)"])
      delivery.closed(error)
    }
    input.finish()
  }

  /// Sends requests and delivers answers until either side ends the stream.
  private func exchange<Request, Response, Outgoing, Incoming>(
    _ kind: StreamKind<Request, Response, Outgoing, Incoming>, on connection: Connection, metadata: Metadata,
    requests: AsyncStream<Request>, input: AsyncStream<Request>.Continuation, delivery: StreamDelivery<Response>
  ) async throws {
    let request = StreamingClientRequest<Outgoing>(metadata: metadata) { writer in
      delivery.opened()
      for await request in requests {
        // Requests that were not sent when the owner closed the stream are sent again on the next one.
        guard delivery.acceptsRequests else { break }
        try await writer.write(kind.encode(request))
      }
    }
    try await connection.client.bidirectionalStreaming(
      request: request, descriptor: kind.method, serializer: ProtobufSerializer<Outgoing>(),
      deserializer: SizedMessageDeserializer<Incoming>(), options: callOptions(timeout: nil)
    ) { response in
      for try await sized in response.messages {
        delivery.message(try kind.decode(sized.message), byteCount: sized.byteCount)
        // Not reading is what makes the backend wait. Sending, other streams and the end of this one continue.
        await delivery.credit?.waitForRoom()
      }
    }
  }

  /// Runs `body`, and cancels it when the stream does not open in time.
  ///
  /// gRPC has no such limit: a host that accepts the connection and then says nothing would hold the stream indefinitely.
  private func limitingOpening<Response>(
    _ delivery: StreamDelivery<Response>, _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    let (endpoint, limit) = (configuration.endpoint, configuration.openTimeout)
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await body()
        return true
      }
      group.addTask {
        try? await Task.sleep(for: limit)
        let error = StatusError(
          code: .unavailable, message: "Cannot connect to \(endpoint): it did not answer within \(limit).")
        guard !Task.isCancelled, delivery.expired(error) else { return false }
        throw error
      }
      defer { group.cancelAll() }
      while let isOver = try await group.next() {
        if isOver { return }
      }
    }
  }
}
