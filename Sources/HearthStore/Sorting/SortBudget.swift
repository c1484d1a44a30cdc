internal import Synchronization

/// The memory for the sort keys of all results that are being sorted, or that wait sorted for their readers.
///
/// One result gets at most half of what the others leave free, and so do all results of one owner together. So neither a large result nor a
/// caller with many of them takes everything, and a small one still finds memory.
package final class SortBudget: Sendable {
  private struct Use {
    var bytes = 0
    /// The bytes of each owner that has any.
    var byOwner: [String: Int] = [:]

    mutating func change(by change: Int, of owner: String) {
      bytes += change
      guard !owner.isEmpty else { return }
      let owned = byOwner[owner, default: 0] + change
      assert(owned >= 0 && owned <= bytes, "\(owned) bytes are an owner's of \(bytes) that are taken")
      byOwner[owner] = owned == 0 ? nil : owned
    }
  }

  package let maximumBytes: Int
  private let use = Mutex(Use())

  package init(maximumBytes: Int) {
    self.maximumBytes = max(maximumBytes, 0)
  }

  package var usedBytes: Int { use.withLock { $0.bytes } }

  /// The budget for the results of an owner.
  ///
  /// - Parameter owner: Empty for one whose results only count one by one.
  package func account(of owner: String) -> SortAccount { SortAccount(budget: self, owner: owner) }

  /// - Parameter held: The bytes that the result has already.
  fileprivate func take(_ bytes: Int, beside held: Int, of owner: String) -> Bool {
    use.withLock { use in
      // What a result or an owner has already counts as free for more of the same.
      let owned = owner.isEmpty ? held : use.byOwner[owner] ?? 0
      guard [held, owned].allSatisfy({ $0 + bytes <= (maximumBytes - (use.bytes - $0)) / 2 }) else { return false }
      use.change(by: bytes, of: owner)
      assert(use.bytes <= maximumBytes, "\(use.bytes) bytes were taken of \(maximumBytes)")
      return true
    }
  }

  fileprivate func giveBack(_ bytes: Int, of owner: String) {
    use.withLock { use in
      assert(bytes >= 0 && bytes <= use.bytes, "\(bytes) bytes are given back of \(use.bytes) that were taken")
      use.change(by: -bytes, of: owner)
    }
  }
}

/// A budget as one of its owners sees it.
package struct SortAccount: Sendable {
  fileprivate let budget: SortBudget
  fileprivate let owner: String

  fileprivate func take(_ bytes: Int, beside held: Int) -> Bool { budget.take(bytes, beside: held, of: owner) }
  fileprivate func giveBack(_ bytes: Int) { budget.giveBack(bytes, of: owner) }
}

/// The sort keys of a result take more memory than there is for them.
package struct SortBudgetExceeded: Error, Equatable, Sendable {
  /// The bytes that the result had when it needed more.
  package var heldBytes: Int
  /// The bytes for all results together.
  package var maximumBytes: Int
}

/// The part of a budget that a result has while it is being sorted. It is released with the last reference.
final class SortShare {
  private let account: SortAccount
  private var bytes = 0

  /// The bytes that are taken at once, so that the lock is not needed for each key.
  private static let stepBytes = 64 << 10

  init(of account: SortAccount) {
    self.account = account
  }

  deinit { account.giveBack(bytes) }

  func grow(to needed: Int) throws(SortBudgetExceeded) {
    guard needed > bytes else { return }
    let missing = needed - bytes
    for step in [max(missing, Self.stepBytes), missing] where account.take(step, beside: bytes) {
      bytes += step
      return
    }
    throw SortBudgetExceeded(heldBytes: bytes, maximumBytes: account.budget.maximumBytes)
  }

  /// Splits a part off this share, as a reservation of its own.
  func split(_ part: Int) -> SortReservation {
    assert(part <= bytes, "\(part) bytes of a share of \(bytes)")
    bytes -= part
    return SortReservation(account, bytes: part)
  }
}

/// A fixed part of a budget. It is released with the last reference.
final class SortReservation: Sendable {
  private let account: SortAccount
  private let bytes: Int

  fileprivate init(_ account: SortAccount, bytes: Int) {
    self.account = account
    self.bytes = bytes
  }

  deinit { account.giveBack(bytes) }
}
