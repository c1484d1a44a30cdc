import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

@Suite("Calls that wait until the file can be written")
struct HeldCallsTests {
  private func write(_ number: Int, resubmits: BatchID? = nil) -> LocalWrite {
    var write = LocalWrite(
      id: WriteID(rawValue: number), mutations: [.delete(key("rooms/\(number)"))], localWriteTime: .epoch,
      identity: identity(number), resubmits: resubmits)
    write.seen = [:]
    return write
  }

  private func identity(_ number: Int) -> BatchIdentity {
    BatchIdentity(high: 0, low: UInt64(number))
  }

  private func held(_ numbers: ClosedRange<Int>, of owner: String? = nil, damagedCount: Int = 0) -> HeldCalls {
    var held = HeldCalls()
    held.hold(numbers.map { write($0) }, of: owner, damagedCount: damagedCount, seen: Self.seen)
    return held
  }

  /// Nothing is under rules for conflicts.
  private static func seen(_ write: LocalWrite, by author: String?) -> LocalStore.SeenWrite {
    LocalStore.SeenWrite(mutations: write.mutations, documents: [:])
  }

  private func ids(_ writes: [HeldWrite]) -> [Int] { writes.map(\.write.id.rawValue) }

  @Test("writes are stored in order, those of one user together")
  func groups() {
    var held = held(1...2, of: "a")
    held.hold([write(3)], of: "b", seen: Self.seen)
    #expect(ids(held.nextGroup) == [1, 2])
    held.groupStored()
    #expect(ids(held.nextGroup) == [3])
    held.groupStored()
    #expect(held.nextGroup.isEmpty && held.isEmpty)
  }

  @Test("users whose names differ only in their bytes are two")
  func equivalentNames() {
    var held = held(1...1, of: "caf\u{E9}")
    held.hold([write(2)], of: "cafe\u{301}", seen: Self.seen)
    #expect(ids(held.nextGroup) == [1])
  }

  @Test("many writes are stored with several commits")
  func manyWrites() {
    var held = held(1...300)
    #expect(held.nextGroup.count == 256)
    held.groupStored()
    #expect(ids(held.nextGroup) == Array(257...300))
  }

  @Test("while the file is busy all wait")
  func busy() {
    var held = held(1...2)
    #expect(held.groupFailed(.fileIsBusy) == .wait)
    #expect(ids(held.nextGroup) == [1, 2] && held.writes.allSatisfy { $0.damagedFileCount == 0 })
  }

  @Test("a write that cannot be stored is given up alone; those around it are stored one by one")
  func badWrite() {
    var held = held(1...3)
    #expect(held.groupFailed(.write) == .goOn)
    #expect(ids(held.nextGroup) == [1])
    held.groupStored()
    #expect(held.groupFailed(.write) == .giveUp(write(2)))
    held.hold([write(4)], of: nil, seen: Self.seen)
    #expect(ids(held.nextGroup) == [3])
    held.groupStored()
    #expect(ids(held.nextGroup) == [4])
    held.groupStored()
    held.assertInvariants()
  }

  @Test("a write that the cache refuses for another reason than a busy or damaged file is not kept")
  func sortedFailures() throws {
    let cache = try PartCache()
    var held = held(1...1)
    let failure = StoreError(kind: .full, message: "made to fail")
    cache.fail(with: failure)
    #expect(throws: failure) { try held.store([write(1)], of: nil, keepsFormer: false, in: cache.store) }
    #expect(held.groupFailed(failure, now: .zero, in: cache.store) == .giveUp(write(1)) && held.isEmpty)
    let refusal = HeldCalls.failed(write(1), failure)
    guard refusal.count == 2, case .writeNotSaved(WriteID(rawValue: 1), _) = refusal[1] else {
      throw TestFailure("the caller is not told: \(refusal)")
    }
  }

  @Test("a failure that ends the attempt lets the next one begin with a group again")
  func interruptedSingles() {
    var held = held(1...3)
    #expect(held.groupFailed(.write) == .goOn)
    #expect(held.groupFailed(.fileIsBusy) == .wait)
    #expect(ids(held.nextGroup) == [1, 2, 3])
    held.assertInvariants()
  }

  @Test("a write that has met damage is tried alone, and given up after ten files")
  func damage() {
    var held = held(1...2)
    #expect(held.groupFailed(.fileIsReplaced) == .wait)
    for _ in 2...HeldWrite.damagedFileLimit {
      #expect(ids(held.nextGroup) == [1])
      #expect(held.groupFailed(.fileIsReplaced) == .wait)
    }
    #expect(held.groupFailed(.fileIsReplaced) == .giveUp(write(1)))
    #expect(ids(held.writes) == [2])
  }

  @Test("writes that have met damage are looked up in the next file, and wait no more if it has them")
  func lookUp() {
    var former = held(1...3, damagedCount: 3)
    former.hold([write(4)], of: nil, seen: Self.seen)
    #expect(former.identitiesToLookUp.isEmpty)
    var held = HeldCalls(takingOver: former.writes)
    #expect(held.identitiesToLookUp == [identity(1), identity(2), identity(3)])
    let found = held.lookedUp([identity(1): .pending(7), identity(2): .ended(.committed(version(1), []))])
    #expect(ids(found) == [1, 2])
    #expect(ids(held.writes) == [3, 4] && held.identitiesToLookUp.isEmpty)
    // Another client may send the third before this one finds it.
    #expect(held.writes.map(\.write.keepsOutcome) == [true, false])
  }

  @Test("writes that cannot be looked up in file after file are given up")
  func failedLookUp() {
    var held = HeldCalls(takingOver: held(1...2, damagedCount: 1).writes)
    for _ in 1..<HeldWrite.damagedFileLimit { #expect(held.lookUpFailed() == []) }
    #expect(held.lookUpFailed() == [WriteID(rawValue: 1)])
    #expect(ids(held.writes) == [2])
  }

  @Test("a write that repeats a refused batch gets the identity of that, or waits no more if it is gone")
  func identify() {
    var held = HeldCalls()
    held.hold([write(1, resubmits: 5), write(2, resubmits: 6), write(3)], of: "a", seen: Self.seen)
    let lost = held.identify { batchID, owner in
      #expect(owner == "a")
      return batchID == 5 ? .some(identity(9)) : nil
    }
    #expect(lost == [WriteID(rawValue: 2)])
    #expect(held.writes.map(\.write.resubmitsIdentity) == [identity(9), nil])
  }

  @Test("listeners begin in the order in which they came, but for those that were removed")
  func listeners() {
    var held = HeldCalls()
    for id in 1...3 {
      held.hold(HeldListen(id: ListenerID(rawValue: id), query: rooms, options: ListenOptions()))
    }
    held.remove(ListenerID(rawValue: 2))
    #expect(held.holds(ListenerID(rawValue: 1)) && !held.holds(ListenerID(rawValue: 2)))
    #expect(held.takeListens().map(\.id.rawValue) == [1, 3])
    #expect(held.isEmpty)
  }

  @Test("after an unsuccessful wait reads rest for as long as it may have taken")
  func reads() {
    var held = HeldCalls()
    #expect(held.readsMayWait(now: .zero))
    held.noteVainWait(now: .seconds(10), busyTimeout: .seconds(2))
    #expect(!held.readsMayWait(now: .seconds(13)) && held.readsMayWait(now: .seconds(14)))
  }
}
