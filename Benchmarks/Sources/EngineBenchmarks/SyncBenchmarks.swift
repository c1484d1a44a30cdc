internal import BenchmarkKit
internal import HearthModel
internal import HearthSync

/// Whole events through the engine, from a message of the backend to the snapshots of the listeners.
enum SyncBenchmarks {
  static let all =
    [1, 10, 100].map { targets in
      Benchmark(
        "engine.events-\(targets)", group: "Engine",
        title: "event, \(targets == 1 ? "1 target" : "\(targets) targets"), snapshot after 10 documents", unit: .item,
        sizes: [10_000], body: { try events($0, targets: targets) })
    } + [
      Benchmark(
        "engine.snapshot", group: "Engine",
        title: "snapshot of 1,000 changed documents, spread over the file, all documents in view",
        unit: .item,
        goals: [100_000: .init(processorTime: 20e-3)], body: { try snapshot($0, SampleDocuments.everything) }),
      Benchmark(
        "engine.snapshot-ordered", group: "Engine",
        title: "snapshot of 1,000 changed documents, spread, all in view, ordered by a field", unit: .item,
        goals: [100_000: .init(processorTime: 20e-3)],
        body: {
          try snapshot(
            $0,
            SampleDocuments.everything.with(order: OrderBy(path: SampleDocuments.field("rank"), direction: .ascending)))
        }),
      Benchmark(
        "engine.snapshot-filtered", group: "Engine",
        title: "snapshot of 1,000 changed documents, spread, 1,000 in view", unit: .item,
        goals: [100_000: .init(processorTime: 20e-3)],
        body: {
          let limit = Value.integer(Int64(1_000))
          try snapshot(
            $0, SampleDocuments.everything.with(filter: .field(SampleDocuments.field("rank"), .lessThan, limit)),
            indexes: (0..<$0.size).filter { [samples = SampleDocuments($0.size)] in samples.rank($0) < 1_000 })
        }),
      Benchmark(
        "engine.snapshot-together", group: "Engine",
        title: "snapshot of 1,000 changed documents that came together, 1,000 in view", unit: .item,
        goals: [100_000: .init(processorTime: 20e-3)],
        body: {
          let start = ($0.size - 1_000) / 2
          try snapshot(
            $0, SampleDocuments.createdAt(start..<start + 1_000), indexes: Array(start..<start + 1_000))
        }),
    ]

  private static func events(_ session: Session, targets: Int) throws {
    let samples = SampleDocuments(session.size)
    let rounds = 100
    try session.measure(
      items: rounds * 11,
      setUp: { try GroupListeners(Client(try session.openCopyOfCache()), samples, count: targets) },
      run: { try $0.receive(snapshotCount: rounds, $1) }, tearDown: { $0.client.close() })
  }

  private static func snapshot(_ session: Session, _ query: Query, indexes: [Int]? = nil) throws {
    let samples = SampleDocuments(session.size)
    // Spread over the whole collection, so that every changed document lies on another page of the file.
    let changed = indexes ?? (0..<1_000).map { $0 * (session.size / 1_000) }
    let client = Client(try session.openCopyOfCache())
    let target = try client.listenInSync(query)
    // The fixture has confirmed the documents for the whole collection only.
    if query != SampleDocuments.everything {
      for index in indexes ?? Array(0..<session.size) { client.send(try samples.document(index), to: [target]) }
    }
    client.targetChange(.current, [target])
    client.snapshot()
    // Several snapshots each time, so that the figure includes checkpoints, which happen about every second time.
    let rounds = 4
    var revision = 1
    try session.measure(
      items: rounds,
      setUp: {
        try (0..<rounds).map { _ in
          revision += 1
          let version = client.nextVersion()
          return try changed.map {
            var document = try samples.document($0, revision: revision)
            document.version = version
            return document
          }
        }
      },
      run: { batches, _ in
        let before = client.snapshotCount
        for (round, batch) in batches.enumerated() {
          for document in batch { client.send(document, to: [target]) }
          // The version of the documents.
          client.targetChange(.noChange, [], at: batch.first?.version ?? .none)
          guard client.snapshotCount == before + round + 1 else {
            throw WrongResult(count: client.snapshotCount - before, expected: round + 1)
          }
        }
      })
    client.close()
    let raw = try session.openCopyOfRaw()
    try session.floor(
      "update the same rows in one transaction", items: rounds,
      setUp: { () -> [[(String, [UInt8])]] in
        (0..<rounds).map { _ in
          revision += 1
          return changed.map { (samples.id($0), samples.fields($0, revision: revision).bytes) }
        }
      },
      run: { batches in
        for batch in batches {
          try raw.execute("BEGIN IMMEDIATE")
          for row in batch { try raw.update(id: row.0, fields: row.1) }
          try raw.execute("COMMIT")
        }
      })
  }
}
