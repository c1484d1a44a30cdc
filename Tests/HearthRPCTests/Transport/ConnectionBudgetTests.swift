import NIOCore
import Testing

@testable import HearthRPC

@Suite("The budget of a connection")
struct ConnectionBudgetTests {
  private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

  @Test("a client without calls that pings every 10 s is welcome for a day")
  func keepAlivePings() {
    var budget = ConnectionBudget(limits: ConnectionLimits(), now: start)
    for ping in 0..<Int64(8640) {
      #expect(budget.ping(at: start + .seconds(10 * ping), canSend: true) == nil)
    }
  }

  @Test("100,000 pings in a minute alongside a call are served, and twice as many are not")
  func pingsBesideACall() {
    func excess(pings: Int64) -> ConnectionBudget.Excess? {
      var budget = ConnectionBudget(limits: ConnectionLimits(), now: start)
      budget.streamOpened()
      return (0..<pings).lazy
        .compactMap { budget.ping(at: start + .nanoseconds($0 * 60_000_000_000 / pings), canSend: true) }.first
    }
    #expect(excess(pings: 100_000) == nil)
    #expect(excess(pings: 200_000) == .pings)
  }

  @Test("pings that go with the frames of calls are free at any rate")
  func paidPings() {
    var budget = ConnectionBudget(limits: ConnectionLimits(), now: start)
    for _ in 0..<1_000_000 {
      budget.callFramePassed()
      #expect(budget.ping(at: start, canSend: true) == nil)
    }
  }

  @Test("what calls pay for pings does not last permanently")
  func paidPingsAreBounded() {
    var budget = ConnectionBudget(limits: ConnectionLimits(), now: start)
    for _ in 0..<1_000_000 { budget.callFramePassed() }
    let excess = (0..<50_000).lazy.compactMap { _ in budget.ping(at: start, canSend: true) }.first
    #expect(excess == .pings)
  }

  @Test("a call that is over counts for ten seconds")
  func activityMemory() {
    var budget = ConnectionBudget(limits: ConnectionLimits(), now: start)
    budget.streamOpened()
    budget.streamEnded(wasReset: false, at: start)
    for _ in 0..<1000 { #expect(budget.ping(at: start + .seconds(9), canSend: true) == nil) }
    let excess = (0..<1000).lazy.compactMap { _ in budget.ping(at: start + .seconds(11), canSend: true) }.first
    #expect(excess == .pings)
  }

  @Test("20,000 cancelled calls in a minute are served; a minute of 1,000 a second is not")
  func cancelledCalls() {
    func excess(calls: Int64) -> ConnectionBudget.Excess? {
      var budget = ConnectionBudget(limits: ConnectionLimits(), now: start)
      return (0..<calls).lazy.compactMap { call in
        let now = start + .nanoseconds(call * 60_000_000_000 / calls)
        budget.streamOpened()
        defer { budget.streamEnded(wasReset: true, at: now) }
        return budget.streamReset(at: now)
      }.first
    }
    #expect(excess(calls: 20_000) == nil)
    #expect(excess(calls: 60_000) == .resets)
  }

  @Test("a reset for each answered call is free at any rate")
  func resetsAfterAnswers() {
    var budget = ConnectionBudget(limits: ConnectionLimits(), now: start)
    for _ in 0..<1_000_000 {
      budget.streamOpened()
      budget.streamEnded(wasReset: false, at: start)
      #expect(budget.streamReset(at: start) == nil)
    }
  }

  @Test("answers to pings that the peer does not read are bounded, no matter who paid for them")
  func unsentAnswers() {
    var budget = ConnectionBudget(limits: ConnectionLimits(), now: start)
    let excess = (0..<1001).lazy.compactMap { _ in
      budget.callFramePassed()
      return budget.ping(at: start, canSend: false)
    }.first
    #expect(excess == .unsentPingAnswers)
  }
}
