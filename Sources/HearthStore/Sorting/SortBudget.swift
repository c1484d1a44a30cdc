internal import Synchronization

/// The memory for the sort keys of all results that are being sorted, or that wait sorted for their readers.
///
/// One result gets at most half of what the others leave free. So a large result never takes everything, and a small one still finds
/// memory.
package final class SortBudget: Sendable {
  package let maximumBytes: Int
  private let used = Mutex(0)

  package init(maximumBytes: Int) {
    self.maximumBytes = max(maximumBytes, 0)
  }

  package var usedBytes: Int { used.withLock { $0 } }

  /// - Parameter held: The bytes that the result has already.
  fileprivate func take(_ bytes: Int, beside held: Int) -> Bool {
    used.withLock { used in
      guard held + bytes <= (maximumBytes - (used - held)) / 2 else { return false }
      used += bytes
      assert(used <= maximumBytes, "\(used) bytes were taken of \(maximumBytes)")
      return true
    }
  }

  fileprivate func giveBack(_ bytes: Int) {
    used.withLock { used in
      assert(bytes >= 0 && bytes <= used, "\(bytes) bytes are given back of \(used) that were taken")
      used -= bytes
    }
  }
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
  private let budget: SortBudget
  private var bytes = 0

  /// Taken at a time, so that the lock is not needed for each key.
  private static let stepBytes = 64 << 10

  init(of budget: SortBudget) {
    self.budget = budget
  }

  deinit { budget.giveBack(bytes) }

  func grow(to needed: Int) throws(SortBudgetExceeded) {
    guard needed > bytes else { return }
    let missing = needed - bytes
    for step in [max(missing, Self.stepBytes), missing] where budget.take(step, beside: bytes) {
      bytes += step
      return
    }
    throw SortBudgetExceeded(heldBytes: bytes, maximumBytes: budget.maximumBytes)
  }

  /// Makes a part of what this share has a reservation of its own.
  func split(_ part: Int) -> SortReservation {
    assert(part <= bytes, "\(part) bytes of a share of \(bytes)")
    bytes -= part
    return SortReservation(budget, bytes: part)
  }
}

/// A fixed part of a budget. It is released with the last reference.
final class SortReservation: Sendable {
  private let budget: SortBudget
  private let bytes: Int

  fileprivate init(_ budget: SortBudget, bytes: Int) {
    self.budget = budget
    self.bytes = bytes
  }

  deinit { budget.giveBack(bytes) }
}
