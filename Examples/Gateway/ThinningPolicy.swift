import Hearth

/// Which readings a gateway gives up when too many wait: every second one of the older half.
///
/// Old readings become sparser each time, and the newest ones stay complete. So there is a curve of the whole time without a
/// connection. To drop the oldest readings would leave a gap.
struct ThinningPolicy {
  /// The number of readings that may wait.
  let keep: Int

  /// Chooses the readings to give up.
  ///
  /// - Parameter writes: The pending writes, oldest first.
  /// - Returns: At least one while more than `keep` wait that were not sent; those that were sent are left out.
  func choose(from writes: [PendingWrite]) -> [PendingWrite] {
    guard writes.count > keep else { return [] }
    let unsent = writes.filter { $0.state != .sent }
    let older = unsent.prefix((unsent.count + 1) / 2)
    return older.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
  }
}
