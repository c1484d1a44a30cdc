import Foundation
import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

/// One of two clients sends the writes of both while the other one opens the damaged cache anew.
@Suite("A shared cache that is opened anew while another client uses it")
struct SharedReopeningTests {
  private static let refusal = StatusError(code: .permissionDenied, message: "refused")
  private let folder = NSTemporaryDirectory() + "hearth-shared-reopening-" + UUID().uuidString

  private func answer(_ batch: MutationBatch, isRefused: Bool, in store: LocalStore) throws {
    if isRefused {
      _ = try store.reject(batch, Self.refusal, of: .user(nil), needsLease: false, at: .epoch)
    } else {
      let result = MutationBatchResult(
        batch: batch, commitVersion: SnapshotVersion(microseconds: 7),
        results: [MutationResult(version: SnapshotVersion(microseconds: 7))])
      _ = try store.acknowledge(result, of: .user(nil), needsLease: false, at: .epoch)
    }
  }

  @Test(
    "a write that another client has saved from the damaged file and sent is not reported as lost",
    arguments: [false, true])
  func answeredMeanwhile(isRefused: Bool) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try FolderClient(folder, name: "first")
    first.handle(.start)
    first.write(1)
    let handover = try first.endAfterDamage()
    let other = try FolderClient(folder, name: "other")
    #expect(other.cache.recovery?.savedBatchCount == 1)
    let batch = try #require(try other.store.pendingBatches().first)
    try answer(batch, isRefused: isRefused, in: other.store)
    let second = try FolderClient(folder, name: "later", continuing: handover)
    #expect(second.completed == [WriteID(rawValue: 1): isRefused ? Self.refusal : nil])
    second.cache.close()
    other.cache.close()
  }

  @Test(
    "an answer of which the client has not read before the file is replaced reaches its caller",
    arguments: [false, true])
  func unreadNotice(isRefused: Bool) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try FolderClient(folder, name: "first")
    let other = try FolderClient(folder, name: "other")
    first.handle(.start)
    first.write(1)
    let batch = try #require(try other.store.pendingBatches().first)
    try answer(batch, isRefused: isRefused, in: other.store)
    #expect(first.completed.isEmpty)
    let handover = try first.endAfterDamage()
    other.cache.close()
    let second = try FolderClient(folder, name: "later", continuing: handover)
    #expect(second.completed == [WriteID(rawValue: 1): isRefused ? Self.refusal : nil])
    second.cache.close()
  }

  @Test("an answer that met the damage reaches the caller in another client, which opens the file later")
  func heldAnswer() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let sender = try FolderClient(folder, name: "sender")
    sender.handle(.start)
    let other = try FolderClient(folder, name: "other")
    other.handle(.start)
    other.write(1)
    sender.handle(.othersChanged)
    var isAnswered = false
    sender.cache.database.injectFailure = { point in
      if point == .transaction("Acknowledge batch") { isAnswered = true }
      return isAnswered && point == .commit ? StoreError(kind: .corrupt, message: "made to fail", sqliteCode: 11) : nil
    }
    try sender.receiveAnswer()
    sender.cache.database.injectFailure = nil
    let (waiting, held) = (try other.endAfterDamage(), try sender.endAfterDamage())
    #expect(held.answers.count == 1)
    let next = try FolderClient(folder, name: "next", continuing: held)
    #expect(try next.store.pendingBatches().isEmpty)
    let second = try FolderClient(folder, name: "later", continuing: waiting)
    #expect(second.completed == [WriteID(rawValue: 1): nil])
    second.cache.close()
    next.cache.close()
  }
}
