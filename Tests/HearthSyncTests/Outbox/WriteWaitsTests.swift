import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

@Suite("Calls that wait for answers to writes")
struct WriteWaitsTests {
  private let error = StatusError(code: .aborted, message: "no")

  private func write(_ number: Int) -> WriteID { WriteID(rawValue: number) }

  private func request(_ number: Int) -> RequestID { RequestID(rawValue: number) }

  @Test("all calls that wait for a batch hear of its outcome, once")
  func outcomes() {
    var waits = WriteWaits()
    _ = waits.add(write(1), for: 7, nil)
    _ = waits.add(write(2), for: 7, nil)
    _ = waits.add(write(3), for: 8, nil)
    #expect(waits.complete(7, nil, error) == [.completeWrite(write(1), error), .completeWrite(write(2), error)])
    #expect(waits.complete(7, nil, nil) == [])
    #expect(waits.complete(8, nil, nil) == [.completeWrite(write(3), nil)])
  }

  @Test("a call that waits for a batch of a replaced file does not hear of another batch with its number")
  func numberGivenAgain() {
    var waits = WriteWaits()
    #expect(waits.add(write(1), for: 7, BatchIdentity(high: 0, low: 1)) == [])
    #expect(
      waits.add(write(2), for: 7, BatchIdentity(high: 0, low: 2)) == [.completeWrite(write(1), .outcomeUnknown)])
    #expect(waits.add(write(3), for: 7, BatchIdentity(high: 0, low: 2)) == [])
    #expect(waits.complete(7, BatchIdentity(high: 0, low: 1), nil) == [])
    #expect(!waits.mayAwait(7, BatchIdentity(high: 0, low: 1)) && waits.mayAwait(7, nil) && !waits.mayAwait(8, nil))
    #expect(waits.complete(7, nil, nil) == [.completeWrite(write(2), nil), .completeWrite(write(3), nil)])
  }

  @Test("a wait ends with the answer to its last batch, which comes after those before it")
  func requests() {
    var waits = WriteWaits()
    waits.add(request(1), upTo: 5)
    waits.add(request(2), upTo: 9)
    #expect(waits.batchAnswered(4) == [])
    #expect(waits.batchAnswered(6) == [.answer(request(1), .done)])
    #expect(waits.batchAnswered(9) == [.answer(request(2), .done)])
    #expect(waits.batchAnswered(9) == [])
  }

  @Test("a wait is lowered to the last batch that is left, and ends if there is none")
  func lowering() throws {
    var waits = WriteWaits()
    waits.add(request(1), upTo: 5)
    waits.add(request(2), upTo: 9)
    let ended = try waits.lower { $0 == 5 ? nil : 8 }
    #expect(ended == [.answer(request(1), .done)])
    #expect(waits.batchAnswered(8) == [.answer(request(2), .done)])
  }

  @Test("a write that is taken back ends its calls, and leaves room for later ones; it is taken back once")
  func withdrawing() throws {
    let cache = try PartCache()
    try cache.write(1...2)
    var waits = WriteWaits()
    _ = waits.add(write(1), for: 1, nil)
    func withdraw() -> [String] {
      let actions = waits.withdraw(
        request(1), 1, nil, evenIfSent: false, of: nil, conflicting: nil, at: .epoch, in: cache.store)
      return actions.map { action in
        switch action {
        case .leave(let batchID): "leave \(batchID)"
        case .emit(.completeWrite(_, let error)): "complete \(error.map { "\($0.code)" } ?? "OK")"
        case .emit(.answer): "answer"
        case .emit(.requestFailed(_, let error)): "failed \(error.code)"
        case .show(_, let isReversal): isReversal ? "show without the write" : "show"
        case .sendOn: "send on"
        case .outboxChanges: "change"
        case .emit, .backendConfirms, .synchronize: "\(action)"
        }
      }
    }
    #expect(
      withdraw() == ["leave 1", "change", "complete CANCELLED", "answer", "show without the write", "send on"])
    #expect(withdraw() == ["failed NOT_FOUND"])
  }

  @Test("calls that wait for writes in memory are taken when those are stored")
  func heldRequests() {
    var waits = WriteWaits()
    waits.hold(request(1))
    waits.hold(request(2))
    #expect(waits.batchAnswered(100) == [])
    #expect(waits.takeHeldRequests() == [request(1), request(2)])
    #expect(waits.takeHeldRequests() == [])
  }

  @Test("another user ends the waits of the former one, but no write")
  func users() {
    var waits = WriteWaits()
    _ = waits.add(write(1), for: 7, nil)
    waits.add(request(1), upTo: 7)
    waits.hold(request(2))
    #expect(
      waits.userChanges() == [.requestFailed(request(1), .userChanged), .requestFailed(request(2), .userChanged)])
    #expect(waits.userChanges() == [] && waits.takeHeldRequests() == [])
    #expect(waits.complete(7, nil, nil) == [.completeWrite(write(1), nil)])
  }

  @Test("a call waits for the last write of the user, for writes in memory before, or for nothing")
  func pendingWrites() throws {
    let cache = try PartCache()
    var waits = WriteWaits()
    func wait(_ number: Int, areHeld: Bool = false, canWrite: Bool = true) -> [SyncAction] {
      waits.wait(request(number), of: nil, in: cache.store.outbox, areHeld: areHeld, canWrite)
    }
    #expect(wait(1) == [.answer(request(1), .done)])
    #expect(wait(2, areHeld: true) == [] && waits.takeHeldRequests() == [request(2)])
    try cache.write(1...2)
    #expect(wait(3) == [] && wait(4, canWrite: false).count == 1)
    #expect(waits.batchAnswered(1) == [])
    #expect(waits.batchAnswered(2) == [.answer(request(3), .done), .answer(request(4), .done)])
    cache.fail(with: StoreError(kind: .io, message: "made to fail"))
    let refusal = wait(5)
    guard case .requestFailed(let id, _)? = refusal.first else { throw TestFailure("the call waits: \(refusal)") }
    #expect(id == request(5) && refusal.count == 1)
  }

  @Test("an answer of the active user's ends waits, one of a former user's only completes its write")
  func answers() {
    for isActiveUsers in [false, true] {
      var waits = WriteWaits()
      _ = waits.add(write(1), for: 7, nil)
      waits.add(request(1), upTo: 7)
      let emitted = waits.answered(7, nil, isActiveUsers: isActiveUsers, nil).compactMap { action -> SyncAction? in
        if case .emit(let action) = action { action } else { nil }
      }
      #expect(emitted == [.completeWrite(write(1), nil)] + (isActiveUsers ? [.answer(request(1), .done)] : []))
    }
  }
}
