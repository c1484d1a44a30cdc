import Logging
import SwiftProtobuf

@testable import HearthRPC
@testable import HearthServer

/// The embedded server, whose answers a test changes on their way.
enum InterceptedServer {
  /// Serves an empty database in memory while `body` runs.
  static func run(_ interceptor: some AnswerInterceptor, _ body: (_ host: String) async throws -> Void) async throws {
    let server = try await EmbeddedServer.start(
      storage: .memory, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    ) {
      $0.interceptor = AnswerTaps(answers: interceptor)
    }
    let result: Result<Void, any Error>
    do { result = .success(try await body("127.0.0.1:\(server.port)")) } catch { result = .failure(error) }
    await server.shutdown()
    try result.get()
  }
}

/// Observes the calls of a service and may replace its answers.
protocol AnswerInterceptor: Sendable {
  func callBegan(_ method: String)
  /// Hears of a request before the backend does.
  func noteRequest(_ request: any Sendable)
  /// Returns the message to send in place of an answer, at the time to send it.
  func answer(_ answer: any Sendable, to method: String) async -> any Sendable
}

extension AnswerInterceptor {
  func noteRequest(_ request: any Sendable) {}
}

private struct AnswerTaps<Answers: AnswerInterceptor>: CallInterceptor {
  let answers: Answers

  func began(_ call: InterceptedCall) async throws -> (any CallTap)? {
    answers.callBegan(call.method)
    return AnswerTap(answers: answers, method: call.method)
  }
}

private struct AnswerTap<Answers: AnswerInterceptor>: CallTap {
  let answers: Answers
  let method: String

  func request(_ message: any Message) async throws -> Bool {
    answers.noteRequest(message)
    return true
  }

  func response(_ message: any Message) async -> any Message {
    await answers.answer(message, to: method) as? any Message ?? message
  }

  func ended() {}
}
