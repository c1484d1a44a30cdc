internal import BenchmarkKit
internal import HearthModel

/// Local writes and their acknowledgements, each of another document, with durable commits.
enum WriteBenchmarks {
  static let all = [
    Benchmark(
      "write.local", group: "Writes", title: "local write, durable, 1,000 waiting together", unit: .item,
      sizes: [100_000], goals: [100_000: .init(processorTime: 100e-6)], official: [10_000: 211e-6, 100_000: 238e-6],
      body: localWrites),
    Benchmark(
      "write.acknowledge-10", group: "Writes", title: "acknowledge, 10 queued", unit: .item,
      sizes: [100_000], goals: [100_000: .init(processorTime: 100e-6)],
      body: { try acknowledge($0, queued: 10, acknowledged: 10, rounds: 50) }),
    Benchmark(
      "write.acknowledge-1000", group: "Writes", title: "acknowledge, 1,000 queued", unit: .item,
      sizes: [100_000], goals: [100_000: .init(processorTime: 100e-6)], official: [10_000: 475e-6, 100_000: 583e-6],
      body: { try acknowledge($0, queued: 1_000, acknowledged: 500, rounds: 1) }),
    Benchmark(
      "write.acknowledge-10000", group: "Writes", title: "acknowledge, 10,000 queued", unit: .item,
      sizes: [100_000], goals: [100_000: .init(processorTime: 100e-6)], official: [100_000: 1_467.8e-6],
      body: { try acknowledge($0, queued: 10_000, acknowledged: 500, rounds: 1) }),
  ]

  private static func mutations(_ range: Range<Int>, of samples: SampleDocuments) throws -> [Mutation] {
    try range.map { index in
      Mutation(key: try samples.key(index * 7), operation: .set(samples.fields(index, revision: 1)))
    }
  }

  private static func localWrites(_ session: Session) throws {
    let samples = SampleDocuments(session.size)
    let mutations = try mutations(0..<1_000, of: samples)
    try session.measure(
      items: 1_000, setUp: { Client(try session.openCopyOfCache()) }, run: { client, _ in client.writes(mutations) },
      tearDown: { $0.close() })
    try session.floor(
      "1,000 inserts in one durable transaction", items: 1_000,
      setUp: { try session.openEmptyRaw(synchronous: "FULL") },
      run: { raw in
        try raw.execute("BEGIN IMMEDIATE")
        for index in 0..<1_000 { try raw.insert(id: samples.id(index), fields: samples.fields(index).bytes) }
        try raw.execute("COMMIT")
      })
  }

  private static func acknowledge(_ session: Session, queued: Int, acknowledged: Int, rounds: Int) throws {
    let samples = SampleDocuments(session.size)
    let count = acknowledged * rounds
    try session.measure(
      items: count, setUp: { Client(try session.openCopyOfCache()) },
      run: { client, stopwatch in
        for round in 0..<rounds {
          try stopwatch.excluding {
            client.writes(try mutations(round * queued..<(round + 1) * queued, of: samples))
          }
          for _ in 0..<acknowledged { client.acknowledgeFirst() }
        }
      },
      tearDown: { client in
        guard client.completedWrites == count else {
          throw WrongResult(count: client.completedWrites, expected: count)
        }
        client.close()
      })
    try session.floor(
      "delete one row and update another in a durable transaction", items: 500,
      setUp: { try session.openCopyOfRaw(synchronous: "FULL") },
      run: { raw in
        for index in 0..<500 {
          try raw.execute("BEGIN IMMEDIATE")
          try raw.delete(id: samples.id(index))
          try raw.update(id: samples.id(10_000 + index * 7), fields: samples.fields(index, revision: 1).bytes)
          try raw.execute("COMMIT")
        }
      })
  }
}
