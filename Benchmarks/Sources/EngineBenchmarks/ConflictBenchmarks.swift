internal import BenchmarkKit
internal import HearthModel
internal import HearthSync

/// The price of rules for conflicts, until the answer to a write is stored.
enum ConflictBenchmarks {
  static let all = [
    Benchmark(
      "conflict.elsewhere", group: "Conflicts",
      title: "write and answer, durable, one by one, with a rule for other documents (floor: without rules)",
      unit: .item, sizes: [10_000], goals: [10_000: .init(timesFloor: 1.05)],
      body: { try measure($0, isContained: false) }),
    Benchmark(
      "conflict.contained", group: "Conflicts",
      title: "the same with a rule for the documents (floor: without rules)", unit: .item, sizes: [10_000],
      body: { try measure($0, isContained: true) }),
  ]

  private static let count = 500

  private static func measure(_ session: Session, isContained: Bool) throws {
    let samples = SampleDocuments(session.size)
    let mutations = try (0..<count).map { index in
      Mutation(key: try samples.key(index * 7), operation: .set(samples.fields(index, revision: 1)))
    }
    let collection = isContained ? mutations[0].key.collectionPath : ResourcePath(["elsewhere"])
    let rules = ConflictRules([ConflictRule(.collection(collection), .mergeFields(prefersRemote: false))])
    try session.compare(
      with: "writes without rules", items: count, rounds: 11,
      setUp: { isFloor in Client(try session.openCopyOfCache(), conflictRules: isFloor ? ConflictRules() : rules) },
      run: { client, _ in
        for mutation in mutations {
          client.writes([mutation])
          client.acknowledgeFirst()
        }
      }, tearDown: { $0.close() })
  }
}
