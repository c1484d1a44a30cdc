import Foundation
import Hearth
import HearthServer
import InteropSupport
import Logging
import TestSupport
import Testing

/// The behaviour of the client with any backend, run against our own server and against Google's emulator.
enum ClientContract: String, CaseIterable, CustomTestStringConvertible {
  case offlineWritesArriveOnceAndInOrder
  case listenerSeesOtherClientsAndItsOwnPendingWrites
  case queriesAnswerTheSameFromCacheAndServer
  case rejectedWriteIsRolledBackAndLaterOnesGoOut
  case restartedClientIsBroughtUpToDate
  case documentDeletedElsewhereWhileOfflineDisappears
  case serverTimestampIsEstimatedAndThenReplaced
  case limitQueryRefills
  case aggregationsAreTheSameFromCacheAndServer
  case concurrentTransactionsLoseNothing
  case transactionsWriteInOrderAndOnlyOnWhatWasRead
  case aggregationsAgreeAtTheEdges
  case bundlesGiveWayToNewerDocuments
  case switchingTheNetworkAllTheTimeLosesNothing
  case conflictsAreFoundAndResolved

  var testDescription: String { rawValue }

  func run(port: Int) async throws {
    let project = "contract-\(UUID().uuidString.prefix(8).lowercased())"
    switch self {
    case .offlineWritesArriveOnceAndInOrder: try await offlineWrites(port, project)
    case .listenerSeesOtherClientsAndItsOwnPendingWrites: try await listener(port, project)
    case .queriesAnswerTheSameFromCacheAndServer: try await queries(port, project)
    case .rejectedWriteIsRolledBackAndLaterOnesGoOut: try await rejectedWrite(port, project)
    case .restartedClientIsBroughtUpToDate: try await restart(port, project)
    case .documentDeletedElsewhereWhileOfflineDisappears: try await deletedElsewhere(port, project)
    case .serverTimestampIsEstimatedAndThenReplaced: try await serverTimestamp(port, project)
    case .limitQueryRefills: try await limitRefill(port, project)
    case .aggregationsAreTheSameFromCacheAndServer: try await aggregations(port, project)
    case .concurrentTransactionsLoseNothing: try await transactions(port, project)
    case .transactionsWriteInOrderAndOnlyOnWhatWasRead: try await transactionEdges(port, project)
    case .aggregationsAgreeAtTheEdges: try await aggregationEdges(port, project)
    case .bundlesGiveWayToNewerDocuments: try await bundles(port, project)
    case .switchingTheNetworkAllTheTimeLosesNothing: try await flicker(port, project)
    case .conflictsAreFoundAndResolved: try await conflicts(port, project)
    }
  }

  private func aggregations(_ port: Int, _ project: String) async throws {
    let client = try InteropClient(port: port, project: project)
    let cities = client.collection("cities")
    let populations: [Any] = [1, 2, 3.5, "unknown", NSNull(), 40]
    for (index, population) in populations.enumerated() {
      try await cities.document("c\(index)").setData(["population": population, "capital": index % 2 == 0])
    }
    try await cities.document("without").setData(["capital": true])
    _ = try await cities.getDocuments(source: .server)

    let fields: [AggregateField] = [.count(), .sum("population"), .average("population")]
    let queries: [Hearth.Query] = [
      cities, cities.whereField("capital", isEqualTo: true), cities.order(by: "population").limit(to: 2),
      cities.order(by: "population").limit(toLast: 2), cities.whereField("population", isGreaterThan: 1000),
      cities.order(by: "population").start(at: [2]),
    ]
    for query in queries {
      let count = try await query.count.getAggregation(source: .server)
      #expect(try await query.count.getAggregation(source: .cache) == count, "\(query)")
      for field in fields {
        let server = try await query.aggregate([field]).getAggregation(source: .server)
        let cache = try await query.aggregate([field]).getAggregation(source: .cache)
        #expect("\(server.get(field))" == "\(cache.get(field))", "\(field) of \(query)")
      }
    }
    let sum = try await cities.aggregate([.sum("population")]).getAggregation(source: .server)
    #expect(sum.get(.sum("population")) as? Double == 46.5)
    #expect(try await cities.count.getAggregation(source: .server).count == 7)

    // Writes that wait count in the cache only; without a network the backend is not asked.
    try await client.firestore.disableNetwork()
    cities.document("new").setData(["population": 1], completion: nil)
    #expect(try await cities.count.getAggregation(source: .cache).count == 8)
    let error = await #expect(throws: (any Error).self) { try await cities.count.getAggregation(source: .server) }
    #expect((error as? NSError)?.code == FirestoreErrorCode.unavailable.rawValue)
    try await client.firestore.terminate()
  }

  private func offlineWrites(_ port: Int, _ project: String) async throws {
    let client = try InteropClient(port: port, project: project)
    try await client.firestore.disableNetwork()
    for number in 1...30 {
      client.document("totals/all").setData(
        ["sum": FieldValue.increment(Int64(number)), "order": FieldValue.arrayUnion([number])], merge: true,
        completion: nil)
    }
    #expect(try await client.firestore.pendingWrites().count == 30)
    try await client.firestore.enableNetwork()
    try await client.firestore.waitForPendingWrites()

    let witness = try InteropClient(port: port, project: project)
    let totals = try await witness.document("totals/all").getDocument(source: .server)
    #expect(totals.get("sum") as? Int == (1...30).reduce(0, +))
    #expect(totals.get("order") as? [Int] == Array(1...30))
    try await client.firestore.terminate()
    try await witness.firestore.terminate()
  }

  private func listener(_ port: Int, _ project: String) async throws {
    let first = try InteropClient(port: port, project: project)
    let second = try InteropClient(port: port, project: project)
    let log = EventLog(first.collection("rooms").whereField("open", isEqualTo: true))
    try await log.newest("an empty synced result") { !$0.metadata.isFromCache && $0.isEmpty }

    try await second.document("rooms/a").setData(["open": true, "n": 1])
    try await log.newest("the other client's document") { $0.documents.map(\.documentID) == ["a"] }
    first.document("rooms/b").setData(["open": true, "n": 2], completion: nil)
    try await log.newest("both, acknowledged") {
      $0.documents.map(\.documentID) == ["a", "b"] && !$0.metadata.hasPendingWrites && !$0.metadata.isFromCache
    }
    let pendingFirst = log.all.contains { snapshot in
      snapshot.documents.contains { $0.documentID == "b" && $0.metadata.hasPendingWrites }
    }
    #expect(pendingFirst, "the own write is shown before the backend has it")
    try await second.document("rooms/a").updateData(["open": false])
    let left = try await log.newest("the document that no longer matches is gone") {
      $0.documents.map(\.documentID) == ["b"]
    }
    #expect(left.documentChanges.map(\.type) == [.removed])
    log.remove()
    try await first.firestore.terminate()
    try await second.firestore.terminate()
  }

  private func queries(_ port: Int, _ project: String) async throws {
    let client = try InteropClient(port: port, project: project)
    let items = client.collection("items")
    for (id, data) in Self.items {
      items.document(id).setData(data, completion: nil)
    }
    try await client.firestore.waitForPendingWrites()
    _ = try await items.getDocuments(source: .server)

    let witness = try InteropClient(port: port, project: project)
    for (name, query) in Self.queries {
      let fromServer = try await query(witness.collection("items")).getDocuments(source: .server)
      let fromCache = try await query(items).getDocuments(source: .cache)
      #expect(
        fromCache.documents.map(\.documentID) == fromServer.documents.map(\.documentID), "\(name): cache, then server")
      #expect(!fromServer.isEmpty, "\(name) finds something")
    }
    try await client.firestore.terminate()
    try await witness.firestore.terminate()
  }

  private func rejectedWrite(_ port: Int, _ project: String) async throws {
    let client = try InteropClient(port: port, project: project)
    let log = EventLog(client.collection("rooms"))
    try await log.newest("a synced result") { !$0.metadata.isFromCache }
    await #expect {
      try await client.document("rooms/missing").updateData(["n": 1])
    } throws: {
      ($0 as NSError).code == FirestoreErrorCode.notFound.rawValue
    }
    try await client.document("rooms/later").setData(["n": 2])
    try await log.newest("only the later write") {
      $0.documents.map(\.documentID) == ["later"] && !$0.metadata.hasPendingWrites
    }
    try await client.firestore.terminate()
  }

  private func restart(_ port: Int, _ project: String) async throws {
    let folder = TemporaryFolder()
    let other = try InteropClient(port: port, project: project)
    try await other.document("rooms/a").setData(["n": 1])

    let before = try InteropClient(port: port, project: project, cache: folder.url)
    let firstLog = EventLog(before.collection("rooms"))
    try await firstLog.newest("the document from the backend") { !$0.metadata.isFromCache && $0.count == 1 }
    try await before.firestore.disableNetwork()
    before.document("rooms/b").setData(["n": 2], completion: nil)
    #expect(try await before.firestore.pendingWrites().count == 1)
    try await before.firestore.terminate()
    try await other.document("rooms/a").updateData(["n": 3])
    try await other.document("rooms/c").setData(["n": 4])

    let after = try InteropClient(port: port, project: project, cache: folder.url)
    try await after.firestore.disableNetwork()
    let log = EventLog(after.collection("rooms"))
    try await log.newest("the cache with the queued write") {
      $0.documents.map(\.documentID) == ["a", "b"] && $0.metadata.isFromCache && $0.metadata.hasPendingWrites
    }
    try await after.firestore.enableNetwork()
    let synced = try await log.newest("everything") {
      $0.documents.map(\.documentID) == ["a", "b", "c"] && !$0.metadata.isFromCache && !$0.metadata.hasPendingWrites
    }
    #expect(synced.documents.map { $0.get("n") as? Int } == [3, 2, 4])
    try await after.firestore.terminate()
    try await other.firestore.terminate()
  }

  private func deletedElsewhere(_ port: Int, _ project: String) async throws {
    let client = try InteropClient(port: port, project: project)
    let other = try InteropClient(port: port, project: project)
    for id in ["a", "b", "c"] {
      try await other.document("rooms/\(id)").setData(["id": id])
    }
    let log = EventLog(client.collection("rooms").whereField("id", isGreaterThan: ""))
    try await log.newest("three documents") { !$0.metadata.isFromCache && $0.count == 3 }
    try await client.firestore.disableNetwork()
    try await log.newest("from the cache") { $0.metadata.isFromCache }
    try await other.document("rooms/b").delete()
    try await client.firestore.enableNetwork()
    try await log.newest("the deleted one gone, in sync") {
      !$0.metadata.isFromCache && $0.documents.map(\.documentID) == ["a", "c"]
    }
    try await client.firestore.terminate()
    try await other.firestore.terminate()
  }

  private func serverTimestamp(_ port: Int, _ project: String) async throws {
    let client = try InteropClient(port: port, project: project)
    let log = EventLog(client.collection("rooms"))
    try await log.newest("a synced result") { !$0.metadata.isFromCache }
    try await client.document("rooms/a").setData(["at": FieldValue.serverTimestamp()])
    let final = try await log.newest("the backend's time") {
      $0.count == 1 && !$0.metadata.hasPendingWrites && $0.documents[0].get("at") is Timestamp
    }
    #expect(final.documents[0].metadata.hasPendingWrites == false)
    let pending = try #require(log.all.first { $0.metadata.hasPendingWrites }?.documents.first)
    #expect(pending.get("at") is NSNull)
    #expect(pending.get("at", serverTimestampBehavior: .estimate) is Timestamp)
    try await client.firestore.terminate()
  }

  private func limitRefill(_ port: Int, _ project: String) async throws {
    let client = try InteropClient(port: port, project: project)
    let other = try InteropClient(port: port, project: project)
    for number in 1...5 {
      try await other.document("rooms/\(number)").setData(["n": number])
    }
    let log = EventLog(client.collection("rooms").order(by: "n").limit(to: 2))
    try await log.newest("the two smallest") {
      !$0.metadata.isFromCache && $0.documents.map(\.documentID) == ["1", "2"]
    }
    try await other.document("rooms/1").delete()
    try await log.newest("the third has moved up") {
      !$0.metadata.isFromCache && $0.documents.map(\.documentID) == ["2", "3"]
    }
    try await client.firestore.terminate()
    try await other.firestore.terminate()
  }
}

extension ClientContract {
  /// Documents of many kinds, so that filters and orders have something to tell apart.
  fileprivate static var items: [(String, [String: Any])] {
    [
      ("int", ["n": 1, "tags": ["a", "b"], "kind": "x"]), ("double", ["n": 1.5, "tags": ["b"], "kind": "y"]),
      ("big", ["n": 9_007_199_254_740_993, "kind": "x"]), ("bigdouble", ["n": 9_007_199_254_740_992.0, "kind": "y"]),
      ("nan", ["n": Double.nan, "kind": "x"]), ("null", ["n": NSNull(), "kind": "y"]),
      ("text", ["n": "1", "kind": "x"]),
      ("list", ["n": [1, 2], "tags": ["c"], "kind": "y"]), ("map", ["n": ["a": 1], "kind": "x"]),
      ("true", ["n": true, "kind": "y"]), ("missing", ["kind": "z"]), ("negative", ["n": -5, "kind": "z"]),
      ("é", ["n": 2, "kind": "é"]), ("z-last", ["n": 2, "kind": "ž"]),
    ]
  }

  fileprivate static var queries: [(String, (CollectionReference) -> Query)] {
    [
      ("everything", { $0 }),
      ("order by n", { $0.order(by: "n") }),
      ("order by n descending", { $0.order(by: "n", descending: true) }),
      ("equal across integer and double", { $0.whereField("n", isEqualTo: 1.0) }),
      ("greater than", { $0.whereField("n", isGreaterThan: 1) }),
      ("range", { $0.whereField("n", isGreaterThanOrEqualTo: -5).whereField("n", isLessThan: 2) }),
      ("not equal", { $0.whereField("n", isNotEqualTo: 1) }),
      ("null", { $0.whereField("n", isEqualTo: NSNull()) }),
      ("not a number", { $0.whereField("n", isEqualTo: Double.nan) }),
      ("array contains", { $0.whereField("tags", arrayContains: "b") }),
      ("array contains any", { $0.whereField("tags", arrayContainsAny: ["a", "c"]) }),
      ("in", { $0.whereField("n", in: [1, "1", true]) }),
      ("not in", { $0.whereField("kind", notIn: ["x", "y"]) }),
      (
        "or",
        {
          $0.whereFilter(
            Filter.orFilter([Filter.whereField("n", isEqualTo: 1), Filter.whereField("kind", isEqualTo: "z")]))
        }
      ),
      ("two orders and a limit", { $0.order(by: "kind").order(by: "n", descending: true).limit(to: 4) }),
      ("limit to last", { $0.order(by: "n").limit(toLast: 3) }),
      ("start and end", { $0.order(by: "n").start(at: [1]).end(before: ["1"]) }),
      ("start after", { $0.order(by: "kind").start(after: ["x"]) }),
      ("document id", { $0.whereField(FieldPath.documentID(), isGreaterThan: "m") }),
    ]
  }
}

@Suite("The client against hearth serve")
struct EmbeddedBackendTests {
  @Test(.timeLimit(.minutes(5)), arguments: ClientContract.allCases)
  func holds(_ contract: ClientContract) async throws {
    let server = try await EmbeddedServer.start(
      host: "127.0.0.1", port: 0, storage: .memory, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    try await contract.run(port: server.port)
    await server.shutdown()
  }
}

@Suite("The client against Google's emulator", .enabled(if: Emulator.isInstalled, Emulator.hint), Emulator())
struct EmulatorBackendTests {
  @Test(.timeLimit(.minutes(5)), arguments: ClientContract.allCases)
  func holds(_ contract: ClientContract) async throws {
    try await contract.run(port: Emulator.port)
  }

  @Test("every check of the demo holds against Google's emulator", .timeLimit(.minutes(5)))
  func demoPasses() async throws {
    let output = try await Programs.runInBackground(
      Programs.product("hearth"), ["demo", "--backend", "127.0.0.1:\(Emulator.port)"])
    #expect(output.status == 0, "\(output.text)")
  }
}
