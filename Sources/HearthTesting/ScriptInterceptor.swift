internal import GRPCCore
internal import HearthWire

/// Lets calls go on as the script says. Calls of the owner of the data are left alone.
struct ScriptInterceptor: ServerInterceptor {
  let script: Script

  func intercept<Input: Sendable, Output: Sendable>(
    request: StreamingServerRequest<Input>, context: ServerContext,
    next:
      @Sendable (StreamingServerRequest<Input>, ServerContext) async throws -> StreamingServerResponse<Output>
  ) async throws -> StreamingServerResponse<Output> {
    let isOwner = request.metadata[stringValues: "authorization"].contains { $0.lowercased() == "bearer owner" }
    if isOwner { return try await next(request, context) }
    let call = ScriptedCall<Input, Output>(script)
    let number = try script.began { call.end($0) }
    let pump = Task { await call.pass(request.messages) }
    @Sendable func ended() {
      script.ended(number)
      pump.cancel()
    }
    do {
      var scripted = request
      scripted.messages = RPCAsyncSequence(wrapping: call.messages)
      let response = try await next(scripted, context)
      guard case .success(let contents) = response.accepted else {
        ended()
        return response
      }
      return StreamingServerResponse(
        accepted: .success(
          StreamingServerResponse<Output>.Contents(metadata: contents.metadata) { writer in
            defer { ended() }
            return try await call.answer(to: writer, contents.producer)
          }))
    } catch {
      ended()
      throw error
    }
  }
}

/// One call: what the client sends goes to the backend when the script lets it, and what the backend says, with what the script adds,
/// goes to the client.
private struct ScriptedCall<Input: Sendable, Output: Sendable>: Sendable {
  let script: Script
  let messages: AsyncThrowingStream<Input, any Error>
  private let toBackend: AsyncThrowingStream<Input, any Error>.Continuation
  private let answers: AsyncStream<Output>
  private let toClient: AsyncStream<Output>.Continuation

  init(_ script: Script) {
    self.script = script
    (messages, toBackend) = AsyncThrowingStream.makeStream()
    (answers, toClient) = AsyncStream.makeStream()
  }

  func end(_ error: RPCError) { toBackend.finish(throwing: error) }

  func pass(_ sent: RPCAsyncSequence<Input, any Error>) async {
    do {
      for try await message in sent {
        if let contents = RequestContents.of(message), let error = try await script.admit(contents) {
          guard let target = contents.targetID, let answer = Self.removal(of: target, error) as? Output else {
            return end(error)
          }
          toClient.yield(answer)
        } else {
          toBackend.yield(message)
        }
      }
      toBackend.finish()
    } catch {
      toBackend.finish(throwing: error)
    }
  }

  /// The backend's refusal of a listener.
  private static func removal(of target: Int32, _ error: RPCError) -> Google_Firestore_V1_ListenResponse {
    var change = Google_Firestore_V1_TargetChange()
    change.targetChangeType = .remove
    change.targetIds = [target]
    change.cause.code = Int32(error.code.rawValue)
    change.cause.message = error.message
    var response = Google_Firestore_V1_ListenResponse()
    response.targetChange = change
    return response
  }

  func answer(
    to writer: RPCWriter<Output>, _ produce: @escaping @Sendable (RPCWriter<Output>) async throws -> Metadata
  ) async throws -> Metadata {
    async let produced = {
      defer { toClient.finish() }
      return try await produce(RPCWriter(wrapping: AnswerChannel(channel: toClient)))
    }()
    for await answer in answers { try await writer.write(answer) }
    return try await produced
  }
}

private struct AnswerChannel<Element: Sendable>: RPCWriterProtocol {
  let channel: AsyncStream<Element>.Continuation

  func write(_ element: Element) async throws { channel.yield(element) }

  func write(contentsOf elements: some Sequence<Element>) async throws {
    for element in elements { channel.yield(element) }
  }
}
