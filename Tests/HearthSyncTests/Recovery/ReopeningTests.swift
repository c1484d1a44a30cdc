import Foundation
import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

/// The state that an engine with an unusable cache leaves to the engine of the reopened cache.
@Suite("A cache that is reopened while the client runs")
struct ReopeningTests {
  enum Trouble: CaseIterable {
    case damagedPage, damagedRow, failedSync, lostFiles

    var error: StoreError {
      switch self {
      case .damagedPage: StoreError(kind: .corrupt, message: "made to fail", sqliteCode: 11)
      case .damagedRow: StoreError(kind: .corrupt, message: "made to fail")
      // SQLITE_IOERR_FSYNC
      case .failedSync, .lostFiles: StoreError(kind: .io, message: "made to fail", sqliteCode: 10 | 4 << 8)
      }
    }
  }

  private let folder = NSTemporaryDirectory() + "hearth-reopening-" + UUID().uuidString

  @Test(
    "writes that meet the trouble wait, in order, and are stored in the cache after it", arguments: Trouble.allCases)
  func writes(trouble: Trouble) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try FolderClient(folder)
    first.handle(.start)
    first.write(1)
    if trouble == .lostFiles {
      try FileManager.default.removeItem(atPath: folder)
    } else {
      first.cache.database.injectFailure = { $0 == .commit ? trouble.error : nil }
    }
    first.write(2, 3)
    first.cache.database.injectFailure = nil
    #expect(first.store.reopening != nil)
    // The file may have come to itself: these wait all the same, behind the others.
    first.write(4)
    #expect(first.completed.isEmpty)
    #expect(first.engine.heldWriteIDs.map(\.rawValue) == [2, 3, 4])

    let handover = first.engine.handOver()
    first.cache.close()
    let second = try FolderClient(folder, continuing: handover)
    #expect(second.engine.heldWriteIDs.isEmpty)
    let keys = try second.store.pendingBatches().flatMap { $0.keys.map(\.canonicalString) }
    if trouble == .lostFiles {
      #expect(keys == ["rooms/2", "rooms/3", "rooms/4"])
      #expect(second.completed.mapValues { $0?.code } == [WriteID(rawValue: 1): .dataLoss])
    } else {
      #expect(keys == ["rooms/1", "rooms/2", "rooms/3", "rooms/4"])
      #expect(second.completed.isEmpty)
    }
    second.cache.close()
  }

  @Test("writes that meet a failed sync together wait together: nothing is stored behind it")
  func failedSyncOfSeveral() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let client = try FolderClient(folder)
    client.handle(.start)
    // The system reports it once.
    var isReported = false
    client.cache.database.injectFailure = { point in
      guard point == .commit, !isReported else { return nil }
      isReported = true
      return Trouble.failedSync.error
    }
    client.write(1, 2)
    #expect(client.engine.heldWriteIDs.map(\.rawValue) == [1, 2])
    #expect(try client.store.pendingBatches().isEmpty)
    client.cache.close()
  }

  @Test("a write whose commit failed and that is in the file all the same is not stored twice, and counts as saved")
  func storedAllTheSame() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try FolderClient(folder)
    first.handle(.start)
    first.cache.database.injectFailure = { $0 == .commit ? Trouble.failedSync.error : nil }
    first.write(1, keepsOutcome: true)
    first.cache.database.injectFailure = nil
    let handover = first.engine.handOver()
    #expect(handover.heldWriteIDs.count == 1 && first.saved.isEmpty)
    first.cache.close()
    let second = try FolderClient(folder)
    let stored = try second.store.write(
      [set("rooms/1")], localWriteTime: .epoch, identity: BatchIdentity(high: 0, low: 1))
    second.engine.takeOver(handover, reason: "trouble")
    second.handle(.start)
    #expect(second.engine.heldWriteIDs.isEmpty)
    #expect(try second.store.pendingBatches().map(\.batchID) == [stored.batchID])
    #expect(second.saved == [WriteID(rawValue: 1)] && second.completed.isEmpty)
    #expect(second.engine.handOver().pendingBatches[stored.batchID]?.writes == [WriteID(rawValue: 1)])
    second.cache.close()
  }

  @Test("of a write that another client may have had the answer to, it does not say that it is lost")
  func answeredByAnother() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try FolderClient(folder, name: "first")
    first.handle(.start)
    first.write(1)
    let other = try FolderClient(folder, name: "other")
    other.handle(.start)
    first.handle(.othersChanged)
    let handover = first.engine.handOver()
    first.cache.close()
    // The other one sends the batch, stores the answer, and loses the notice of it with the damaged file.
    try other.cache.database.execute("DELETE FROM cache_batch_documents")
    try other.cache.database.execute("DELETE FROM cache_mutation_batches")
    let second = try FolderClient(folder, name: "second", continuing: handover)
    #expect(second.completed.mapValues { $0?.code } == [WriteID(rawValue: 1): .unknown])
    other.cache.close()
    second.cache.close()
  }

  enum Return: CaseIterable {
    case notYet, complete, withoutLookingUpBatches, refused

    var isHeardOf: Bool { self == .complete }
  }

  @Test("nor of one that another client may have sent during a suspension", arguments: Return.allCases)
  func sentDuringSuspension(_ comesBack: Return) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try FolderClient(folder, name: "first")
    first.handle(.start)
    first.write(1)
    first.handle(.suspend)
    switch comesBack {
    case .notYet: break
    case .complete: first.handle(.resume)
    case .withoutLookingUpBatches:
      // The others have taken this client for dead.
      try first.cache.database.execute("DELETE FROM cache_clients")
      first.failReads(named: "Synchronize views")
      first.handle(.resume)
    case .refused:
      first.failReads(named: "Join cache")
      first.handle(.resume)
    }
    first.cache.database.injectFailure = nil
    let handover = first.engine.handOver()
    try first.cache.database.execute("DELETE FROM cache_batch_documents")
    try first.cache.database.execute("DELETE FROM cache_mutation_batches")
    first.cache.close()
    let second = try FolderClient(folder, name: "second", continuing: handover)
    let code = comesBack.isHeardOf ? StatusCode.dataLoss : .unknown
    #expect(second.completed.mapValues { $0?.code } == [WriteID(rawValue: 1): code])
    second.cache.close()
  }

  @Test("nor of one that another client may have sent whose notices cannot be read")
  func unreadNotices() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try FolderClient(folder, name: "first")
    first.handle(.start)
    first.write(1)
    let other = try FolderClient(folder, name: "other")
    try other.cache.database.execute("DELETE FROM cache_batch_documents")
    try other.cache.database.execute("DELETE FROM cache_mutation_batches")
    try other.store.leave()
    other.cache.close()
    first.failReads(named: "Read notices", with: Trouble.damagedPage.error)
    let handover = first.engine.handOver()
    first.cache.database.injectFailure = nil
    first.cache.close()
    let second = try FolderClient(folder, name: "second", continuing: handover)
    #expect(second.completed.mapValues { $0?.code } == [WriteID(rawValue: 1): .unknown])
    second.cache.close()
  }

  @Test(
    "the caller of a write that cannot be looked up at once hears later what became of it",
    arguments: [nil, "client"], [false, true])
  func lookedUpLater(name: String?, isLost: Bool) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try FolderClient(folder, name: name)
    first.handle(.start)
    first.write(1)
    let handover = first.engine.handOver()
    if isLost {
      try first.cache.database.execute("DELETE FROM cache_batch_documents")
      try first.cache.database.execute("DELETE FROM cache_mutation_batches")
    }
    first.cache.close()
    let second = try FolderClient(folder, name: name.map { "\($0) again" })
    second.failReads(named: "Look for batch")
    second.engine.takeOver(handover, reason: "trouble")
    second.cache.database.injectFailure = nil
    #expect(second.completed.isEmpty)
    second.handle(.start)
    if !isLost {
      #expect(second.completed.isEmpty)
      try second.receiveAnswer()
    }
    #expect(second.completed.mapValues { $0?.code } == [WriteID(rawValue: 1): isLost ? .dataLoss : nil])
    second.cache.close()
  }

  @Test("a write that no file takes fails in the end")
  func hopeless() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var client = try FolderClient(folder)
    client.handle(.start)
    var rounds = 0
    client.cache.database.injectFailure = { $0 == .commit ? Trouble.damagedPage.error : nil }
    client.write(1)
    while !client.engine.heldWriteIDs.isEmpty, rounds < 20 {
      rounds += 1
      let handover = client.engine.handOver()
      client.cache.close()
      client = try FolderClient(folder)
      client.cache.database.injectFailure = { $0 == .commit ? Trouble.damagedPage.error : nil }
      client.engine.takeOver(handover, reason: "trouble")
      client.handle(.start)
    }
    #expect((2...HeldWrite.damagedFileLimit).contains(rounds))
    #expect(client.completed.mapValues { $0?.code } == [WriteID(rawValue: 1): .dataLoss])
    client.cache.close()
  }
}
