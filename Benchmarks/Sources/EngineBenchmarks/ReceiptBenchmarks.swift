internal import BenchmarkKit
internal import HearthModel
internal import HearthSync

/// The price of a receipt: for a write until it is saved, and until its answer is stored.
enum ReceiptBenchmarks {
  static let all = [
    Benchmark(
      "receipt.write", group: "Receipts",
      title: "local write with a receipt, durable, one by one (floor: without one)", unit: .item, sizes: [10_000],
      goals: [10_000: .init(timesFloor: 1.05)], body: { try measure($0, acknowledges: false) }),
    Benchmark(
      "receipt.acknowledged", group: "Receipts",
      title: "the same until the answer is stored (floor: without one)", unit: .item, sizes: [10_000],
      goals: [10_000: .init(timesFloor: 1.05)], body: { try measure($0, acknowledges: true) }),
  ]

  private static let count = 500

  private static func measure(_ session: Session, acknowledges: Bool) throws {
    let samples = SampleDocuments(session.size)
    let mutations = try (0..<count).map { index in
      Mutation(key: try samples.key(index * 7), operation: .set(samples.fields(index, revision: 1)))
    }
    try session.compare(
      with: "writes without a receipt", items: count, rounds: 11,
      setUp: { isFloor in (client: Client(try session.openCopyOfCache()), keepsOutcome: !isFloor) },
      run: { subject, _ in
        for mutation in mutations {
          subject.client.writes([mutation], keepsOutcome: subject.keepsOutcome)
          if acknowledges { subject.client.acknowledgeFirst() }
        }
      }, tearDown: { $0.client.close() })
  }
}
