internal import BenchmarkKit
internal import HearthModel
internal import HearthSync

/// Queries on the cache, with the view and the snapshot that a listener or a `getDocuments(source: .cache)` gets.
enum QueryBenchmarks {
  static let all = [
    Benchmark(
      "query.equality-scan", group: "Queries", title: "equality, full scan, 10 hits",
      goals: [100_000: .init(processorTime: 0.1, timesFloor: 2.5, peakMemoryBytes: 60_000_000)],
      official: [10_000: 0.422, 100_000: 3.377],
      body: { try run($0, SampleDocuments.equality(), hits: 10) }),
    Benchmark(
      "query.range-scan", group: "Queries", title: "range + order + limit 25, full scan",
      goals: [100_000: .init(processorTime: 0.15)], official: [10_000: 0.564, 100_000: 10.141],
      body: { try run($0, SampleDocuments($0.size).range(), hits: 25) }),
    Benchmark(
      "query.everything", group: "Queries", title: "query that returns all documents",
      goals: [100_000: .init(processorTime: 0.6, peakMemoryBytes: 250_000_000)],
      official: [10_000: 0.571, 100_000: 10.035], body: everything),
    Benchmark("query.count", group: "Queries", title: "count and sum of all documents", body: count),
  ]

  static func run(_ session: Session, _ query: Query, hits: Int) throws {
    let client = Client(try session.openCopyOfCache())
    try session.measure { try check(client.read(query), hits) }
    client.close()
    try session.floor(
      "go through the same rows and touch the bytes of each", setUp: { try session.openCopyOfRaw() },
      run: { _ = try $0.scan() })
  }

  private static func everything(_ session: Session) throws {
    let client = Client(try session.openCopyOfCache())
    try session.measure { try check(client.read(SampleDocuments.everything), session.size) }
    client.close()
    try session.floor(
      "copy all ids and fields out", setUp: { try session.openCopyOfRaw() },
      run: { guard try $0.copyAll().count == session.size else { throw WrongResult(count: 0, expected: session.size) } }
    )
  }

  private static func count(_ session: Session) throws {
    let client = Client(try session.openCopyOfCache())
    let aggregations = [
      Aggregation(alias: "count", operation: .count(upTo: nil)),
      Aggregation(alias: "sum", operation: .sum(try SampleDocuments.field("rank"))),
    ]
    let query = Aggregation.query(SampleDocuments.everything, for: aggregations)
    try session.measure {
      let values = client.aggregate(aggregations, over: query)
      guard values["count"] == .integer(Int64(session.size)) else {
        throw WrongResult(count: -1, expected: session.size)
      }
    }
    client.close()
    try session.floor(
      "go through the same rows and touch the bytes of each", setUp: { try session.openCopyOfRaw() },
      run: { _ = try $0.scan() })
  }

  private static func check(_ count: Int, _ expected: Int) throws {
    guard count == expected else { throw WrongResult(count: count, expected: expected) }
  }
}

/// A benchmark that does not do what it should measures nothing.
struct WrongResult: Error {
  var count: Int
  var expected: Int
}

extension Client {
  func aggregate(_ aggregations: [Aggregation], over query: Query) -> [String: Value] {
    let request = EngineRequest.readAggregation(query, aggregations)
    for action in engine.handle(.request(RequestID(rawValue: number()), request), now: .zero) {
      if case .answer(_, .aggregation(let result)) = action { return result.values }
    }
    return [:]
  }

  /// Runs the query on the cache and returns how many documents it gave.
  func read(_ query: Query) -> Int {
    for action in engine.handle(.request(RequestID(rawValue: number()), .readQuery(query)), now: .zero) {
      if case .answer(_, .snapshot(let snapshot)) = action { return snapshot.documents.count }
    }
    return -1
  }
}
