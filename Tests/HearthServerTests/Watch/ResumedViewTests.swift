import Foundation
import HearthModel
import HearthStore
import HearthWire
import Synchronization
import TestSupport
import Testing

@testable import HearthServer

/// A client that connects again and again with what it had: documents, counts and tokens. It keeps to the official SDKs: what came since the
/// latest global snapshot is forgotten when a stream ends.
private final class ResumingClient: Sendable {
  struct State: Sendable {
    var views: [TargetID: [DocumentKey: SnapshotVersion]] = [:]
    /// The version of each document that came last; `none` for one that is missing.
    var cache: [DocumentKey: SnapshotVersion] = [:]
    var token: [UInt8] = []
  }

  private struct Inbox {
    var state = State()
    var pending = State()
    var faults: [String] = []
  }

  let targets: [TargetID: Query]
  private let inbox = Mutex(Inbox())

  init(_ targets: [TargetID: Query]) {
    self.targets = targets
  }

  var state: State { inbox.withLock { $0.state } }
  var faults: [String] { inbox.withLock { $0.faults } }

  /// Opens a stream with all targets.
  func connect(
    to database: HostedDatabase, isBehind: Bool, heldChanges: HeldChanges.Limits, freeChanges: Int
  ) async throws -> ListenSession {
    let known = inbox.withLock { inbox in
      inbox.pending = inbox.state
      return inbox.state
    }
    var session = ListenSession(
      database: database.session, subscriber: database.storage.feed.subscribe {}, isBehind: { isBehind },
      heldChanges: heldChanges, freeChanges: freeChanges
    ) { [self] messages in
      for response in try messages.flatMap({ try $0.decoded }) { receive(response) }
    }
    for (id, query) in targets.sorted(by: { $0.key < $1.key }) {
      let request = TargetRequest(
        targetID: id, target: query.target, purpose: .listen, resumeToken: known.token, readTime: nil,
        expectedCount: known.token.isEmpty ? nil : known.views[id]?.count ?? 0)
      try await session.handle(ServerFixture.translator.encode(WatchRequest.addTarget(request)))
    }
    return session
  }

  private func receive(_ message: WatchResponse) {
    inbox.withLock { inbox in
      switch message {
      case .targetChange(let change):
        switch change.state {
        case .removed: inbox.faults.append("\(change)")
        case .reset:
          for id in change.targetIDs { inbox.pending.views[id] = [:] }
        case .added, .current: break
        case .noChange:
          inbox.pending.token = change.resumeToken
          inbox.state = inbox.pending
        }
      case .documentChange(let change):
        for id in change.updatedTargetIDs {
          inbox.pending.views[id, default: [:]][change.key] = change.document?.version
        }
        for id in change.removedTargetIDs { inbox.pending.views[id]?[change.key] = nil }
        if let document = change.document {
          inbox.pending.cache[change.key] = document.isFound ? document.version : SnapshotVersion.none
        }
      case .existenceFilter(let filter):
        let count = inbox.pending.views[filter.targetID]?.count ?? 0
        if filter.count != count || filter.unchangedNames != nil {
          inbox.faults.append("target \(filter.targetID) has \(count) documents, not \(filter.count)")
        }
      case .unreadable: inbox.faults.append("\(message)")
      }
    }
  }
}

/// Writes now and then.
private final class Writer: Sendable {
  private struct State {
    var generator: CaseGenerator
    var keys: [DocumentKey]
    var isAllowed = false
  }

  private let state: Mutex<State>

  init(_ generator: CaseGenerator, _ keys: [DocumentKey]) {
    state = Mutex(State(generator: generator, keys: keys))
  }

  func allow(_ isAllowed: Bool) { state.withLock { $0.isAllowed = isAllowed } }

  func write(_ count: Int, to storage: EmbeddedStorage) async {
    for _ in 0..<count {
      let mutation = state.withLock { state -> Mutation in
        let key = state.generator.element(state.keys)
        if state.generator.chance(30) { return .delete(key) }
        let isPlain = state.generator.chance(50)
        return .set(
          key,
          isPlain
            ? ["n": state.generator.below(20).value, "a": state.generator.below(3).value] : state.generator.fields())
      }
      _ = try? await storage.commit(CommitRequest(mutations: [mutation]))
    }
  }

  /// Between two pieces.
  func interfere(with storage: EmbeddedStorage) async {
    let count = state.withLock { $0.isAllowed && $0.generator.chance(40) ? 1 + $0.generator.below(3) : 0 }
    await write(count, to: storage)
  }
}

@Suite("Views after a resumption", .timeLimit(.minutes(5)))
struct ResumedViewTests {
  /// `HEARTH_TEST_HISTORIES` makes a run longer.
  private static let seeds =
    1...(UInt64(ProcessInfo.processInfo.environment["HEARTH_TEST_HISTORIES"] ?? "") ?? 24)

  @Test("they are what the queries find, in pieces of any size, whatever is written between these", arguments: seeds)
  func agreement(seed: UInt64) async throws {
    let seed = SeededGenerator.askedSeed ?? seed
    try await withTemporaryFolder { folder in
      var generator = CaseGenerator(seed: seed, audience: .backend, database: ServerFixture.database)
      let keys = (0..<24).map { key("c/d\($0)") } + (0..<8).map { key("c/x/s/d\($0)") }
      let location: Database.Location = seed % 2 == 0 ? .file(path: folder + ".sqlite") : .memory
      let writer = Writer(generator, keys)
      func open() throws -> StorageFixture {
        try StorageFixture(
          location: location, feedCapacity: seed % 3 == 0 ? 4 : 4096, windowBytes: seed % 5 == 0 ? 1_000 : 128 << 20,
          retention: .init(bytes: seed % 4 == 0 ? 5_000 : 1 << 30))
      }
      var fixture = try open()
      await writer.write(60, to: fixture.storage)
      let client = ResumingClient(Self.targets(&generator))
      let sizes = Self.sizes(&generator)
      for round in 0..<6 {
        let storage = fixture.storage
        let database = fixture.observed(sizes: sizes, before: { await writer.interfere(with: storage) })
        // Some streams give up what they hold of the changes in memory, at once or while they send it.
        let held = HeldChanges.Limits(
          bytes: generator.element([0, 1_000, 1 << 20]), time: .microseconds(generator.element([0, 50, 10_000_000])))
        var session = try await Self.connect(
          client, to: database, writer, isBehind: generator.chance(50), heldChanges: held,
          freeChanges: generator.element([0, 6, 10_000]))
        for _ in 0..<generator.below(3) {
          await writer.write(generator.below(12), to: storage)
          try await session.catchUp()
        }
        writer.allow(false)
        try await session.catchUp()
        for (id, query) in client.targets {
          let found = try await storage.run(query, at: nil).documents
          let state = client.state
          #expect(
            state.views[id] ?? [:] == Dictionary(uniqueKeysWithValues: found.map { ($0.key, $0.version) }),
            "HEARTH_TEST_SEED=\(seed), round \(round), target \(id), \(CaseText.text(query))")
          for document in found { #expect(state.cache[document.key] == document.version, "HEARTH_TEST_SEED=\(seed)") }
        }
        #expect(client.faults == [], "HEARTH_TEST_SEED=\(seed), round \(round)")
        await writer.write(generator.below(30), to: storage)
        guard location != .memory, generator.chance(50) else { continue }
        await storage.close()
        fixture = try open()
      }
      await fixture.storage.close()
    }
  }

  /// A stream that is too slow for a short log ends, and its client comes back.
  private static func connect(
    _ client: ResumingClient, to database: HostedDatabase, _ writer: Writer, isBehind: Bool,
    heldChanges: HeldChanges.Limits, freeChanges: Int
  ) async throws -> ListenSession {
    writer.allow(true)
    do {
      return try await client.connect(
        to: database, isBehind: isBehind, heldChanges: heldChanges, freeChanges: freeChanges)
    } catch let error as StatusError where error.code == .unavailable {
      writer.allow(false)
      return try await client.connect(
        to: database, isBehind: isBehind, heldChanges: heldChanges, freeChanges: freeChanges)
    }
  }

  private static func targets(_ generator: inout CaseGenerator) -> [TargetID: Query] {
    let all = Query(path: path("c"))
    let ascending = all.with(order: OrderBy(path: field("n"), direction: .ascending))
    let descending = all.with(order: OrderBy(path: field("n"), direction: .descending))
    let group = Query(path: ResourcePath(), collectionGroup: "s")
    var queries: [Query] = [
      all, ascending.with(limit: 1), ascending.with(limit: 4), descending.with(limit: 7), ascending.with(limit: 1_000),
      all.with(limit: 5), all.with(filter: .field(field("a"), .equal, 1.value)), group, group.with(limit: 3),
      all.with(filter: .field(field("a"), .equal, 1.value)).with(limit: 2), Query(path: path("c/d3")),
      descending.with(limit: Int(Int32.max)),
    ]
    for _ in 0..<4 {
      var query = generator.query(documents: [])
      query.limitType = .first
      queries.append(query)
    }
    var targets: [TargetID: Query] = [:]
    for id in 1...(1 + generator.below(5)) { targets[TargetID(id)] = generator.element(queries) }
    return targets
  }

  private static func sizes(_ generator: inout CaseGenerator) -> ObservedStorage.Sizes {
    var sizes = ObservedStorage.Sizes()
    guard generator.chance(80) else { return sizes }
    sizes.pieces.firstCount = 1 + generator.below(3)
    sizes.pieces.keptBytes = generator.element([0, 300, 10_000])
    sizes.difference = DifferencePiece.Size(
      bytes: generator.element([1, 400, 100_000]), visits: generator.element([1, 2, 5, 1_000]),
      readBytes: generator.element([1, 600, 1 << 20]))
    return sizes
  }
}
