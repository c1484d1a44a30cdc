internal import HearthModel
internal import HearthRPC
internal import HearthWire

extension StatusError {
  static func invalid(_ message: String) -> StatusError {
    StatusError(code: .invalidArgument, message: message)
  }
}

extension WireError: StatusConvertible {
  var status: StatusError { .invalid(description) }
}

extension ModelError: StatusConvertible {
  var status: StatusError { .invalid(description) }
}
