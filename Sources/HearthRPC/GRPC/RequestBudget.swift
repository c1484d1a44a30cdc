internal import Synchronization

/// The bytes of the requests in progress on all connections of a server, from the moment when a request is complete until its answer.
///
/// An origin of calls may hold as many bytes as it leaves free. So one at its limit leaves half of the budget to others, and two leave a third ("dynamic thresholds": Choudhury and Hahne, IEEE/ACM Transactions on Networking 6, 1998).
///
/// Requests may wait for locks of transactions. So a request that ends a transaction must not fail because of the requests that wait for
/// it. A rollback is a small request, and small requests are never refused; a commit of a transaction has a reserve.
package final class RequestBudget: Sendable {
  /// Requests up to this size are always taken: the number of calls bounds them.
  static let smallBytes = 4 << 10

  private let limit: Int
  /// Beyond ``limit``, for commits of transactions.
  private let reserve: Int
  private let held = Atomic(0)

  init(limits: ServerLimits) {
    limit = limits.requestBytesInProgress
    reserve = max(limit / 4, limits.requestBytes)
  }

  /// The bytes of all requests in progress.
  package var bytes: Int { held.load(ordering: .relaxed) }

  /// Counts further bytes of a request.
  ///
  /// - Parameters:
  ///   - count: At least 1.
  ///   - total: All bytes of the request, these among them.
  ///   - endsTransaction: True for a request for which others may wait. Asked for only if the bytes have no room otherwise.
  /// - Returns: False if the request must be refused; its bytes then do not count.
  func take(_ count: Int, of total: Int, for origin: CallOrigin, endsTransaction: () -> Bool) -> Bool {
    let all = held.add(count, ordering: .relaxed).newValue
    let own = origin.requestBytes.add(count, ordering: .relaxed).newValue
    let isOnlyOne = own == total && all <= limit || all == total
    if total <= Self.smallBytes || isOnlyOne || own <= limit - all { return true }
    if all <= limit + reserve, endsTransaction() { return true }
    giveBack(count, of: origin)
    return false
  }

  func giveBack(_ count: Int, of origin: CallOrigin) {
    held.subtract(count, ordering: .relaxed)
    origin.requestBytes.subtract(count, ordering: .relaxed)
  }
}
