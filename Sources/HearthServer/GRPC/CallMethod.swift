internal import Foundation
internal import HearthModel
internal import NIOCore
internal import SwiftProtobuf

/// A method of a service: how its messages are read and what carries it out.
struct CallMethod: Sendable {
  enum Kind {
    /// The client sends one message, with which the call begins.
    case oneRequest
    /// The call begins with its headers and takes messages as they come.
    case requestStream
  }

  /// The last part of the path, such as `Commit`.
  let name: String
  let kind: Kind
  let decode: @Sendable (ByteBuffer) throws -> any Message
  /// - Parameter message: The request of a call with one; nil in streams.
  let run: @Sendable (_ call: ServerCall, _ message: ByteBuffer?, _ tap: (any CallTap)?) async throws -> Void

  /// A method with one request and one response.
  static func unary<Request: Message, Response: Message>(
    _ name: String, _ body: @escaping @Sendable (Request, ServerCall) async throws -> Response
  ) -> CallMethod {
    serverStreaming(name) { (request: Request, call, writer: ResponseWriter<Response>) in
      try await writer.write(try await body(request, call))
    }
  }

  /// A method with one request and any number of responses.
  static func serverStreaming<Request: Message, Response: Message>(
    _ name: String,
    _ body: @escaping @Sendable (Request, ServerCall, ResponseWriter<Response>) async throws -> Void
  ) -> CallMethod {
    CallMethod(name: name, kind: .oneRequest, decode: { try Request(decoding: $0) }) { call, message, tap in
      let request = try Request(decoding: message ?? ByteBuffer())
      if let tap { guard try await tap.request(request) else { return } }
      try await body(request, call, ResponseWriter(call: call, tap: tap, holdsBack: true))
    }
  }

  /// A method with any number of requests and responses.
  static func bidirectional<Request: Message, Response: Message>(
    _ name: String,
    _ body: @escaping @Sendable (RequestStream<Request>, ServerCall, ResponseWriter<Response>) async throws -> Void
  ) -> CallMethod {
    CallMethod(name: name, kind: .requestStream, decode: { try Request(decoding: $0) }) { call, _, tap in
      call.sendHead()
      try await body(RequestStream(call: call), call, ResponseWriter(call: call, tap: tap, holdsBack: false))
    }
  }
}

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

/// Sends the responses of a call. Each function waits while the client takes less than it is sent, and throws when the call was ended
/// from outside.
struct ResponseWriter<Response: Message>: Sendable {
  private let call: ServerCall
  private let tap: (any CallTap)?
  private let holdsBack: Bool

  init(call: ServerCall, tap: (any CallTap)?, holdsBack: Bool) {
    self.call = call
    self.tap = tap
    self.holdsBack = holdsBack
  }

  func write(_ response: Response) async throws {
    try await write(encoded: try await tapped(response).serializedBytes() as [UInt8])
  }

  func write(contentsOf responses: some Sequence<Response>) async throws {
    for response in responses { try await write(response) }
  }

  /// Sends the bytes of a response.
  func write(encoded response: [UInt8]) async throws {
    try await call.send(isHeldBack: holdsBack) { buffer in
      MessageAssembler.write(response, count: response.count, to: &buffer)
    }
  }

  /// Sends what few bytes are held back, before work that may take long. Needed only in calls with one request.
  func flush() {
    call.flush()
  }

  private func tapped(_ response: Response) async throws -> Response {
    guard let tap else { return response }
    return await tap.response(response) as? Response ?? response
  }
}

extension Message {
  /// - Throws: `CallStatus` INVALID_ARGUMENT for bytes that are not the message.
  init(decoding bytes: ByteBuffer) throws(CallStatus) {
    do {
      self = try bytes.withUnsafeReadableBytes { try Self(serializedBytes: Data($0)) }
    } catch {
      throw CallStatus(.invalidArgument, "Can't deserialize to message of type \(Self.self).")
    }
  }
}
