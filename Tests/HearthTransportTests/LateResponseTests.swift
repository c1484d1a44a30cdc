import GRPCCore
import HearthModel
import HearthTransport
import HearthWire
import Testing

@Suite("Answers after the owner has closed the stream", .timeLimit(.minutes(1)))
struct LateResponseTests {
  private let batch: WriteRequest

  init() throws {
    batch = .writes([.delete(try DocumentKey(parsing: "cities/SF"))], streamToken: [], batchLabel: nil)
  }

  /// Answers the handshake, and what comes next only when `mayAnswer` is sent.
  private func backend(received: Signal<Bool>, mayAnswer: Signal<Bool>) async throws -> ScriptedBackend {
    try await ScriptedBackend.start([
      "Write": { call in
        var requests = call.requests.makeAsyncIterator()
        _ = try await requests.next()
        try await call.send(writeAnswer(token: [1]))
        _ = try await requests.next()
        received.send(true)
        _ = await mayAnswer.wait()
        try await call.send(writeAnswer(token: [2]))
      }
    ])
  }

  /// Closes a stream whose batch has reached the backend and is not answered.
  private func closedStream(
    _ mayAnswer: Signal<Bool>
  ) async throws -> (backend: ScriptedBackend, transport: FirestoreTransport, events: EventRecorder<WriteResponse>) {
    let received = Signal<Bool>()
    let backend = try await backend(received: received, mayAnswer: mayAnswer)
    let transport = try FirestoreTransport(configuration(port: backend.port))
    let events = EventRecorder<WriteResponse>()
    let stream = transport.openWriteStream(onEvent: events.record)
    stream.send(.handshake)
    #expect(await events.next() == .opened)
    #expect(await events.nextMessage() == WriteResponse(streamToken: [1]))
    stream.send(batch)
    #expect(await received.wait() == true)
    stream.close()
    return (backend, transport, events)
  }

  @Test("what was sent on a write stream is answered although the stream was closed in between; then comes the end")
  func write() async throws {
    let mayAnswer = Signal<Bool>()
    let (backend, transport, events) = try await closedStream(mayAnswer)
    mayAnswer.send(true)
    #expect(await events.nextMessage() == WriteResponse(streamToken: [2]))
    #expect(await events.next() == .closed(nil))
    await transport.shutdown()
    await backend.kill()
  }

  @Test("a backend that does not answer in time is not waited for")
  func patience() async throws {
    let mayAnswer = Signal<Bool>()
    let (backend, transport, events) = try await closedStream(mayAnswer)
    #expect(await events.next() == .closed(nil))
    mayAnswer.send(true)
    await transport.shutdown()
    await backend.kill()
  }
}
