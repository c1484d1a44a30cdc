import Dispatch
import Foundation
import HearthModel
import HearthPlan
import HearthStore
import Synchronization
import Testing

@testable import HearthServer

@Suite("Readers alongside the writer")
struct ReaderTests {
  /// Holds threads back until it is opened.
  private final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let arrival = DispatchSemaphore(value: 0)
    private let isArmed = Atomic<Bool>(false)

    func arm() { isArmed.store(true, ordering: .sequentiallyConsistent) }

    func pass() {
      guard isArmed.exchange(false, ordering: .sequentiallyConsistent) else { return }
      arrival.signal()
      semaphore.wait()
    }

    func open() { semaphore.signal() }

    /// Waits until a reader is held back.
    func arrived() async {
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          self.arrival.wait()
          continuation.resume()
        }
      }
    }
  }

  private static func threads(
    _ body: () throws -> ObjectIdentifier?
  ) rethrows -> (own: ObjectIdentifier, other: ObjectIdentifier?) {
    (ObjectIdentifier(Thread.current), try body())
  }

  private static func withFile<R>(
    injecting failure: (@Sendable (Database.FailurePoint) -> StoreError?)? = nil,
    _ body: (StorageFixture) async throws -> R
  ) async throws -> R {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let fixture = try StorageFixture(location: .file(path: "\(folder)/data"), injecting: failure)
      let result = try await body(fixture)
      await fixture.storage.close()
      return result
    }
  }

  @Test("reads of every kind are answered while a commit waits for the disk, and do not see it")
  func slowCommit() async throws {
    let gate = Gate()
    try await Self.withFile(injecting: { point in
      if point == .commit { gate.pass() }
      return nil
    }) { fixture in
      let before = try await fixture.set("c/a", ["n": 1.value])
      gate.arm()
      async let after = fixture.set("c/a", ["n": 2.value])
      await gate.arrived()
      let storage = fixture.storage
      let query = Query(path: path("c"))
      #expect(try await storage.documents(for: [key("c/a")], at: nil).documents.map(\.version) == [before])
      #expect(try await storage.run(query, at: nil).documents.map(\.version) == [before])
      #expect(try await storage.run(query, at: before).readVersion == before)
      let count = Aggregation(alias: "n", operation: .count(upTo: nil))
      #expect(try await storage.aggregate([count], over: query, skipping: 0, at: nil).totals.documentCount == 1)
      #expect(try await storage.collectionIDs(under: ResourcePath(), after: nil, limit: 9, at: nil) == ["c"])
      #expect(try storage.currentVersion() == before)
      #expect(try await storage.snapshot(at: before.timestamp) == before)
      gate.open()
      let version = try await after
      #expect(try await storage.run(query, at: nil).documents.map(\.version) == [version])
      #expect(try await storage.run(query, at: before).documents.map(\.version) == [before])
    }
  }

  @Test("a read sees one state while commits go on, and its version is that of this state")
  func oneState() async throws {
    try await Self.withFile { fixture in
      try await fixture.set("c/a", ["n": 1.value])
      let before = try await fixture.set("c/b", ["n": 1.value])
      let readers = try #require(fixture.storage.published.withLock { $0.file?.readers })
      let gate = Gate()
      gate.arm()
      async let read = readers.read { reader in
        try reader.read("test", known: .none) { snapshot in
          let first = try snapshot.documents(for: [key("c/a")], at: nil)
          gate.pass()
          let second = try snapshot.documents(for: [key("c/a"), key("c/b")], at: nil)
          return [first, second]
        }
      }
      await gate.arrived()
      try await fixture.commit(.delete(key("c/b")))
      try await fixture.set("c/a", ["n": 2.value])
      gate.open()
      let answers = try await read
      #expect(answers.map(\.readVersion) == [before, before])
      #expect(answers[1].documents.map(\.isFound) == [true, true])
      #expect(try answers[1].documents[0].fields.value(at: field("n")) == 1.value)
    }
  }

  @Test("a read at a version that no commit has does not see a later commit")
  func reservedVersion() async throws {
    try await Self.withFile { fixture in
      try await fixture.set("c/a", ["n": 1.value])
      fixture.clock.advance(seconds: 10)
      let reserved = try await fixture.storage.snapshot(at: Timestamp(microseconds: fixture.clock.now))
      let query = Query(path: path("c"))
      #expect(try await fixture.storage.run(query, at: nil).readVersion == reserved)
      #expect(try await fixture.set("c/b") > reserved)
      #expect(try await fixture.storage.run(query, at: reserved).documents.count == 1)
      #expect(try await fixture.storage.run(query, at: nil).documents.count == 2)
    }
  }

  @Test("short reads are answered while more scans run than there are slots and seats, and the scans end")
  func fairness() async throws {
    let isOver = Flag()
    let pool = ReaderPool<@Sendable () -> Bool>(label: "test", slots: ReadSlots(slots: 2, seats: 2)) { $0 }
    try await withThrowingTaskGroup(of: Int.self) { group in
      for scan in 0..<5 {
        group.addTask {
          try await pool.read { isToStop in
            while !isOver.isSet {
              if isToStop() { throw StoreError(kind: .unavailable, message: "stopped") }
            }
            return scan
          }
        }
      }
      for number in 0..<100 { #expect(try await pool.read { _ in number } == number) }
      isOver.set()
      let scans = try await group.reduce(into: Set<Int>()) { $0.insert($1) }
      #expect(scans == [0, 1, 2, 3, 4])
    }
    await pool.close()
    await #expect(throws: StoreError.self) { try await pool.read { _ in 1 } }
  }

  @Test("a short read runs on its caller's thread if a connection is free, and a long one is left to others")
  func inPlace() async throws {
    let pool = ReaderPool<@Sendable () -> Bool>(label: "test", slots: ReadSlots(slots: 2, seats: 2)) { $0 }
    #expect(try pool.readInPlace { _ in 1 } == nil)
    _ = try await pool.read { _ in 2 }
    let (own, other) = try Self.threads { try pool.readInPlace { _ in ObjectIdentifier(Thread.current) } }
    #expect(own == other)
    let long = try pool.readInPlace { isToStop -> Int in
      while !isToStop() {}
      throw StoreError(kind: .unavailable, message: "stopped")
    }
    #expect(long == nil)
    #expect(throws: StoreError.self) {
      _ = try pool.readInPlace { _ -> Int in throw StoreError(kind: .corrupt, message: "damaged") }
    }
    // The connection was given back each time, and is not needed by those that find none.
    let inner = try pool.readInPlace { _ in try pool.readInPlace { _ in 3 } }
    #expect(inner == .some(.none))
    #expect(try pool.readInPlace { _ in 4 } == 4)
    #expect(try await pool.read { _ in 5 } == 5)
    await pool.close()
    #expect(try pool.readInPlace { _ in 6 } == nil)
  }

  @Test("a cancelled scan stops at the end of its step and frees its slot")
  func cancellation() async throws {
    let pool = ReaderPool<@Sendable () -> Bool>(label: "test", slots: ReadSlots(slots: 1, seats: 1)) { $0 }
    let (began, beginning) = AsyncStream<Void>.makeStream()
    // Does not stop by itself.
    let scan = Task {
      try await pool.read { isToStop in
        beginning.yield()
        while !isToStop() {}
        throw StoreError(kind: .unavailable, message: "stopped")
      }
    }
    for await _ in began { break }
    scan.cancel()
    await #expect(throws: CancellationError.self) { try await scan.value }
    #expect(try await pool.read { _ in 7 } == 7)
    await pool.close()
  }

  @Test("a read that is cancelled before its turn never begins")
  func cancellationBeforeTheTurn() async throws {
    let pool = ReaderPool<@Sendable () -> Bool>(label: "test", slots: ReadSlots(slots: 2, seats: 1)) { $0 }
    let gate = DispatchSemaphore(value: 0)
    let (began, beginning) = AsyncStream<Void>.makeStream()
    // Each holds a slot and ends no step.
    let holders = (0..<2).map { _ in
      Task {
        try await pool.read { _ in
          beginning.yield()
          gate.wait()
        }
      }
    }
    var count = 0
    for await _ in began {
      count += 1
      if count == holders.count { break }
    }
    let waiting = Task { try await pool.read { _ in Issue.record("a cancelled read has begun") } }
    waiting.cancel()
    for _ in holders { gate.signal() }
    await #expect(throws: CancellationError.self) { try await waiting.value }
    for holder in holders { try await holder.value }
    await pool.close()
  }

  @Test("each read shows one state while commits go on and indexes are made and filled")
  func statesUnderLoad() async throws {
    let pairs = 700
    try await Self.withFile { fixture in
      let storage = fixture.storage
      // The two documents of a pair are written together, so every state has both of them in the same group.
      @Sendable func write(_ pair: Int, _ value: Int) async throws {
        let fields: MapValue = ["group": (value % 7).value, "value": value.value]
        let keys = [key("c/x\(pair)"), key("c/y\(pair)")]
        let mutations = keys.map { value % 11 == 0 ? Mutation.delete($0) : Mutation.set($0, fields) }
        _ = try await storage.commit(CommitRequest(mutations: mutations))
      }
      for pair in 0..<pairs { try await write(pair, 1 + pair % 7) }
      let isOver = Flag()
      try await withThrowingTaskGroup(of: Int.self) { group in
        for reader in 0..<3 {
          group.addTask {
            var indexed = 0
            var round = reader
            while !isOver.isSet || indexed == 0 {
              round += 1
              let query = Query(path: path("c")).with(filter: .field(field("group"), .equal, (round % 7).value))
              let answer = try await storage.run(query, at: nil)
              if answer.execution?.plan == .index { indexed += 1 }
              var values: [Substring: [Value?]] = [:]
              for document in answer.documents {
                values[document.key.id.dropFirst(), default: []].append(try document.fields.value(at: field("value")))
              }
              let torn = values.filter { $0.value.count != 2 || $0.value[0] != $0.value[1] }
              #expect(torn.isEmpty, "\(torn) at \(answer.readVersion)")
              let count = Aggregation(alias: "n", operation: .count(upTo: nil))
              let past = try await storage.aggregate([count], over: query, skipping: 0, at: answer.readVersion)
              #expect(past.totals.documentCount == answer.documents.count)
            }
            return indexed
          }
        }
        for value in 0..<400 { try await write((value * 37) % pairs, value) }
        isOver.set()
        for try await indexed in group { #expect(indexed > 0) }
      }
    }
  }

  @Test("a connection that cannot be opened fails the reads that need one, and the next ones try again")
  func openFailure() async throws {
    let isBroken = Mutex(true)
    let pool = ReaderPool<Int>(label: "test", slots: ReadSlots(slots: 2, seats: 2)) { _ in
      if isBroken.withLock({ $0 }) { throw StoreError(kind: .io, message: "no descriptors") }
      return 7
    }
    await #expect(throws: StoreError.self) { try await pool.read { $0 } }
    isBroken.withLock { $0 = false }
    #expect(try await pool.read { $0 } == 7)
    await pool.close()
  }

  @Test("the write-ahead log stays short under load though no commit writes it back")
  func logStaysShort() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let file = "\(folder)/data"
      let storage = try EmbeddedStorage(
        location: .file(path: file), databaseID: ServerFixture.database, clock: .system,
        logger: ServerFixture.quietLogger)
      let text = Value.string(String(repeating: "x", count: 200_000))
      for round in 0..<10 {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for n in 0..<64 {
            group.addTask {
              _ = try await storage.commit(
                CommitRequest(mutations: [.set(key("c/d\(n)"), ["round": round.value, "t": text])]))
            }
          }
          try await group.waitForAll()
        }
      }
      // 10 rounds of 64 documents of 200 kB, twice each for the history: 256 MB went through the log.
      let size = try #require(FileManager.default.attributesOfItem(atPath: file + "-wal")[.size] as? Int)
      #expect(size < 96 << 20)
      await storage.close()
      #expect(!FileManager.default.fileExists(atPath: file + "-wal"))
    }
  }
}
