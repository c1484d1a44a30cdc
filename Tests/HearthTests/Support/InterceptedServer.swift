import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2
import Logging

@testable import HearthServer

/// The embedded server, whose answers a test changes on their way.
final class InterceptedServer: Sendable {
  let port: Int
  var host: String { "127.0.0.1:\(port)" }
  private let backend: EmbeddedBackend
  private let server: GRPCServer<HTTP2ServerTransport.Posix>
  private let serving: Task<Void, any Error>

  private init(_ interceptor: some AnswerInterceptor) async throws {
    let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    backend = try EmbeddedBackend(location: .memory, clock: .system, logger: logger)
    let transport = HTTP2ServerTransport.Posix(
      address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext,
      config: .defaults { $0.connection.maxGraceTime = .milliseconds(100) })
    let service = FirestoreService(backend: backend, logger: logger, tokenRefreshInterval: .seconds(30))
    let server = GRPCServer(
      transport: transport, services: [service], interceptors: [ServiceInterceptor(answers: interceptor)])
    self.server = server
    serving = Task { try await server.serve() }
    port = try await transport.listeningAddress.ipv4?.port ?? 0
  }

  /// Serves an empty database in memory while `body` runs.
  static func run(_ interceptor: some AnswerInterceptor, _ body: (_ host: String) async throws -> Void) async throws {
    let server = try await InterceptedServer(interceptor)
    let result: Result<Void, any Error>
    do { result = .success(try await body(server.host)) } catch { result = .failure(error) }
    server.backend.shutdownSignal.trigger()
    server.server.beginGracefulShutdown()
    _ = await server.serving.result
    await server.backend.close()
    try result.get()
  }
}

/// Observes the calls of a service and may replace its answers.
protocol AnswerInterceptor: Sendable {
  func callBegan(_ method: String)
  /// Returns the message to send in place of an answer, at the time to send it.
  func answer(_ answer: any Sendable, to method: String) async -> any Sendable
}

private struct ServiceInterceptor<Answers: AnswerInterceptor>: ServerInterceptor {
  let answers: Answers

  func intercept<Input: Sendable, Output: Sendable>(
    request: StreamingServerRequest<Input>, context: ServerContext,
    next:
      @Sendable (StreamingServerRequest<Input>, ServerContext) async throws -> StreamingServerResponse<Output>
  ) async throws -> StreamingServerResponse<Output> {
    let (answers, method) = (answers, context.descriptor.method)
    answers.callBegan(method)
    let response = try await next(request, context)
    guard case .success(let contents) = response.accepted else { return response }
    return StreamingServerResponse(
      accepted: .success(
        StreamingServerResponse<Output>.Contents(metadata: contents.metadata) { writer in
          try await contents.producer(
            RPCWriter(wrapping: AnswerWriter(writer: writer, answers: answers, method: method)))
        }))
  }
}

private struct AnswerWriter<Element: Sendable, Answers: AnswerInterceptor>: RPCWriterProtocol {
  let writer: RPCWriter<Element>
  let answers: Answers
  let method: String

  func write(_ element: Element) async throws {
    try await writer.write(await answers.answer(element, to: method) as? Element ?? element)
  }

  func write(contentsOf elements: some Sequence<Element>) async throws {
    for element in elements { try await write(element) }
  }
}
