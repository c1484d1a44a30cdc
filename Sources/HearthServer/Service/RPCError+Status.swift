internal import GRPCCore
internal import HearthModel

extension RPCError {
  /// A status travels in HTTP headers, percent-encoded, and clients refuse more than 8 to 16 KiB of those: they would
  /// see a broken stream, and retry forever, instead of the error. The longest legal document name is 6 KiB.
  private static let maximumMessageBytes = 2048

  /// The error as it is sent: its code, and as much of its text as fits.
  init(_ error: any Error) {
    if let error = error as? RPCError {
      self = error
      return
    }
    let status = StatusError(describing: error)
    self.init(code: RPCError.Code(status.code), message: Self.shortened(status.message))
  }

  private static func shortened(_ message: String) -> String {
    guard message.utf8.count > maximumMessageBytes else { return message }
    // A scalar that the cut goes through is left out.
    return String(message[..<message.utf8.index(message.startIndex, offsetBy: maximumMessageBytes)]) + "…"
  }
}

extension RPCError.Code {
  init(_ code: StatusCode) {
    switch code {
    case .ok, .unknown: self = .unknown
    case .cancelled: self = .cancelled
    case .invalidArgument: self = .invalidArgument
    case .deadlineExceeded: self = .deadlineExceeded
    case .notFound: self = .notFound
    case .alreadyExists: self = .alreadyExists
    case .permissionDenied: self = .permissionDenied
    case .resourceExhausted: self = .resourceExhausted
    case .failedPrecondition: self = .failedPrecondition
    case .aborted: self = .aborted
    case .outOfRange: self = .outOfRange
    case .unimplemented: self = .unimplemented
    case .internal: self = .internalError
    case .unavailable: self = .unavailable
    case .dataLoss: self = .dataLoss
    case .unauthenticated: self = .unauthenticated
    }
  }
}
