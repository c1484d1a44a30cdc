package import HearthModel

/// An error of a service that states the status with which its calls end.
package protocol StatusConvertible: Error {
  var status: StatusError { get }
}

extension StatusError {
  /// The status for any error with which a call can end.
  package init(describing error: any Error) {
    switch error {
    case let error as StatusError: self = error
    case let error as any StatusConvertible: self = error.status
    case let error as WireFormatError: self.init(code: .invalidArgument, message: error.description)
    case is CancellationError: self.init(code: .cancelled, message: "The call was cancelled.")
    default: self.init(code: .internal, message: "The server failed: \(type(of: error)).")
    }
  }
}
