import Foundation
import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

/// Calls that name a batch by its number, at the time when their cache is reopened.
@Suite("A call about a batch, in a cache that is reopened")
struct NamedBatchTests {
  private let folder = NSTemporaryDirectory() + "hearth-batches-" + UUID().uuidString

  @Test("is about the batch that it named, not about another one with its number", arguments: [false, true])
  func requests(isOtherFile: Bool) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try FolderClient(folder)
    first.handle(.start)
    for number in 1...3 as ClosedRange<UInt64> { try first.storeWrite(number) }
    try first.refuse(1)
    let withdrawal = try #require(first.engine.namedBatches.identified(.withdraw(2, evenIfSent: true)))
    let discarding = try #require(first.engine.namedBatches.identified(.discardRejected([1])))
    #expect(withdrawal == .withdraw(2, evenIfSent: true, identity: BatchIdentity(high: 0, low: 2)))
    #expect(discarding == .discardRejected([1], identities: [1: BatchIdentity(high: 0, low: 1)]))
    #expect(first.engine.namedBatches.identified(.withdraw(9, evenIfSent: true)) == nil)
    #expect(first.engine.namedBatches.identified(.withdraw(1, evenIfSent: true)) == nil)
    #expect(first.engine.namedBatches.identified(.discardRejected([2])) == nil)
    #expect(first.engine.namedBatches.identified(.retryNow) == .retryNow)
    first.cache.close()

    if isOtherFile { try FileManager.default.removeItem(atPath: folder) }
    let second = try FolderClient(folder)
    second.handle(.start)
    if isOtherFile {
      for number in 11...13 as ClosedRange<UInt64> { try second.storeWrite(number) }
      try second.refuse(1)
    }
    #expect(try second.request(discarding)?.code == (isOtherFile ? .notFound : nil))
    #expect(try second.request(withdrawal)?.code == (isOtherFile ? .notFound : nil))
    #expect(try second.store.pendingBatches().map(\.batchID) == (isOtherFile ? [2, 3] : [3]))
    #expect(try second.store.outbox.rejectedBatches(of: nil).count == (isOtherFile ? 1 : 0))
    second.cache.close()
  }

  enum Fate: CaseIterable {
    case sameFile, otherFile, lost
  }

  @Test("makes the refused write again that it named, or none", arguments: Fate.allCases)
  func resubmission(fate: Fate) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try FolderClient(folder)
    first.handle(.start)
    try first.storeWrite(1)
    try first.refuse(1)
    first.cache.database.injectFailure = {
      $0 == .commit ? StoreError(kind: .corrupt, message: "made to fail", sqliteCode: 11) : nil
    }
    let again = WriteID(rawValue: 2)
    first.handle(
      .writes([
        LocalWrite(
          id: again, mutations: [], localWriteTime: .epoch, identity: BatchIdentity(high: 0, low: 2),
          keepsOutcome: true, resubmits: 1)
      ]))
    first.cache.database.injectFailure = nil
    #expect(first.engine.heldWriteIDs == [again])
    if fate == .lost { try first.cache.database.execute("DROP TABLE cache_rejected_batches") }
    #expect(first.engine.identifyHeldWrites() == (fate == .lost ? [again] : []))
    let handover = first.engine.handOver()
    first.cache.close()

    if fate == .otherFile { try FileManager.default.removeItem(atPath: folder) }
    let second = try FolderClient(folder)
    if fate == .otherFile {
      try second.storeWrite(11)
      try second.refuse(1)
    }
    second.engine.takeOver(handover, reason: "trouble")
    second.handle(.start)
    #expect(second.engine.heldWriteIDs.isEmpty)
    #expect(second.completed[again]??.code == (fate == .otherFile ? .notFound : nil))
    let pending = try second.store.pendingBatches().flatMap { $0.keys.map(\.canonicalString) }
    #expect(pending == (fate == .sameFile ? ["rooms/1"] : []))
    #expect(try second.store.outbox.rejectedBatches(of: nil).count == (fate == .otherFile ? 1 : 0))
    second.cache.close()
  }
}
