package import HearthModel

extension StatusError {
  /// The answer to what is asked of a server that has begun to end, so that clients try again.
  package static let shuttingDown = StatusError(code: .unavailable, message: "The server is shutting down.")
}
