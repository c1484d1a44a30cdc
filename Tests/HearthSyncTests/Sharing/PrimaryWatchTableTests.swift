import HearthModel
import Testing

@testable import HearthSync

/// The rows of the table of ``PrimaryWatch``.
@Suite("Signs of life: states and events")
struct PrimaryWatchTableTests {
  private let timer = CacheMembership.Action.emit(.startTimer(.onlineStateTimeout, after: .seconds(10)))
  private let noTimer = CacheMembership.Action.emit(.cancelTimer(.onlineStateTimeout))

  private func idle() -> PrimaryWatch { PrimaryWatch(timeout: .seconds(10)) }

  private func waiting() -> PrimaryWatch {
    var watch = idle()
    #expect(watch.endEvent(isAwaited: true) == [timer])
    return watch
  }

  private func asked() -> PrimaryWatch {
    var watch = waiting()
    #expect(watch.timerFired() == [.ask] && watch.asked(succeeded: true) == [timer])
    return watch
  }

  private func silent() -> PrimaryWatch {
    var watch = asked()
    let actions = watch.timerFired()
    #expect(actions.count == 2 && actions.last == .countAsOffline && watch.isSilent && !watch.timerRuns)
    return watch
  }

  @Test("the timer runs only while a view waits")
  func waitingEnds() {
    var watch = waiting()
    #expect(watch.endEvent(isAwaited: true) == [])
    #expect(watch.endEvent(isAwaited: false) == [noTimer])
    #expect(watch.endEvent(isAwaited: false) == [])
    #expect(watch.timerFired() == [])
  }

  @Test("the primary client is asked after one time, and counts as silent after a second one")
  func silence() {
    var watch = silent()
    #expect(watch.endEvent(isAwaited: true) == [] && watch.endEvent(isAwaited: false) == [] && watch.isSilent)
    #expect(watch.timerFired() == [] && watch.readWaits() == [])
    #expect(watch.primaryHasWritten(at: .zero, readWaits: false) == [.showSharedState] && !watch.isSilent)
    #expect(watch.endEvent(isAwaited: true) == [timer])
  }

  @Test("something that it has written is enough until the timer fires, asked or not", arguments: [false, true])
  func heard(isAsked: Bool) {
    var watch = isAsked ? asked() : waiting()
    for _ in 0..<2 { #expect(watch.primaryHasWritten(at: .zero, readWaits: false) == []) }
    #expect(watch.readWaits() == [])
    #expect(watch.timerFired() == [] && !watch.timerRuns)
    #expect(watch.endEvent(isAwaited: true) == [timer])
  }

  @Test("a read asks at once, unless that was done or is not needed")
  func read() {
    var watch = idle()
    #expect(watch.readWaits() == [.ask] && watch.asked(succeeded: true) == [timer])
    #expect(watch.readWaits() == [])
    watch = waiting()
    #expect(watch.readWaits() == [.ask])
  }

  @Test("a notice that may be old is no sign of life for a read, so the primary client is asked")
  func oldNotice() {
    for var watch in [idle(), waiting(), asked()] {
      #expect(watch.primaryHasWritten(at: .seconds(10), readWaits: true) == [.ask])
      #expect(watch.asked(succeeded: true) == [timer] && watch.expectsSign)
    }
    var watch = silent()
    #expect(watch.primaryHasWritten(at: .seconds(10), readWaits: true) == [.showSharedState, .ask])
  }

  @Test("a read for which everything was read again asks again, unless the primary client counts as silent")
  func synchronized() {
    for var watch in [idle(), waiting(), asked()] {
      #expect(watch.viewsWereSynchronized(readWaits: false) == [])
      #expect(watch.viewsWereSynchronized(readWaits: true) == [.ask])
      #expect(watch.asked(succeeded: true) == [timer])
      #expect(watch.primaryHasWritten(at: .zero, readWaits: true) == [])
      #expect(watch.viewsWereSynchronized(readWaits: true) == [.ask])
    }
    #expect(silent().viewsWereSynchronized(readWaits: true) == [])
  }

  @Test("a silent primary client is watched anew after a loss of notices")
  func lostNotices() {
    var watch = silent()
    watch.noticesWereLost()
    #expect(!watch.isSilent && watch.endEvent(isAwaited: true) == [timer])
    for var watch in [waiting(), asked()] {
      watch.noticesWereLost()
      #expect(watch.timerRuns && watch.timerFired() != [])
    }
  }

  @Test("where asking fails the timer starts at the end of an event that still waits")
  func askingFails() {
    var watch = waiting()
    #expect(watch.timerFired() == [.ask] && watch.asked(succeeded: false) == [])
    #expect(watch.timerFired() == [])
    #expect(watch.endEvent(isAwaited: true) == [timer])
  }

  @Test("the watch of the primary client ends")
  func takeover() {
    for var watch in [waiting(), asked()] {
      #expect(watch.end() == [noTimer])
      watch.assertInvariants(isPrimary: true)
    }
    for var watch in [idle(), silent()] {
      #expect(watch.end() == [])
      watch.assertInvariants(isPrimary: true)
    }
  }

  @Test("a read relies on what was published if that was heard within the time")
  func age() {
    var watch = idle()
    #expect(watch.mustBeHeard(at: .zero))
    #expect(watch.wasHeard(at: .seconds(5)) == true)
    #expect(!watch.mustBeHeard(at: .seconds(14)) && watch.mustBeHeard(at: .seconds(15)))
    // News that this client finds after it was stopped may be old.
    #expect(!watch.wasHeard(at: .seconds(10)) && watch.mustBeHeard(at: .seconds(15)))
    watch.newsWasRead(at: .seconds(10))
    #expect(watch.wasHeard(at: .seconds(16)) && !watch.mustBeHeard(at: .seconds(25)))
  }
}
