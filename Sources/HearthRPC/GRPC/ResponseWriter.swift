internal import Foundation
package import NIOCore
package import SwiftProtobuf

/// Sends the responses of a call. Each function waits while the client reads slower than it is sent, and throws when the call was ended
/// from outside.
package struct ResponseWriter<Response: Message>: Sendable {
  private let call: ServerCall
  private let tap: (any CallTap)?
  private let holdsBack: Bool

  /// The load that all calls of the server share.
  package var load: ServerLoad { call.load }

  /// True while more than a quarter of the stream's send budget is unread by the client. Producers may pause.
  package var isBehind: Bool { call.queuedBytes > call.queuedBytesAllowed / 4 }

  /// Notes the size of what was read to make the next responses, in place of what was noted before.
  package func holds(_ bytes: Int) {
    call.hold(results: bytes)
  }

  init(call: ServerCall, tap: (any CallTap)?, holdsBack: Bool) {
    self.call = call
    self.tap = tap
    self.holdsBack = holdsBack
  }

  package func write(_ response: Response) async throws {
    try await send(response, isHeldBack: holdsBack)
  }

  package func write(contentsOf responses: some Sequence<Response>) async throws {
    for response in responses { try await send(response, isHeldBack: true) }
    if !holdsBack { flush() }
  }

  private func send(_ response: Response, isHeldBack: Bool) async throws {
    let response = await tap?.response(response) as? Response ?? response
    let bytes: [UInt8] = try response.serializedBytes()
    try await call.send(bytes, isHeldBack: isHeldBack)
  }

  /// Sends a response that is encoded already.
  package func write(encoded response: [UInt8]) async throws {
    if tap != nil { return try await write(Response(serializedBytes: Data(response))) }
    try await call.send(response, isHeldBack: holdsBack)
  }

  /// Sends responses that were encoded before, for example for several streams.
  ///
  /// - Parameter responses: Whole messages with their heads, as ``encode(_:to:)`` and ``add(_:to:)`` make them.
  package func write(encoded responses: ByteBuffer) async throws {
    guard tap == nil, call.transcoder == nil else {
      var assembler = MessageAssembler(maximumBytes: .max)
      assembler.append(responses)
      while let message = try assembler.next() { try await write(encoded: Array(message.readableBytesView)) }
      return
    }
    try await call.send(isHeldBack: holdsBack) { buffer in
      // Shared with the other streams as long as nothing is added to it.
      if buffer.readableBytes == 0 { buffer = responses } else { buffer.writeImmutableBuffer(responses) }
    }
  }

  /// Adds a response to a buffer for ``write(encoded:)``.
  package static func encode(_ response: Response, to buffer: inout ByteBuffer) throws {
    add(try response.serializedBytes(), to: &buffer)
  }

  /// Adds the bytes of a response to a buffer for ``write(encoded:)``.
  package static func add(_ bytes: [UInt8], to buffer: inout ByteBuffer) {
    MessageAssembler.write(bytes, to: &buffer)
  }

  /// Sends the few bytes that are held back, before work that may take long. Needed only in calls with one request.
  package func flush() {
    call.flush()
  }
}
