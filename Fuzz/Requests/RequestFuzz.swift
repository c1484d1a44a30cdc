import Foundation
import FuzzSupport
import HearthModel
import HearthStore
import HearthWire
import Logging
import SwiftProtobuf
import TestSupport

@testable import HearthServer

@main
private enum Main {
  /// A request of any kind, as its bytes may come from anybody: it is answered or refused, never more.
  static func main() async throws {
    try await RequestFuzz.shared.fill()
    try FuzzProgram.run(seeds: RequestSeeds.make()) { bytes in
      guard let kind = bytes.first else { return }
      RequestFuzz.shared.run(RequestFuzz.Kind(number: kind), Data(bytes.dropFirst()))
    }
  }
}

/// A server's rooms behind the transport, in memory.
private final class RequestFuzz: Sendable {
  enum Kind: Int, CaseIterable {
    case query, aggregation, commit, target, names, tokens

    init(number: UInt8) {
      self = Self(rawValue: Int(number) % Self.allCases.count) ?? .query
    }
  }

  static let shared = RequestFuzz()
  static let databaseID = DatabaseID(projectID: "p")

  private let database: HostedDatabase
  private var session: Session {
    Session(database, of: .owner, accessGuard: AccessRules(isDevelopment: true), seal: CallerSeal())
  }

  private init() {
    let logger = Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() }
    do {
      let storage = try EmbeddedStorage(
        location: .memory, databaseID: Self.databaseID, clock: .system, logger: logger)
      database = HostedDatabase(id: Self.databaseID, storage: storage, clock: .system)
    } catch {
      fatalError("no database in memory: \(error)")
    }
  }

  /// Puts some documents there for queries to find.
  func fill() async throws {
    var generator = CaseGenerator(seed: 2, audience: .backend, database: Self.databaseID)
    for _ in 0..<40 {
      let mutation = Mutation.set(generator.key(), generator.fields())
      _ = try await database.storage.commit(CommitRequest(mutations: [mutation]))
    }
  }

  func run(_ kind: Kind, _ data: Data) {
    FuzzProgram.wait { [self] in
      // A refusal is no failure; a trap ends the process.
      do { try await answer(kind, data) } catch {}
    }
  }

  private func answer(_ kind: Kind, _ data: Data) async throws {
    switch kind {
    case .query:
      let request = try Google_Firestore_V1_RunQueryRequest(serializedBytes: data)
      let query = try decoded(request.parent, request.structuredQuery)
      _ = try await database.storage.page(of: query, after: nil, at: nil)
      try expectSame(query)
    case .aggregation:
      let request = try Google_Firestore_V1_RunAggregationQueryRequest(serializedBytes: data)
      let aggregations = try Aggregation.decode(request.structuredAggregationQuery.aggregations)
      let inner = try decoded(request.parent, request.structuredAggregationQuery.structuredQuery)
      let query = Aggregation.query(inner, for: aggregations)
      _ = try await database.storage.aggregate(aggregations, over: query, skipping: 0, at: nil)
    case .commit:
      let request = try Google_Firestore_V1_CommitRequest(serializedBytes: data)
      let mutations = try await session.checkedMutations(of: request.writes)
      _ = try await session.commit(mutations, endingTransaction: [UInt8](request.transaction))
      _ = try await database.storage.documents(for: mutations.map(\.key), at: nil)
      // Nothing is kept, so that a long run does not fill the memory.
      _ = try await database.storage.commit(CommitRequest(mutations: mutations.map { .delete($0.key) }))
    case .target:
      let request = try Google_Firestore_V1_ListenRequest(serializedBytes: data)
      let feed = database.storage.feed
      let subscriber = feed.subscribe {}
      defer { feed.unsubscribe(subscriber) }
      var listening = ListenSession(database: session, subscriber: subscriber) { _ in }
      try await listening.handle(request)
    case .names:
      let text = String(decoding: data, as: UTF8.self)
      _ = try? ResourceName.database(text, at: "database")
      _ = try? ResourceName.parent(text, at: "parent")
      _ = try? FieldPath(parsingServerFormat: text)
      _ = try? ResourceName.document(text, at: "name")
    case .tokens:
      let text = String(decoding: data, as: UTF8.self)
      _ = try? session.pageToken(text, kind: .documents, of: "list")
      _ = BatchLabel(parsing: text)
      try? await database.transactions.rollback([UInt8](data))
    }
  }

  private func decoded(
    _ parent: String, _ query: Google_Firestore_V1_StructuredQuery
  ) throws -> HearthModel.Query {
    let decoded = try database.translator.decode(parent: parent, query: query)
    try QueryLimits.check(decoded.query)
    return decoded.query
  }

  /// A query that was understood means the same when it is written again.
  private func expectSame(_ query: HearthModel.Query) throws {
    let (parent, again) = database.translator.structuredQuery(query.target)
    let repeated = try database.translator.decode(parent: parent, query: again).query
    precondition(repeated.target == query.target, "\(query) became \(repeated)")
  }
}

/// Requests that a server takes.
private enum RequestSeeds {
  static func make() throws -> [[UInt8]] {
    let translator = WireTranslator(database: RequestFuzz.databaseID)
    var generator = CaseGenerator(seed: 1, audience: .backend, database: RequestFuzz.databaseID)
    var seeds: [[UInt8]] = []
    for number in 0..<60 {
      var documents: [NaiveDocument] = []
      for _ in 0..<3 { documents.append(NaiveDocument(key: generator.key(), fields: generator.fields())) }
      let (parent, query) = translator.structuredQuery(generator.query(documents: documents).target)
      switch number % 3 {
      case 0:
        var request = Google_Firestore_V1_RunQueryRequest()
        (request.parent, request.structuredQuery) = (parent, query)
        seeds.append([0] + (try request.serializedBytes()))
      case 1:
        var request = Google_Firestore_V1_ListenRequest()
        request.addTarget.targetID = 2
        (request.addTarget.query.parent, request.addTarget.query.structuredQuery) = (parent, query)
        seeds.append([3] + (try request.serializedBytes()))
      default:
        var request = Google_Firestore_V1_CommitRequest()
        request.database = RequestFuzz.databaseID.resourceName
        request.writes = documents.map { translator.encode(.set($0.key, $0.fields)) }
        seeds.append([2] + (try request.serializedBytes()))
      }
    }
    seeds.append([4] + Array("\(RequestFuzz.databaseID.documentsName)/c/d".utf8))
    seeds.append([5] + Array("00112233445566ff-00112233445566778899aabbccddeeff".utf8))
    return seeds
  }
}
