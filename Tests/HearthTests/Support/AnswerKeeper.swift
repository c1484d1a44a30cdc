import HearthWire

@testable import Hearth

/// Keeps the answers to batches until they are released.
final class AnswerKeeper: AnswerInterceptor {
  let arrived = Recorder<Void>()
  private let (kept, continuation) = AsyncStream<Void>.makeStream()

  func callBegan(_ method: String) {}

  func answer(_ answer: any Sendable, to method: String) async -> any Sendable {
    guard let response = answer as? Google_Firestore_V1_WriteResponse, !response.writeResults.isEmpty else {
      return answer
    }
    arrived.record(())
    for await _ in kept {}
    return answer
  }

  func release() { continuation.finish() }
}
