import Foundation
import HearthServer
import Synchronization
import Testing

@testable import Hearth

/// Receipts, the outbox and refused writes, through the public API and the embedded server.
@Suite("Receipts and the outbox", .timeLimit(.minutes(2)))
struct ReceiptTests {
  private func withServer(_ body: (_ host: String) async throws -> Void) async throws {
    try await EndToEndTests().withServer(body)
  }

  private func code(_ body: () async throws -> Void) async -> FirestoreErrorCode.Code? {
    do {
      try await body()
      return nil
    } catch {
      return FirestoreErrorCode.Code(rawValue: (error as NSError).code)
    }
  }

  @Test("a receipt says saved offline, and acknowledged with the backend's results online")
  func acknowledged() async throws {
    try await withServer { host in
      let db = try TestFirestore(host: host).firestore
      try await db.disableNetwork()
      let receipt = db.document("cities/SF").withReceipt.setData(
        ["visits": FieldValue.increment(Int64(2)), "at": FieldValue.serverTimestamp()])
      try await receipt.saved()
      guard case .saved = receipt.state else {
        Issue.record("the state is \(receipt.state)")
        return
      }
      try await db.enableNetwork()
      let answer = try await receipt.acknowledged()
      #expect(answer.commitTime != nil)
      #expect(answer.results.first?.updateTime == answer.commitTime)
      #expect(answer.results.first?.transformResults.contains { $0 as? Int == 2 } == true)
      let found = try #require(try await db.receipt(for: receipt.id))
      #expect(try await found.acknowledged().commitTime == answer.commitTime)
      #expect(try await db.receipt(for: .random()) == nil)
      try await db.terminate()
    }
  }

  @Test("each write call has a form with a receipt")
  func calls() async throws {
    try await withServer { host in
      let db = try TestFirestore(host: host).firestore
      let city = db.document("cities/SF")
      try await city.withReceipt.setData(["a": 1, "b": ["c": 1]]).acknowledged()
      try await city.withReceipt.setData(["b": ["d": 2]], merge: true).acknowledged()
      try await city.withReceipt.setData(["a": 3, "e": 9], mergeFields: ["a"]).acknowledged()
      try await city.withReceipt.setData(from: ["f": 4], merge: true).acknowledged()
      try await city.withReceipt.updateData(["g": 5]).acknowledged()
      let data = try #require(try await city.getDocument(source: .server).data())
      #expect(data as NSDictionary == ["a": 3, "b": ["c": 1, "d": 2], "f": 4, "g": 5] as NSDictionary)
      try await city.withReceipt.delete().acknowledged()
      #expect(try await !city.getDocument(source: .server).exists)
      let (document, receipt) = db.collection("cities").withReceipt.addDocument(data: ["n": 1])
      try await receipt.acknowledged()
      #expect(try await document.getDocument(source: .server)["n"] as? Int == 1)
      let batch = db.batch().setData(["n": 2], forDocument: document).deleteDocument(city)
      #expect(try await batch.commitWithReceipt().acknowledged().results.count == 2)
      #expect(try await db.batch().commitWithReceipt().acknowledged().commitTime == nil)
      try await db.terminate()
    }
  }

  @Test("a receipt is found again after a restart, while the write waits and after it was answered")
  func restart() async throws {
    let folder = try TemporaryFolder()
    let (cache, name) = (PersistentCacheSettings(directory: folder.url), UUID().uuidString)
    try await withServer { host in
      let db = try TestFirestore(name: name, cache: cache, host: host).firestore
      try await db.disableNetwork()
      let receipt = db.document("cities/SF").withReceipt.setData(["n": 1])
      try await receipt.saved()
      let text = receipt.id.description
      try await db.terminate()
      #expect(await code { try await receipt.acknowledged() } == .cancelled)

      let next = try TestFirestore(name: name, cache: cache, host: host).firestore
      let id = try #require(WriteReceipt.ID(text))
      let found = try #require(try await next.receipt(for: id))
      try await found.saved()
      #expect(try await found.acknowledged().commitTime != nil)
      try await next.terminate()
    }
  }

  @Test("a waiting write shows what the backend will compute, with the operands")
  func computations() async throws {
    let db = try await TestFirestore.offline()
    let city = db.document("cities/SF")
    city.updateData(
      [
        "n": FieldValue.increment(Int64(3)), "share": FieldValue.increment(-0.5),
        "map.tags": FieldValue.arrayUnion(["a", 2]),
        "old": FieldValue.arrayRemove([["k": 1]]), "seen": FieldValue.serverTimestamp(), "name": "San Francisco",
      ], completion: nil)
    let operation = try await db.outbox.writes().first?.operations.first
    #expect(
      operation?.computations == [
        "n": .increment(3), "share": .increment(-0.5), "map.tags": .arrayUnion(["a", 2]),
        "old": .arrayRemove([["k": 1]]), "seen": .serverTimestamp,
      ])
    #expect(operation?.data?.keys.sorted() == ["name"])
    city.delete(completion: nil)
    #expect(try await db.outbox.writes().last?.operations.first?.computations == [:])
    try await db.terminate()
  }

  @Test("a refused write ends its receipt, stays in the list over a restart, and can be handed in again")
  func rejected() async throws {
    let folder = try TemporaryFolder()
    let (cache, name) = (PersistentCacheSettings(directory: folder.url), UUID().uuidString)
    try await withServer { host in
      var db = try TestFirestore(name: name, cache: cache, host: host).firestore
      let receipt = db.document("cities/none").withReceipt.updateData(["n": FieldValue.increment(Int64(1))])
      #expect(await code { try await receipt.acknowledged() } == .notFound)
      try await db.terminate()
      db = try TestFirestore(name: name, cache: cache, host: host).firestore
      let list = try await db.rejectedWrites.writes()
      #expect(list.map { $0.operations.map(\.description) } == [["update cities/none: n"]])
      #expect(list.map { FirestoreErrorCode.Code(rawValue: $0.error.code) } == [.notFound])
      #expect(list.first?.operations.first?.computedFields == ["n"])
      guard case .failed(let error)? = try await db.receipt(for: receipt.id)?.state else {
        Issue.record("the receipt does not say that the write failed")
        return
      }
      #expect(FirestoreErrorCode.Code(rawValue: error.code) == .notFound)

      try await db.document("cities/none").setData(["n": 5])
      try await db.rejectedWrites.resubmit(try #require(list.first).id).acknowledged()
      #expect(try await db.document("cities/none").getDocument(source: .server)["n"] as? Int == 6)
      #expect(try await db.rejectedWrites.writes().isEmpty)
      #expect(await code { try await db.rejectedWrites.discard(list[0].id) } == .notFound)
      #expect(await code { try await db.rejectedWrites.resubmit(list[0].id).saved() } == .notFound)
      try await db.terminate()
    }
  }

  @Test("observers of the outbox and of refused writes see each change")
  func observed() async throws {
    try await withServer { host in
      let db = try TestFirestore(host: host).firestore
      try await db.disableNetwork()
      var outbox = db.outbox.snapshots.makeAsyncIterator()
      var rejected = db.rejectedWrites.snapshots.makeAsyncIterator()
      #expect(try await outbox.next()?.writes == [])
      #expect(try await rejected.next()?.isEmpty == true)
      _ = db.document("cities/none").withReceipt.updateData(["n": 1])
      let added = try #require(try await outbox.next())
      #expect(added.writes.map(\.state) == [.blocked(.networkDisabled)])
      #expect(added.changes == added.writes.map { .added($0) })
      #expect(try await db.outbox.count() == 1)
      try await db.enableNetwork()
      var left: [PendingWrite] = added.writes
      while !left.isEmpty { left = try #require(try await outbox.next()).writes }
      #expect(try await rejected.next()?.map(\.id) == added.writes.map(\.id))
      try await db.rejectedWrites.discardAll()
      #expect(try await rejected.next()?.isEmpty == true)
      try await db.terminate()
      #expect(await code { _ = try await outbox.next() } == .cancelled)
    }
  }

  @Test("a write that waits can be taken back, and never reaches the backend")
  func cancelled() async throws {
    try await withServer { host in
      let db = try TestFirestore(host: host).firestore
      let city = db.document("cities/SF")
      try await city.setData(["n": 10])
      try await db.disableNetwork()
      let first = city.withReceipt.updateData(["n": FieldValue.increment(Int64(5))])
      let second = city.withReceipt.updateData(["n": FieldValue.increment(Int64(3))])
      try await second.saved()
      #expect(try await city.getDocument()["n"] as? Int == 18)
      let writes = try await db.outbox.writes()
      try await db.outbox.cancel(writes[0].id)
      #expect(await code { try await first.acknowledged() } == .cancelled)
      #expect(try await city.getDocument()["n"] as? Int == 13)
      #expect(await code { try await db.outbox.cancel(writes[0].id) } == .notFound)
      try await db.enableNetwork()
      try await second.acknowledged()
      #expect(try await city.getDocument(source: .server)["n"] as? Int == 13)
      try await db.terminate()
    }
  }

  @Test("ids of receipts are 32 digits and nothing else")
  func ids() throws {
    let id = WriteReceipt.ID.random()
    #expect(WriteReceipt.ID(id.description) == id)
    #expect(WriteReceipt.ID(id.description.uppercased()) == id)
    for text in ["", "0", id.description + "0", String(repeating: "g", count: 32)] {
      #expect(WriteReceipt.ID(text) == nil)
    }
    let data = try JSONEncoder().encode([id])
    #expect(try JSONDecoder().decode([WriteReceipt.ID].self, from: data) == [id])
    #expect(throws: DecodingError.self) { try JSONDecoder().decode([WriteReceipt.ID].self, from: Data("[\"x\"]".utf8)) }
  }

  @Test("a task that is cancelled stops waiting, and the others go on")
  func cancellation() async throws {
    try await withServer { host in
      let db = try TestFirestore(host: host).firestore
      try await db.disableNetwork()
      let receipt = db.document("cities/SF").withReceipt.setData([:])
      let one = Task { try await receipt.acknowledged() }
      let other = Task { try await receipt.acknowledged() }
      one.cancel()
      await #expect(throws: CancellationError.self) { try await one.value }
      try await db.enableNetwork()
      #expect(try await other.value.commitTime != nil)
      try await db.terminate()
    }
  }
}
