internal import Foundation
internal import GRPCCore
internal import GRPCNIOTransportHTTP2

/// A service on gRPC Swift's transport whose answers are bytes already: it shows the cost of that stack, which `hearth serve` does without.
///
/// It understands enough of google.firestore.v1 for the same clients to put the same load on it.
///
/// The caller says in the request's metadata what a server would have to work out: `echo-documents` is the number of documents in
/// the answer, and a Commit with `echo-notify` goes to all listeners.
struct EchoService: RegistrableRPCService {
  static let command = "echo"
  private let answers = EchoAnswers()

  /// Serves until standard input ends.
  static func main() async throws {
    var config = HTTP2ServerTransport.Posix.Config.defaults
    config.rpc.maxRequestPayloadSize = 17 * 1024 * 1024
    config.connection.flushCoalescing = nil
    config.http2.targetWindowSize = 256 * 1024
    config.http2.maxConcurrentStreams = 16_384
    let transport = HTTP2ServerTransport.Posix(
      address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext, config: config)
    let server = GRPCServer(transport: transport, services: [EchoService()])
    let serving = Task { try await server.serve() }
    guard let port = try await transport.listeningAddress.ipv4?.port else {
      try await serving.value
      return
    }
    ServerProcess.announce(port: port)
    exit(0)
  }

  func registerMethods(with router: inout RPCRouter<some ServerTransport>) {
    let answers = answers
    router.register("Commit") { request, _ in
      StreamingServerResponse { writer in
        let notifies = request.metadata["echo-notify"].contains { _ in true }
        for try await message in request.messages {
          try await writer.write(answers.commit(message, notifies: notifies))
        }
        return [:]
      }
    }
    router.register("BatchGetDocuments") { request, _ in
      StreamingServerResponse { writer in
        for try await message in request.messages {
          for answer in answers.batchGet(message) { try await writer.write(answer) }
        }
        return [:]
      }
    }
    router.register("RunQuery") { request, _ in
      StreamingServerResponse { writer in
        for try await message in request.messages {
          try await Self.send(answers.query(message, count: Self.count(request)), to: writer)
        }
        return [:]
      }
    }
    router.register("Listen") { request, _ in
      StreamingServerResponse { writer in
        try await Self.listen(request, answers, writer)
        return [:]
      }
    }
  }

  /// Sends as many messages at once as the server does.
  private static func send(_ answers: EchoAnswers.Answers, to writer: RPCWriter<[UInt8]>) async throws {
    for start in stride(from: 0, to: answers.count, by: 128) {
      try await writer.write(contentsOf: (start..<min(start + 128, answers.count)).map(answers.make))
    }
  }

  private static func count(_ request: StreamingServerRequest<[UInt8]>) -> Int {
    for value in request.metadata[stringValues: "echo-documents"] { return Int(value) ?? 0 }
    return 0
  }

  private static func listen(
    _ request: StreamingServerRequest<[UInt8]>, _ answers: EchoAnswers, _ writer: RPCWriter<[UInt8]>
  ) async throws {
    // One request is all that is read of the stream.
    var requests = request.messages.makeAsyncIterator()
    guard let message = try await requests.next(), let target = answers.target(message) else { return }
    let (notifications, continuation) = AsyncStream.makeStream(of: [[UInt8]].self)
    let number = answers.add(EchoAnswers.Listener(target: target) { continuation.yield($0) })
    defer { answers.remove(number) }
    try await withRPCCancellationHandler {
      try await writer.write(EchoAnswers.targetChange(1, target: target))
      try await send(answers.snapshot(message, target: target, count: count(request)), to: writer)
      try await writer.write(contentsOf: [EchoAnswers.targetChange(3, target: target), EchoAnswers.targetChange(nil)])
      for await messages in notifications { try await writer.write(contentsOf: messages) }
    } onCancelRPC: {
      continuation.finish()
    }
  }
}

extension RPCRouter {
  fileprivate mutating func register(
    _ method: String,
    handler:
      @escaping @Sendable (StreamingServerRequest<[UInt8]>, ServerContext) async throws
      -> StreamingServerResponse<[UInt8]>
  ) {
    registerHandler(
      forMethod: MethodDescriptor(fullyQualifiedService: "google.firestore.v1.Firestore", method: method),
      deserializer: PlainMessages(), serializer: PlainMessages(), handler: handler)
  }
}

/// Leaves messages as they are.
struct PlainMessages: MessageSerializer, MessageDeserializer {
  func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) -> Bytes { Bytes(message) }

  func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) -> [UInt8] {
    bytes.withUnsafeBytes { [UInt8]($0) }
  }
}
