import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2
import HearthModel
import HearthServer
import InteropSupport
import Logging
import TestSupport
import Testing

/// Documents and a query that a backend is asked about them.
private struct BackendCase: Sendable {
  var documents: [NaiveDocument]
  var query: HearthModel.Query

  var simpler: [BackendCase] {
    let fewer =
      Simpler.parts(of: documents)
      + Simpler.elements(of: documents) { document in
        Simpler.maps(of: document.fields).map { NaiveDocument(key: document.key, fields: $0) }
      }
    return fewer.map { BackendCase(documents: $0, query: query) }
      + Simpler.queries(of: query).filter { BackendRules.accept($0) }.map {
        BackendCase(documents: documents, query: $0)
      }
  }

  var text: String {
    let lines = documents.map { "  \(CaseText.text($0.key)) \(CaseText.text($0.fields))" }
    return lines.joined(separator: "\n") + "\nquery \(CaseText.text(query))"
  }
}

/// Compares a backend's answers to generated queries with the plain evaluation of the model.
///
/// `HEARTH_QUERY_SETS` asks for another number of data sets. Each gets 50 queries: 2000 make 100,000 pairs. `HEARTH_TEST_SEED` repeats the
/// data set of a failure, and with `HEARTH_TEST_CASE` only the query of that number is asked.
private struct BackendComparison {
  /// More of them, so that every test run has databases of its own.
  let client: GRPCClient<HTTP2ClientTransport.Posix>
  let run = UUID().uuidString.prefix(8).lowercased()
  private var pairs = 0
  private var found = 0
  private var databases = 0

  init(client: GRPCClient<HTTP2ClientTransport.Posix>) {
    self.client = client
  }

  /// Compares so many data sets, unless the environment asks for others.
  mutating func compare(sets: UInt64) async throws {
    let asked = ProcessInfo.processInfo.environment["HEARTH_QUERY_SETS"].flatMap { UInt64($0) }
    let count = asked ?? sets
    for seed in SeededGenerator.seeds(count) { try await compare(seed: seed, queries: 50) }
    print("generated queries: \(pairs) pairs, \(found) with a result")
    guard SeededGenerator.askedSeed == nil else { return }
    #expect(pairs >= 50 * Int(count) && found >= 12 * Int(count))
  }

  /// One data set and some queries.
  mutating func compare(seed: UInt64, queries: Int) async throws {
    let asked = ProcessInfo.processInfo.environment["HEARTH_TEST_CASE"].flatMap { Int($0) }
    let backend = nextBackend()
    var generator = CaseGenerator(seed: seed, audience: .backend, database: backend.database)
    var documents: [DocumentKey: NaiveDocument] = [:]
    for _ in 0..<60 {
      let key = generator.key()
      documents[key] = NaiveDocument(key: key, fields: generator.fields())
    }
    let sorted = documents.values.sorted { $0.key < $1.key }
    do {
      try await backend.commit(sorted.map { .set($0.key, $0.fields) })
    } catch {
      return await record(
        BackendCase(documents: sorted, query: HearthModel.Query(path: ResourcePath(["c"]))), seed: seed, number: 0)
    }
    for number in 1...queries {
      let query = generator.query(documents: sorted)
      if let asked, number != asked { continue }
      let failing = BackendCase(documents: sorted, query: query)
      pairs += 1
      if !NaiveQuery(query).answer(sorted).isEmpty { found += 1 }
      guard await difference(failing, on: backend) != nil else { continue }
      return await record(failing, seed: seed, number: number)
    }
  }

  private mutating func record(_ failing: BackendCase, seed: UInt64, number: Int) async {
    let minimal = await minimized(failing)
    let difference = await difference(minimal)
    Issue.record(
      "HEARTH_TEST_SEED=\(seed) HEARTH_TEST_CASE=\(number)\n\(difference ?? "not repeated")\n\(minimal.text)")
  }

  /// A database that is still empty.
  private mutating func nextBackend() -> QueryBackend {
    databases += 1
    return QueryBackend(client: client, database: DatabaseID(projectID: "queries-\(run)-\(databases)"))
  }

  private mutating func minimized(_ failing: BackendCase) async -> BackendCase {
    var minimization = Minimization(of: failing, attempts: 600, simpler: \.simpler)
    while let candidate = minimization.next() { minimization.record(fails: await difference(candidate) != nil) }
    return minimization.best
  }

  /// The difference on a database of its own.
  private mutating func difference(_ candidate: BackendCase) async -> String? {
    let backend = nextBackend()
    var own = candidate
    // References point into the new database.
    own.documents = candidate.documents.map {
      NaiveDocument(
        key: $0.key, fields: MapValue(entries: $0.fields.entries.map { ($0.key, backend.owning($0.value)) }))
    }
    own.query = backend.owning(candidate.query)
    do {
      try await backend.commit(own.documents.map { .set($0.key, $0.fields) })
    } catch {
      return "the documents are refused: \(error)"
    }
    return await difference(own, on: backend)
  }

  private func difference(_ candidate: BackendCase, on backend: QueryBackend) async -> String? {
    let query = candidate.query
    let expected = NaiveQuery(query).answer(candidate.documents)
    do {
      var answer = try await backend.run(query)
      if query.isLimitToLast { answer.reverse() }
      guard answer.map(\.key) == expected else { return "\(texts(answer.map(\.key))), not \(texts(expected))" }
      for document in answer {
        let fields = candidate.documents.first { $0.key == document.key }?.fields
        guard try document.fields.decoded() == fields else {
          return "\(CaseText.text(document.key)) came back as \(CaseText.text(document.fields))"
        }
      }
      return nil
    } catch {
      return "refused: \(error)"
    }
  }

  private func texts(_ keys: [DocumentKey]) -> String {
    "[" + keys.map { CaseText.text($0) }.joined(separator: ", ") + "]"
  }
}

extension QueryBackend {
  /// The value with references to this database.
  fileprivate func owning(_ value: Value) -> Value {
    switch value {
    case .reference(let reference): .reference(ReferenceValue(database: database, key: reference.key))
    case .array(let elements): .array(elements.map(owning))
    case .map(let map): .map(MapValue(entries: map.entries.map { ($0.key, owning($0.value)) }))
    default: value
    }
  }

  fileprivate func owning(_ query: HearthModel.Query) -> HearthModel.Query {
    var query = query
    query.filters = query.filters.map(owning)
    query.startAt = query.startAt.map { Bound(position: $0.position.map(owning), isInclusive: $0.isInclusive) }
    query.endAt = query.endAt.map { Bound(position: $0.position.map(owning), isInclusive: $0.isInclusive) }
    return query
  }

  private func owning(_ filter: HearthModel.Filter) -> HearthModel.Filter {
    switch filter {
    case .field(let filter): .field(filter.path, filter.op, owning(filter.value))
    case .composite(let composite):
      .composite(CompositeFilter(op: composite.op, filters: composite.filters.map(owning)))
    }
  }
}

@Suite("Generated queries of hearth serve", .timeLimit(.minutes(30)))
struct EmbeddedBackendQueryTests {
  @Test("the server answers as the plain evaluation does")
  func agreement() async throws {
    var limits = DatabaseLimits()
    // Each data set has a database of its own.
    limits.databases = 1_000_000
    let server = try await EmbeddedServer.start(
      host: "127.0.0.1", port: 0, storage: .memory, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) {
      $0.databaseLimits = limits
    }
    try await QueryBackend.withConnection(port: server.port) { client in
      var comparison = BackendComparison(client: client)
      try await comparison.compare(sets: 40)
    }
    await server.shutdown()
  }
}

@Suite(
  "Generated queries of Google's emulator", .timeLimit(.minutes(30)), .enabled(if: Emulator.isInstalled, Emulator.hint),
  Emulator())
struct EmulatorQueryTests {
  @Test("the emulator answers as the plain evaluation does")
  func agreement() async throws {
    try await QueryBackend.withConnection(port: Emulator.port) { client in
      var comparison = BackendComparison(client: client)
      // Neither the emulator nor the plain evaluation changes from one run to the next: these find out when one of them has.
      try await comparison.compare(sets: 100)
    }
  }
}
