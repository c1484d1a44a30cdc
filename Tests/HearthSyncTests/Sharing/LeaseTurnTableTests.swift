import HearthCache
import Testing

@testable import HearthSync

@Suite("Turns with the lease: decisions")
struct LeaseTurnTableTests {
  private let configuration = SyncConfiguration(
    leaseTurn: .seconds(5), offlineLeaseTurn: .seconds(60), futileTurnPause: .seconds(120), jitter: { 0 })

  private func ending(
    _ turn: LeaseTurn, at seconds: Int, isOffline: Bool = false, hasOthers: Bool = true
  ) -> LocalStore.LeaseTurnState? {
    turn.mayEnd(at: .seconds(seconds), isOffline: isOffline, hasOthers: hasOthers, configuration)
  }

  @Test("a turn lasts as long as its client can use it", arguments: [false, true])
  func length(isOffline: Bool) {
    let turn = LeaseTurn(at: .seconds(100))
    let length = isOffline ? 60 : 5
    #expect(ending(turn, at: 100 + length - 1, isOffline: isOffline) == nil)
    let state = ending(turn, at: 100 + length, isOffline: isOffline)
    #expect(state?.lasted == .seconds(length) && state?.isCutOff == false && state?.shortestTurn == .seconds(5))
    #expect(ending(turn, at: 1_000, isOffline: isOffline, hasOthers: false) == nil)
  }

  @Test("a turn that is ending is looked after until it has ended, also when the others have gone")
  func isEnding() {
    var turn = LeaseTurn(at: .zero)
    turn.end()
    #expect(turn.isEnding && ending(turn, at: 1, hasOthers: false) != nil)
    #expect(turn.goOn() && !turn.isEnding && !turn.goOn())
    #expect(ending(turn, at: 1) == nil)
  }

  @Test("failures throughout a time cut a client off, one failure does not")
  func outage() {
    var turn = LeaseTurn(at: .zero)
    turn.backendIsOutOfReach(at: .seconds(10))
    #expect(ending(turn, at: 71, isOffline: true)?.isCutOff == false)
    turn.backendIsOutOfReach(at: .seconds(70))
    #expect(ending(turn, at: 71)?.isCutOff == true)
    // An attempt that failed last may succeed by now.
    #expect(ending(turn, at: 130)?.isCutOff == false)
    turn.backendIsReached()
    turn.backendIsOutOfReach(at: .seconds(131))
    #expect(ending(turn, at: 132)?.isCutOff == false)
  }

  @Test("only an outage before the first connection is one of those who had the lease before")
  func firstConnection() {
    var turn = LeaseTurn(at: .zero)
    #expect(!turn.beganOutOfReach)
    turn.backendIsOutOfReach(at: .seconds(1))
    #expect(turn.beganOutOfReach)
    turn.backendIsReached()
    turn.backendIsOutOfReach(at: .seconds(2))
    #expect(!turn.beganOutOfReach)
  }

  @Test("a stream that was opened since the last failure and has lasted ends the outage")
  func unasked() {
    var turn = LeaseTurn(at: .zero)
    #expect(!turn.outageIsOver(by: .seconds(1), lasting: .seconds(10), at: .seconds(99)))
    turn.backendIsOutOfReach(at: .seconds(20))
    #expect(!turn.outageIsOver(by: nil, lasting: .seconds(10), at: .seconds(99)))
    #expect(!turn.outageIsOver(by: .seconds(19), lasting: .seconds(10), at: .seconds(99)))
    #expect(!turn.outageIsOver(by: .seconds(20), lasting: .seconds(10), at: .seconds(29)))
    #expect(turn.outageIsOver(by: .seconds(20), lasting: .seconds(10), at: .seconds(30)))
  }
}
