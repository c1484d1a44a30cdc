package import HearthModel

/// A failure of `hearth data`, in words that name the value, the place and what to do.
package struct DataError: Error, Sendable, CustomStringConvertible {
  package var description: String
  /// True if whoever read standard output has gone, such as `head`: nobody wants to hear of it.
  package var isBrokenPipe = false

  package init(_ description: String) {
    self.description = description
  }
}

extension DataError {
  /// A file that the system does not let us use.
  static func file(_ path: String, _ fault: String) -> DataError {
    DataError("\"\(path)\" \(fault)")
  }

  /// The failure of a call, with a hint for the usual reasons.
  package init(_ error: StatusError, doing what: String, at place: String) {
    let hint =
      switch error.code {
      case .unavailable:
        " Is the backend running there? Start one with `hearth serve`, or name another with --host."
      case .unauthenticated, .permissionDenied:
        " Give --credentials with the key file of a service account, or --token."
      case .deadlineExceeded: " The backend at \(place) is slow; ask for less with --limit, or try again."
      default: ""
      }
    let text = error.message.hasSuffix(".") ? error.description : error.description + "."
    self.init("\(what): \(text)\(hint)")
  }
}
