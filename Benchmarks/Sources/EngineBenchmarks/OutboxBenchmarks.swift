internal import BenchmarkKit
internal import HearthCache
internal import HearthModel

/// Operations on a long outbox: how long each holds the loop of a client, on which a write may be waiting.
enum OutboxBenchmarks {
  static let all = [
    Benchmark(
      "outbox.page", group: "Outbox", title: "one step of the list of pending writes, 100,000 queued", sizes: [100_000],
      goals: [100_000: .init(processorTime: 20e-3)],
      body: { session in
        try withOutbox(session) { cache in
          let last = BatchID(session.size)
          try session.measure {
            let page = try cache.store.outbox.page(after: last / 2, through: last, of: nil)
            guard !page.isLast else { throw WrongResult(count: page.batches.count, expected: session.size) }
          }
        }
      }),
    Benchmark(
      "outbox.list", group: "Outbox", title: "the list of pending writes in one step, 100,000 queued", sizes: [100_000],
      body: { session in
        try withOutbox(session) { cache in
          try session.measure {
            let count = try cache.store.pendingBatches().count
            guard count == session.size else { throw WrongResult(count: count, expected: session.size) }
          }
        }
      }),
    Benchmark(
      "outbox.change-user", group: "Outbox", title: "change of the user, 100,000 queued, listening elsewhere",
      sizes: [100_000], goals: [100_000: .init(processorTime: 20e-3)],
      body: { session in
        let elsewhere = Query(path: try ResourcePath(parsing: "elsewhere"))
        try withOutbox(session) { cache in try changeUser(session, cache, showing: [elsewhere], documentCount: 0) }
      }),
    Benchmark(
      "outbox.change-user-all", group: "Outbox", title: "change of the user, 100,000 queued, all of them shown",
      sizes: [100_000],
      body: { session in
        try withOutbox(session) { cache in
          try changeUser(session, cache, showing: nil, documentCount: session.size)
        }
      }),
    Benchmark(
      "outbox.background-explanation", group: "Outbox", title: "send an explanation to the background, 100,000 queued",
      sizes: [100_000], goals: [100_000: .init(processorTime: 20e-3)],
      body: { session in
        try withOutbox(session) { cache in
          try session.measure {
            let reading = try cache.store.queries.backgroundExplanation(
              of: SampleDocuments.everything, documentsOnLoop: 4_000, clock: { .zero })
            guard let reading else { throw WrongResult(count: 0, expected: 1) }
            reading.close()
          }
        }
      }),
    Benchmark(
      "outbox.explain", group: "Outbox", title: "explain a query in one step, 100,000 queued", sizes: [100_000],
      body: { session in
        try withOutbox(session) { cache in
          try session.measure {
            _ = try cache.store.queries.explain(SampleDocuments.everything, clock: { .zero })
          }
        }
      }),
  ]

  private static func withOutbox(_ session: Session, _ body: (Cache) throws -> Void) throws {
    let samples = SampleDocuments(session.size)
    let cache = try session.openEmptyCache()
    for start in stride(from: 0, to: session.size, by: 1_000) {
      _ = try cache.store.write(
        many: try (start..<min(start + 1_000, session.size)).map { index in
          LocalWrite(
            mutations: [Mutation(key: try samples.key(index), operation: .set(samples.fields(index)))],
            localWriteTime: Timestamp(seconds: 1, nanoseconds: 0))
        })
    }
    try cache.compactLog()
    try body(cache)
    cache.close()
  }

  private static func changeUser(
    _ session: Session, _ cache: Cache, showing queries: [Query]?, documentCount: Int
  ) throws {
    try session.measure(
      setUp: { _ = try cache.store.changeUser(nil, showing: []) },
      run: { _, _ in
        let count = try cache.store.changeUser("another", showing: queries).count
        guard count == documentCount else { throw WrongResult(count: count, expected: documentCount) }
      })
  }
}
