internal import BenchmarkKit
internal import HearthCache
internal import HearthModel

/// The cost of least-recently-used garbage collection.
enum CollectionBenchmarks {
  static let all = [
    Benchmark(
      "collect.run", group: "Garbage collection",
      title: "collect 1,000 sequence numbers: one document each, among 9,000 unneeded ones and a target with the rest",
      sizes: [100_000], goals: [100_000: .init(processorTime: 0.050)], body: collectRun),
    Benchmark(
      "collect.target", group: "Garbage collection", title: "collect a target with all documents", unit: .item,
      sizes: [10_000, 100_000], body: collectTarget),
  ]

  private static func collectRun(_ session: Session) throws {
    let samples = SampleDocuments(session.size)
    try session.measure(
      setUp: {
        let cache = try session.openCopyOfCache()
        let target = try cache.store.allocateTarget(SampleDocuments.everything.target).targetID
        for index in 0..<10_000 {
          var event = RemoteEvent(snapshotVersion: SampleDocuments.firstVersion)
          event.targetChanges[target] = TargetChange(resumeToken: [1], removed: [try samples.key(index)])
          _ = try cache.store.apply(event)
        }
        try cache.compactLog()
        return cache
      },
      run: { cache, _ in
        let report = try cache.store.collectGarbage(GarbageCollectionParameters(thresholdBytes: 0)) { _ in false }
        precondition(report.removedDocumentCount == 1_000, "\(report)")
      },
      tearDown: { $0.close() })
  }

  private static func collectTarget(_ session: Session) throws {
    try session.measure(
      items: session.size, setUp: { try session.openCopyOfCache() },
      run: { cache, _ in
        var run = GarbageCollectionRun(GarbageCollectionParameters(thresholdBytes: 0, percentile: 100))
        while try !cache.store.advance(&run, isShown: { _ in false }) {}
        precondition(run.report.removedDocumentCount == session.size, "\(run.report)")
      },
      tearDown: { $0.close() })
  }
}
