internal import BenchmarkKit
internal import HearthCache
internal import HearthModel
internal import HearthSync

/// Changed documents under a live aggregate over all documents, compared with a listener of the same query that does nothing.
enum AggregateBenchmarks {
  static let all = [
    Benchmark(
      "aggregate.live-count", group: "Aggregates",
      title: "changed document, 1,000 in a snapshot, live count (floor: a listener)", unit: .item, sizes: [100_000],
      goals: [100_000: .init(processorTime: 100e-6)], body: { try measure($0, [.count(upTo: nil)], perSnapshot: 1_000) }
    ),
    Benchmark(
      "aggregate.live-sums", group: "Aggregates",
      title: "the same, with the sum of integers and the average of doubles", unit: .item, sizes: [100_000],
      goals: [100_000: .init(processorTime: 100e-6)], body: { try measure($0, sums(), perSnapshot: 1_000) }),
    Benchmark(
      "aggregate.live-one-by-one", group: "Aggregates",
      title: "the same, each document in a snapshot of its own", unit: .item, sizes: [100_000],
      body: { try measure($0, sums(), perSnapshot: 1) }),
  ]

  private static func sums() throws -> [Aggregation.Operation] {
    [
      .count(upTo: nil), .sum(try FieldPath(["rank"])), .average(try FieldPath(["price"])),
    ]
  }

  private static func measure(_ session: Session, _ operations: [Aggregation.Operation], perSnapshot: Int) throws {
    let samples = SampleDocuments(session.size)
    let aggregations = operations.enumerated().map { Aggregation(alias: "\($0)", operation: $1) }
    let plain = Client(try session.openCopyOfCache())
    let aggregating = Client(try session.openCopyOfCache())
    aggregating.aggregation = LiveAggregation(
      aggregations, of: SampleDocuments.everything, includesMetadataChanges: false)
    for client in [plain, aggregating] {
      let target = try client.listenInSync(SampleDocuments.everything)
      client.targetChange(.current, [target])
      client.snapshot()
    }
    // Spread over the whole collection, so that every changed document lies on another page of the file.
    let count = 1_000
    let changed = (0..<count).map { $0 * (session.size / count) }
    var revision = 1
    try session.compare(
      with: "a listener that does nothing", items: count, rounds: 15,
      setUp: { isFloor in
        revision += 1
        let client = isFloor ? plain : aggregating
        var documents: [Document] = []
        var version = client.nextVersion()
        for (place, index) in changed.enumerated() {
          if place % perSnapshot == 0 { version = client.nextVersion() }
          var document = try samples.document(index, revision: revision)
          document.version = version
          documents.append(document)
        }
        return (client: client, documents: documents, before: client.snapshotCount)
      },
      run: { subject, _ in
        let (client, documents, before) = subject
        for start in stride(from: 0, to: count, by: perSnapshot) {
          for document in documents[start..<start + perSnapshot] { client.send(document, to: [client.latestTarget]) }
          client.targetChange(.noChange, [], at: documents[start].version)
        }
        guard client.snapshotCount == before + count / perSnapshot else {
          throw WrongResult(count: client.snapshotCount - before, expected: count / perSnapshot)
        }
      })
    try check(aggregating, aggregations)
    for client in [plain, aggregating] { client.close() }
  }

  /// The live values must be those of the documents.
  private static func check(_ client: Client, _ aggregations: [Aggregation]) throws {
    let (documents, _) = try client.cache.store.read(SampleDocuments.everything)
    let expected = try AggregationTotals(aggregations, over: documents).values
    guard client.aggregate?.values == expected else {
      throw WrongResult(count: client.aggregate?.values.count ?? 0, expected: expected.count)
    }
  }
}
