internal import HearthCache
package import HearthModel
internal import HearthStore

extension StatusCode {
  /// True if a write that failed with this code would fail again: it is dropped, and its caller gets the error.
  ///
  /// All other failures are retried, `aborted` too, although the backend's other calls treat it as final (spec test "Writes that
  /// fail with code aborted are retried").
  var isPermanentForWrites: Bool {
    switch self {
    case .ok, .cancelled, .unknown, .deadlineExceeded, .resourceExhausted, .aborted, .internal, .unavailable,
      .unauthenticated:
      false
    case .invalidArgument, .notFound, .alreadyExists, .permissionDenied, .failedPrecondition, .outOfRange,
      .unimplemented, .dataLoss:
      true
    }
  }
}

extension StatusError {
  /// The error that a caller gets when the cache could not be read or written.
  static func storage(_ operation: String, _ error: any Error) -> StatusError {
    switch error {
    case let status as StatusError: status
    case let store as StoreError: StatusError(code: store.statusCode, message: "\(operation): \(store)")
    case let cache as CacheError: StatusError(code: cache.statusCode, message: "\(operation): \(cache)")
    default: StatusError(code: .unavailable, message: "\(operation): \(error)")
    }
  }

  static var terminated: StatusError {
    StatusError(code: .failedPrecondition, message: "The client has already been terminated.")
  }

  package static let fileIsHeld = "Another process holds the cache's file."

  /// The error of writes that could not be stored in time.
  package static func notSaved(
    writeCount: Int, because reason: String = fileIsHeld
  ) -> StatusError {
    let subject = writeCount == 1 ? "1 write is" : "\(writeCount) writes are"
    return StatusError(code: .unavailable, message: "\(subject) not saved. \(reason)")
  }

  /// The error of a list of pending writes that would lack some.
  static let pendingWritesNotSaved = StatusError(
    code: .unavailable, message: "Writes of documents in the query's collections are not saved in the cache's file yet."
  )

  /// The end of a call that is about the outbox of a user who is not signed in any more. It says nothing of the cache.
  package static var userChanged: StatusError {
    StatusError(
      code: .cancelled, message: "'waitForPendingWrites' callback is cancelled due to a user change.")
  }

  /// The end of a write that was sent and whose answer will not be heard.
  static func committedPerhaps(_ message: String) -> StatusError {
    StatusError(
      code: .unknown,
      message: "\(message) It was sent before; it is unknown whether the backend has committed it.")
  }

  /// A write of this client is gone from the outbox that it shares with others, and the notice of its answer as well.
  static var outcomeUnknown: StatusError {
    StatusError(
      code: .unknown,
      message:
        "The write has left the outbox unnoticed by this process; it is unknown whether the backend has committed it."
    )
  }

  /// Failures that the developer should see even without a listener's or a write's own error handling.
  var deservesWarning: Bool {
    code == .permissionDenied || (code == .failedPrecondition && message.contains("requires an index"))
  }
}
