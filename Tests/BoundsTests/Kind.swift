import Foundation
import HearthWire
import SwiftProtobuf

/// One kind of attack, and what it may cost the server.
struct Kind: Sendable {
  var name: String
  var budget: Budget
  var attack: @Sendable (Attack) async throws -> Void

  init(_ name: String, _ budget: Budget = Budget(), _ attack: @escaping @Sendable (Attack) async throws -> Void) {
    self.name = name
    self.budget = budget
    self.attack = attack
  }
}

extension Kind {
  /// All kinds. 8 clients attack unless an entry says otherwise, each for 16 MB of results: held for each, they would be 128 MB and more.
  static let all = reads + listeners + writes + connections + requests

  // MARK: - Reads that nobody reads

  private static let byNumber: @Sendable (inout StructuredQuery) -> Void = { $0.orderBy = [.by("n")] }

  static let reads: [Kind] = [
    Kind("plain query") { try await $0.leaveUnread(query: .of("big")) },
    Kind("query with an order") { try await $0.leaveUnread(query: .of("big", byNumber)) },
    Kind("query with a descending order") {
      try await $0.leaveUnread(query: .of("big") { $0.orderBy = [.by("m", .descending), .by("n")] })
    },
    Kind("query with an order and a limit") {
      try await $0.leaveUnread(
        query: .of("big") {
          byNumber(&$0)
          $0.limit = Google_Protobuf_Int32Value(.max)
        })
    },
    Kind("query with a huge limit") {
      try await $0.leaveUnread(query: .of("big") { $0.limit = Google_Protobuf_Int32Value(.max) })
    },
    Kind("query with or") {
      let filter = StructuredQuery.Filter.composite(
        .or, [try .field("n", .greaterThanOrEqual, .integer(0)), try .field("m", .greaterThan, .integer(10))])
      try await $0.leaveUnread(query: .of("big") { $0.where = filter })
    },
    Kind("query with !=") {
      let filter = try StructuredQuery.Filter.field("n", .notEqual, .integer(-1))
      try await $0.leaveUnread(query: .of("big") { $0.where = filter })
    },
    Kind("query with selected fields") {
      try await $0.leaveUnread(
        query: .of("big") {
          $0.orderBy = [.by("m")]
          $0.select.fields = [.init("s")]
        })
    },
    Kind("query with an offset") {
      try await $0.leaveUnread(
        query: .of("big") {
          $0.orderBy = [.by("m")]
          $0.offset = 10
        })
    },
    Kind("query with cursors") {
      let value = try Google_Firestore_V1_Value.integer(5).serializedData()
      try await $0.leaveUnread(
        query: .of("big") {
          $0.orderBy = [.by("m")]
          $0.startAt.values = [value]
        })
    },
    Kind("query of a collection group") {
      try await $0.leaveUnread(query: .of("big") { $0.from[0].allDescendants = true })
    },
    Kind("query of a collection group with an order") {
      try await $0.leaveUnread(
        query: .of("big") {
          $0.from[0].allDescendants = true
          $0.orderBy = [.by("m")]
        })
    },
    Kind("query in the past, all of it changed since") { try await $0.leaveUnreadInThePast() },
    Kind("query with an order in read-only transactions") {
      try await $0.leaveUnreadInTransactions(.of("big", byNumber)) { $0.readOnly = .init() }
    },
    Kind("query with an order in read-write transactions") {
      try await $0.leaveUnreadInTransactions(.of("big", byNumber)) { $0.readWrite = .init() }
    },
    Kind("query with an order, explained") {
      try await $0.leaveUnread(query: .of("big", byNumber)) { $0.explainOptions.analyze = true }
    },
    Kind("vector search") { try await $0.searchVectors() },
    // A piece of a batch get has up to 32 documents of 1 MiB.
    Kind("batch get of large documents") { try await $0.getLarge() },
    Kind("list of documents") { attack in
      let call = try Call.list("big") { $0.pageSize = 100_000 }
      try await attack.leaveUnread { _ in call }
    },
    Kind("list of missing documents") { attack in
      let call = try Call.list("missing") {
        $0.pageSize = 100_000
        $0.showMissing = true
      }
      try await attack.leaveUnread { _ in call }
    },
    Kind("list of collection ids") { attack in
      let call = try Call.collectionIDs(of: "tree/root")
      try await attack.leaveUnread { _ in call }
    },
    Kind("partitions") { attack in
      let call = try Call.partitions(of: "big")
      try await attack.leaveUnread { _ in call }
    },
    Kind("aggregations") { try await $0.aggregate { _ in } },
    Kind("aggregations of a collection group with a filter") {
      let filter = try StructuredQuery.Filter.field("m", .notEqual, .integer(-1))
      try await $0.aggregate {
        $0.from[0].allDescendants = true
        $0.where = filter
      }
    },
    Kind("query over REST") {
      try await $0.leaveUnreadOverREST {
        $0.post(":runQuery", #"{"structuredQuery": {"from": [{"collectionId": "big"}]}}"#)
      }
    },
    Kind("query with an order over REST") {
      try await $0.leaveUnreadOverREST {
        $0.post(
          ":runQuery",
          #"{"structuredQuery": {"from": [{"collectionId": "big"}], "orderBy": [{"field": {"fieldPath": "m"}}]}}"#)
      }
    },
    Kind("batch get of large documents over REST") {
      let names = (0..<SampleData.largeCount).map { "\"\(Call.documents)/large/\($0)\"" }
      let body = #"{"documents": ["# + names.joined(separator: ",") + "]}"
      try await $0.leaveUnreadOverREST { $0.post(":batchGet", body) }
    },
    Kind("list over REST") { try await $0.leaveUnreadOverREST { $0.get("/big?pageSize=100000") } },
  ]

  // MARK: - Listeners

  static let listeners: [Kind] = [
    Kind("listeners that do not read") { try await $0.listenUnread(.of("big")) },
    Kind("listeners with an order that do not read") { try await $0.listenUnread(.of("big", byNumber)) },
    Kind("listeners with a limit that do not read") {
      try await $0.listenUnread(
        .of("big") {
          byNumber(&$0)
          $0.limit = Google_Protobuf_Int32Value(1_000_000)
        })
    },
    Kind("listeners to large documents that do not read") { try await $0.listenUnreadToDocuments() },
    Kind("listeners that resume after an import") { try await $0.resume(.of("big")) },
    Kind("listeners with a limit that resume after an import") {
      try await $0.resume(
        .of("big") {
          byNumber(&$0)
          $0.limit = Google_Protobuf_Int32Value(1_000_000)
        })
    },
    // Listeners may be 32 MiB of commits behind.
    Kind("listeners that fall behind", Budget(memoryMiB: 64)) { try await $0.fallBehind() },
    // Each commit is news of all queries.
    Kind("listeners to a thousand queries", Budget(memoryMiB: 24, work: .seconds(30), honestWork: .seconds(6))) {
      try await $0.listenToManyQueries(1000, commits: 60)
    },
  ]

  // MARK: - Writes

  static let writes: [Kind] = [
    // Requests in progress may have 32 MiB, and each takes its decoded size in addition.
    Kind("large commits at once", Budget(memoryMiB: 96)) { try await $0.commitMuchAtOnce(32) },
    Kind("batch writes at once", Budget(memoryMiB: 64)) { try await $0.batchWriteAtOnce() },
    Kind("write streams that do not read", Budget(memoryMiB: 64)) { try await $0.writeWithoutReading() },
    Kind("optimistic commits after many changes") { try await $0.commitAfterManyChanges() },
    Kind("scans alongside writers") { try await $0.scanBesideWriters(seconds: 2) },
    Kind("changes beyond the history") { try await $0.outgrowHistory() },
  ]

  // MARK: - Connections and frames

  static let connections: [Kind] = [
    Kind("idle connections beyond the descriptors") { try await $0.hang(400) },
    // Requests in progress may have 32 MiB, in buffers that grow by doubling.
    Kind("requests that stop halfway", Budget(memoryMiB: 80)) { try await $0.hangInRequests() },
    Kind("bodies that stop halfway", Budget(memoryMiB: 80)) { try await $0.hangInBodies() },
    Kind("WINDOW_UPDATE of one byte") { try await $0.floodWindowUpdates() },
    Kind("SETTINGS of thousands of entries") { try await $0.floodSettings() },
    Kind("PING") { try await $0.floodPings() },
    Kind("RST_STREAM") { try await $0.floodResets() },
  ]

  // MARK: - Large requests

  /// A message is decoded to several times its size, and carried out while others wait.
  static let requests = Attack.largeRequests.map { request in
    Kind("large request: \(request.name)", Budget(memoryMiB: 96, honestWork: .seconds(6))) {
      try await $0.sendAndWait(request.call())
    }
  }
}
