/// The position of a write among the writes that wait for locks.
///
/// It is released when the write has ended, whatever the outcome. A ticket without references releases itself, because a forgotten ticket
/// would block all later reads of its documents.
final class LockTicket: Sendable {
  let id: LockTable.TicketID
  private let locks: TransactionLocks

  init(_ id: LockTable.TicketID, of locks: TransactionLocks) {
    self.id = id
    self.locks = locks
  }

  /// Gives the place back. A second call does nothing.
  func finish() { locks.finish(id) }

  deinit { finish() }
}
