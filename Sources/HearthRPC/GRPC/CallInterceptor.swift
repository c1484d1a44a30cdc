package import HearthModel
internal import NIOCore
package import SwiftProtobuf

/// Intercepts calls between the clients and the service, for tests.
package protocol CallInterceptor: Sendable {
  /// Called before a call is carried out; throwing ends it.
  ///
  /// - Returns: The tap for its messages; nil to leave them alone.
  func began(_ call: InterceptedCall) async throws -> (any CallTap)?
}

/// A tap that every message of a call passes through.
package protocol CallTap: Sendable {
  /// Called with each request in order, before the service has it, and after the service has answered those before.
  ///
  /// - Returns: false to keep it from the service.
  /// - Throws: The error with which the call ends, after those answers.
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

  /// True if the client sends any number of requests.
  package var isStream: Bool { call.method.kind == .requestStream }

  /// Gives the service a request that was kept from it.
  package func deliver(_ message: any Message) throws {
    call.deliver(ByteBuffer(bytes: try message.serializedBytes() as [UInt8]), passingIntake: true)
  }

  /// Sends a message among those of the service.
  package func answer(_ message: any Message) async throws {
    let bytes: [UInt8] = try message.serializedBytes()
    try await call.send(bytes, isHeldBack: false)
  }
}
