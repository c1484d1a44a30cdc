internal import NIOCore
internal import Synchronization

/// The bytes that calls hold for clients that have not read them: responses that wait for flow control, and results that were read in
/// advance.
///
/// | all calls hold | consequence |
/// |---|---|
/// | at most ``ServerLimits/queuedBytes`` | a stream may have ``ServerLimits/queuedBytesPerStream`` waiting |
/// | more | a stream may have its share waiting: the limit is divided among the clients, and then among the calls of each |
/// | more than ``ServerLimits/unreadBytes`` | calls whose bytes have waited for ``patience`` or longer end, the longest first |
/// | more than twice as much | calls whose bytes have waited less end, too |
///
/// Only clients and calls that hold something count for shares. Where clients are not known, each connection is one. One message is always accepted.
package final class UnreadBudget: Sendable {
  /// Calls of clients that read, however slowly, hold bytes for less than this.
  static let patience = TimeAmount.seconds(5)
  /// The time between two searches for calls to end, unless much more than the limit is held.
  private static let searchInterval = TimeAmount.milliseconds(100)

  private struct Search {
    var isRunning = false
    var latest = NIODeadline.distantPast
  }

  private let limits: ServerLimits
  private let held = Atomic(0)
  private let holdingOrigins = Atomic(0)
  private let connections = Mutex<[ObjectIdentifier: ConnectionShare]>([:])
  private let search = Mutex(Search())

  init(limits: ServerLimits) {
    self.limits = limits
  }

  /// The bytes of all calls.
  package var bytes: Int { held.load(ordering: .relaxed) }

  /// True if shares apply.
  var isShared: Bool { bytes > limits.queuedBytes }

  func add(_ share: ConnectionShare) {
    connections.withLock { $0[ObjectIdentifier(share)] = share }
  }

  func remove(_ share: ConnectionShare) {
    connections.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(share)) }
  }

  /// A call holds more or less than before.
  ///
  /// - Parameter before: The bytes that it has held.
  func changed(by change: Int, from before: Int, for origin: CallOrigin) {
    guard change != 0 else { return }
    held.add(change, ordering: .relaxed)
    if before == 0 {
      if origin.holdingCalls.add(1, ordering: .relaxed).oldValue == 0 { holdingOrigins.add(1, ordering: .relaxed) }
    } else if before + change == 0, origin.holdingCalls.subtract(1, ordering: .relaxed).newValue == 0 {
      holdingOrigins.subtract(1, ordering: .relaxed)
    }
  }

  /// The number of bytes that a stream may have waiting before what produces them has to wait.
  func queuedBytesAllowed(for origin: CallOrigin) -> Int {
    guard isShared else { return limits.queuedBytesPerStream }
    let origins = max(holdingOrigins.load(ordering: .relaxed), 1)
    let calls = max(origin.holdingCalls.load(ordering: .relaxed), 1)
    return min(limits.queuedBytesPerStream, limits.queuedBytes / origins / calls)
  }

  /// The calls of all open connections.
  var calls: [ServerCall] {
    connections.withLock { Array($0.values) }.flatMap { $0.calls.withLock { Array($0.values) } }
  }

  // MARK: - Too much

  /// Ends calls as long as too much is held. Called after something was added, without a lock.
  func relieve() {
    if bytes > limits.unreadBytes { relieve(at: .now()) }
  }

  /// - Parameter now: The time by which the patience with a call is measured.
  func relieve(at now: NIODeadline) {
    let isUrgent = bytes > 2 * limits.unreadBytes
    guard beginsSearch(at: now, isUrgent: isUrgent) else { return }
    defer { search.withLock { $0.isRunning = false } }
    let waiting = calls.compactMap { call in call.unreadSince.map { (call: call, since: $0) } }
    // An eighth more than need be: otherwise the search would be repeated with each message.
    let eighth = limits.unreadBytes / 8
    for (call, since) in waiting.sorted(by: { $0.since < $1.since }) {
      let isOld = now - since >= Self.patience
      guard isOld || isUrgent, bytes > (isOld ? limits.unreadBytes : 2 * limits.unreadBytes) - eighth else { return }
      call.evict(.tooManyUnread(limits.unreadBytes))
    }
  }

  private func beginsSearch(at now: NIODeadline, isUrgent: Bool) -> Bool {
    search.withLock { search in
      guard !search.isRunning, isUrgent || now - search.latest >= Self.searchInterval else { return false }
      search = Search(isRunning: true, latest: now)
      return true
    }
  }
}
