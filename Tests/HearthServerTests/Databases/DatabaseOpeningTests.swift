import Dispatch
import Foundation
import HearthModel
import HearthStore
import Synchronization
import TestSupport
import Testing

@testable import HearthServer

@Suite("Opening and closing databases", .timeLimit(.minutes(5)))
struct DatabaseOpeningTests {
  private static let ids = (0..<4).map { DatabaseID(projectID: "p\($0)") }

  /// Runs `body` with a server's databases. The first ones are in its folder with one document each.
  private static func withBackend(
    stored count: Int = 2, limits: DatabaseLimits = DatabaseLimits(), clock: ServerClock = .system,
    gate: OpeningGate = OpeningGate(), _ body: (EmbeddedBackend, _ folder: String) async throws -> Void
  ) async throws {
    try await withTemporaryFolder { folder in
      let first = try EmbeddedBackend(
        location: .folder(path: folder), clock: .system, logger: ServerFixture.quietLogger)
      for id in ids.prefix(count) { try await write(try await first.database(id)) }
      await first.close()
      let backend = try EmbeddedBackend(
        location: .folder(path: folder), limits: limits, clock: clock, logger: ServerFixture.quietLogger,
        opening: { try gate.open($0, $1) })
      defer { gate.releaseAll() }
      try await body(backend, folder)
      await backend.close()
    }
  }

  private static func write(_ database: HostedDatabase) async throws {
    _ = try await database.storage.commit(CommitRequest(mutations: [.set(key("c/d"), ["n": 1.value])]))
  }

  private static func isStored(_ database: HostedDatabase) async throws -> Bool {
    try await database.storage.documents(for: [key("c/d")], at: nil).documents.allSatisfy(\.isFound)
  }

  @Test("while a database is being opened, others are opened, created and used")
  func others() async throws {
    let gate = OpeningGate(holding: [Self.ids[0]])
    try await Self.withBackend(gate: gate) { backend, _ in
      let slow = (0..<20).map { _ in Task { try await backend.database(Self.ids[0]) } }
      await gate.untilBegun(Self.ids[0])
      #expect(try await Self.isStored(try await backend.database(Self.ids[1])))
      try await Self.write(try await backend.database(Self.ids[2]))
      for number in 0..<200 { _ = try await backend.database(DatabaseID(projectID: "typo\(number)")) }
      #expect(try await Self.isStored(try await backend.database(Self.ids[2])))

      // A call that is cancelled does not wait for the others' database.
      let cancelled = Task { try await backend.database(Self.ids[0]) }
      cancelled.cancel()
      let refusal = await #expect(throws: StatusError.self) { try await cancelled.value }
      #expect(refusal?.code == .cancelled)

      gate.releaseAll()
      var found: [HostedDatabase] = []
      for call in slow { found.append(try await call.value) }
      #expect(found.allSatisfy { $0 === found[0] })
      #expect(try await Self.isStored(found[0]))
      #expect(gate.count(of: Self.ids[0]) == 1)
    }
  }

  @Test("a database that cannot be opened fails its calls with the reason, and is tried again by the next one")
  func failure() async throws {
    let gate = OpeningGate(holding: [Self.ids[3]])
    try await Self.withBackend(gate: gate) { backend, folder in
      let file = "\(folder)/p3.%28default%29.sqlite"
      try Data(repeating: 7, count: 8_192).write(to: URL(fileURLWithPath: file))
      let calls = (0..<8).map { _ in Task { try await backend.database(Self.ids[3]) } }
      await gate.untilBegun(Self.ids[3])
      gate.releaseAll()
      for call in calls {
        let failure = await #expect(throws: StatusError.self) { try await call.value }
        #expect(failure?.code == .dataLoss)
      }
      #expect(backend.openDatabases().settled == 0)
      try FileManager.default.removeItem(atPath: file)
      try await Self.write(try await backend.database(Self.ids[3]))
      #expect(try await Self.isStored(try await backend.database(Self.ids[3])))
    }
  }

  @Test("a database that is being opened counts against the limit")
  func limit() async throws {
    var limits = DatabaseLimits()
    limits.databases = 1
    let gate = OpeningGate(holding: [Self.ids[0]])
    try await Self.withBackend(limits: limits, gate: gate) { backend, _ in
      let first = Task { try await backend.database(Self.ids[0]) }
      await gate.untilBegun(Self.ids[0])
      #expect(backend.openDatabases().settled == 1)
      let stored = await #expect(throws: StatusError.self) { try await backend.database(Self.ids[1]) }
      #expect(stored?.code == .resourceExhausted)
      let blank = try await backend.database(Self.ids[2])
      let created = await #expect(throws: StatusError.self) { try await Self.write(blank) }
      #expect(created?.code == .resourceExhausted)
      gate.releaseAll()
      #expect(try await Self.isStored(try await first.value))
    }
  }

  @Test("the end of the server fails the calls that wait for a database, and waits until that is closed again")
  func end() async throws {
    let gate = OpeningGate(holding: [Self.ids[0]])
    try await Self.withBackend(gate: gate) { backend, folder in
      let call = Task { try await backend.database(Self.ids[0]) }
      await gate.untilBegun(Self.ids[0])
      let hasEnded = Mutex(false)
      let end = Task {
        await backend.close()
        hasEnded.withLock { $0 = true }
      }
      let refusal = await #expect(throws: StatusError.self) { try await call.value }
      #expect(refusal?.code == .unavailable)
      #expect(!hasEnded.withLock { $0 })
      #expect(throws: ServerError.self) {
        _ = try EmbeddedBackend(location: .folder(path: folder), clock: .system, logger: ServerFixture.quietLogger)
      }
      gate.releaseAll()
      await end.value
      let next = try EmbeddedBackend(
        location: .folder(path: folder), clock: .system, logger: ServerFixture.quietLogger)
      #expect(try await Self.isStored(try await next.database(Self.ids[0])))
      await next.close()
    }
  }

  @Test("indexes that are declared while a database is being opened are declared in it")
  func declared() async throws {
    let gate = OpeningGate(holding: [Self.ids[0]])
    try await Self.withBackend(gate: gate) { backend, _ in
      let call = Task { try await backend.database(Self.ids[0]) }
      await gate.untilBegun(Self.ids[0])
      let index = try IndexDefinition(collectionGroup: "c", fields: [.init(path: field("n"), kind: .ascending)])
      await backend.declare(IndexFile.Contents(definitions: [index]))
      gate.releaseAll()
      let storage = try #require(try await call.value.storage as? EmbeddedStorage)
      try await waitUntil { await storage.hasDeclared([index]) }
    }
  }

  @Test("a call for a database that is being closed for want of use waits, and opens it again")
  func closing() async throws {
    let clock = ManualClock()
    try await Self.withBackend(clock: clock.clock) { backend, _ in
      let storage = try #require(try await backend.database(Self.ids[0]).storage as? EmbeddedStorage)
      let gate = DispatchSemaphore(value: 0)
      let holding = Task { await storage.hold(gate) }
      clock.advance(seconds: 301)
      // A call that has opened it may hold it for a moment longer.
      let closing = Task { while (try? storage.currentVersion()) != nil { await backend.closeIdle() } }
      try await waitUntil { backend.openDatabases().all.isEmpty }
      let calls = (0..<8).map { _ in Task { try await backend.database(Self.ids[0]) } }
      let cancelled = Task { try await backend.database(Self.ids[0]) }
      cancelled.cancel()
      let refusal = await #expect(throws: StatusError.self) { try await cancelled.value }
      #expect(refusal?.code == .cancelled)
      #expect(try await Self.isStored(try await backend.database(Self.ids[1])))
      gate.signal()
      for call in calls {
        let database = try await call.value
        #expect(database.storage !== storage)
        #expect(try await Self.isStored(database))
      }
      await holding.value
      await closing.value
    }
  }

  @Test("databases that are closed for want of use again and again are never seen closed")
  func idleWithCalls() async throws {
    let clock = ManualClock()
    let gate = OpeningGate()
    try await Self.withBackend(stored: 3, clock: clock.clock, gate: gate) { backend, _ in
      for round in 0..<40 {
        clock.advance(seconds: 301)
        try await withThrowingTaskGroup { group in
          let opened = backend.openDatabases().all.count
          group.addTask { await backend.closeIdle() }
          // In every other round the calls come when a database is being closed, or has just been closed.
          if round % 2 == 1 {
            try await waitUntil {
              await backend.closeIdle()
              return backend.openDatabases().all.count < opened
            }
          }
          for number in 0..<12 {
            group.addTask {
              for _ in 0..<(number % 4) { await Task.yield() }
              let database = try await backend.database(Self.ids[number % 3])
              #expect(try await Self.isStored(database))
              if number < 3 { try await Self.write(database) }
            }
          }
          try await group.waitForAll()
        }
      }
      #expect(Self.ids.map(gate.count).reduce(0, +) >= 3 + 20, "little was closed")
    }
  }

  @Test("work that hangs holds its own thread of a queue, and no more runs at a time than the queue is wide")
  func queue() async throws {
    let queue = OpeningQueue(label: "test", width: 3)
    let gate = DispatchSemaphore(value: 0)
    let state = Mutex((running: 0, most: 0, done: 0))
    queue.run { gate.wait() }
    for _ in 0..<50 {
      queue.run {
        state.withLock {
          $0.running += 1
          $0.most = max($0.most, $0.running)
        }
        usleep(1_000)
        state.withLock {
          $0.running -= 1
          $0.done += 1
        }
      }
    }
    try await waitUntil { state.withLock { $0.done } == 50 }
    #expect(state.withLock { $0.most } <= 2)
    gate.signal()
  }
}

extension EmbeddedStorage {
  /// Holds up what comes after it, as a disk that does not answer.
  fileprivate func hold(_ gate: DispatchSemaphore) { gate.wait() }

  fileprivate func hasDeclared(_ indexes: Set<IndexDefinition>) -> Bool {
    (try? Set(store.indexes.declaredDefinitions())) == indexes
  }
}

/// Holds up openings as a slow disk does, and counts them.
private final class OpeningGate: Sendable {
  private struct State {
    var held: Set<DatabaseID>
    var counts: [DatabaseID: Int] = [:]
    var waiting = 0
    var observers: [(DatabaseID, CheckedContinuation<Void, Never>)] = []
  }

  private let state: Mutex<State>
  private let semaphore = DispatchSemaphore(value: 0)

  init(holding held: Set<DatabaseID> = []) {
    state = Mutex(State(held: held))
  }

  func open(_ id: DatabaseID, _ open: () throws -> any ExclusiveStorage) throws -> any ExclusiveStorage {
    let (observers, isHeld) = state.withLock { state in
      state.counts[id, default: 0] += 1
      let observers = state.observers.filter { $0.0 == id }.map(\.1)
      state.observers.removeAll { $0.0 == id }
      if state.held.contains(id) { state.waiting += 1 }
      return (observers, state.held.contains(id))
    }
    for observer in observers { observer.resume() }
    if isHeld { semaphore.wait() }
    return try open()
  }

  /// Waits until an opening of the database has begun.
  func untilBegun(_ id: DatabaseID) async {
    await withCheckedContinuation { (observer: CheckedContinuation<Void, Never>) in
      let hasBegun = state.withLock { state in
        let hasBegun = state.counts[id] != nil
        if !hasBegun { state.observers.append((id, observer)) }
        return hasBegun
      }
      if hasBegun { observer.resume() }
    }
  }

  func count(of id: DatabaseID) -> Int { state.withLock { $0.counts[id] ?? 0 } }

  func releaseAll() {
    let waiting = state.withLock { state in
      defer { (state.held, state.waiting) = ([], 0) }
      return state.waiting
    }
    for _ in 0..<waiting { semaphore.signal() }
  }
}
