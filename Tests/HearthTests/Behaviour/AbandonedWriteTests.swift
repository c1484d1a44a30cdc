import Foundation
import HearthModel
import Synchronization
import TestSupport
import Testing

@testable import Hearth

/// The errors of writes that have no answer when their client ends: the reason, and the place of the write.
@Suite("Writes without an answer at the end of their client", .timeLimit(.minutes(2)))
struct AbandonedWriteTests {
  private let folder: TemporaryFolder
  private let name = UUID().uuidString

  init() throws {
    folder = try TemporaryFolder()
  }

  private func open(isOffline: Bool = true) async throws -> Firestore {
    let cache = PersistentCacheSettings(directory: folder.url)
    if isOffline { return try await TestFirestore.offline(name: name, cache: cache) }
    return try TestFirestore(name: name, cache: cache).firestore
  }

  /// Returns the errors of a task and of a receipt that wait while the client ends.
  private func errors(_ db: Firestore, _ end: () async throws -> Void) async throws -> [NSError] {
    let task = Task { await thrown { try await db.document("a/b").setData(["n": 1]) } }
    let receipt = db.document("a/c").withReceipt.setData(["n": 2])
    try await waitUntil { try await db.pendingWrites().count == 2 }
    try await end()
    let errors = [await task.value, await thrown { try await receipt.acknowledged() }].compactMap { $0 }
    #expect(errors.count == 2)
    return errors
  }

  @Test("a write in a cache on disk stays in its queue")
  func disk() async throws {
    let db = try await open()
    for error in try await errors(db, { try await db.terminate() }) {
      #expect(error.code == FirestoreErrorCode.cancelled.rawValue)
      #expect(
        error.localizedDescription
          == "The client was terminated before the backend answered. The write stays in the cache's queue.")
    }
    let next = try await open()
    #expect(try await next.pendingWrites().count == 2)
    try await next.terminate()
  }

  @Test("a write in a cache in memory is lost")
  func memory() async throws {
    let db = try await TestFirestore.offline()
    for error in try await errors(db, { try await db.terminate() }) {
      #expect(error.code == FirestoreErrorCode.cancelled.rawValue)
      #expect(
        error.localizedDescription.hasSuffix(
          "The write was saved in memory only; it is lost unless the backend has received it."))
    }
  }

  @Test("a write that waits for the folder was not saved")
  func unsaved() async throws {
    let holder = try HeldFolder(folder.url.appendingPathComponent("\(name)/demo-hearth/(default)"))
    let db = try await open(isOffline: false)
    let receipt = db.document("a/b").withReceipt.setData(["n": 1])
    let errors = [
      await thrown { try await db.terminate() }, await thrown { try await receipt.saved() },
      await thrown { try await receipt.acknowledged() },
    ]
    for error in errors {
      #expect(error?.code == FirestoreErrorCode.unavailable.rawValue)
      #expect(
        error?.localizedDescription == "1 write is not saved. The cache's folder is in use.")
    }
    holder.giveBack()
    let next = try await open()
    #expect(try await next.pendingWrites().isEmpty)
    try await next.terminate()
  }

  @Test("a client that another one has ended by clearing the cache names that reason")
  func otherProcess() async throws {
    let first = try await open()
    try await first.terminate()
    let db = try await open()
    for error in try await errors(db, { try await first.clearPersistence() }) {
      #expect(error.code == FirestoreErrorCode.failedPrecondition.rawValue)
      #expect(error.localizedDescription.hasPrefix("Another process has cleared the cache or taken it over."))
      #expect(
        error.localizedDescription.hasSuffix(
          "The write was saved in the cache's queue, which this client can no longer read."))
    }
    try await db.terminate()
  }

  @Test("each write has the error of its own place, and one that was not saved ends with it")
  func places() {
    let errors = Mutex<[Int: NSError]>([:])
    let finished = Mutex<Set<Int>>([])
    var writes: [WriteID: WriteCompletion] = [:]
    for number in 1...2 {
      writes[WriteID(rawValue: number)] = WriteCompletion(
        finish: { error in
          errors.withLock { $0[number] = error }
          finished.withLock { _ = $0.insert(number) }
        }, abandon: { error in errors.withLock { $0[number] = error } })
    }
    let reason = NSError.firestore(.dataLoss, "The disk is damaged.")
    // Nobody waits for the third.
    let unsaved = Set([2, 3].map { WriteID(rawValue: $0) })
    let lost = LostWrites()
    AbandonedWrites(reason: reason, place: .outOfReach, unsaved: unsaved).end(writes, lost)
    let error = lost.takeAll()
    #expect(error?.code == FirestoreErrorCode.unavailable.rawValue)
    #expect(error?.localizedDescription == "2 writes are not saved. The disk is damaged.")
    let reported = errors.withLock { $0 }
    #expect(
      reported[1]?.localizedDescription
        == "The disk is damaged. The write was saved in the cache's queue, which this client can no longer read.")
    #expect(reported[2]?.localizedDescription == "The disk is damaged. The write was not saved and is not sent.")
    #expect(reported.values.allSatisfy { $0.code == FirestoreErrorCode.dataLoss.rawValue })
    #expect(finished.withLock { $0 } == [2])
  }
}
