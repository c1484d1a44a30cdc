/// A limit on things, or on bytes, that several holders share.
///
/// A holder may have as many as it leaves free. So one holder at its limit leaves half to others, two leave a third, and one that has none gets
/// one as long as any is free ("dynamic thresholds": Choudhury and Hahne, IEEE/ACM Transactions on Networking 6, 1998).
package struct SharedLimit<Holder: Hashable & Sendable>: Sendable {
  private let limit: Int
  /// The things of all holders.
  package private(set) var count = 0
  private var counts: [Holder: Int] = [:]

  package init(_ limit: Int) {
    self.limit = limit
  }

  /// The holders that have any.
  var holderCount: Int { counts.count }

  /// - Returns: False if the holder may not have this many more now; nothing is counted then.
  package mutating func take(_ number: Int = 1, for holder: Holder) -> Bool {
    let held = counts[holder, default: 0]
    guard number <= limit - count - held else { return false }
    count += number
    counts[holder] = held + number
    return true
  }

  package mutating func giveBack(_ number: Int = 1, of holder: Holder) {
    let held = counts[holder, default: 0]
    guard number <= held else { return assertionFailure("\(number) given back of \(held)") }
    count -= number
    counts[holder] = held > number ? held - number : nil
  }
}
