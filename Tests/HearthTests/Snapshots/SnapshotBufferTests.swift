import Foundation
import Testing

@testable import Hearth

@Suite("Snapshot sequences", .timeLimit(.minutes(1)))
struct SnapshotBufferTests {
  func buffer() -> SnapshotBuffer<[Int]> { SnapshotBuffer { last, new in last + new } }

  @Test("what comes before it is asked for is kept in order")
  func order() async throws {
    let buffer = buffer()
    for number in 0..<5 { buffer.add([number]) }
    for number in 0..<5 { #expect(try await buffer.next() == [number]) }
  }

  @Test("no more than the limit waits, and nothing is lost")
  func bounded() async throws {
    let limit = SnapshotBuffer<[Int]>.limit
    let buffer = buffer()
    for number in 0..<(limit * 10) { buffer.add([number]) }
    #expect(buffer.count == limit)
    var all: [Int] = []
    for _ in 0..<limit { all += try await buffer.next() ?? [] }
    #expect(all == Array(0..<(limit * 10)))
    #expect(buffer.count == 0)
  }

  @Test("an error comes after what was kept, once, and then the end")
  func error() async throws {
    let buffer = buffer()
    buffer.add([1])
    buffer.finish(throwing: CancellationError())
    buffer.add([2])
    #expect(try await buffer.next() == [1])
    await #expect(throws: CancellationError.self) { try await buffer.next() }
    #expect(try await buffer.next() == nil)
  }

  @Test("cancelling drops what was kept and ends the wait")
  func cancellation() async throws {
    let kept = buffer()
    kept.add([1])
    kept.cancel()
    #expect(try await kept.next() == nil)
    let waiting = buffer()
    async let last = waiting.next()
    waiting.cancel()
    #expect(try await last == nil)
  }

  @Test("a listener whose task is slow loses no change, and its last snapshot is the newest state")
  func slowTask() async throws {
    let db = try await TestFirestore.offline()
    let writes = SnapshotBuffer<Int>.limit * 3
    var iterator = db.collection("a").snapshots.makeAsyncIterator()
    #expect(try await iterator.next()?.isEmpty == true)
    for number in 0..<writes { db.document("a/\(number % 100)").setData(["n": number], completion: nil) }
    _ = try await db.pendingWrites()
    var documents: [String: Int] = [:]
    var last: QuerySnapshot?
    var snapshotCount = 0
    while documents["\((writes - 1) % 100)"] != writes - 1 {
      let snapshot = try #require(try await iterator.next())
      // The changes, carried out one after the other, lead from each snapshot to the next.
      var ids = last?.ids ?? []
      for change in snapshot.documentChanges {
        if change.oldIndex != UInt(NSNotFound) { ids.remove(at: Int(change.oldIndex)) }
        if change.newIndex != UInt(NSNotFound) { ids.insert(change.document.documentID, at: Int(change.newIndex)) }
        documents[change.document.documentID] = change.document["n"] as? Int
      }
      #expect(ids == snapshot.ids)
      last = snapshot
      snapshotCount += 1
    }
    #expect(documents.count == 100)
    #expect(snapshotCount <= SnapshotBuffer<Int>.limit + 1)
  }

  @Test("merging two snapshots gives the changes since the one before both")
  func merging() async throws {
    let db = try await TestFirestore.offline()
    for id in ["kept", "gone", "changed"] { db.document("a/\(id)").setData(["n": 0], completion: nil) }
    let (events, registration) = db.collection("a").order(by: "n").record()
    _ = try await events.next { (try? $0.get().count) == 3 }
    let batch = db.batch()
    batch.updateData(["n": 5], forDocument: db.document("a/gone"))
    batch.setData(["n": 1], forDocument: db.document("a/new"))
    batch.setData(["n": 2], forDocument: db.document("a/short"))
    batch.commit(completion: nil)
    let first = try await events.next().get()
    let second = db.batch()
    second.deleteDocument(db.document("a/gone")).deleteDocument(db.document("a/short"))
    second.updateData(["n": 9], forDocument: db.document("a/changed"))
    second.commit(completion: nil)
    let merged = try await events.next().get().merging(first)
    registration.remove()
    #expect(merged.ids == ["kept", "new", "changed"])
    let changes = merged.documentChanges
    #expect(changes.map(\.type) == [.removed, .added, .modified])
    #expect(changes.map(\.document.documentID) == ["gone", "new", "changed"])
    // The document that goes is shown as it was in the snapshot before both.
    #expect(changes.first?.document["n"] as? Int == 0)
  }

  @Test("an iterator that is dropped ends its listener, and a cancelled task its loop")
  func ending() async throws {
    let db = try await TestFirestore.offline()
    let task = Task {
      var count = 0
      for try await _ in db.collection("a").snapshots { count += 1 }
      return count
    }
    task.cancel()
    #expect(try await task.value <= 1)
  }
}
