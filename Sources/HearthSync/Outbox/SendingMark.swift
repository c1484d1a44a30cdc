internal import HearthCache
internal import HearthModel

/// The mark up to which the active user's outbox is, or may be, at the backend.
///
/// Before a batch is sent for the first time, a mark is stored (`SentMarks`), so that any process, now or after a restart, knows which
/// batches can still be cancelled. The mark is set ahead of the batch, so that most batches need no transaction for it.
struct SendingMark {
  /// Batches up to this one may be sent without another transaction; nil as long as this client has not reserved any.
  private var reserved: BatchID?
  /// The last batch that was sent, since this client reserved first.
  private var last: BatchID = 0
  /// The last of the waiting batches that others may have sent before this client reserved first. The mark stays at it or behind it.
  private var inherited: BatchID = 0

  var isSet: Bool { reserved != nil }

  func covers(_ batchID: BatchID) -> Bool { reserved.map { batchID <= $0 } ?? false }

  /// - Parameter inherited: The last waiting batch that others may have sent before. Counts for the first mark only.
  mutating func reserve(through batchID: BatchID, inherited: BatchID?) {
    assert(isSet || inherited != nil, "A first mark is set without the batches that others may have sent.")
    if reserved == nil { self.inherited = inherited ?? 0 }
    reserved = batchID
  }

  mutating func sent(_ batchID: BatchID) {
    last = max(last, batchID)
  }

  /// Ends the sending.
  ///
  /// - Returns: The batches that were reserved and not sent: those behind the first number, up to the second one. Nil if there are none.
  mutating func end() -> (last: BatchID, reserved: BatchID)? {
    defer { self = SendingMark() }
    let last = max(last, inherited)
    guard let reserved, reserved > last, last > 0 else { return nil }
    return (last, reserved)
  }
}
