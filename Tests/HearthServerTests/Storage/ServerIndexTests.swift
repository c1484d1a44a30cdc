import Foundation
import HearthModel
import HearthPlan
import HearthStore
import HearthTransport
import HearthWire
import SwiftProtobuf
import TestSupport
import Testing

@testable import HearthServer

@Suite("Indexes of the server", .timeLimit(.minutes(2)))
struct ServerIndexTests {
  private static func fill(_ fixture: StorageFixture, count: Int) async throws {
    for start in stride(from: 0, to: count, by: 100) {
      let mutations = (start..<min(start + 100, count)).map { n in
        Mutation.set(key("c/d\(n)"), ["n": n.value, "group": (n % 40).value, "even": (n % 2).value])
      }
      _ = try await fixture.storage.commit(CommitRequest(mutations: mutations))
    }
  }

  @Test("a query whose scan costs much gets an index, and then costs as much as its result", arguments: [true, false])
  func byNeed(isFile: Bool) async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let fixture = try StorageFixture(location: isFile ? .file(path: "\(folder)/data") : .memory)
      try await Self.fill(fixture, count: 1_200)
      let query = Query(path: path("c")).with(filter: .field(field("group"), .equal, 7.value))
      let first = try await fixture.storage.run(query, at: nil)
      #expect(first.execution?.plan == .scan)
      #expect(first.documents.count == 30)
      try await waitUntil { try await fixture.storage.run(query, at: nil).execution?.rowsRead == 30 }
      let second = try await fixture.storage.run(query, at: nil)
      #expect(second.execution?.plan == .index)
      #expect(second.documents == first.documents)

      // Order and limit are pushed down, also for a document that is written now.
      let ordered = Query(path: path("c")).with(order: OrderBy(path: field("n"), direction: .descending)).with(limit: 5)
      _ = try await fixture.storage.run(ordered, at: nil)
      try await waitUntil { try await fixture.storage.run(ordered, at: nil).execution?.rowsRead == 5 }
      try await fixture.set("c/new", ["n": 9_999.value, "group": 7.value])
      #expect(try await fixture.storage.run(ordered, at: nil).documents.first?.key == key("c/new"))
      await fixture.storage.close()
    }
  }

  @Test("a query of a group gets an index of the group: many collections then cost what one costs")
  func byNeedOfGroup() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let location = Database.Location.file(path: "\(folder)/data")
      let fixture = try StorageFixture(location: location)
      for start in stride(from: 0, to: 400, by: 100) {
        let mutations = (start..<start + 100).map { Mutation.set(key("users/u\($0)/orders/o"), ["n": $0.value]) }
        _ = try await fixture.storage.commit(CommitRequest(mutations: mutations))
      }
      // An index of the collections makes each query look into all of them.
      let single = try IndexDefinition(collectionGroup: "orders", fields: [.init(path: field("n"), kind: .ascending)])
      await fixture.storage.declare([single])
      let query = Query(
        path: ResourcePath(), collectionGroup: "orders", explicitOrders: [OrderBy(path: field("n"))], limit: 1)
      let first = try await fixture.storage.run(query, at: nil)
      #expect(first.documents.map(\.key) == [key("users/u0/orders/o")])
      try await waitUntil { try await fixture.storage.run(query, at: nil).execution?.rangesRead == 2 }
      try await fixture.set("users/new/orders/o", ["n": (-1).value])
      let second = try await fixture.storage.run(query, at: nil)
      #expect(second.documents.map(\.key) == [key("users/new/orders/o")])
      // A document that arrives before the index is complete is looked for outside the index.
      try await waitUntil { try await fixture.storage.run(query, at: nil).execution?.rowsRead == 1 }
      await fixture.storage.close()

      let reopened = try StorageFixture(location: location)
      let third = try await reopened.storage.run(query, at: nil)
      #expect(third.documents == second.documents)
      #expect(third.execution?.rangesRead == 2 && third.execution?.rowsRead == 1)
      await reopened.storage.close()
    }
  }

  @Test("an index that leads to many documents that do not match is no reason to go without a better one")
  func better() async throws {
    let fixture = try StorageFixture()
    try await Self.fill(fixture, count: 1_200)
    let even = try IndexDefinition(collectionGroup: "c", fields: [.init(path: field("even"), kind: .ascending)])
    await fixture.storage.declare([even])
    let both = Query(path: path("c")).with(filter: .field(field("even"), .equal, 1.value))
      .with(filter: .field(field("group"), .equal, 7.value))
    _ = try await fixture.storage.run(both, at: nil)
    try await waitUntil { try await fixture.storage.run(both, at: nil).execution?.rowsRead == 30 }
  }

  @Test("indexes of single fields are merged: only documents in the ranges of both are read")
  func merged() async throws {
    let fixture = try StorageFixture(fillsIndexes: false)
    try await Self.fill(fixture, count: 1_200)
    let definitions = try ["even", "group"].map { name in
      try IndexDefinition(collectionGroup: "c", fields: [.init(path: field(name), kind: .ascending)])
    }
    await fixture.storage.declare(definitions)
    while await fixture.storage.fillIndexes(IndexTable.FillLimits()) {}
    try await fixture.commit(.set(key("c/d7"), ["group": 7.value, "even": 0.value]))
    let query = Query(path: path("c")).with(filter: .field(field("even"), .equal, 1.value))
      .with(filter: .field(field("group"), .equal, 7.value))
    let answer = try await fixture.storage.run(query, at: nil)
    #expect(answer.documents.count == 29)
    #expect(answer.execution?.rowsRead == 29)
    #expect(answer.execution?.mergedIndexes.count == 1)
  }

  @Test("pages of a collection in the order of keys cost as much as they show, wherever they begin")
  func pages() async throws {
    let fixture = try StorageFixture()
    try await Self.fill(fixture, count: 1_200)
    try await fixture.set("c/__id7__")
    let reference = Value.reference(ReferenceValue(database: ServerFixture.database, key: key("c/d500")))
    for direction in [OrderBy.Direction.ascending, .descending] {
      let query = Query(path: path("c"), explicitOrders: [OrderBy(path: .documentKey, direction: direction)])
      let first = try await fixture.storage.run(query.with(limit: 20), at: nil)
      #expect(first.execution?.rowsRead == 20)
      #expect((first.documents.first?.key == key("c/__id7__")) == (direction == .ascending))
      let later = query.with(limit: 20).with(startAt: Bound(position: [reference], isInclusive: true))
      let answer = try await fixture.storage.run(later, at: nil)
      #expect(answer.execution?.rowsRead == 20)
      #expect(answer.documents.first?.key == key("c/d500"))
      let all = try await fixture.storage.run(query, at: nil).documents.map(\.key)
      let index = try #require(all.firstIndex(of: key("c/d500")))
      #expect(answer.documents.map(\.key) == Array(all[index..<index + 20]))
    }
  }

  @Test("a result is one state, however much is written between its pieces")
  func pieces() async throws {
    let fixture = try StorageFixture()
    try await Self.fill(fixture, count: 500)
    let query = Query(path: path("c"))
      .with(order: OrderBy(path: .documentKey, direction: .ascending)).with(limit: 400)
    let expected = try await fixture.storage.run(query, at: nil).documents
    let pieces = try await fixture.pieces(of: query) { count in
      try await fixture.commit(.delete(key("c/d\(count * 3)")))
      try await fixture.set("c/d\(count * 3 + 1)", ["n": 0.value])
      try await fixture.set("c/a\(count)")
    }
    #expect(pieces.count > 2)
    #expect(pieces.flatMap(\.documents) == expected)
  }

  @Test("a database that is opened again has its indexes, and goes on filling them")
  func reopening() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let location = Database.Location.file(path: "\(folder)/data")
      let query = Query(path: path("c")).with(filter: .field(field("group"), .equal, 7.value))
      let fixture = try StorageFixture(location: location, fillsIndexes: false)
      try await Self.fill(fixture, count: 1_200)
      _ = try await fixture.storage.run(query, at: nil)
      try await waitUntil { await fixture.storage.fillIndexes(IndexTable.FillLimits(documents: 100)) }
      let partly = try await fixture.storage.run(query, at: nil)
      #expect(partly.documents.count == 30)
      await fixture.storage.close()
      let reopened = try StorageFixture(location: location)
      try await waitUntil { try await reopened.storage.run(query, at: nil).execution?.rowsRead == 30 }
      await reopened.storage.close()
    }
  }

  @Test("declared indexes come from a file, which is read again when it changes; a wrong one changes nothing")
  func indexFile() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let file = "\(folder)/firestore.indexes.json"
      func write(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: file), options: .atomic) }
      func index(_ field: String) -> String {
        """
        {"indexes": [{"collectionGroup": "c", "queryScope": "COLLECTION", "fields": [
          {"fieldPath": "group", "order": "ASCENDING"}, {"fieldPath": "\(field)", "order": "DESCENDING"}]}]}
        """
      }
      try write(index("n"))
      try await ServerFixture.withServer(indexFile: file) { server in
        try await server.commit(
          (0..<60).map { .set(key("c/d\($0)"), ["n": $0.value, "even": 0.value, "group": 1.value]) })
        /// The index, and the entries read: none if the collection was read instead.
        func used(_ path: String) async throws -> [String] {
          var request = server.queryRequest(
            Query(path: HearthServerTests.path("c")).with(filter: .field(field("group"), .equal, 1.value))
              .with(order: OrderBy(path: field(path), direction: .descending)))
          request.explainOptions.analyze = true
          let metrics = try await server.list(
            Method.RunQuery.descriptor, request, as: Google_Firestore_V1_RunQueryResponse.self
          ).filter(\.hasExplainMetrics).map(\.explainMetrics)
          return metrics.flatMap { metrics in
            let indexes = metrics.planSummary.indexesUsed.map { $0.fields["properties"]?.stringValue ?? "" }
            let entries = metrics.executionStats.debugStats.fields["index_entries_scanned"]?.stringValue ?? ""
            return indexes + [entries]
          }
        }
        try await waitUntil { try await used("n") == ["(group ASC, n DESC, __name__ DESC)", "60"] }
        try write("{\"indexes\": [{\"fields\": 1}]}")
        #expect(try await used("n") == ["(group ASC, n DESC, __name__ DESC)", "60"])
        try write(index("even"))
        try await waitUntil { try await used("even") == ["(group ASC, even DESC, __name__ DESC)", "60"] }
        #expect(try await used("n").last == "0")
      }
      for (text, fault) in [
        ("[]", "the text must be an object, but is an array"), ("{}", "has no member \"indexes\"; its members: none"),
        (#"{"fieldOverrides": []}"#, "has no member \"indexes\"; its members: \"fieldOverrides\""),
        (#"{"indexes": {"a": 1}}"#, "indexes must be an array, but is an object"),
        (#"{"indexes": [{"fields": 1}]}"#, "indexes[0]"),
        (
          #"{"firestore": {"rules": "a.rules", "indexes": "b.json"}, "hosting": {}}"#,
          "its members: \"firestore\", \"hosting\". This is a firebase.json, which names the file with the indexes: give \"b.json\"."
        ),
      ] {
        try write(text)
        let error = await #expect(throws: ServerError.self, "\(text)") {
          try await ServerFixture.withServer(indexFile: file) { _ in }
        }
        let message = error?.message ?? ""
        #expect(message.hasPrefix("Index file \"\(file)\": ") && message.contains(fault), "\(message)")
        #expect(message.contains("The file has the form of firestore.indexes.json: {\"indexes\": [{"), "\(message)")
      }
    }
  }

  @Test("a member of the index file that has no effect is named in the log")
  func unknownMember() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let file = "\(folder)/firestore.indexes.json"
      try Data(#"{"indexes": [], "indexs": [], "fieldOverrides": []}"#.utf8).write(to: URL(fileURLWithPath: file))
      let log = LogRecorder()
      let server = try await EmbeddedServer.start(storage: .memory, logger: log.logger) { $0.indexFile = file }
      await server.shutdown()
      #expect(log.lines.filter { $0.hasPrefix("warning ") && $0.contains("member=indexs") }.count == 1, "\(log.lines)")
    }
  }

  @Test("explain tells the plan alone, or the plan, the results and what they have cost")
  func explain() async throws {
    try await ServerFixture.withServer { server in
      try await server.commit((0..<200).map { .set(key("c/d\($0)"), ["n": $0.value]) })
      var request = server.queryRequest(Query(path: path("c")).with(filter: .field(field("n"), .lessThan, 20.value)))
      request.explainOptions.analyze = true
      func run() async throws -> [Google_Firestore_V1_RunQueryResponse] {
        try await server.list(Method.RunQuery.descriptor, request)
      }
      let scanned = try await run()
      #expect(scanned.filter { !$0.document.isEmpty }.count == 20)
      #expect(scanned.dropLast().allSatisfy { !$0.hasExplainMetrics })
      let cost = try #require(scanned.last?.explainMetrics)
      #expect(cost.executionStats.resultsReturned == 20)
      #expect(cost.executionStats.readOperations == 20)
      #expect(cost.executionStats.hasExecutionDuration)
      #expect(cost.executionStats.debugStats.fields["documents_scanned"]?.stringValue == "200")
      try await waitUntil {
        try await run().last?.explainMetrics.executionStats.debugStats.fields["documents_scanned"]?.stringValue == "20"
      }
      let indexed = try #require(try await run().last?.explainMetrics)
      #expect(indexed.planSummary.indexesUsed.first?.fields["properties"]?.stringValue == "(n ASC, __name__ ASC)")
      #expect(indexed.planSummary.indexesUsed.first?.fields["query_scope"]?.stringValue == "Collection")
      #expect(indexed.executionStats.debugStats.fields["index_entries_scanned"]?.stringValue == "20")
      request.explainOptions.analyze = false
      let planned = try await run()
      #expect(planned.count == 1)
      #expect(planned.first?.document.isEmpty == true)
      #expect(planned.first?.explainMetrics.hasExecutionStats == false)
      #expect(planned.first?.explainMetrics.planSummary.indexesUsed.count == 1)
    }
  }

  @Test(
    "a long result comes in order over the wire, the number of skipped documents with the first and the end with the last"
  )
  func longResult() async throws {
    try await ServerFixture.withServer { server in
      let count = 300
      try await server.commit((0..<count).map { .set(key("c/d\($0 + 1000)"), ["n": $0.value]) })
      for (offset, limit) in [(0, 290), (7, 200), (40, 100), (0, 32), (33, 64), (400, 10)] {
        var request = server.queryRequest(
          Query(path: path("c")).with(order: OrderBy(path: .documentKey, direction: .ascending)).with(limit: limit))
        request.structuredQuery.offset = Int32(offset)
        let responses = try await server.list(
          Method.RunQuery.descriptor, request, as: Google_Firestore_V1_RunQueryResponse.self)
        let ids = try responses.filter { !$0.document.isEmpty }.map {
          try ServerFixture.translator.decode(documentBytes: $0.document, readTime: .none).key.id
        }
        #expect(ids == (0..<count).dropFirst(offset).prefix(limit).map { "d\($0 + 1000)" })
        #expect(responses.first?.skippedResults == Int32(min(offset, count)))
        #expect(responses.dropFirst().allSatisfy { $0.skippedResults == 0 })
        #expect(responses.dropLast().allSatisfy { !$0.done })
        #expect(responses.last?.done == true)
        #expect(Set(responses.map(\.readTime)).count == 1)
        #expect(responses.count == max(ids.count, 1))
      }
    }
  }
}
