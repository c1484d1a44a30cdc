internal import HearthRPC

/// Leaves processors to short calls while a long result is sent: as long as other calls are served at the same time, the stream rests after
/// each piece for as long as the piece took.
///
/// A commit during a scan waits for the threads that read, encode and send the scan, and for the client that decodes it, if they share a
/// few processors. See docs/performance.md, "The server's figures".
struct ResultPace<Time: Clock> where Time.Duration == Duration {
  private let load: ServerLoad
  private let clock: Time
  private var pieces = 0
  private var begin: Time.Instant
  private var endedCalls: Int

  /// Results with fewer pieces are not held up.
  static var freePieces: Int { 3 }
  /// A piece that took longer has not kept the processors busy: it waited for its client.
  static var longestRest: Duration { .milliseconds(10) }

  init(load: ServerLoad, clock: Time) {
    self.load = load
    self.clock = clock
    begin = clock.now
    endedCalls = load.endedCalls
  }

  /// Called after each piece.
  ///
  /// - Throws: `CancellationError` when the call is over.
  mutating func rest() async throws {
    pieces += 1
    if pieces > Self.freePieces, load.endedCalls != endedCalls {
      let time = min(begin.duration(to: clock.now), Self.longestRest)
      try await clock.sleep(until: clock.now.advanced(by: time), tolerance: nil)
    }
    endedCalls = load.endedCalls
    begin = clock.now
  }
}
