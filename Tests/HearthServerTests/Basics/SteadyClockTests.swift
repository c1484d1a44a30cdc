import Logging
import Synchronization
import Testing

@testable import HearthServer

@Suite("The clock of commit times")
struct SteadyClockTests {
  private static let second: Int64 = 1_000_000

  @Test("a jump ahead counts when it has lasted a minute, and until then time goes on as it did")
  func lastingJump() {
    var clock = SteadyClock(wall: 1_000 * Self.second, elapsed: 0)
    func time(_ wall: Int64, _ elapsed: Int64) -> (Int64, SteadyClock.Event?) {
      let (time, event) = clock.time(wall: wall * Self.second, elapsed: elapsed * Self.second)
      return (time / Self.second, event)
    }
    #expect(time(1_001, 1) == (1_001, nil))
    // An hour ahead.
    #expect(time(4_602, 2) == (1_002, .jumped(3_600 * Self.second)))
    #expect(time(4_603, 3) == (1_003, nil))
    #expect(time(4_661, 61) == (1_061, nil))
    #expect(time(4_662, 62) == (4_662, .followed(3_600 * Self.second)))
    #expect(time(4_663, 63) == (4_663, nil))
  }

  @Test("a jump that is taken back leaves no mark")
  func passingJump() {
    var clock = SteadyClock(wall: 1_000 * Self.second, elapsed: 0)
    #expect(clock.time(wall: 90_000 * Self.second, elapsed: Self.second).time == 1_001 * Self.second)
    #expect(clock.time(wall: 1_030 * Self.second, elapsed: 30 * Self.second) == (1_030 * Self.second, nil))
    // A second jump restarts its minute.
    #expect(clock.time(wall: 90_000 * Self.second, elapsed: 31 * Self.second).time == 1_031 * Self.second)
    #expect(clock.time(wall: 80_000 * Self.second, elapsed: 90 * Self.second).time == 1_090 * Self.second)
    #expect(clock.time(wall: 80_002 * Self.second, elapsed: 92 * Self.second).time == 1_092 * Self.second)
  }

  @Test("a clock that is adjusted, a long pause and a jump back count at once")
  func immediate() {
    var clock = SteadyClock(wall: 1_000 * Self.second, elapsed: 0)
    #expect(clock.time(wall: 1_009 * Self.second, elapsed: Self.second) == (1_009 * Self.second, nil))
    let night: Int64 = 28_800 * Self.second
    #expect(clock.time(wall: 1_009 * Self.second + night, elapsed: Self.second + night).event == nil)
    let back = clock.time(wall: 500 * Self.second, elapsed: 2 * Self.second + night)
    #expect(back.time == 500 * Self.second)
    #expect(back.event == .jumped(-510 * Self.second - night))
  }
}
