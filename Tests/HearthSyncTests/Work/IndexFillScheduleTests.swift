import Testing

@testable import HearthSync

@Suite("Times of index filling")
struct IndexFillScheduleTests {
  private let configuration = SyncConfiguration(
    firstIndexFillAfter: .seconds(2), indexFillRetry: .seconds(60), jitter: { 0 })

  private func timer(after delay: Duration) -> SyncAction { .startTimer(.indexBackfill, after: delay) }

  @Test("what a former run of the program has left waits until the start is over; then step follows step")
  func steps() {
    var schedule = IndexFillSchedule(configuration: configuration, isPrimary: true)
    #expect(schedule.stepsInProgress == nil)
    #expect(schedule.start(hasWork: true) == [timer(after: .seconds(2))])
    #expect(schedule.stepsInProgress == 0)
    #expect(schedule.timerFired { true } == [timer(after: .zero)])
    #expect(schedule.stepsInProgress == 1)
    #expect(schedule.timerFired { false } == [])
    #expect(schedule.stepsInProgress == nil)
    #expect(schedule.indexesChanged() == [timer(after: .zero)])
    #expect(schedule.stepsInProgress == 2)
  }

  @Test("without anything to do no timer runs")
  func nothingToDo() {
    var schedule = IndexFillSchedule(configuration: configuration, isPrimary: true)
    #expect(schedule.start(hasWork: false) == [] && schedule.stop() == [])
  }

  @Test("a step that fails is repeated later")
  func failure() {
    struct StoreFailure: Error {}
    var schedule = IndexFillSchedule(configuration: configuration, isPrimary: true)
    _ = schedule.indexesChanged()
    let actions = schedule.timerFired { throw StoreFailure() }
    #expect(actions.last == timer(after: .seconds(60)) && actions.count == 2)
    #expect(schedule.stepsInProgress == 1)
  }

  @Test("a client without the streams starts no timer, and begins when it has them")
  func secondary() {
    var schedule = IndexFillSchedule(configuration: configuration, isPrimary: false)
    schedule.assertInvariants(isPrimary: false)
    #expect(schedule.indexesChanged() == [])
    // The timer may have fired before it was stopped.
    #expect(schedule.timerFired { true } == [])
    #expect(schedule.start(hasWork: true) == [timer(after: .seconds(2))])
    #expect(schedule.stop() == [.cancelTimer(.indexBackfill)])
    schedule.assertInvariants(isPrimary: false)
    #expect(schedule.indexesChanged() == [])
  }
}
