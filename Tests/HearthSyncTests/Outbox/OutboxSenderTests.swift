import HearthModel
import Testing

@testable import HearthSync

@Suite("Sender of the outbox")
struct OutboxSenderTests {
  private func sender(capacity: Int = 10, policy: UndeliverableWritePolicy? = nil) -> OutboxSender {
    OutboxSender(
      configuration: SyncConfiguration(
        maxPendingWriteBatches: capacity, undeliverableWrites: policy, jitter: { 0 }),
      numbers: StreamNumbers(), cacheID: "c", user: nil)
  }

  private func batch(_ id: BatchID) -> MutationBatch {
    MutationBatch(batchID: id, localWriteTime: .epoch, mutations: [.delete(key("rooms/\(id)"))])
  }

  /// A sender whose stream 1 waits for the answer to its handshake.
  private func openingSender(capacity: Int = 10, with batches: ClosedRange<BatchID>) -> OutboxSender {
    var sender = sender(capacity: capacity)
    for id in batches { _ = sender.add(batch(id)) }
    #expect(sender.batchesAdded(canWrite: true, now: .zero) == [.openWriteStream(1)])
    #expect(sender.opened(1, now: .zero) == [.sendWrite(1, .handshake)])
    return sender
  }

  /// A sender whose stream 1 is ready. Batches up to 100 are reserved.
  private func readySender(capacity: Int = 10, with batches: ClosedRange<BatchID>) -> OutboxSender {
    var sender = openingSender(capacity: capacity, with: batches)
    sender.reserve(through: 100, inherited: 0)
    _ = sender.received(WriteResponse(streamToken: [7]), on: 1)
    return sender
  }

  private func sent(_ actions: [SyncAction]) -> [[DocumentKey]] {
    actions.compactMap { action in
      guard case .sendWrite(_, .writes(let mutations, _, _)) = action else { return nil }
      return mutations.map(\.key)
    }
  }

  private let error = StatusError(code: .unavailable, message: "gone")

  @Test("batches wait for the answer to the handshake, and go out in order then")
  func handshake() {
    var sender = openingSender(with: 1...2)
    #expect(!sender.sendsAtOnce && sender.batchWaitingForHandshake(on: 1) == 2)
    #expect(sender.batchWaitingForHandshake(on: 2) == nil && sender.batchesAtBackend.isEmpty)
    sender.reserve(through: 100, inherited: 0)
    let (actions, answered) = sender.received(WriteResponse(streamToken: [7]), on: 1)
    #expect(sent(actions) == [[key("rooms/1")], [key("rooms/2")]] && answered == nil)
    #expect(sender.batchesAtBackend == [1, 2] && sender.awaitsAnswers)
    sender.assertInvariants()
  }

  @Test("a batch that was just stored is sent as it is if everything before it is on its way and a mark covers it")
  func offers() {
    var sender = readySender(with: 1...1)
    #expect(sender.offer(batch(2), canWrite: true) == [] && sender.lastBatchID == 1)
    sender.endOfOutboxReached()
    #expect(sent(sender.offer(batch(2), canWrite: true)) == [[key("rooms/2")]])
    // News of other clients had it read before.
    #expect(sender.offer(batch(2), canWrite: true) == [] && sender.reachesEndOfOutbox)
    #expect(sender.offer(batch(101), canWrite: true) == [] && !sender.reachesEndOfOutbox)
  }

  @Test("a batch that may need preconditions, that finds no room or may not be sent is read later")
  func refusedOffers() {
    var guarded = batch(3)
    guarded.keepsBases = true
    for (offered, canWrite, capacity) in [(guarded, true, 10), (batch(3), false, 10), (batch(3), true, 2)] {
      var sender = readySender(capacity: capacity, with: 1...2)
      sender.endOfOutboxReached()
      #expect(sender.offer(offered, canWrite: canWrite) == [])
      #expect(!sender.reachesEndOfOutbox && sender.lastBatchID == 2)
    }
  }

  @Test("answers come in order, and each makes room")
  func answers() {
    var sender = readySender(capacity: 2, with: 1...2)
    #expect(!sender.hasRoom)
    let answered = sender.received(WriteResponse(streamToken: [8]), on: 1).answered
    #expect(answered?.batch.batchID == 1 && answered?.makesRoom == true)
    #expect(sender.hasRoom && sender.batchCount == 1)
  }

  @Test("a stream that is closed in good order still answers what was sent")
  func lateAnswers() {
    var sender = readySender(with: 1...2)
    _ = sender.stop()
    #expect(sender.batchCount == 0 && sender.awaitsLateAnswers && sender.batchesAtBackend == [1, 2])
    let results = [MutationResult(version: version(5), transformResults: [])]
    var answer = WriteResponse(streamToken: [8])
    answer.results = results
    let first = sender.received(answer, on: 1).answered
    #expect(first?.batch.batchID == 1 && first?.makesRoom == false)
    let second = sender.received(answer, on: 1).answered
    #expect(second?.batch.batchID == 2 && second?.makesRoom == true && !sender.awaitsLateAnswers)
    guard case .ignored = sender.closed(1, nil, now: .zero).end else {
      Issue.record("The stream owed nothing.")
      return
    }
  }

  @Test("a permanent error refuses the first batch; another one leaves all to be sent again")
  func streamEnds() {
    var sender = readySender(with: 1...2)
    guard case .ended(nil, let unanswered) = sender.closed(1, error, now: .zero).end else {
      Issue.record("The stream has ended.")
      return
    }
    #expect(unanswered.map(\.batchID) == [1, 2] && sender.batchCount == 2 && sender.lastError == error)
    var other = readySender(with: 1...2)
    let refusal = StatusError(code: .invalidArgument, message: "no")
    guard case .ended(let rejected?, []) = other.closed(1, refusal, now: .zero).end else {
      Issue.record("The first batch is refused.")
      return
    }
    #expect(rejected.batch.batchID == 1 && other.lastBatchID == 2 && other.batchCount == 1)
  }

  @Test("a batch whose answer another client has stored keeps its place in an open stream, and is not sent again")
  func answeredElsewhere() {
    var sender = readySender(with: 1...2)
    sender.answeredElsewhere(1)
    #expect(sender.batchCount == 2)
    guard case .ended(nil, let unanswered) = sender.closed(1, error, now: .zero).end else { return }
    #expect(unanswered.map(\.batchID) == [2] && sender.batchCount == 1)
    sender.answeredElsewhere(2)
    #expect(sender.batchCount == 0)
  }

  @Test("the end of sending gives back what was reserved and not sent, but not what others may have sent before")
  func marks() throws {
    var sender = readySender(with: 1...2)
    #expect(sender.isReserved(100) && !sender.isReserved(101) && !sender.needsInheritedBatch)
    #expect(sender.endMarkIfStopped() == nil)
    _ = sender.stop()
    let first = sender.endMarkIfStopped()
    let unused = try #require(first)
    #expect(unused.last == 2 && unused.reserved == 100)
    #expect(!sender.isReserved(1) && sender.needsInheritedBatch)
    sender.reserve(through: 200, inherited: 150)
    let second = sender.endMarkIfStopped()
    let inherited = try #require(second)
    #expect(inherited.last == 150 && inherited.reserved == 200)
  }

  @Test("a batch may have been committed if it was sent before and not answered, until it is compared")
  func uncertainty() {
    var sender = sender()
    // Earlier sent batches are looked for once.
    var outcomes = [sender.mayBeCommitted(3, lastSent: { 3 }), sender.mayBeCommitted(4, lastSent: { 9 })]
    sender.settle(3)
    sender.noteFailedAttempt(at: [4])
    outcomes += [sender.mayBeCommitted(3, lastSent: { 3 }), sender.mayBeCommitted(4, lastSent: { 3 })]
    sender.leave()
    outcomes += [sender.mayBeCommitted(3, lastSent: { 3 }), sender.mayBeCommitted(4, lastSent: { 3 })]
    #expect(outcomes == [true, false, false, true, true, false])
  }

  @Test("a big batch is moved out of the way after some refusals for its size in a row")
  func undeliverable() {
    var sender = sender(policy: UndeliverableWritePolicy(afterRefusals: 2, largerThanBytes: 10))
    let full = StatusError(code: .resourceExhausted, message: "too big")
    var outcomes: [Bool] = []
    let refusals = [(1, full, 9), (1, error, 10), (1, full, 10), (2, full, 10), (1, full, 10), (1, full, 10)]
    for (id, error, size) in refusals {
      outcomes.append(sender.isUndeliverable(batch(BatchID(id)), error, byteCount: { _ in size }))
    }
    #expect(outcomes == [false, false, false, false, false, true])
  }

  @Test("what sending says of the way to the backend")
  func reach() {
    var sender = sender()
    #expect(!sender.reach.isNeeded && sender.reach.isReached && !sender.reach.isOutOfReach)
    sender = openingSender(with: 1...1)
    #expect(sender.reach.isNeeded && !sender.reach.isReached && !sender.reach.isOutOfReach)
    _ = sender.closed(1, error, now: .zero)
    _ = sender.batchesAdded(canWrite: true, now: .zero)
    #expect(sender.isPausing && sender.reach.isOutOfReach && !sender.reach.isReached)
    sender = readySender(with: 1...1)
    #expect(sender.reach.isNeeded && sender.reach.isReached && !sender.reach.isOutOfReach)
    // The backend has answered the handshake, and wants nothing before the pause is over.
    _ = sender.closed(1, StatusError(code: .resourceExhausted, message: "later"), now: .zero)
    _ = sender.batchesAdded(canWrite: true, now: .zero)
    #expect(sender.isPausing && sender.reach.isReached && !sender.reach.isOutOfReach)
  }
}
