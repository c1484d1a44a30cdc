internal import Synchronization

/// The bytes of requests that were received and not handled, on all connections of a server.
///
/// If there are too many, calls end: the largest ones of those origins that hold most.
package final class ReceivedBudget: Sendable {
  private typealias Holder = (call: ServerCall, bytes: Int)

  private let limit: Int
  private let held = Atomic(0)
  private let holders = Mutex<[ObjectIdentifier: Holder]>([:])

  init(limits: ServerLimits) {
    limit = limits.receivedBytes
  }

  package var bytes: Int { held.load(ordering: .relaxed) }

  /// Notes the bytes of a call that were received and not handled.
  ///
  /// - Returns: The calls to end, because all together exceed the limit. They do not count any more.
  func note(_ count: Int, of call: ServerCall) -> [ServerCall] {
    holders.withLock { holders in
      let id = ObjectIdentifier(call)
      let change = count - (holders[id]?.bytes ?? 0)
      guard change != 0 else { return [] }
      holders[id] = count == 0 ? nil : (call, count)
      let total = held.add(change, ordering: .relaxed).newValue
      guard change > 0, total > limit else { return [] }
      // An eighth more than need be: otherwise the search would be repeated with each frame.
      let ended = Self.largest(of: Array(holders.values), leaving: limit - limit / 8)
      for holder in ended {
        holders[ObjectIdentifier(holder.call)] = nil
        held.subtract(holder.bytes, ordering: .relaxed)
      }
      return ended.map(\.call)
    }
  }

  private static func largest(of holders: [Holder], leaving wanted: Int) -> [Holder] {
    let ofOrigins = Dictionary(grouping: holders) { $0.call.origin }.values.map { holders in
      (holders: holders, bytes: holders.reduce(0) { $0 + $1.bytes })
    }
    let share = share(of: wanted, among: ofOrigins.map(\.bytes))
    var excess = ofOrigins.reduce(-wanted) { $0 + $1.bytes }
    var ended: [Holder] = []
    for origin in ofOrigins.sorted(by: { $0.bytes > $1.bytes }) {
      var rest = origin.bytes
      for holder in origin.holders.sorted(by: { $0.bytes > $1.bytes }) {
        guard excess > 0 else { return ended }
        guard rest > share else { break }
        rest -= holder.bytes
        excess -= holder.bytes
        ended.append(holder)
      }
    }
    return ended
  }

  /// The largest part that each may keep if all together keep no more than is wanted.
  static func share(of wanted: Int, among parts: [Int]) -> Int {
    var rest = wanted
    let sorted = parts.sorted()
    for (index, part) in sorted.enumerated() {
      let equal = rest / (sorted.count - index)
      guard part <= equal else { return equal }
      rest -= part
    }
    return wanted
  }
}
