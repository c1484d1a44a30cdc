import HearthCache
import Testing

@testable import HearthSync

@Suite("Times of garbage collection")
struct GarbageCollectionScheduleTests {
  private let configuration = SyncConfiguration(
    firstGarbageCollectionAfter: .seconds(60), garbageCollectionInterval: .seconds(300),
    clientRefreshInterval: .seconds(1), jitter: { 0 })

  private func schedule() -> GarbageCollectionSchedule {
    GarbageCollectionSchedule(GarbageCollectionParameters(thresholdBytes: 0), configuration: configuration)
  }

  private func timer(after delay: Duration) -> SyncAction { .startTimer(.lruGarbageCollection, after: delay) }

  @Test("a run goes step by step without a pause, and the next one comes after the interval")
  func steps() throws {
    var schedule = schedule()
    #expect(schedule.start() == [timer(after: .seconds(60))])
    for _ in 0..<3 {
      #expect(try schedule.timerFired { _ in false } == [timer(after: .zero)])
      schedule.assertInvariants(isPrimary: true)
    }
    #expect(try schedule.timerFired { _ in true } == [timer(after: .seconds(300))])
    schedule.assertInvariants(isPrimary: false)
  }

  @Test("what others show is waited for, and the run stays as it is")
  func postponed() throws {
    var schedule = schedule()
    var runs = 0
    _ = try schedule.timerFired { _ in
      runs += 1
      return false
    }
    #expect(schedule.postpone() == [timer(after: .seconds(1))])
    #expect(try schedule.timerFired { _ in true } == [timer(after: .seconds(300))])
    #expect(runs == 1)
  }

  @Test("a step that fails ends the run; its successor comes after the interval")
  func failure() throws {
    var schedule = schedule()
    let failure = StoreFailure()
    #expect(throws: StoreFailure.self) { try schedule.timerFired { _ in throw failure } }
    let actions = schedule.stepFailed(failure)
    #expect(actions.last == timer(after: .seconds(300)) && actions.count == 2)
    schedule.assertInvariants(isPrimary: false)
  }

  @Test("stopping ends the run and its timer")
  func stop() throws {
    var schedule = schedule()
    _ = try schedule.timerFired { _ in false }
    #expect(schedule.stop() == [.cancelTimer(.lruGarbageCollection)])
    schedule.assertInvariants(isPrimary: false)
  }

  @Test("a cache that is not collected at intervals has no timer")
  func off() throws {
    var schedule = GarbageCollectionSchedule(nil, configuration: configuration)
    #expect(!schedule.isOn && schedule.start().isEmpty && schedule.postpone().isEmpty && schedule.stop().isEmpty)
    #expect(
      try schedule.timerFired { _ in
        Issue.record("A step is done.")
        return false
      } == [])
  }

  private struct StoreFailure: Error {}
}
