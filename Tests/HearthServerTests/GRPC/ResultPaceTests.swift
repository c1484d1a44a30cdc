import Synchronization
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("The pace of long results")
struct ResultPaceTests {
  /// A clock that stands still but for what a test adds, and for sleeps, which it notes.
  private final class NotingClock: Clock {
    struct Instant: InstantProtocol {
      var offset: Duration = .zero
      func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
      func duration(to other: Instant) -> Duration { other.offset - offset }
      static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
    }

    private let state = Mutex((now: Instant(), sleeps: [Duration]()))
    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Duration { .nanoseconds(1) }
    var sleeps: [Duration] { state.withLock { $0.sleeps } }

    func advance(by duration: Duration) { state.withLock { $0.now = $0.now.advanced(by: duration) } }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
      state.withLock { state in
        state.sleeps.append(state.now.duration(to: deadline))
        state.now = deadline
      }
    }
  }

  /// Sends pieces that each take `duration`; `during` runs in each.
  private func sleeps(
    pieces: Int, _ duration: Duration, during: (ServerLoad, Int) -> Void
  ) async throws -> [Duration] {
    let (load, clock) = (ServerLoad(limits: ServerLimits()), NotingClock())
    var pace = ResultPace(load: load, clock: clock)
    for piece in 0..<pieces {
      during(load, piece)
      clock.advance(by: duration)
      try await pace.rest()
    }
    return clock.sleeps
  }

  private func serveCall(_ load: ServerLoad) {
    let share = ConnectionShare()
    #expect(load.callBegan(in: share) == nil)
    load.callEnded(in: share)
  }

  @Test("a stream rests after each piece for as long as the piece took, while other calls are served")
  func rests() async throws {
    let sleeps = try await sleeps(pieces: 6, .milliseconds(2)) { load, _ in serveCall(load) }
    #expect(sleeps == Array(repeating: .milliseconds(2), count: 3), "the first three pieces are free")
  }

  @Test("a stream does not rest when nobody else is served")
  func alone() async throws {
    let sleeps = try await sleeps(pieces: 10, .milliseconds(2)) { load, piece in if piece == 5 { serveCall(load) } }
    #expect(sleeps == [.milliseconds(2)], "only after the piece during which a call was served")
  }

  @Test("a stream that waits for its client rests no longer than ten milliseconds")
  func bounded() async throws {
    let sleeps = try await sleeps(pieces: 4, .seconds(30)) { load, _ in serveCall(load) }
    #expect(sleeps == [.milliseconds(10)])
  }
}
