internal import NIOCore
package import SwiftProtobuf

/// The requests of a stream.
package struct RequestStream<Request: Message>: Sendable {
  let call: ServerCall

  /// The next request; nil when the client has closed its side. Signals are passed over.
  package func next() async throws -> Request? {
    while true {
      switch try await call.nextInput() {
      case .message(let bytes): return try call.request(from: bytes)
      case .signals: continue
      case .end: return nil
      }
    }
  }
}
