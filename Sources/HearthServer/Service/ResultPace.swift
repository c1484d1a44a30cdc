/// Lets short calls have the processors while a long result is sent: as long as other calls are served beside it, the stream rests
/// after each piece for as long as the piece took.
///
/// A commit beside a scan waits for the threads that read, encode and send the scan, and for the client that decodes it, if they are on
/// the same few processors. See docs/performance.md, "The server's figures".
struct ResultPace {
  private let load: ServerLoad
  private var pieces = 0
  private var begin = ContinuousClock.now
  private var endedCalls: Int

  /// Results with fewer pieces are not held up.
  private static let freePieces = 3
  /// A piece that took longer did not take it from others: it waited for its client.
  private static let longestRest = Duration.milliseconds(10)

  init(load: ServerLoad) {
    self.load = load
    endedCalls = load.endedCalls
  }

  /// Called after each piece.
  ///
  /// - Throws: `CancellationError` when the call is over.
  mutating func rest() async throws {
    pieces += 1
    let ended = load.endedCalls
    if pieces > Self.freePieces, ended != endedCalls {
      try await Task.sleep(for: min(ContinuousClock.now - begin, Self.longestRest))
    }
    endedCalls = load.endedCalls
    begin = .now
  }
}
