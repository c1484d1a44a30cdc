import Foundation
import HearthModel
import TestSupport
import Testing

@testable import HearthServer

/// Commits without pauses, and streams that work only when they are woken: once all are quiet, each shows the newest results.
@Suite("Bursts", .timeLimit(.minutes(5)))
struct BurstTests {
  /// `HEARTH_TEST_HISTORIES` makes a run longer.
  private static let seeds =
    1...(UInt64(ProcessInfo.processInfo.environment["HEARTH_TEST_HISTORIES"] ?? "") ?? 16)

  @Test("no stream sleeps before it has sent everything", .everyStorage, arguments: seeds)
  func nothingIsLeft(seed: UInt64) async throws {
    var generator = CaseGenerator(seed: seed, audience: .backend, database: ServerFixture.database)
    let fixture = try await TestedDatabase(
      feedCapacity: seed % 3 == 0 ? 6 : 4096, feedEffort: seed % 4 == 1 ? 12 : 500_000)
    for n in 0..<12 { try await fixture.set("c/d\(n)", ["n": n.value, "a": (n % 3).value]) }
    let streams = (0..<5).map { _ in WokenStream(fixture) }
    for (number, stream) in streams.enumerated() {
      for id in 1...(1 + generator.below(4)) {
        stream.add(generator.element(Self.queries), id: TargetID(10 * id + number))
      }
    }
    for round in 0..<4 {
      // Writers that never wait for a listener; a stream gets a further target while they are at it.
      let bursts = (0..<3).map { _ in (0..<40).map { _ in Self.mutation(&generator) } }
      let late = (stream: generator.element(streams), query: generator.element(Self.queries))
      await withThrowingTaskGroup(of: Void.self) { group in
        for burst in bursts {
          group.addTask { for mutation in burst { try await fixture.commit(mutation) } }
        }
        group.addTask { late.stream.add(late.query, id: TargetID(1000 + round)) }
      }
      fixture.storage.feed.awaitWakes()
      try await waitUntil { WokenStream.areQuiet(streams) }
      for stream in streams {
        #expect(stream.failures == [], "seed \(seed)")
        for (id, query) in await stream.stream.targets {
          let found = try await fixture.storage.run(query, at: nil).documents
          let view = await stream.stream.views[id]
          #expect(
            view == Dictionary(uniqueKeysWithValues: found.map { ($0.key, $0.version) }),
            "seed \(seed), round \(round), target \(id), \(query.canonicalID)")
        }
        #expect(await stream.stream.faults == [], "seed \(seed)")
      }
    }
    for stream in streams { await stream.close() }
  }

  private static func mutation(_ generator: inout CaseGenerator) -> Mutation {
    let key = key("c/d\(generator.below(12))")
    if generator.chance(20) { return .delete(key) }
    return .set(key, ["n": generator.below(25).value, "a": generator.below(3).value])
  }

  /// With limits at both ends that documents leave, a limit that is not reached, and without one.
  private static let queries: [Query] = {
    let all = Query(path: path("c"))
    let ascending = all.with(order: OrderBy(path: field("n"), direction: .ascending))
    let descending = all.with(order: OrderBy(path: field("n"), direction: .descending))
    let some = all.with(filter: .field(field("a"), .equal, 1.value))
    return [
      ascending.with(limit: 3), descending.with(limit: 3), ascending.with(limit: 8), descending.with(limit: 8),
      some.with(limit: 2), some, all.with(limit: 1), all, ascending.with(limit: 1000),
    ]
  }()
}
