import Foundation
import HearthModel
import TestSupport
import Testing

@testable import HearthServer

/// After each quiet point every stream shows the results of its queries, whatever was committed, whichever streams share the queries, and
/// however slow the stream is.
@Suite("Generated listens", .timeLimit(.minutes(5)))
struct FanOutDifferentialTests {
  /// `HEARTH_TEST_HISTORIES` makes a run longer.
  private static let seeds =
    1...(UInt64(ProcessInfo.processInfo.environment["HEARTH_TEST_HISTORIES"] ?? "") ?? 12)

  @Test("what streams show is what their queries find", .everyStorage, arguments: seeds)
  func agreement(seed: UInt64) async throws {
    var generator = CaseGenerator(seed: seed, audience: .backend, database: ServerFixture.database)
    // Some feeds remember so little that slow streams take the difference from the log, and some logs have forgotten it too. Some have no
    // memory for windows. Some evaluate so little at once that most queries take changes from the log.
    var limits = DatabaseLimits()
    if seed % 5 == 0 { limits.windowBytes = 1_000 }
    if seed % 4 == 0 { limits.historyBytes = 20_000 }
    let fixture = try await TestedDatabase(
      feedCapacity: seed % 3 == 0 ? 4096 : 6, feedEffort: seed % 4 == 3 ? 12 : 500_000, limits: limits)
    let keys = (0..<40).map { key("c/d\($0)") } + (0..<10).map { key("c/x/s/d\($0)") }
    let history = CommitHistory(fixture)
    for key in keys { try await history.commit([.set(key, generator.fields())]) }
    let queries = (0..<8).map { _ in generator.query(documents: []) } + Self.windows
    let streams = (0..<6).map { _ in ViewedStream(fixture) }
    for (number, stream) in streams.enumerated() {
      for id in 1...4 as ClosedRange<TargetID> {
        try await stream.add(generator.element(queries), id: 10 * id + TargetID(number))
      }
    }
    for round in 0..<25 {
      let commits = (0..<1 + generator.below(12)).map { _ in
        (0..<1 + generator.below(3)).map { _ -> Mutation in
          let key = generator.chance(80) ? generator.element(keys) : generator.key()
          if generator.chance(30) { return .delete(key) }
          return .set(
            key,
            generator.chance(50) ? generator.fields() : ["n": generator.below(30).value, "a": generator.below(3).value])
        }
      }
      let slow = generator.below(streams.count)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          for mutations in commits { try await history.commit(mutations) }
        }
        for (number, stream) in streams.enumerated() where number > slow {
          group.addTask { for _ in 0..<3 { try await stream.catchUp() } }
        }
        try await group.waitForAll()
      }
      if generator.chance(30) {
        let stream = generator.element(streams)
        try await stream.remove(generator.element(Array(await stream.targets.keys).sorted() + [99]))
        try await stream.add(generator.element(queries), id: TargetID(1000 + round))
      }
      guard round % 3 == 2 else { continue }
      for stream in streams {
        try await stream.catchUp()
        for (id, query) in await stream.targets {
          let found = try await fixture.storage.run(Self.asked(query), at: nil).documents
          let view = await stream.views[id]
          #expect(
            view == Dictionary(uniqueKeysWithValues: found.map { ($0.key, $0.version) }),
            "seed \(seed), round \(round), target \(id), \(query.canonicalID)")
        }
        #expect(await stream.faults == [], "seed \(seed), round \(round)")
        for removal in await stream.takePassed() {
          #expect(
            await history.explains(removal, asked: Self.asked(removal.query)),
            "seed \(seed), round \(round), \(removal) was never in the result")
        }
      }
    }
  }

  /// Limits over one field, at both ends.
  private static let windows: [Query] = {
    let all = Query(path: path("c"))
    let ascending = all.with(order: OrderBy(path: field("n"), direction: .ascending))
    let descending = all.with(order: OrderBy(path: field("n"), direction: .descending))
    return [
      ascending.with(limit: 3), descending.with(limit: 5), ascending.with(limit: 4, type: .last),
      all.with(filter: .field(field("a"), .equal, 1.value)).with(limit: 2), all.with(limit: 1), all,
      all.with(filter: .field(field("a"), .equal, 2.value)),
      Query(path: ResourcePath(), collectionGroup: "s").with(limit: 3), descending.with(limit: 1000),
    ]
  }()

  /// The query as the server gets it: a limit to the last documents is one of the reversed order.
  private static func asked(_ query: Query) -> Query {
    let target = query.target
    return Query(
      path: target.path, collectionGroup: target.collectionGroup, filters: target.filters,
      explicitOrders: target.orders, limit: target.limit, startAt: target.startAt, endAt: target.endAt)
  }
}
