import Testing

@testable import HearthSync

@Suite("Retry list")
struct RetryQueueTests {
  private func queue() -> RetryQueue {
    RetryQueue(configuration: SyncConfiguration { 0 })
  }

  private func append(_ operation: RetryableOperation, to queue: inout RetryQueue) -> [SyncAction] {
    queue.append(operation)
  }

  private func attempt(_ queue: inout RetryQueue, succeeds: Bool) -> [SyncAction] {
    queue.attemptEnded(succeeded: succeeds)
  }

  private func user(_ operation: RetryableOperation?) -> String? {
    guard case .changeUser(let user)? = operation else { return nil }
    return user
  }

  @Test("the first attempt is due at once; a failure waits for the timer, ever longer")
  func failure() {
    var queue = queue()
    #expect(append(.changeUser("a"), to: &queue) == [])
    #expect(queue.takeDueAttempts() == 1)
    #expect(queue.takeDueAttempts() == 0)
    #expect(attempt(&queue, succeeds: false) == [.startTimer(.asyncQueueRetry, after: .zero)])
    queue.timerFired()
    #expect(queue.takeDueAttempts() == 1)
    #expect(attempt(&queue, succeeds: false) == [.startTimer(.asyncQueueRetry, after: .seconds(1))])
    queue.timerFired()
    #expect(attempt(&queue, succeeds: true) == [])
    #expect(queue.first == nil)
  }

  @Test("operations keep their order, each with a timer of its own")
  func order() {
    var queue = queue()
    _ = append(.changeUser("a"), to: &queue)
    _ = append(.changeUser("b"), to: &queue)
    #expect(queue.takeDueAttempts() == 2)
    #expect(user(queue.first) == "a")
    #expect(attempt(&queue, succeeds: true) == [.startTimer(.asyncQueueRetry, after: .zero)])
    #expect(user(queue.first) == "b")
    #expect(attempt(&queue, succeeds: true) == [.cancelTimer(.asyncQueueRetry)])
  }

  @Test("a change of the user comes before all else, and one that fails does not keep the rest waiting")
  func lanes() {
    var queue = queue()
    _ = append(.refreshViews, to: &queue)
    _ = append(.start, to: &queue)
    _ = append(.changeUser("a"), to: &queue)
    _ = append(.changeUser("b"), to: &queue)
    #expect(user(queue.first) == "a" && queue.latestUser == "b")
    _ = attempt(&queue, succeeds: false)
    #expect(queue.holds(.refreshViews) && user(queue.first) == nil)
    _ = attempt(&queue, succeeds: false)
    _ = attempt(&queue, succeeds: true)
    #expect(user(queue.first) == "a")
    _ = attempt(&queue, succeeds: true)
    #expect(user(queue.first) == "b" && queue.latestUser == "b")
  }

  @Test("a probe that proved useless is followed by a pause, until something has been stored")
  func probes() {
    var queue = queue()
    #expect(append(.probe(.snapshotFailure), to: &queue) == [])
    #expect(queue.takeDueAttempts() == 1)
    _ = attempt(&queue, succeeds: true)
    #expect(append(.probe(.snapshotFailure), to: &queue) == [.startTimer(.asyncQueueRetry, after: .zero)])
    #expect(queue.takeDueAttempts() == 0)
    queue.timerFired()
    #expect(queue.takeDueAttempts() == 1)
    _ = attempt(&queue, succeeds: true)
    #expect(append(.probe(.snapshotFailure), to: &queue) == [.startTimer(.asyncQueueRetry, after: .seconds(1))])
    queue.timerFired()
    #expect(queue.takeDueAttempts() == 1)
    _ = attempt(&queue, succeeds: true)
    queue.storageProven()
    #expect(append(.probe(.snapshotFailure), to: &queue) == [])
    #expect(queue.takeDueAttempts() == 1)
  }

  @Test("one probe speaks for all failures with its cause")
  func oneProbe() {
    var queue = queue()
    #expect(queue.append(.probe(.outboxFailure), isDue: false) == [.startTimer(.asyncQueueRetry, after: .zero)])
    #expect(queue.append(.probe(.outboxFailure), isDue: false) == [])
    #expect(append(.probe(.snapshotFailure), to: &queue) == [])
    _ = queue.takeDueAttempts()
    queue.timerFired()
    #expect(queue.takeDueAttempts() == 1)
    _ = attempt(&queue, succeeds: true)
    #expect(!queue.holds(.outboxFailure) && queue.holds(.snapshotFailure))
  }

  @Test("an attempt that is put off waits for the timer")
  func deferred() {
    var queue = queue()
    _ = append(.changeUser(nil), to: &queue)
    #expect(queue.deferDueAttempts() == [.startTimer(.asyncQueueRetry, after: .zero)])
    #expect(queue.takeDueAttempts() == 0)
    #expect(queue.deferDueAttempts() == [])
  }

  @Test("what is left when the lease is lost in an attempt waits for the timer")
  func lostLease() {
    var queue = queue()
    for operation in [RetryableOperation.followOthers, .synchronizeViews, .storeWrites] {
      _ = append(operation, to: &queue)
    }
    #expect(queue.takeDueAttempts() == 3)
    #expect(attempt(&queue, succeeds: false) == [.startTimer(.asyncQueueRetry, after: .zero)])
    queue.timerFired()
    #expect(queue.takeDueAttempts() == 1)
    queue.leaseIsLost()
    #expect(queue.first == .synchronizeViews)
    #expect(queue.deferDueAttempts() == [.startTimer(.asyncQueueRetry, after: .seconds(1))])
    #expect(queue.deferDueAttempts() == [])
  }

  @Test("a timer that does not run has no effect; stopping ends a running one")
  func timers() {
    var queue = queue()
    queue.timerFired()
    #expect(queue.takeDueAttempts() == 0)
    #expect(queue.stop() == [])
    _ = append(.probe(.snapshotFailure), to: &queue)
    _ = attempt(&queue, succeeds: false)
    #expect(queue.stop() == [.cancelTimer(.asyncQueueRetry)])
    #expect(queue.first == nil)
  }

  @Test("the causes for which streams rest are known while they are in the list")
  func network() {
    var queue = queue()
    _ = append(.changeUser(nil), to: &queue)
    _ = append(.probe(.outboxFailure), to: &queue)
    #expect(!queue.holds(.storageFailure) && queue.holds(.outboxFailure))
    _ = append(.start, to: &queue)
    #expect(queue.holds(.storageFailure))
  }
}
