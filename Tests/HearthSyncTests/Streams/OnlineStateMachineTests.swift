import HearthModel
import Testing

@testable import HearthSync

@Suite("Online state")
struct OnlineStateMachineTests {
  private func machine() -> OnlineStateMachine {
    OnlineStateMachine(timeout: .seconds(10))
  }

  @Test("opening the stream starts the timer, an answer means online, and the timer goes on until no result is missing")
  func answer() {
    var machine = machine()
    #expect(machine.streamStarted() == [.startTimer])
    #expect(machine.messageReceived() == [.changed(.online)])
    #expect(machine.messageReceived() == [])
    #expect(machine.timerFired(isWaiting: true) == [.startTimer])
    #expect(machine.messageReceived() == [])
    #expect(machine.timerFired(isWaiting: false) == [])
    #expect(machine.timerFired(isWaiting: true) == [] && machine.state == .online)
  }

  @Test("a stream on which nothing comes but its first message means offline")
  func firstMessageOnly() {
    var machine = machine()
    _ = machine.streamStarted()
    _ = machine.messageReceived()
    #expect(machine.timerFired(isWaiting: true) == [.startTimer])
    #expect(machine.timerFired(isWaiting: true) == [.changed(.offline)])
    // The same after a failure.
    #expect(machine.messageReceived() == [.startTimer, .changed(.online)])
    #expect(machine.timerFired(isWaiting: true) == [.startTimer])
    #expect(machine.timerFired(isWaiting: true) == [.changed(.offline)])
  }

  @Test("messages of a backend that is behind the cache do not count, if some target waits")
  func behind() {
    var machine = machine()
    _ = machine.streamStarted()
    _ = machine.messageReceived()
    #expect(machine.timerFired(isWaiting: true, isBehind: true) == [.changed(.offline)])
    _ = machine.messageReceived()
    #expect(machine.timerFired(isWaiting: false, isBehind: true) == [] && machine.state == .online)
  }

  @Test("a snapshot that leaves a target without its result starts the timer, unless it runs")
  func missingResults() {
    var machine = machine()
    #expect(machine.resultsMissing() == [])
    _ = machine.messageReceived()
    #expect(machine.resultsMissing() == [.startTimer])
    #expect(machine.resultsMissing() == [])
    #expect(machine.timerFired(isWaiting: true) == [.startTimer])
    #expect(machine.timerFired(isWaiting: true) == [.changed(.offline)])
  }

  @Test("the first failure means offline, with one warning until the backend is reached")
  func firstFailure() {
    var machine = machine()
    _ = machine.streamStarted()
    let actions = machine.streamFailed(error(.unavailable))
    #expect(machine.state == .offline)
    #expect(actions.first == .cancelTimer)
    #expect(actions.last == .changed(.offline))
    guard actions.count == 3, case .warn(let message) = actions[1] else {
      Issue.record("no warning in \(actions)")
      return
    }
    #expect(message.hasPrefix("Could not reach Cloud Firestore backend."))
    #expect(message.contains("UNAVAILABLE"))
    // Further attempts change nothing and start no timer.
    #expect(machine.streamStarted() == [])
    #expect(machine.streamFailed(error(.unavailable)) == [])
    #expect(machine.messageReceived() == [.startTimer, .changed(.online)])
  }

  @Test("ten seconds without an answer mean offline")
  func timeout() {
    var machine = machine()
    _ = machine.streamStarted()
    let actions = machine.timerFired(isWaiting: false)
    #expect(machine.state == .offline)
    #expect(actions.contains(.changed(.offline)))
    guard case .warn(let message)? = actions.first(where: { if case .warn = $0 { true } else { false } }) else {
      Issue.record("no warning in \(actions)")
      return
    }
    #expect(message.contains("didn't respond within 10 seconds"))
  }

  @Test("a failure while online is a new attempt first: unknown, then offline if that fails as well")
  func failureWhileOnline() {
    var machine = machine()
    _ = machine.messageReceived()
    #expect(machine.streamFailed(error(.unavailable)) == [.changed(.unknown)])
    #expect(machine.streamStarted() == [.startTimer])
    // The backend had been reached, so there is nothing to warn of.
    #expect(machine.streamFailed(error(.unavailable)) == [.cancelTimer, .changed(.offline)])
  }

  @Test("a request on a stream that works must be answered in time too")
  func requestWhileOnline() {
    var machine = machine()
    _ = machine.messageReceived()
    #expect(machine.requestSent() == [.startTimer])
    #expect(machine.state == .online)
    #expect(machine.timerFired(isWaiting: true) == [.changed(.offline)])
    #expect(machine.messageReceived() == [.startTimer, .changed(.online)])
  }

  @Test("as long as messages come and a target waits the timer starts again; without such a target it ends")
  func slowAnswers() {
    var machine = machine()
    _ = machine.messageReceived()
    _ = machine.requestSent()
    #expect(machine.messageReceived() == [])
    #expect(machine.timerFired(isWaiting: true) == [.startTimer])
    // Another request has ten seconds of its own.
    #expect(machine.requestSent() == [.cancelTimer, .startTimer])
    #expect(machine.messageReceived() == [])
    #expect(machine.timerFired(isWaiting: false) == [])
    #expect(machine.timerFired(isWaiting: true) == [] && machine.state == .online)
  }

  @Test("an attempt for which nobody waits is not timed; a failure before it stays known")
  func nobodyWaits() {
    var machine = machine()
    _ = machine.streamStarted()
    #expect(machine.lastTargetRemoved() == [.cancelTimer])
    #expect(machine.requestSent() == [.startTimer])
    _ = machine.streamFailed(nil)
    #expect(machine.lastTargetRemoved() == [] && machine.requestSent() == [])
    #expect(machine.state == .offline)
  }

  @Test("a state set from outside forgets failures")
  func setFromOutside() {
    var machine = machine()
    _ = machine.streamFailed(nil)
    #expect(machine.state == .offline)
    #expect(machine.set(.unknown) == [.changed(.unknown)])
    #expect(machine.streamStarted() == [.startTimer])
    #expect(machine.set(.offline) == [.cancelTimer, .changed(.offline)])
    // Opening a stream is a new chance: unknown until it is known better.
    #expect(machine.streamStarted() == [.startTimer, .changed(.unknown)])
  }
}
