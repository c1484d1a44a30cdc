import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Hearth

/// Cancels tasks at random moments while a backend and local writes keep every sequence of the library busy.
///
/// `HEARTH_SECONDS` in the environment makes it longer.
@Suite("Cancellation at random moments", .timeLimit(.minutes(120)))
struct CancellationTests {
  private static let seconds = ProcessInfo.processInfo.environment["HEARTH_SECONDS"].flatMap(Int.init) ?? 4

  @Test("each sequence ends, and the client goes on", arguments: SeededGenerator.seeds(1))
  func everySequence(seed: UInt64) async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      let load = CancellationLoad(db, seed: seed, lasting: .seconds(Self.seconds))
      let ended = Moment()
      let running = Task {
        defer { ended.comes() }
        try await load.run()
        try await db.document("rooms/last").setData(["n": 1])
        try await db.terminate()
      }
      guard await ended.hasCome(withinSeconds: Self.seconds + 300) else {
        Issue.record("seed \(seed): a task, its cancellation or the client does not end: \(load.tally)")
        return
      }
      try await running.value
      for kind in CancellationLoad.Kind.allCases {
        #expect(load.tally[kind, default: .init()].elements > 0, "seed \(seed): \(kind)")
        #expect(load.tally[kind, default: .init()].ends > 0, "seed \(seed): \(kind)")
      }
    }
  }
}

/// Tasks that iterate over sequences of one client, and are cancelled from another thread.
private final class CancellationLoad: Sendable {
  enum Kind: CaseIterable, Sendable {
    case query, document, typedQuery, aggregate, outbox, rejectedWrites, status, prefetch
  }

  struct Tally {
    var elements = 0
    var ends = 0
  }

  private struct Room: Codable, QueryableModel {
    var n: Int

    static let fieldTable: FieldTable<Room> = [\.n: "n"]
  }

  private static let workers: UInt64 = 4
  private static let tasksAtOnce = 6

  private let db: Firestore
  private let seed: UInt64
  private let end: ContinuousClock.Instant
  private let canceller = DispatchQueue(label: "test.canceller")
  private let tallies = Mutex<[Kind: Tally]>([:])
  private let runningWorkers = Atomic<Int>(0)

  init(_ db: Firestore, seed: UInt64, lasting duration: Duration) {
    self.db = db
    self.seed = seed
    end = ContinuousClock.now + duration
  }

  var tally: [Kind: Tally] { tallies.withLock { $0 } }

  func run() async throws {
    for number in 0..<8 { try await db.document("rooms/\(number)").setData(["n": number]) }
    runningWorkers.store(Int(Self.workers), ordering: .relaxed)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await self.write() }
      for worker in 1...Self.workers {
        group.addTask {
          defer { self.runningWorkers.subtract(1, ordering: .relaxed) }
          try await self.iterate(worker)
        }
      }
      try await group.waitForAll()
    }
    // On a busy machine each task may have been cancelled before it had anything.
    for kind in Kind.allCases { try await iterate(kind, once: true) }
  }

  /// Writes until the workers have ended. Some writes are refused.
  private func write() async throws {
    var generator = SeededGenerator(seed: seed)
    while runningWorkers.load(ordering: .relaxed) > 0 {
      switch generator.below(20) {
      case 0: _ = await thrown { try await self.db.document("rooms/missing").updateData(["n": 1]) }
      case 1: try await db.rejectedWrites.discardAll()
      case 2...9: try await db.document("rooms/\(generator.below(8))").setData(["n": generator.below(1_000)])
      default: db.document("rooms/\(generator.below(8))").setData(["n": generator.below(1_000)], completion: nil)
      }
    }
  }

  private func iterate(_ worker: UInt64) async throws {
    var generator = SeededGenerator(seed: seed &* 1_000 &+ worker)
    while ContinuousClock.now < end {
      let tasks = (0..<Self.tasksAtOnce).map { _ in
        let kind = generator.element(Kind.allCases)
        return (kind, Task { try await self.iterate(kind) })
      }
      for (_, task) in tasks {
        // On a busy machine each of them may take long.
        for _ in 0..<generator.below(300) where ContinuousClock.now < end { await Task.yield() }
        canceller.async { task.cancel() }
      }
      for (kind, task) in tasks {
        do {
          try await task.value
        } catch is CancellationError {
          // The sequence was just being made.
        }
        tallies.withLock { $0[kind, default: Tally()].ends += 1 }
      }
    }
  }

  /// - Parameter once: True to end with the first element.
  private func iterate(_ kind: Kind, once: Bool = false) async throws {
    let rooms = db.collection("rooms")
    switch kind {
    case .query: try await count(kind, rooms.snapshots(includeMetadataChanges: true), once)
    case .document: try await count(kind, rooms.document("1").snapshots, once)
    case .typedQuery:
      try await count(kind, TypedCollection<Room>(rooms).where(\.n >= 500).snapshots(), once)
    case .aggregate: try await count(kind, rooms.aggregate([.count(), .sum("n")]).snapshots, once)
    case .outbox: try await count(kind, db.outbox.snapshots, once)
    case .rejectedWrites: try await count(kind, db.rejectedWrites.snapshots, once)
    case .status: try await count(kind, db.statuses, once)
    case .prefetch:
      try await count(kind, rooms.prefetchProgress(within: .seconds(60), countsDocuments: true), once)
    }
  }

  private func count<Elements: AsyncSequence>(
    _ kind: Kind, _ elements: Elements, _ once: Bool
  ) async throws where Elements.Element: Sendable {
    for try await _ in elements {
      tallies.withLock { $0[kind, default: Tally()].elements += 1 }
      if once { return }
    }
  }
}
