import HearthModel
import Testing

@testable import HearthSync

@Suite("Online state")
struct OnlineStateMachineTests {
  private func machine() -> OnlineStateMachine {
    OnlineStateMachine(timeout: .seconds(10))
  }

  @Test("opening the stream starts the timer, an answer ends it and means online")
  func answer() {
    var machine = machine()
    #expect(machine.streamStarted() == [.startTimer])
    #expect(machine.set(.online) == [.cancelTimer, .changed(.online)])
    #expect(machine.set(.online) == [])
    #expect(machine.timerFired() == [])
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
    #expect(machine.set(.online) == [.changed(.online)])
  }

  @Test("ten seconds without an answer mean offline")
  func timeout() {
    var machine = machine()
    _ = machine.streamStarted()
    let actions = machine.timerFired()
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
    _ = machine.set(.online)
    #expect(machine.streamFailed(error(.unavailable)) == [.changed(.unknown)])
    #expect(machine.streamStarted() == [.startTimer])
    // The backend had been reached, so there is nothing to warn of.
    #expect(machine.streamFailed(error(.unavailable)) == [.cancelTimer, .changed(.offline)])
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
