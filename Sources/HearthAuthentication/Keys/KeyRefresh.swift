/// Decides when the keys of an issuer are read again.
struct KeyRefresh {
  /// The shortest time between two reads because of tokens that name a key which is not there: anybody can send such tokens.
  private let unknownKeyInterval: Duration
  private let failureInterval: Duration

  private(set) var isReading = false
  private var nextRead: ContinuousClock.Instant?
  private var lastRead: ContinuousClock.Instant?

  /// - Parameter isLocal: True for a file, at which a look costs little.
  init(isLocal: Bool) {
    unknownKeyInterval = isLocal ? .seconds(1) : .seconds(60)
    failureInterval = isLocal ? .seconds(1) : .seconds(10)
  }

  /// True if the keys should be read now.
  func isDue(at now: ContinuousClock.Instant) -> Bool {
    !isReading && nextRead.map { now >= $0 } ?? true
  }

  /// True if the keys may be read now because a token names one that is not there.
  func mayLookForKey(at now: ContinuousClock.Instant) -> Bool {
    !isReading && lastRead.map { now - $0 >= unknownKeyInterval } ?? true
  }

  mutating func begin(at now: ContinuousClock.Instant) {
    (isReading, lastRead) = (true, now)
  }

  mutating func succeeded(at now: ContinuousClock.Instant, maximumAge: Duration) {
    (isReading, nextRead) = (false, now + maximumAge)
  }

  mutating func failed(at now: ContinuousClock.Instant) {
    (isReading, nextRead) = (false, now + failureInterval)
  }
}
