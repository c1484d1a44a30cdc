internal import NIOCore
internal import SwiftProtobuf

/// The requests of a stream.
struct RequestStream<Request: Message>: Sendable {
  enum Event {
    case request(Request)
    /// See ``ServerCall/post(_:)``.
    case signals(ServerCall.Signals)
  }

  let call: ServerCall

  /// The next request or signal; nil when the client has closed its side.
  func nextEvent() async throws -> Event? {
    switch try await call.nextInput() {
    case .message(let bytes): .request(try Request(decoding: bytes))
    case .signals(let signals): .signals(signals)
    case .end: nil
    }
  }

  /// The next request, for streams without signals; nil when the client has closed its side.
  func next() async throws -> Request? {
    while let event = try await nextEvent() {
      if case .request(let request) = event { return request }
    }
    return nil
  }
}
