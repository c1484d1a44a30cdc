/// The canonical status codes of gRPC, with Firestore's numbering.
package enum StatusCode: Int, Hashable, Sendable, CaseIterable, CustomStringConvertible {
  case ok = 0
  case cancelled
  case unknown
  case invalidArgument
  case deadlineExceeded
  case notFound
  case alreadyExists
  case permissionDenied
  case resourceExhausted
  case failedPrecondition
  case aborted
  case outOfRange
  case unimplemented
  case `internal`
  case unavailable
  case dataLoss
  case unauthenticated

  /// The spelling of the protocol's documentation, for example `NOT_FOUND`.
  package var description: String {
    switch self {
    case .ok: "OK"
    case .cancelled: "CANCELLED"
    case .unknown: "UNKNOWN"
    case .invalidArgument: "INVALID_ARGUMENT"
    case .deadlineExceeded: "DEADLINE_EXCEEDED"
    case .notFound: "NOT_FOUND"
    case .alreadyExists: "ALREADY_EXISTS"
    case .permissionDenied: "PERMISSION_DENIED"
    case .resourceExhausted: "RESOURCE_EXHAUSTED"
    case .failedPrecondition: "FAILED_PRECONDITION"
    case .aborted: "ABORTED"
    case .outOfRange: "OUT_OF_RANGE"
    case .unimplemented: "UNIMPLEMENTED"
    case .internal: "INTERNAL"
    case .unavailable: "UNAVAILABLE"
    case .dataLoss: "DATA_LOSS"
    case .unauthenticated: "UNAUTHENTICATED"
    }
  }
}

/// A failure with a code and a message, as backends report it and users see it.
package struct StatusError: Error, Hashable, Sendable, CustomStringConvertible {
  package var code: StatusCode
  package var message: String
  /// The reason in a form that programs can read.
  package var details: [Detail]

  /// A message of Protocol Buffers, such as `google.rpc.PreconditionFailure`.
  package struct Detail: Hashable, Sendable {
    package var typeName: String
    package var bytes: [UInt8]

    package init(typeName: String, bytes: [UInt8]) {
      self.typeName = typeName
      self.bytes = bytes
    }
  }

  package init(code: StatusCode, message: String, details: [Detail] = []) {
    self.code = code
    self.message = message
    self.details = details
  }

  package var description: String { "\(code): \(message)" }
}
