package import HearthModel
package import SwiftProtobuf

/// Stands between the clients and the service, for tests.
package protocol CallInterceptor: Sendable {
  /// Called before a call is carried out; throwing ends it.
  ///
  /// - Returns: What its messages go through; nil to leave them alone.
  func began(_ call: InterceptedCall) async throws -> (any CallTap)?
}

/// What the messages of a call go through.
package protocol CallTap: Sendable {
  /// Called with each request in order, before the service has it.
  ///
  /// - Returns: false to keep it from the service.
  /// - Throws: What the call ends with.
  func request(_ message: any Message) async throws -> Bool
  /// Returns the message to send in place of a response, at the time to send it.
  func response(_ message: any Message) async -> any Message
  /// Called when the service has done with the call.
  func ended()
}

/// A call as an interceptor sees it.
package struct InterceptedCall: Sendable {
  let call: ServerCall

  /// The last part of the method's path, such as `Commit`.
  package var method: String { call.method.name }
  package var metadata: CallMetadata { call.metadata }

  /// Ends the call.
  package func end(_ status: StatusError) {
    call.stop(CallStatus(status.code, status.message))
  }

  /// Sends a message among those of the service.
  package func answer(_ message: any Message) async throws {
    let bytes: [UInt8] = try message.serializedBytes()
    try await call.send(bytes, isHeldBack: false)
  }
}
