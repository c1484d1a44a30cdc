import Foundation
import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

/// One of two clients sends the writes of both while the other one reopens the damaged cache.
@Suite("A shared cache that is reopened while another client uses it")
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

  /// A client that gives its damaged file up with a write that waits, and another one that has saved the write from the file.
  private func makeSaved() throws -> (SyncHandover, FolderClient) {
    let first = try FolderClient(folder, name: "first")
    first.handle(.start)
    first.write(1)
    let handover = try first.endAfterDamage()
    return (handover, try FolderClient(folder, name: "other"))
  }

  @Test(
    "a write that another client has saved from the damaged file and sent is not reported as lost",
    arguments: [false, true])
  func answeredMeanwhile(isRefused: Bool) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (handover, other) = try makeSaved()
    #expect(other.cache.recovery?.savedBatchCount == 1)
    let batch = try #require(try other.store.pendingBatches().first)
    try answer(batch, isRefused: isRefused, in: other.store)
    let second = try FolderClient(folder, name: "later", continuing: handover)
    #expect(second.completed == [WriteID(rawValue: 1): isRefused ? Self.refusal : nil])
    second.cache.close()
    other.cache.close()
  }

  @Test("a write that the replaced file lacks does not end with the answer to another client's write under its number")
  func numberGivenAgain() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try FolderClient(folder, name: "first")
    first.handle(.start)
    first.write(1)
    let handover = first.engine.handOver()
    first.cache.close()
    try FileManager.default.removeItem(atPath: folder)
    let second = try FolderClient(folder, name: "second")
    second.failReads(named: "Look for batch")
    second.engine.takeOver(handover, reason: "trouble")
    second.cache.database.injectFailure = nil
    #expect(second.completed.isEmpty)

    let other = try FolderClient(folder, name: "other")
    try other.storeWrite(2)
    let batch = try #require(try other.store.pendingBatches().first)
    #expect(handover.pendingBatches.keys.contains(batch.batchID))
    try answer(batch, isRefused: false, in: other.store)
    second.handle(.start)
    let end = try #require(second.completed[WriteID(rawValue: 1)])
    #expect(end != nil, "the write is nowhere")
    second.cache.close()
    other.cache.close()
  }

  @Test(
    "an answer that the client has not read before the file is replaced reaches its caller",
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

  @Test("an outcome that cannot be read at once is not reported as unknown")
  func unreadableOutcome() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (handover, other) = try makeSaved()
    try answer(try #require(try other.store.pendingBatches().first), isRefused: true, in: other.store)
    let second = try FolderClient(folder, name: "later")
    second.failReads(named: "Look for outcome")
    second.engine.takeOver(handover, reason: "trouble")
    second.cache.database.injectFailure = nil
    second.handle(.start)
    #expect(second.completed == [WriteID(rawValue: 1): Self.refusal])
    second.cache.close()
    other.cache.close()
  }

  // MARK: - Writes whose commit has failed

  /// A client whose write was not saved, as far as it knows, with the receipt of it, and another one that has saved it from the same file.
  private func makeDoubtful() throws -> (SyncHandover, FolderClient, MutationBatch) {
    let first = try FolderClient(folder, name: "first")
    first.handle(.start)
    // SQLITE_IOERR_FSYNC
    let failure = StoreError(kind: .io, message: "made to fail", sqliteCode: 10 | 4 << 8)
    first.cache.database.injectFailure = { $0 == .commit ? failure : nil }
    let identity = BatchIdentity(high: 0, low: 1)
    first.handle(
      .writes([
        LocalWrite(
          id: WriteID(rawValue: 1), mutations: [set("rooms/1")], localWriteTime: .epoch, identity: identity,
          keepsOutcome: true)
      ]))
    first.cache.database.injectFailure = nil
    #expect(first.engine.heldWriteIDs.count == 1)
    let handover = try first.endAfterDamage()
    let other = try FolderClient(folder, name: "other")
    let write = LocalWrite(
      mutations: [set("rooms/1")], localWriteTime: .epoch, identity: identity, keepsOutcome: true)
    let batch = try #require(try other.store.write(many: [write]).first?.batch)
    return (handover, other, batch)
  }

  @Test(
    "a write that is in the file all the same and that another client has sent is not sent again",
    arguments: [false, true])
  func doubtfulWriteAnswered(isRefused: Bool) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (handover, other, batch) = try makeDoubtful()
    try answer(batch, isRefused: isRefused, in: other.store)
    let second = try FolderClient(folder, name: "later")
    second.engine.takeOver(handover, reason: "trouble")
    let ends = second.engine.handle(.start, now: .zero).compactMap { action -> String? in
      switch action {
      case .writeSaved(let id): "\(id.rawValue) saved"
      case .writeNotSaved(let id, let error): "\(id.rawValue) not saved: \(error.message)"
      case .completeWrite(let id, let error): "\(id.rawValue) \(error?.message ?? "committed")"
      default: nil
      }
    }
    #expect(ends == ["1 saved", isRefused ? "1 refused" : "1 committed"])
    #expect(second.engine.heldWriteIDs.isEmpty)
    #expect(try second.store.pendingBatches().isEmpty)
    second.cache.close()
    other.cache.close()
  }

  @Test("a write that may be in the file is not stored before it was looked for", arguments: [false, true])
  func doubtfulWriteUnreadable(isAnswered: Bool) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (handover, other, batch) = try makeDoubtful()
    if isAnswered { try answer(batch, isRefused: false, in: other.store) }
    let second = try FolderClient(folder, name: "later")
    second.failReads(named: "Look for outcomes")
    second.engine.takeOver(handover, reason: "trouble")
    second.handle(.start)
    #expect(second.engine.heldWriteIDs.count == 1)
    second.cache.database.injectFailure = nil
    second.handle(.saveWrites)
    #expect(second.engine.heldWriteIDs.isEmpty)
    #expect(try second.store.pendingBatches().map(\.batchID) == (isAnswered ? [] : [batch.batchID]))
    #expect(second.completed == (isAnswered ? [WriteID(rawValue: 1): nil] : [:]))
    second.cache.close()
    other.cache.close()
  }

  @Test("a write that no file lets be looked for ends in the end")
  func doubtfulWriteHopeless() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var (handover, other, _) = try makeDoubtful()
    other.cache.close()
    var completed: [WriteID: StatusError?] = [:]
    for number in 0..<20 where completed.isEmpty {
      let client = try FolderClient(folder, name: "later\(number)")
      client.failReads(
        named: "Look for outcomes", with: StoreError(kind: .corrupt, message: "made to fail", sqliteCode: 11))
      client.engine.takeOver(handover, reason: "trouble")
      client.handle(.start)
      completed = client.completed
      client.cache.database.injectFailure = nil
      handover = client.engine.handOver()
      client.cache.close()
    }
    #expect(completed.mapValues { $0?.code } == [WriteID(rawValue: 1): .unknown])
  }

  @Test("a write that has met damage leaves its outcome to be found, should its commit fail again")
  func outcomeOfHeldWrite() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try FolderClient(folder, name: "first")
    first.handle(.start)
    first.cache.database.injectFailure = {
      $0 == .commit ? StoreError(kind: .corrupt, message: "made to fail", sqliteCode: 11) : nil
    }
    first.write(1)
    first.cache.database.injectFailure = nil
    let second = try FolderClient(folder, name: "later", continuing: try first.endAfterDamage())
    #expect(try second.store.pendingBatches().map(\.keepsOutcome) == [true])
    second.cache.close()
  }
}
