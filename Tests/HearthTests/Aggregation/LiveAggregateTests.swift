import Foundation
import TestSupport
import Testing

@testable import Hearth

@Suite("Live aggregates", .timeLimit(.minutes(2)))
struct LiveAggregateTests {
  private static let fields: [AggregateField] = [.count(), .sum("n"), .average("n")]

  /// The contents of an aggregate's snapshot.
  private struct Shown: Equatable, CustomStringConvertible {
    var count: Int
    var sum: NSNumber?
    /// Nil for the average of nothing.
    var average: NSNumber?

    var description: String { "\(count), \(sum ?? -1), \(average ?? -1)" }
  }

  private static func shown(_ snapshot: AggregateQuerySnapshot) -> Shown {
    Shown(
      count: snapshot.count.intValue, sum: snapshot.get(.sum("n")) as? NSNumber,
      average: snapshot.get(.average("n")) as? NSNumber)
  }

  private static func value(_ generator: inout SeededGenerator) -> [String: Any] {
    switch generator.below(10) {
    case 0: [:]
    case 1: ["n": "none"]
    case 2...5: ["n": Double(generator.below(1_000)) / 10]
    default: ["n": generator.below(50)]
    }
  }

  @Test("follow local writes offline, and report only values that have changed")
  func offline() async throws {
    let db = try await TestFirestore.offline()
    let rows = db.collection("rows")
    let recorder = Recorder<Shown>()
    let registration = rows.aggregate(Self.fields).addSnapshotListener { snapshot, _ in
      if let snapshot { recorder.record(Self.shown(snapshot)) }
    }
    #expect(try await recorder.next() == Shown(count: 0, sum: 0, average: nil))
    rows.document("a").setData(["n": 2], completion: nil)
    #expect(try await recorder.next() == Shown(count: 1, sum: 2, average: 2))
    rows.document("a").updateData(["other": true], completion: nil)
    rows.document("without").setData(["m": 2], completion: nil)
    rows.document("b").setData(["n": 0.5], completion: nil)
    #expect(try await recorder.next() == Shown(count: 2, sum: 2.5, average: 1.25))
    rows.document("b").updateData(["n": FieldValue.delete()], completion: nil)
    #expect(try await recorder.next() == Shown(count: 1, sum: 2, average: 2))
    rows.document("a").delete(completion: nil)
    #expect(try await recorder.next() == Shown(count: 0, sum: 0, average: nil))
    registration.remove()
    rows.document("c").setData(["n": 1], completion: nil)
    #expect(try await rows.count.getAggregation(source: .cache).count == 3)
    #expect(recorder.events.count == 5)
  }

  @Test("agree with the backend, the cache and both together once in sync", arguments: SeededGenerator.seeds(3))
  func differential(seed: UInt64) async throws {
    try await TestBackend.run { host in
      var generator = SeededGenerator(seed: seed)
      let (db, other) = (try TestFirestore(host: host).firestore, try TestFirestore(host: host).firestore)
      let rows = db.collection("rows")
      let queries: [Query] = [
        rows, rows.whereField("open", isEqualTo: true), rows.order(by: "n").limit(to: 4), rows.limit(toLast: 3),
      ]
      let live = queries.map { query in
        let recorder = Recorder<Shown>()
        query.aggregate(Self.fields).addSnapshotListener { snapshot, _ in
          if let snapshot { recorder.record(Self.shown(snapshot)) }
        }
        return recorder
      }
      for _ in 0..<40 {
        let document = (generator.chance(50) ? db : other).document("rows/\(generator.below(12))")
        if generator.chance(20) {
          document.delete(completion: nil)
        } else {
          var data = Self.value(&generator)
          data["open"] = generator.chance(50)
          document.setData(data, merge: generator.chance(30), completion: nil)
        }
      }
      try await db.waitForPendingWrites()
      try await other.waitForPendingWrites()
      for (query, recorder) in zip(queries, live) {
        let query = query.aggregate(Self.fields)
        let server = try await query.getAggregation(source: .server)
        #expect(!server.metadata.isFromCache && !server.metadata.hasPendingWrites && server.completeness.isComplete)
        let expected = Self.shown(server)
        try await waitUntil { recorder.events.last == expected }
        #expect(Self.shown(try await query.getAggregation(source: .default)) == expected, "seed \(seed)")
        #expect(Self.shown(try await query.getAggregation(source: .cache)) == expected, "seed \(seed)")
      }
      try await db.terminate()
      try await other.terminate()
    }
  }

  @Test("a sequence ends with its task's loop, and with the client")
  func sequence() async throws {
    let db = try await TestFirestore.offline()
    let rows = db.collection("rows")
    rows.document("0").setData([:], completion: nil)
    var counts: [Int] = []
    for try await snapshot in rows.count.snapshots {
      counts.append(snapshot.count.intValue)
      #expect(snapshot.metadata == SnapshotMetadata(hasPendingWrites: true, isFromCache: true))
      if counts.count == 3 { break }
      rows.document("\(counts.count)").setData([:], completion: nil)
    }
    #expect(counts == [1, 2, 3])
    var iterator = rows.count.snapshots(includeMetadataChanges: true).makeAsyncIterator()
    #expect(try await iterator.next()?.count == 3)
    try await db.terminate()
    let error = await #expect(throws: (any Error).self) { _ = try await iterator.next() }
    #expect((error as NSError?)?.code == FirestoreErrorCode.cancelled.rawValue)
  }

  @Test("metadata says when the backend has confirmed the values, to those who ask for it")
  func metadata() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      try await db.disableNetwork()
      let rows = db.collection("rows")
      rows.document("a").setData(["n": 1], completion: nil)
      let recorder = Recorder<AggregateQuerySnapshot>()
      let options = SnapshotListenOptions().withIncludeMetadataChanges(true)
      let query = rows.aggregate([.count(), .sum("n")])
      let registration = query.addSnapshotListener(options: options) { snapshot, _ in
        if let snapshot { recorder.record(snapshot) }
      }
      let plain = Recorder<NSNumber>()
      query.addSnapshotListener(includeMetadataChanges: false) { snapshot, _ in
        if let snapshot { plain.record(snapshot.count) }
      }
      let first = try await recorder.next()
      #expect(first.metadata == SnapshotMetadata(hasPendingWrites: true, isFromCache: true))
      #expect(first.completeness == .notSynchronized && first.query == query)
      try await db.enableNetwork()
      let last = try await recorder.next { !$0.metadata.isFromCache && !$0.metadata.hasPendingWrites }
      #expect(last == first && last.completeness.isComplete)
      #expect(plain.events == [1])
      registration.remove()
      try await db.terminate()
    }
  }

  @Test("no aggregation, or more than five, is an error of the listener and of the sequence")
  func refused() async throws {
    let db = try await TestFirestore.offline()
    let none = db.collection("rows").aggregate([])
    let recorder = Recorder<NSError?>()
    none.addSnapshotListener { _, error in recorder.record(error as NSError?) }
    #expect(try await recorder.next()?.code == FirestoreErrorCode.invalidArgument.rawValue)
    let six = db.collection("rows").aggregate((0..<6).map { .sum("f\($0)") })
    let error = await thrown { for try await _ in six.snapshots {} }
    #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue)
    let once = await thrown { try await six.getAggregation(source: .default) }
    #expect(once?.code == FirestoreErrorCode.invalidArgument.rawValue)
  }

  @Test("an error of the backend ends the listener")
  func backendError() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      // The backend refuses more than 30 alternatives.
      let values = (0..<31).map { $0 }
      let filter = Filter.andFilter([
        .orFilter(values.map { Filter.whereField("a", isEqualTo: $0) }),
        .orFilter([.whereField("b", isEqualTo: 1), .whereField("b", isEqualTo: 2)]),
      ])
      let error = await thrown { for try await _ in db.collection("rows").whereFilter(filter).count.snapshots {} }
      #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue)
      try await db.terminate()
    }
  }

  @Test("clients that share a cache see each other's writes in their aggregates")
  func shared() async throws {
    let cache = try SharedCache()
    func client() throws -> Firestore {
      let settings = PersistentCacheSettings(directory: cache.directory)
      return try TestFirestore(name: cache.name(), cache: settings).firestore
    }
    let (first, second) = (try client(), try client())
    try await first.disableNetwork()
    try await second.disableNetwork()
    let recorder = Recorder<Shown>()
    first.collection("rows").aggregate(Self.fields).addSnapshotListener { snapshot, _ in
      if let snapshot { recorder.record(Self.shown(snapshot)) }
    }
    #expect(try await recorder.next().count == 0)
    second.document("rows/a").setData(["n": 4], completion: nil)
    #expect(try await recorder.next() == Shown(count: 1, sum: 4, average: 4))
    let query = first.collection("rows").aggregate(Self.fields)
    let snapshot = try await query.getAggregation(source: .default)
    #expect(Self.shown(snapshot) == Shown(count: 1, sum: 4, average: 4))
    #expect(snapshot.metadata == SnapshotMetadata(hasPendingWrites: true, isFromCache: true))
    try await first.terminate()
    try await second.terminate()
  }
}
