/// Decides by the length of a database's write-ahead log when reads have to make room for it, and when commits have to wait.
///
/// The log restarts only while no read sees an earlier state. From half of the limit on, no further read becomes long until the log has been
/// cut. At the limit, reads are stopped, and the next commit waits for the cut. So commits make the log longer than its limit by one
/// transaction at most. If a read of another program prevents the cut, commits go on, and a cut is tried again when the log has grown by a
/// ``step``.
struct LogLimit: Sendable {
  enum Action: Equatable {
    /// No further read may become long until the log has been cut.
    case holdReads
    /// No read may begin until then, and the long ones have to start over.
    case stopReads
  }

  /// The growth after which a cut is tried again that has failed.
  static let step: Int64 = 8 << 20

  private enum Stage: Comparable {
    case short, long, full
  }

  private let limit: Int64
  private(set) var length: Int64 = 0
  private var stage = Stage.short
  /// No cut is tried before the log has this length.
  private var nextLength: Int64 = 0

  init(bytes limit: Int64) {
    self.limit = limit
  }

  /// Nothing may be written until the log has been cut.
  var isFull: Bool { stage == .full }

  /// Takes the length of the log after a transaction.
  mutating func note(_ length: Int64) -> Action? {
    defer { assertInvariants() }
    // It has restarted.
    if length < self.length { nextLength = 0 }
    self.length = length
    let reached: Stage = length >= limit ? .full : length >= limit / 2 ? .long : .short
    guard reached > stage, length >= nextLength else { return nil }
    stage = reached
    return reached == .full ? .stopReads : .holdReads
  }

  /// Takes the result of a cut that reads have made room for.
  mutating func endCut(_ isCut: Bool) {
    defer { assertInvariants() }
    stage = .short
    if isCut { length = 0 }
    // Long reads that go on do not move the limit.
    nextLength = isCut ? 0 : length < limit ? min(length + Self.step, limit) : length + Self.step
  }

  private func assertInvariants() {
    assert(length >= 0, "a log of \(length) bytes")
    assert(stage == .short || nextLength <= length, "a cut is tried at \(length) bytes, before \(nextLength)")
    assert(nextLength <= length + Self.step, "no cut is tried from \(length) to \(nextLength) bytes")
  }
}
