import HearthModel
import Testing

@testable import HearthSync

@Suite("Observers of the status and of the outbox")
struct StatusWatchTests {
  private func end(
    _ watch: inout StatusWatch, _ connection: SyncConnection = .inSync, isInSync: Bool = false, at seconds: Int64 = 0
  ) -> [SyncAction] {
    watch.endEvent(
      at: Timestamp(seconds: seconds, nanoseconds: 0), isInSync: isInSync,
      status: SyncStatus(connection: connection, work: []))
  }

  @Test("a change of the outbox is reported once, at the end of its event, and only to those who observe")
  func outbox() {
    var watch = StatusWatch()
    watch.outboxChanges()
    #expect(end(&watch) == [])
    watch.observeOutbox(true)
    #expect(end(&watch) == [])
    watch.outboxChanges()
    watch.outboxChanges()
    #expect(end(&watch) == [.outboxChanged])
    #expect(end(&watch) == [])
    watch.observeOutbox(false)
    watch.outboxChanges()
    #expect(end(&watch) == [])
  }

  @Test("an observer of the status begins with the present one, and hears of another one and of the outbox")
  func status() {
    var watch = StatusWatch()
    #expect(end(&watch, .connecting) == [])
    watch.observeStatus(true, SyncStatus(connection: .connecting, work: []))
    #expect(end(&watch, .connecting) == [])
    #expect(end(&watch, .inSync) == [.statusChanged])
    #expect(end(&watch, .inSync) == [])
    watch.outboxChanges()
    #expect(end(&watch, .inSync) == [.statusChanged])
    watch.observeOutbox(true)
    watch.outboxChanges()
    #expect(end(&watch, .inSync) == [.statusChanged, .outboxChanged])
    watch.observeStatus(false, SyncStatus(connection: .inSync, work: []))
    #expect(end(&watch, .connecting) == [])
  }

  @Test("the time of the last confirmation is that of an event which has left nothing to do")
  func lastInSync() {
    var watch = StatusWatch()
    _ = end(&watch, isInSync: true, at: 1)
    #expect(watch.lastInSync == nil)
    watch.backendConfirms()
    _ = end(&watch, isInSync: false, at: 2)
    _ = end(&watch, isInSync: true, at: 3)
    #expect(watch.lastInSync == nil)
    watch.backendConfirms()
    _ = end(&watch, isInSync: true, at: 4)
    #expect(watch.lastInSync == Timestamp(seconds: 4, nanoseconds: 0))
  }
}
