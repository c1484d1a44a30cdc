import Foundation
import Logging
import Synchronization
import Testing

@testable import Hearth

@Suite("Listeners and the network, many at once", .timeLimit(.minutes(2)))
struct ManyListenersTests {
  @Test("thousands of listeners each hear of their own change, and none after its removal")
  func thousands() async throws {
    let db = try await TestFirestore.offline()
    let count = 3_000
    let heard = Recorder<Int>()
    var registrations: [any ListenerRegistration] = []
    for number in 0..<count {
      registrations.append(
        db.document("a/\(number)").addSnapshotListener { snapshot, _ in
          if snapshot?.exists == true { heard.record(number) }
        })
    }
    let batch = db.batch()
    for number in 0..<count { batch.setData(["n": number], forDocument: db.document("a/\(number)")) }
    batch.commit(completion: nil)
    var numbers: Set<Int> = []
    while numbers.count < count { numbers.insert(try await heard.next()) }
    for registration in registrations { registration.remove() }
    let next = db.batch()
    for number in 0..<count { next.deleteDocument(db.document("a/\(number)")) }
    next.commit(completion: nil)
    #expect(try await db.collection("a").getDocuments(source: .cache).isEmpty)
    #expect(heard.events.count == count)
    try await db.terminate()
  }

  @Test("listeners may be added, replaced and removed in callbacks")
  func insideCallbacks() async throws {
    let db = try await TestFirestore.offline()
    let heard = Recorder<String>()
    let second = Mutex<UncheckedSendableBox<any ListenerRegistration>?>(nil)
    db.document("a/1").addSnapshotListener { snapshot, _ in
      // At the end: the test may terminate the client as soon as it hears of the last one.
      defer { heard.record("first \(snapshot?["n"] as? Int ?? 0)") }
      // Takes the place of the one before, whose callback may be due.
      let registration = db.document("a/2").addSnapshotListener { snapshot, _ in
        heard.record("second \(snapshot?["n"] as? Int ?? 0)")
      }
      second.withLock { holder in
        let former = holder
        holder = UncheckedSendableBox(registration)
        former?.value.remove()
        former?.value.remove()
      }
      if snapshot?["n"] as? Int == 2 {
        db.addSnapshotsInSyncListener {
          heard.record("in sync")
          second.withLock { $0 }?.value.remove()
        }
      }
    }
    _ = try await heard.next { $0 == "second 0" }
    db.document("a/1").setData(["n": 1], completion: nil)
    _ = try await heard.next { $0 == "first 1" }
    _ = try await heard.next { $0 == "second 0" }
    db.document("a/1").setData(["n": 2], completion: nil)
    _ = try await heard.next { $0 == "in sync" }
    let before = heard.events.filter { $0.hasPrefix("second") }
    db.document("a/2").setData(["n": 3], completion: nil)
    db.document("a/1").setData(["n": 4], completion: nil)
    _ = try await heard.next { $0 == "first 4" }
    #expect(heard.events.filter { $0.hasPrefix("second") && !before.contains($0) }.isEmpty)
    try await db.terminate()
  }

  @Test("a listener that is removed in the callback of another one is not called any more in that round")
  func removedInTheSameRound() async throws {
    let db = try await TestFirestore.offline()
    let heard = Recorder<String>()
    let other = Mutex<UncheckedSendableBox<any ListenerRegistration>?>(nil)
    db.collection("a").addSnapshotListener { snapshot, _ in
      if snapshot?.isEmpty == false { other.withLock { $0 }?.value.remove() }
      heard.record("first \(snapshot?.count ?? -1)")
    }
    let registration = db.collection("a").addSnapshotListener { snapshot, _ in
      heard.record("other \(snapshot?.count ?? -1)")
    }
    other.withLock { $0 = UncheckedSendableBox(registration) }
    db.addSnapshotsInSyncListener { heard.record("in sync") }
    _ = try await heard.next { $0 == "in sync" }
    db.document("a/b").setData([:], completion: nil)
    _ = try await heard.next { $0 == "first 1" }
    _ = try await heard.next { $0 == "in sync" }
    #expect(!heard.events.contains("other 1"))
    try await db.terminate()
  }

  @Test("switching the network off and on all the time loses no write, makes none twice, and answers every switch")
  func flicker() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      let witness = try TestFirestore(host: host).firestore
      let switches = Recorder<NSError?>()
      let (events, registration) = db.collection("a").record(includeMetadataChanges: true)
      for number in 0..<60 {
        db.document("a/sum").setData(["n": FieldValue.increment(Int64(1))], merge: true, completion: nil)
        db.disableNetwork { switches.record($0 as NSError?) }
        if number.isMultiple(of: 2) { db.document("a/\(number)").setData(["n": number], completion: nil) }
        db.enableNetwork { switches.record($0 as NSError?) }
        // Now and then the streams get as far as they can.
        if number.isMultiple(of: 7) { _ = try await db.document("a/sum").getDocument() }
      }
      for _ in 0..<120 { #expect(try await switches.next() == nil) }
      try await db.waitForPendingWrites()
      #expect(try await witness.document("a/sum").getDocument(source: .server)["n"] as? Int == 60)
      #expect(try await witness.collection("a").getDocuments(source: .server).count == 31)
      let last = try await events.next {
        guard let snapshot = try? $0.get() else { return false }
        return snapshot.count == 31 && !snapshot.metadata.hasPendingWrites && !snapshot.metadata.isFromCache
      }
      #expect(try last.get().documents.last?["n"] as? Int == 60)
      registration.remove()
      for client in [db, witness] { try await client.terminate() }
    }
  }

  @Test("the level of the log can be changed at any time, also for who has the logger already", .withLogging)
  func logging() {
    let logger = HearthLog.logger
    #expect(logger.logLevel == .debug)
    Firestore.enableLogging(false)
    #expect(logger.logLevel == .notice)
    Firestore.enableLogging(true)
    #expect(logger.logLevel == .debug)
  }
}
