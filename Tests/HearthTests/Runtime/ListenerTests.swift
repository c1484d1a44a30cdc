import Foundation
import Synchronization
import Testing

@testable import Hearth

@Suite("Listeners", .timeLimit(.minutes(1)))
struct ListenerTests {
  @Test("no callback starts after remove() has returned, and none runs then if it was called on the settings' queue")
  func removal() async throws {
    let db = try await TestFirestore.offline()
    for round in 0..<20 {
      let calls = Mutex(0)
      let registration = UncheckedSendableBox(
        db.collection("c\(round)").addSnapshotListener { _, _ in calls.withLock { $0 += 1 } })
      for i in 0..<10 { db.document("c\(round)/\(i)").setData([:], completion: nil) }
      let atRemoval = await withCheckedContinuation { continuation in
        db.settings.dispatchQueue.async {
          registration.value.remove()
          registration.value.remove()
          continuation.resume(returning: calls.withLock { $0 })
        }
      }
      _ = try await db.collection("c\(round)").getDocuments(source: .cache)
      await withCheckedContinuation { continuation in
        db.settings.dispatchQueue.async { continuation.resume() }
      }
      #expect(calls.withLock { $0 } == atRemoval)
    }
  }

  @Test("a listener can remove itself in its callback")
  func removalInside() async throws {
    let db = try await TestFirestore.offline()
    let events = Recorder<Int>()
    let holder = Mutex<(any ListenerRegistration)?>(nil)
    let registration = UncheckedSendableBox(
      db.collection("c").addSnapshotListener { snapshot, _ in
        events.record(snapshot?.count ?? -1)
        if snapshot?.count == 1 { holder.withLock { $0 }?.remove() }
      })
    holder.withLock { $0 = registration.value }
    #expect(try await events.next() == 0)
    db.document("c/1").setData([:], completion: nil)
    #expect(try await events.next() == 1)
    db.document("c/2").setData([:], completion: nil)
    _ = try await db.collection("c").getDocuments(source: .cache)
    #expect(events.events == [0, 1])
  }

  @Test("callbacks run on the settings' queue, one at a time, even if the queue is concurrent")
  func queue() async throws {
    let db = try TestFirestore().firestore
    let settings = db.settings
    let key = DispatchSpecificKey<Bool>()
    settings.dispatchQueue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    settings.dispatchQueue.setSpecific(key: key, value: true)
    db.settings = settings
    try await db.disableNetwork()
    let running = Mutex(0)
    let events = Recorder<Bool>()
    for i in 0..<20 {
      db.collection("c").limit(to: i + 1).addSnapshotListener { _, _ in
        let alone = running.withLock { running in
          running += 1
          return running == 1
        }
        events.record(alone && DispatchQueue.getSpecific(key: key) == true)
        running.withLock { $0 -= 1 }
      }
    }
    for _ in 0..<20 { #expect(try await events.next()) }
  }

  @Test("callbacks come to the main queue by default")
  func mainQueue() async throws {
    let db = try TestFirestore().firestore
    let settings = db.settings
    settings.dispatchQueue = .main
    db.settings = settings
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    let events = Recorder<Bool>()
    db.disableNetwork { _ in events.record(DispatchQueue.getSpecific(key: key) == true) }
    db.collection("c").addSnapshotListener { _, _ in
      MainActor.assumeIsolated { events.record(DispatchQueue.getSpecific(key: key) == true) }
    }
    #expect(try await events.next())
    #expect(try await events.next())
  }

  @Test("snapshots-in-sync comes at registration and after each round of events")
  func inSync() async throws {
    let db = try await TestFirestore.offline()
    let events = Recorder<String>()
    db.collection("c").addSnapshotListener { snapshot, _ in events.record("snapshot \(snapshot?.count ?? -1)") }
    #expect(try await events.next() == "snapshot 0")
    let registration = db.addSnapshotsInSyncListener { events.record("sync") }
    #expect(try await events.next() == "sync")
    db.document("c/1").setData([:], completion: nil)
    #expect(try await events.next() == "snapshot 1")
    #expect(try await events.next() == "sync")
    registration.remove()
    db.document("c/2").setData([:], completion: nil)
    #expect(try await events.next() == "snapshot 2")
    db.document("c/3").setData([:], completion: nil)
    #expect(try await events.next() == "snapshot 3")
  }

  @Test("a limited query shows each of several writes, in order", arguments: [false, true])
  func limitInOrder(isLimitToLast: Bool) async throws {
    let db = try await TestFirestore.offline()
    let rooms = db.collection("rooms")
    for (id, n) in [("a", 30), ("b", 20), ("c", 10)] { rooms.document(id).setData(["n": n, "v": 0], completion: nil) }
    let query =
      isLimitToLast ? rooms.order(by: "n").limit(toLast: 2) : rooms.order(by: "n", descending: true).limit(to: 2)
    let (events, _) = query.record()
    #expect(try await events.next().get().count == 2)
    rooms.document("a").delete(completion: nil)
    for _ in 1...5 { rooms.document("c").updateData(["v": FieldValue.increment(Int64(1))], completion: nil) }
    var shown: [Int] = []
    while shown.last != 5 {
      shown += try await events.next().get().documents.filter { $0.documentID == "c" }.compactMap {
        $0.get("v") as? Int
      }
    }
    #expect(shown == [0, 1, 2, 3, 4, 5])
  }

  @Test("calls made in order take effect in order")
  func order() async throws {
    let db = try await TestFirestore.offline()
    for i in 0..<200 {
      db.document("c/1").setData(["n": i], completion: nil)
      if i % 50 == 0 {
        #expect(try await db.document("c/1").getDocument(source: .cache)["n"] as? Int == i)
      }
    }
    #expect(try await db.document("c/1").getDocument(source: .cache)["n"] as? Int == 199)
    #expect(try await db.pendingWrites().count == 200)
  }
}
