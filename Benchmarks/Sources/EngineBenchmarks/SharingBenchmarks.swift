internal import BenchmarkKit
internal import HearthModel
internal import HearthSync

/// The price of sharing a cache: for a client that is alone, for one of two clients, and for one that comes back after others have
/// written.
enum SharingBenchmarks {
  static let all = [
    Benchmark(
      "sharing.write", group: "Sharing a cache",
      title: "local write, durable, one by one (floor: a cache for one process)",
      unit: .item, sizes: [10_000], goals: [10_000: .init(timesFloor: 1.05)], body: write),
    Benchmark(
      "sharing.acknowledge", group: "Sharing a cache", title: "acknowledge (floor: a cache for one process)",
      unit: .item,
      sizes: [10_000], goals: [10_000: .init(timesFloor: 1.05)], body: acknowledge),
    Benchmark(
      "sharing.snapshot", group: "Sharing a cache",
      title: "event, 1 target, snapshot after 10 documents (floor: a cache for one process)", unit: .item,
      sizes: [10_000], goals: [10_000: .init(timesFloor: 1.05)], body: snapshot),
    Benchmark(
      "sharing.write-with-another", group: "Sharing a cache",
      title: "local write while another client has the cache open (floor: a cache for one process)", unit: .item,
      sizes: [10_000], body: writeWithAnother),
    Benchmark(
      "sharing.catch-up", group: "Sharing a cache",
      title: "one turn of a client that comes back to 10,000 notices, 5,000 documents shown", sizes: [10_000],
      goals: [10_000: .init(processorTime: 100e-3, wallTime: 100e-3)],
      body: { try catchUp($0, SampleDocuments.everything) }),
    Benchmark(
      "sharing.catch-up-elsewhere", group: "Sharing a cache",
      title: "one turn of a client that comes back to 10,000 notices about another collection", sizes: [10_000],
      goals: [10_000: .init(processorTime: 100e-3, wallTime: 100e-3)],
      body: { try catchUp($0, Query(path: ResourcePath(parsing: "elsewhere"))) }),
  ]

  private static let rounds = 11

  private static func mutation(_ index: Int, _ samples: SampleDocuments) throws -> Mutation {
    Mutation(
      key: try samples.key(index % samples.count), operation: .set(samples.fields(index % samples.count, revision: 1)))
  }

  private static func write(_ session: Session) throws {
    let samples = SampleDocuments(session.size)
    let mutations = try (0..<500).map { try mutation($0 * 7, samples) }
    try session.compare(
      with: "a cache for one process", items: mutations.count, rounds: rounds,
      setUp: { Client(try session.openCopyOfCache(isShared: !$0)) },
      run: { client, _ in for mutation in mutations { client.writes([mutation]) } }, tearDown: { $0.close() })
  }

  private static func writeWithAnother(_ session: Session) throws {
    let samples = SampleDocuments(session.size)
    let mutations = try (0..<500).map { try mutation($0 * 7, samples) }
    try session.compare(
      with: "a cache for one process", items: mutations.count, rounds: rounds,
      setUp: { isFloor -> [Client] in
        let folder = try session.copyOfCache()
        return try (0..<(isFloor ? 1 : 2)).map { _ in Client(try Cache(folder: folder, isShared: !isFloor)) }
      },
      run: { clients, _ in for mutation in mutations { clients[0].writes([mutation]) } },
      tearDown: { for client in $0 { client.close() } })
  }

  private static func acknowledge(_ session: Session) throws {
    let samples = SampleDocuments(session.size)
    let mutations = try (0..<500).map { try mutation($0 * 7, samples) }
    try session.compare(
      with: "a cache for one process", items: mutations.count, rounds: rounds,
      setUp: { isFloor -> Client in
        let client = Client(try session.openCopyOfCache(isShared: !isFloor))
        client.writes(mutations)
        return client
      },
      run: { client, _ in for _ in mutations { client.acknowledgeFirst() } },
      tearDown: { client in
        guard client.completedWrites == mutations.count else {
          throw WrongResult(count: client.completedWrites, expected: mutations.count)
        }
        client.close()
      })
  }

  private static func snapshot(_ session: Session) throws {
    let samples = SampleDocuments(session.size)
    let events = 200
    try session.compare(
      with: "a cache for one process", items: events, rounds: rounds,
      setUp: { try GroupListeners(Client(try session.openCopyOfCache(isShared: !$0)), samples, count: 1) },
      run: { try $0.receive(snapshotCount: events, $1) }, tearDown: { $0.client.close() })
  }

  private static func catchUp(_ session: Session, _ query: Query) throws {
    let samples = SampleDocuments(session.size)
    let mutations = try (0..<5_000).map { try mutation($0, samples) }
    try session.measure(
      setUp: { () -> [Client] in
        let folder = try session.copyOfCache()
        let clients = try (0..<2).map { _ in Client(try Cache(folder: folder, isShared: true)) }
        clients[1].listen(query)
        clients[0].writes(mutations)
        return clients
      },
      run: { clients, _ in
        let expected = clients[1].snapshotCount + (query == SampleDocuments.everything ? 1 : 0)
        clients[1].post(.othersChanged)
        guard clients[1].snapshotCount == expected else {
          throw WrongResult(count: clients[1].snapshotCount, expected: expected)
        }
      },
      tearDown: { for client in $0 { client.close() } })
  }
}
