#if canImport(SQLite3)
  internal import SQLite3
#else
  internal import CSQLite
#endif
#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// Waits for a lock that another connection has.
///
/// SQLite's own pauses (https://www.sqlite.org/c3ref/busy_timeout.html) grow to 25 milliseconds within nine attempts. A transaction of
/// another process takes one or two milliseconds, so a write would wait ten times longer than necessary. The pauses here are short at the
/// start, and grow if the lock is held for long, for example by a stopped process.
enum BusyWait {
  /// Pauses of a length, in microseconds, and how many of them there are before the next longer ones.
  private static let steps: [(pause: Int, count: Int)] = [(100, 20), (500, 40), (2_000, 100)]
  private static let longestPause = 10_000

  /// The microseconds from the first attempt to the attempt with this number.
  static func microseconds(before attempt: Int) -> Int {
    var rest = attempt
    var total = 0
    for (pause, count) in steps {
      total += min(rest, count) * pause
      rest -= count
      if rest <= 0 { return total }
    }
    return total + rest * longestPause
  }

  /// Lets a connection wait for locks for about this time; not at all if it is zero.
  static func set(_ connection: OpaquePointer?, to duration: Duration) {
    let (seconds, attoseconds) = duration.components
    let (microseconds, overflow) = Int(clamping: seconds).multipliedReportingOverflow(by: 1_000_000)
    let limit = overflow ? Int.max : microseconds + Int(attoseconds / 1_000_000_000_000)
    guard limit > 0 else {
      sqlite3_busy_handler(connection, nil, nil)
      return
    }
    // The limit itself is the context, so that nothing has to outlive the connection.
    sqlite3_busy_handler(
      connection,
      { context, attempt in
        let elapsed = BusyWait.microseconds(before: Int(attempt))
        guard elapsed < Int(bitPattern: context) else { return 0 }
        usleep(UInt32(BusyWait.microseconds(before: Int(attempt) + 1) - elapsed))
        return 1
      }, UnsafeMutableRawPointer(bitPattern: limit))
  }
}
