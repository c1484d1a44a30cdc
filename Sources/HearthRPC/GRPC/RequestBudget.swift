internal import Synchronization

/// The bytes of the requests in progress on all connections of a server, from the moment when a request is complete until its answer.
///
/// An origin of calls may hold as many bytes as it leaves free. So one at its limit leaves half of the budget to others, and two leave a
/// third ("dynamic thresholds": Choudhury and Hahne, IEEE/ACM Transactions on Networking 6, 1998).
///
/// Requests may wait for locks of transactions. So a request that ends a transaction must not fail because of the requests that wait for
/// it. A rollback is a small request, and small requests are never refused. For a commit that names a transaction there is a reserve, which is
/// shared as the budget is, but that one such request of an origin may have all that is free of it. What is in the reserve takes nothing from
/// other requests: anybody can name a transaction.
package final class RequestBudget: Sendable {
  /// Requests up to this size are always taken: the number of calls bounds them.
  static let smallBytes = 4 << 10

  /// The bytes that a request holds.
  struct Held: Sendable, Equatable {
    var bytes = 0
    /// The bytes of them that are in the reserve.
    var reserved = 0
  }

  private let limit: Int
  /// Beyond ``limit``, for commits of transactions.
  private let reserve: Int
  /// Without the reserve.
  private let held = Atomic(0)
  private let reserved = Atomic(0)

  init(limits: ServerLimits) {
    limit = limits.requestBytesInProgress
    reserve = max(limit / 4, limits.requestBytes)
  }

  /// The bytes of all requests in progress.
  package var bytes: Int { held.load(ordering: .relaxed) + reserved.load(ordering: .relaxed) }

  /// Counts a request, also in the place of less or more of the same.
  ///
  /// - Parameters:
  ///   - total: All bytes of the request.
  ///   - held: The bytes that it holds.
  ///   - endsTransaction: True for a request for which others may wait. Asked for only if the bytes have no room otherwise, or have taken some of
  ///     the reserve: a body of HTTP shows only later what it is.
  /// - Returns: False if the request must be refused.
  func take(_ total: Int, for origin: CallOrigin, _ held: inout Held, endsTransaction: () -> Bool) -> Bool {
    if held.reserved > 0, !endsTransaction() {
      let released = Held(bytes: held.reserved, reserved: held.reserved)
      giveBack(released, of: origin)
      held = Held(bytes: held.bytes - released.bytes)
    }
    let change = total - held.bytes
    guard change > 0 else {
      let released = Held(bytes: -change, reserved: min(-change, held.reserved))
      giveBack(released, of: origin)
      held = Held(bytes: total, reserved: held.reserved - released.reserved)
      return true
    }
    if takes(change, beside: held.bytes - held.reserved, total, origin) {
      held.bytes = total
      return true
    }
    guard endsTransaction(), reserves(change, beside: held.reserved, origin) else { return false }
    held = Held(bytes: total, reserved: held.reserved + change)
    return true
  }

  private func takes(_ count: Int, beside known: Int, _ total: Int, _ origin: CallOrigin) -> Bool {
    let all = held.add(count, ordering: .relaxed).newValue
    let own = origin.requestBytes.add(count, ordering: .relaxed).newValue
    let isOnlyOne = own == known + count && all <= limit || all == known + count
    if total <= Self.smallBytes || isOnlyOne || own <= limit - all { return true }
    giveBack(Held(bytes: count), of: origin)
    return false
  }

  private func reserves(_ count: Int, beside known: Int, _ origin: CallOrigin) -> Bool {
    let all = reserved.add(count, ordering: .relaxed).newValue
    let own = origin.reservedBytes.add(count, ordering: .relaxed).newValue
    if own == known + count && all <= reserve || own <= reserve - all { return true }
    giveBack(Held(bytes: count, reserved: count), of: origin)
    return false
  }

  func giveBack(_ released: Held, of origin: CallOrigin) {
    let bytes = released.bytes - released.reserved
    held.subtract(bytes, ordering: .relaxed)
    origin.requestBytes.subtract(bytes, ordering: .relaxed)
    reserved.subtract(released.reserved, ordering: .relaxed)
    origin.reservedBytes.subtract(released.reserved, ordering: .relaxed)
  }
}
