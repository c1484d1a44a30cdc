internal import HearthModel
internal import HearthRPC
internal import HearthWire

extension StatusError {
  static func invalid(_ message: String) -> StatusError {
    StatusError(code: .invalidArgument, message: message)
  }

  /// The status of a read at a version to which the log does not reach back.
  ///
  /// - Parameter start: The first version to which it does.
  static func readTimeTooOld(start: SnapshotVersion) -> StatusError {
    StatusError(
      code: .failedPrecondition,
      message: "The requested 'read_time' is too old: the history of this database begins at \(start.text).")
  }

  /// The status of an optimistic transaction that has lost against another one.
  static let transactionConflict = StatusError(
    code: .aborted,
    message: "Aborted due to cross-transaction contention. This occurs when multiple transactions attempt to access "
      + "the same data, requiring Firestore to abort at least one in order to enforce serializability.")
}

extension SnapshotVersion {
  /// The time as people and programs write it, such as `2026-01-02T03:04:05.678Z`.
  var text: String {
    let (seconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return ProtoTime.text(seconds: seconds, nanoseconds: rest * 1_000) ?? "\(timestamp)"
  }
}

extension WireError: StatusConvertible {
  var status: StatusError { .invalid(description) }
}

extension ModelError: StatusConvertible {
  var status: StatusError { .invalid(description) }
}
