import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Hearth

@Suite("Aggregates with the default source", .timeLimit(.minutes(2)))
struct DefaultAggregateTests {
  /// Holds the answers to writes back, perhaps also documents that are read, and counts the calls of the backend.
  private final class Held: AnswerInterceptor {
    /// The number of answers on a Write stream that still pass: the first one is that of the handshake.
    private let passing: Mutex<Int>
    private let calls = Mutex<[String]>([])
    private let isOpen = Mutex(false)
    private let holdsDocuments: Bool

    init(passing count: Int, holdsDocuments: Bool) {
      passing = Mutex(count)
      self.holdsDocuments = holdsDocuments
    }

    func release() { isOpen.withLock { $0 = true } }
    func count(of method: String) -> Int { calls.withLock { $0.count { $0 == method } } }

    func callBegan(_ method: String) { calls.withLock { $0.append(method) } }

    func answer(_ answer: any Sendable, to method: String) async -> any Sendable {
      if method == "BatchGetDocuments", holdsDocuments { try? await waitUntil { isOpen.withLock { $0 } } }
      guard method == "Write" else { return answer }
      let passes = passing.withLock { count in
        count -= 1
        return count >= 0
      }
      if !passes { try? await waitUntil { isOpen.withLock { $0 } } }
      return answer
    }
  }

  private static let fields: [AggregateField] = [.count(), .sum("n"), .average("n"), .sum("d")]

  /// The aggregations computed of documents one by one; the numbers are such that doubles add them exactly.
  private static func expected(_ documents: [QueryDocumentSnapshot]) -> [NSNumber?] {
    let taking = documents.filter { $0.get("n") != nil && $0.get("d") != nil }
    let numbers = taking.compactMap { $0.get("n") as? NSNumber }.map(\.doubleValue)
    let doubles = taking.compactMap { $0.get("d") as? NSNumber }.map(\.doubleValue)
    let sum = numbers.reduce(0, +)
    return [
      taking.count as NSNumber, sum as NSNumber, numbers.isEmpty ? nil : (sum / Double(numbers.count)) as NSNumber,
      doubles.reduce(0, +) as NSNumber,
    ]
  }

  private static func values(_ snapshot: AggregateQuerySnapshot) -> [NSNumber?] {
    fields.map { snapshot.get($0) as? NSNumber }
  }

  /// A backend with documents, and a client whose writes stay pending.
  private func run(
    passing count: Int, holdsDocuments: Bool = false, _ body: (_ db: Firestore, _ server: Held) async throws -> Void
  ) async throws {
    // The writes of the other client are answered: handshake and one batch.
    let server = Held(passing: 2 + count, holdsDocuments: holdsDocuments)
    try await InterceptedServer.run(server) { host in
      let other = try TestFirestore(host: host).firestore
      let batch = other.batch()
      for index in 0..<20 {
        batch.setData(
          ["n": index, "d": Double(index) / 4, "open": index % 2 == 0], forDocument: other.document("rows/\(index)"))
      }
      try await batch.commit()
      let db = try TestFirestore(host: host).firestore
      // Also after an error: the server ends only when its streams do.
      defer { server.release() }
      try await body(db, server)
      server.release()
      try await db.terminate()
      try await other.terminate()
    }
  }

  @Test("without a pending write the backend computes, and no document is sent")
  func server() async throws {
    try await run(passing: 0) { db, server in
      // A write elsewhere makes no difference.
      db.document("elsewhere/a").setData(["n": 1], completion: nil)
      let snapshot = try await db.collection("rows").aggregate(Self.fields).getAggregation(source: .default)
      #expect(Self.values(snapshot) == [20, 190, 9.5, 47.5])
      #expect(snapshot.metadata == SnapshotMetadata(hasPendingWrites: false, isFromCache: false))
      #expect(snapshot.completeness.isComplete)
      #expect(server.count(of: "BatchGetDocuments") == 0)
      #expect(try await db.collection("rows").getDocuments(source: .cache).isEmpty)
    }
  }

  @Test(
    "pending writes count, whether the backend has them or not, without reading the whole query",
    arguments: [0, 1])
  func pending(passing: Int) async throws {
    try await run(passing: passing) { db, server in
      let rows = db.collection("rows")
      // An increment starts from what this device knows of the document, as in every local view.
      _ = try await rows.document("6").getDocument()
      rows.document("new").setData(["n": 100, "d": 0.25, "open": true], completion: nil)
      rows.document("0").delete(completion: nil)
      rows.document("3").updateData(["n": 1_000, "open": true], completion: nil)
      rows.document("4").updateData(["n": FieldValue.delete()], completion: nil)
      rows.document("5").updateData(["other": 1], completion: nil)
      rows.document("6").updateData(["n": FieldValue.increment(Int64(10))], completion: nil)
      if passing == 1 {
        // The first batch is at the backend, its answer is not here.
        try await waitUntil { server.count(of: "Write") == 2 }
        try await waitForDocument("rows/new", on: db)
      }
      let all = try await rows.aggregate(Self.fields).getAggregation(source: .default)
      #expect(Self.values(all) == [19, 1_293, NSNumber(value: 1_293.0 / 19), 46.75])
      #expect(all.metadata == SnapshotMetadata(hasPendingWrites: true, isFromCache: false))
      let open = try await rows.whereField("open", isEqualTo: true).count.getAggregation(source: .default)
      #expect(open.count == 11)
      let large = try await rows.whereField("n", isGreaterThan: 17).count.getAggregation(source: .default)
      #expect(large.count == 4)
      let bounded = try await rows.order(by: "n").start(at: [17]).end(before: [100]).count
        .getAggregation(source: .default)
      #expect(bounded.count == 3)
      #expect(server.count(of: "BatchGetDocuments") == 4 && server.count(of: "Listen") == 1)
      // The backend alone does not know of the writes that are not sent.
      if passing == 0 { #expect(try await rows.count.getAggregation(source: .server).count == 20) }
    }
  }

  private func waitForDocument(_ path: String, on db: Firestore) async throws {
    let query = db.collection("rows").whereField(FieldPath.documentID(), isEqualTo: "new").count
    while try await query.getAggregation(source: .server).count == 0 {}
  }

  @Test("agrees with the query's documents, whatever is pending", arguments: SeededGenerator.seeds(3))
  func differential(seed: UInt64) async throws {
    try await run(passing: 0) { db, _ in
      var generator = SeededGenerator(seed: seed)
      let rows = db.collection("rows")
      for _ in 0..<25 {
        let document = rows.document("\(generator.below(26))")
        switch generator.below(5) {
        case 0: document.delete(completion: nil)
        case 1: document.setData(["open": true, "n": generator.below(50)], completion: nil)
        case 2: document.setData(["d": Double(generator.below(50)) / 4], merge: true, completion: nil)
        default:
          let data: [String: Any] = ["n": generator.below(99), "d": 0.5 * Double(generator.below(9)), "open": true]
          document.setData(data, completion: nil)
        }
      }
      let queries = [
        rows, rows.whereField("open", isEqualTo: true), rows.whereField("n", isLessThan: 30),
        rows.order(by: "n").order(by: "d").start(at: [10]),
      ]
      for query in queries {
        let snapshot = try await query.aggregate(Self.fields).getAggregation(source: .default)
        let documents = try await query.getDocuments()
        #expect(!snapshot.metadata.isFromCache && !documents.metadata.isFromCache)
        #expect(Self.values(snapshot) == Self.expected(documents.documents), "seed \(seed)")
      }
    }
  }

  @Test("a sum that the backend's value does not determine is computed of the query's documents")
  func query() async throws {
    try await run(passing: 0) { db, server in
      let rows = db.collection("rows")
      rows.document("0").updateData(["d": Double.infinity], completion: nil)
      let infinite = try await rows.aggregate([.sum("d")]).getAggregation(source: .default)
      #expect(infinite.get(.sum("d")) as? Double == .infinity)
      #expect(server.count(of: "Listen") == 0)
      for index in 10..<20 { rows.document("\(index)").updateData(["d": 0], completion: nil) }
      rows.document("0").updateData(["d": 0.25], completion: nil)
      let sum = try await rows.aggregate([.sum("d")]).getAggregation(source: .default)
      #expect(sum.get(.sum("d")) as? Double == 11.5)
      #expect(server.count(of: "Listen") == 1)
      #expect(sum.metadata == SnapshotMetadata(hasPendingWrites: true, isFromCache: false))
    }
  }

  @Test("offline the cache answers, and the metadata says so")
  func offline() async throws {
    try await run(passing: 0) { db, _ in
      let rows = db.collection("rows")
      _ = try await rows.getDocuments()
      try await db.disableNetwork()
      let known = try await rows.aggregate(Self.fields).getAggregation(source: .default)
      #expect(Self.values(known) == [20, 190, 9.5, 47.5])
      #expect(known.metadata == SnapshotMetadata(hasPendingWrites: false, isFromCache: true))
      #expect(known.completeness.isComplete)
      rows.document("0").delete(completion: nil)
      rows.document("1").updateData(["n": 2], completion: nil)
      let changed = try await rows.aggregate(Self.fields).getAggregation(source: .default)
      #expect(Self.values(changed) == [19, 191, NSNumber(value: 191.0 / 19), 47.5])
      #expect(changed.metadata == SnapshotMetadata(hasPendingWrites: true, isFromCache: true))
      let limited = try await rows.order(by: "n").limit(to: 3).aggregate([.sum("n")]).getAggregation(source: .default)
      #expect(limited.get(.sum("n")) as? Int == 7 && limited.completeness == .notSynchronized)
      let unknown = try await db.collection("never read").count.getAggregation(source: .default)
      #expect(unknown.count == 0 && unknown.completeness == .notSynchronized && unknown.metadata.isFromCache)
    }
  }

  @Test("a backend that cannot be reached is no error")
  func unreachable() async throws {
    let db = try TestFirestore().firestore
    db.document("rows/a").setData(["n": 1], completion: nil)
    let snapshot = try await db.collection("rows").count.getAggregation(source: .default)
    #expect(snapshot.count == 1 && snapshot.metadata.isFromCache && snapshot.metadata.hasPendingWrites)
    let other = try await db.collection("others").count.getAggregation(source: .default)
    #expect(other.count == 0 && other.metadata.isFromCache)
    let error = await thrown { try await db.collection("rows").count.getAggregation(source: .server) }
    #expect(error?.code == FirestoreErrorCode.unavailable.rawValue)
  }

  @Test("the documents of pending writes are waited for no longer than the values")
  func slowDocuments() async throws {
    try await run(passing: 0, holdsDocuments: true) { db, server in
      let rows = db.collection("rows")
      rows.document("new").setData(["n": 100], completion: nil)
      let (query, outcome) = (rows.count, Outcome<AggregateQuerySnapshot>())
      let start = ContinuousClock.now
      let aggregation = DefaultAggregation(
        db.runtime(), rows.model, query.aggregations, timeout: .seconds(5)
      ) { result in
        outcome.resolve(result.map { AggregateQuerySnapshot(query: query, result: $0) }.mapError { $0 })
      }
      let reading = aggregation.run()
      let snapshot = try await outcome.value()
      withExtendedLifetime(reading) {}
      #expect(snapshot.count == 1 && snapshot.metadata.isFromCache && snapshot.metadata.hasPendingWrites)
      // Neither is asked for again, nor waited for until the end of a call's own time.
      #expect(server.count(of: "BatchGetDocuments") <= 1 && ContinuousClock.now - start < .seconds(55))
    }
  }

  @Test("errors of the backend are reported")
  func refused() async throws {
    try await run(passing: 0) { db, _ in
      // The backend refuses more than 30 alternatives.
      let filter = Filter.andFilter([
        .orFilter((0..<31).map { Filter.whereField("a", isEqualTo: $0) }),
        .orFilter([.whereField("b", isEqualTo: 1), .whereField("b", isEqualTo: 2)]),
      ])
      let query = db.collection("rows").whereFilter(filter).count
      let error = await thrown { try await query.getAggregation(source: .default) }
      #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue)
    }
  }

  @Test("a task that is cancelled while the query is read for it leaves no listener")
  func cancelled() async throws {
    try await run(passing: 0) { db, server in
      db.document("rows/0").delete(completion: nil)
      func begin() -> (Task<Void, any Error>, ClientEndTests.Weak<AggregateQuery>) {
        let query = db.collection("rows").order(by: "n").limit(to: 3).aggregate(Self.fields)
        return (Task { _ = try await query.getAggregation(source: .default) }, ClientEndTests.Weak(query))
      }
      let (task, query) = begin()
      // The backend sends what takes the place of the deleted row only after the write, whose answer is held back.
      try await waitUntil { try await db.collection("rows").getDocuments(source: .cache).count == 2 }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      await query.gone()
    }
  }
}
