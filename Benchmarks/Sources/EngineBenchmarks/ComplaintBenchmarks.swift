internal import BenchmarkKit
internal import HearthModel

/// Cases that users of the official SDKs complained about, with the numbers of documents that they named.
enum ComplaintBenchmarks {
  static let all = [
    Benchmark(
      "complaint.one-of-11000", group: "Complaints", title: "1 of 11,000 documents, no index (took 22 to 48 s)",
      sizes: [11_000], body: { try QueryBenchmarks.run($0, SampleDocuments.single(7_777), hits: 1) }),
    Benchmark(
      "complaint.equality-35000", group: "Complaints", title: "equality among 35,000 documents (took 30 s and 1 GB)",
      sizes: [35_000], body: { try QueryBenchmarks.run($0, SampleDocuments.equality(), hits: 10) }),
    Benchmark(
      "complaint.deletes-3500", group: "Complaints", title: "3,500 remote deletes on resume (froze the tab)",
      sizes: [3_500], body: deletes),
  ]

  private static func deletes(_ session: Session) throws {
    let samples = SampleDocuments(session.size)
    let keys = try (0..<session.size).map { try samples.key($0) }
    try session.measure(
      setUp: { () -> (Client, TargetID) in
        let client = Client(try session.openCopyOfCache())
        return (client, try client.listenInSync(SampleDocuments.everything))
      },
      run: { state, _ in
        let (client, target) = state
        let before = client.snapshotCount
        let version = client.nextVersion()
        for key in keys { client.delete(key, from: target, at: version) }
        client.targetChange(.current, [target])
        client.snapshot()
        guard client.snapshotCount == before + 1, client.read(SampleDocuments.everything) == 0 else {
          throw WrongResult(count: client.snapshotCount - before, expected: 1)
        }
      },
      tearDown: { $0.0.close() })
    try session.floor(
      "delete the same rows in one transaction", setUp: { try session.openCopyOfRaw() },
      run: { raw in
        try raw.execute("BEGIN IMMEDIATE")
        for index in 0..<session.size { try raw.delete(id: samples.id(index)) }
        try raw.execute("COMMIT")
      })
  }
}
