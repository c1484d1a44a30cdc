internal import Foundation
internal import HearthModel
package import NIOCore
package import SwiftProtobuf

/// The count of a request's parts.
package struct RequestCount: Sendable {
  /// The status that refuses the request; nil if it holds no more than is allowed.
  package var excess: CallStatus?
  /// The entries of all parts together: writes, names, fields of masks, filters.
  package var entries: Int

  package init(excess: CallStatus? = nil, entries: Int) {
    self.excess = excess
    self.entries = entries
  }
}

/// A method of a service: the reader of its messages and its implementation.
package struct CallMethod: Sendable {
  package enum Kind {
    /// The client sends one message, with which the call begins.
    case oneRequest
    /// The call begins with its headers and takes messages as they come.
    case requestStream
  }

  package typealias Counter = @Sendable (_ request: ByteBuffer, _ message: String) throws(CallStatus) -> RequestCount

  /// Stands for the method of a request that was answered without a call.
  static let answered = CallMethod(
    name: "", kind: .oneRequest, isIntercepted: false, decode: { _ in throw CallStatus.cancelled }, run: { _, _ in })

  /// A method whose messages are read and written by hand. Interceptors do not see its calls.
  package static func encoded(
    _ name: String, _ kind: Kind, _ run: @escaping @Sendable (ServerCall, ByteBuffer) async throws -> Void
  ) -> CallMethod {
    CallMethod(name: name, kind: kind, isIntercepted: false, decode: { _ in throw CallStatus.cancelled }) {
      call, _ in
      if kind == .requestStream { call.sendHead() }
      try await run(call, call.takeRequest())
    }
  }

  /// The last part of the path, such as `Commit`.
  package let name: String
  let kind: Kind
  let isIntercepted: Bool
  /// True for calls that run on their connection's event loop: with a small request they block nothing, and compute no longer between two
  /// waits than a change of thread takes.
  private(set) var isBrief = false
  private var isLasting = false
  /// True for calls that a slow client can prolong as long as it likes.
  var endsWithCredentials: Bool { kind == .requestStream || isLasting }
  /// Counts the parts of a request on its bytes. Nil for methods whose requests have no part that is counted.
  private(set) var count: Counter?
  /// Returns true for a request that ends a transaction, whose locks others may wait for. Nil for methods without such requests.
  private(set) var endsTransaction: (@Sendable (ByteBuffer) -> Bool)?
  let decode: @Sendable (ByteBuffer) throws -> any Message
  /// Carries out a call. A call with one request has its request by then.
  private(set) var run: @Sendable (_ call: ServerCall, _ tap: (any CallTap)?) async throws -> Void

  /// A method with one request and one response.
  package static func unary<Request: Message, Response: Message>(
    _ name: String, _ body: @escaping @Sendable (Request, ServerCall) async throws -> Response
  ) -> CallMethod {
    serverStreaming(name) { (request: Request, call, writer: ResponseWriter<Response>) in
      try await writer.write(try await body(request, call))
    }
  }

  /// The method as one whose calls are brief.
  package var brief: CallMethod {
    var method = self
    method.isBrief = true
    return method
  }

  /// The method as one whose calls last as long as clients take its responses.
  package var lasting: CallMethod {
    var method = self
    method.isLasting = true
    return method
  }

  /// The method with requests whose parts are counted, and that hold no more than is allowed.
  package func counting(_ count: @escaping Counter) -> CallMethod {
    var method = self
    method.count = count
    return method
  }

  /// The method with calls that run inside `surround`, which may for example set a value of the task.
  package func carriedOut(
    within surround: @escaping @Sendable (_ call: ServerCall, _ run: () async throws -> Void) async throws -> Void
  ) -> CallMethod {
    var method = self
    method.run = { [run] call, tap in try await surround(call) { try await run(call, tap) } }
    return method
  }

  /// The method as one with requests that end transactions.
  package func endingTransaction(_ endsTransaction: @escaping @Sendable (ByteBuffer) -> Bool) -> CallMethod {
    var method = self
    method.endsTransaction = endsTransaction
    return method
  }

  /// A method with one request and one response, which is encoded already: no message is made of it.
  package static func unary<Request: Message, Response: Message>(
    _ name: String, encoded: Response.Type, _ body: @escaping @Sendable (Request, ServerCall) async throws -> [UInt8]
  ) -> CallMethod {
    serverStreaming(name) { (request: Request, call, writer: ResponseWriter<Response>) in
      try await writer.write(encoded: try await body(request, call))
    }
  }

  /// A method with one request and one response that frees the request's message before the work begins, because the work may wait.
  ///
  /// - Parameter prepare: Converts the message to the work, and moves large parts out of it.
  package static func unary<Request: Message, Work: Sendable, Response: Message>(
    _ name: String, preparing prepare: @escaping @Sendable (inout Request, ServerCall) async throws -> Work,
    _ body: @escaping @Sendable (Work) async throws -> Response
  ) -> CallMethod {
    CallMethod(name: name, kind: .oneRequest, isIntercepted: true, decode: { try Request(decoding: $0) }) {
      call, tap in
      guard let work = try await call.prepareWork(tap, prepare) else { return }
      let writer = ResponseWriter<Response>(call: call, tap: tap, holdsBack: true)
      try await writer.write(try await body(work))
    }
  }

  /// A method with one request and any number of responses.
  package static func serverStreaming<Request: Message, Response: Message>(
    _ name: String,
    _ body: @escaping @Sendable (Request, ServerCall, ResponseWriter<Response>) async throws -> Void
  ) -> CallMethod {
    CallMethod(name: name, kind: .oneRequest, isIntercepted: true, decode: { try Request(decoding: $0) }) {
      call, tap in
      let request: Request = try call.request(from: call.takeRequest())
      if let tap { guard try await tap.request(request) else { return } }
      try await body(request, call, ResponseWriter(call: call, tap: tap, holdsBack: true))
    }
  }

  /// A method with any number of requests and responses.
  package static func bidirectional<Request: Message, Response: Message>(
    _ name: String,
    _ body: @escaping @Sendable (RequestStream<Request>, ServerCall, ResponseWriter<Response>) async throws -> Void
  ) -> CallMethod {
    CallMethod(name: name, kind: .requestStream, isIntercepted: true, decode: { try Request(decoding: $0) }) {
      call, tap in
      call.sendHead()
      try await body(RequestStream(call: call), call, ResponseWriter(call: call, tap: tap, holdsBack: false))
    }
  }
}

extension ServerCall {
  /// - Returns: Nil if the request was answered by an interceptor.
  fileprivate func prepareWork<Request: Message, Work>(
    _ tap: (any CallTap)?, _ prepare: @Sendable (inout Request, ServerCall) async throws -> Work
  ) async throws -> Work? {
    var request: Request = try self.request(from: takeRequest())
    if let tap { guard try await tap.request(request) else { return nil } }
    return try await prepare(&request, self)
  }

  /// Makes a request of its bytes, if it holds no more than is allowed.
  ///
  /// - Throws: `CallStatus` INVALID_ARGUMENT, or RESOURCE_EXHAUSTED if there is no room for it.
  func request<Request: Message>(from bytes: ByteBuffer) throws(CallStatus) -> Request {
    if let excess = try excess(in: bytes, as: Request.self) { throw excess }
    return try Request(decoding: bytes)
  }

  /// The status that refuses a request which holds more than is allowed; nil for any other, which is counted among those in progress.
  package func excess<Request: Message>(in bytes: ByteBuffer, as: Request.Type) throws(CallStatus) -> CallStatus? {
    guard let count = try method.count?(bytes, Request.protoMessageName) else { return nil }
    if count.excess == nil { try requestDecodes(entries: count.entries, of: bytes) }
    return count.excess
  }
}

extension Message {
  /// - Throws: `CallStatus` INVALID_ARGUMENT for bytes that are not the message.
  package init(decoding bytes: ByteBuffer) throws(CallStatus) {
    do {
      self = try bytes.withUnsafeReadableBytes { try Self(serializedBytes: Data($0)) }
    } catch {
      throw CallStatus(.invalidArgument, "Can't deserialize to message of type \(Self.self).")
    }
  }
}
