import Testing

@testable import HearthSync

@Suite("Back-off")
struct ExponentialBackoffTests {
  private func backoff() -> ExponentialBackoff {
    ExponentialBackoff(parameters: .init(), now: .zero)
  }

  @Test("pauses grow from nothing over one second by half up to a minute")
  func growth() {
    var backoff = backoff()
    var delays: [Double] = []
    for _ in 0..<14 {
      // Each pause is waited for in full, so none is deducted.
      backoff.attemptBegins(now: .zero)
      let delay = backoff.nextDelay(now: .zero, jitter: 0)
      delays.append(Double(delay.components.seconds) + Double(delay.components.attoseconds) / 1e18)
    }
    #expect(delays[0] == 0)
    #expect(abs(delays[1] - 1) < 1e-9)
    #expect(abs(delays[2] - 1.5) < 1e-9)
    #expect(abs(delays[3] - 2.25) < 1e-9)
    #expect(delays.last == 60)
    #expect(delays == delays.sorted())
  }

  @Test("jitter moves a pause by at most half of it", arguments: [(-0.5, 0.5), (0.5, 1.5), (7, 1.5), (-7, 0.5)])
  func jitter(_ jitter: Double, _ expectedSeconds: Double) {
    var backoff = backoff()
    _ = backoff.nextDelay(now: .zero, jitter: 0)
    #expect(backoff.nextDelay(now: .zero, jitter: jitter) == .seconds(expectedSeconds))
  }

  @Test("a jitter that is not a number counts as none")
  func jitterIsNotANumber() {
    var backoff = backoff()
    _ = backoff.nextDelay(now: .zero, jitter: .nan)
    #expect(backoff.nextDelay(now: .zero, jitter: .nan) == .seconds(1))
  }

  @Test("time since the last attempt is deducted")
  func elapsed() {
    var backoff = backoff()
    backoff.resetToMaximum()
    backoff.attemptBegins(now: .seconds(100))
    #expect(backoff.nextDelay(now: .seconds(140), jitter: 0) == .seconds(20))
    #expect(backoff.nextDelay(now: .seconds(500), jitter: 0) == .zero)
  }

  @Test("after a reset the next pause is none, after a reset to the maximum the longest")
  func resets() {
    var backoff = backoff()
    for _ in 0..<5 { _ = backoff.nextDelay(now: .zero, jitter: 0) }
    backoff.reset()
    #expect(backoff.nextDelay(now: .zero, jitter: 0) == .zero)
    backoff.resetToMaximum()
    #expect(backoff.nextDelay(now: .zero, jitter: 0) == .seconds(60))
    #expect(backoff.nextDelay(now: .zero, jitter: 0) == .seconds(60))
  }
}
