internal import NIOCore

/// The ages that ended transactions pass to their repetitions, by the number of the ended transaction.
///
/// When transactions wait for each other, the youngest is aborted. A transaction that repeats another one gets its age, so each becomes the
/// oldest at some time. Only a transaction that ended without a commit passes its age on, and only once. Otherwise a client that always
/// names the same transaction would win every deadlock.
struct Successions {
  /// The time for which an age is kept. Clients of Google's libraries repeat a transaction within a minute.
  static let microseconds: Int64 = 120_000_000
  static let maximumCount = 100_000

  private var seniorities: [UInt64: UInt64] = [:]
  /// The ended transactions, the latest last.
  private var ended: CircularBuffer<(number: UInt64, time: Int64)> = []

  /// The number of ages that are kept.
  var count: Int { seniorities.count }

  /// A transaction has ended without a commit.
  mutating func add(_ owner: LockTable.Owner, at time: Int64) {
    seniorities[owner.number] = owner.seniority
    ended.append((owner.number, time))
    forget(at: time)
  }

  /// - Returns: The age of an ended transaction; nil if it has left none, or another one has it already.
  mutating func take(from number: UInt64, at time: Int64) -> UInt64? {
    forget(at: time)
    return seniorities.removeValue(forKey: number)
  }

  private mutating func forget(at time: Int64) {
    while let oldest = ended.first, time - oldest.time > Self.microseconds || ended.count > Self.maximumCount {
      ended.removeFirst()
      seniorities[oldest.number] = nil
    }
  }
}
