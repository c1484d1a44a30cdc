/// The place of a write among those that wait for locks.
///
/// It is given back when the write has ended, whatever its end. A ticket that nobody refers to any more gives itself back: one that stayed
/// behind would stop all later reads of its documents.
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
