import Foundation
import HearthModel
import HearthStore
import HearthWire
import Synchronization
import TestSupport
import Testing

@testable import HearthServer

@Suite("The slots that the reads of all databases share", .timeLimit(.minutes(5)))
struct ReadSlotsTests {
  /// The number of bodies of reads that are on threads, and the most there were.
  private final class Threads: Sendable {
    private let counts = Mutex((now: 0, most: 0))
    var most: Int { counts.withLock { $0.most } }

    func use<Result>(_ body: () throws -> Result) rethrows -> Result {
      counts.withLock { counts in
        counts.now += 1
        counts.most = max(counts.most, counts.now)
      }
      defer { counts.withLock { $0.now -= 1 } }
      return try body()
    }
  }

  /// Ends what waits for it.
  private final class End: Sendable {
    private let flag = Atomic(false)
    var isOver: Bool { flag.load(ordering: .relaxed) }

    func begin() { flag.store(true, ordering: .relaxed) }
  }

  /// Holds threads until enough of them have come.
  private final class Meeting: Sendable {
    private let count = Atomic(0)

    func join(_ total: Int) {
      count.add(1, ordering: .relaxed)
      while count.load(ordering: .relaxed) < total { usleep(100) }
    }
  }

  @Test("200 scans of 50 files have a thread for each slot and seat, and gets of another file are answered")
  func manyFiles() async throws {
    typealias Reader = @Sendable () -> Bool
    let slots = ReadSlots<Reader>(slots: 2, seats: 4)
    let pools = (0..<51).map { number in ReaderPool<Reader>(label: "test.\(number)", slots: slots) { $0 } }
    let threads = Threads()
    let end = End()
    func check() {
      let use = slots.use
      #expect(use.running <= 2 && use.begun <= 6, "\(use)")
      // Each file keeps one; as many idle ones as there are slots are kept besides.
      #expect(use.connections <= 51 + 6 + 2, "\(use)")
    }
    try await withThrowingTaskGroup(of: Int.self) { group in
      for scan in 0..<200 {
        group.addTask {
          try await pools[scan % 50].read { isToStop in
            try threads.use {
              while !end.isOver {
                usleep(200)  // A step.
                if isToStop() { throw StoreError(kind: .unavailable, message: "stopped") }
              }
              return scan
            }
          }
        }
      }
      // All seats are taken, and a read has a slot besides.
      try await waitUntil { slots.use.begun >= 5 }
      for number in 0..<200 {
        let result = try await pools[50].read { _ in threads.use { number } }
        #expect(result == number)
        check()
      }
      end.begin()
      let scans = try await group.reduce(into: Set<Int>()) { $0.insert($1) }
      #expect(scans == Set(0..<200))
    }
    #expect(threads.most <= 6)
    check()
    #expect(slots.use.begun == 0 && slots.use.connections <= 51 + 2)
    for pool in pools { await pool.close() }
    #expect(slots.use == .init(running: 0, begun: 0, connections: 0))
  }

  @Test("the databases of a server share their slots; each has one connection when all is over, and some have another")
  func databases() async throws {
    try await withTemporaryFolder { folder in
      let slots = EmbeddedStorage.readSlots()
      let backend = try EmbeddedBackend(
        location: .folder(folder), clock: .system, readSlots: slots, logger: ServerFixture.quietLogger)
      let cores = max(ProcessInfo.processInfo.activeProcessorCount, 2)
      var databases: [HostedDatabase] = []
      for number in 0..<10 { databases.append(try await backend.database(DatabaseID(projectID: "p\(number)"))) }
      for database in databases {
        for first in stride(from: 0, to: 3_000, by: 500) {
          let mutations = (first..<first + 500).map { Mutation.set(key("c/d\($0)"), ["n": $0.value]) }
          _ = try await database.storage.commit(CommitRequest(mutations: mutations))
        }
      }
      let query = Query(path: path("c")).with(filter: .field(field("n"), .notEqual, (-1).value))
      let total = Aggregation(alias: "n", operation: .count(upTo: nil))
      try await withThrowingTaskGroup(of: Int.self) { group in
        for database in databases {
          for _ in 0..<8 {
            group.addTask {
              try await database.storage.aggregate([total], over: query, skipping: 0, at: nil).totals.documentCount
            }
          }
        }
        for try await count in group {
          #expect(count == 3_000)
          let use = slots.use
          #expect(use.running <= cores && use.begun <= cores + 16, "\(use)")
          #expect(use.connections <= 10 + 16 + 2 * cores, "\(use)")
        }
      }
      #expect((10...10 + cores).contains(slots.use.connections), "\(slots.use)")
      await backend.close()
      #expect(slots.use.connections == 0)
    }
  }

  // MARK: - Connections that cannot be opened

  /// Stands for a file's connection. The process may have a few of them.
  private final class Handle: Sendable {
    private let limit: Limit
    let isToStop: @Sendable () -> Bool

    final class Limit: Sendable {
      fileprivate let state: Mutex<(open: Int, limit: Int, refused: Int)>
      init(_ limit: Int) { state = Mutex((0, limit, 0)) }
      var open: Int { state.withLock { $0.open } }
      var refused: Int { state.withLock { $0.refused } }
      func set(_ limit: Int) { state.withLock { $0.limit = limit } }
    }

    init(_ limit: Limit, _ isToStop: @escaping @Sendable () -> Bool) throws {
      try limit.state.withLock { state in
        guard state.open < state.limit else {
          state.refused += 1
          throw StoreError(kind: .cannotOpen, message: "too many open files", sqliteCode: 14)
        }
        state.open += 1
      }
      self.limit = limit
      self.isToStop = isToStop
    }

    deinit { limit.state.withLock { $0.open -= 1 } }
  }

  @Test("reads for which no connection can be opened wait for the one that is open, until more can be opened")
  func noDescriptors() async throws {
    let limit = Handle.Limit(1)
    let pool = ReaderPool<Handle>(label: "test", slots: ReadSlots(slots: 4, seats: 4)) { try Handle(limit, $0) }
    try pool.openFirst()
    func readAll() async throws {
      try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<40 {
          group.addTask {
            try await pool.read { handle in
              for _ in 0..<(number % 3 == 0 ? 20 : 0) where handle.isToStop() {
                throw StoreError(kind: .unavailable, message: "stopped")
              }
              return number
            }
          }
        }
        let numbers = try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        #expect(numbers == Set(0..<40))
      }
    }
    try await readAll()
    #expect(limit.open == 1)
    #expect(limit.refused > 0)
    limit.set(10)
    // With each read that ends, one more is tried.
    try await readAll()
    // Each finds its connection, or opens one: as many as read at the same time.
    let meeting = Meeting()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          try await pool.read { _ in
            meeting.join(4)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect((4...8).contains(limit.open))
    await pool.close()
    #expect(limit.open == 0)
  }

  @Test("idle connections of one file make room for those of another; a file without any connection fails its reads")
  func roomForOthers() async throws {
    let limit = Handle.Limit(3)
    let slots = ReadSlots<Handle>(slots: 2, seats: 2)
    func pool(_ label: String) -> ReaderPool<Handle> {
      ReaderPool(label: label, slots: slots) { try Handle(limit, $0) }
    }
    func readTwice(_ pool: ReaderPool<Handle>) async throws {
      let meeting = Meeting()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<2 {
          group.addTask {
            try await pool.read { _ in
              meeting.join(2)
            }
          }
        }
        try await group.waitForAll()
      }
    }
    let (first, second, third) = (pool("first"), pool("second"), pool("third"))
    try await readTwice(first)
    #expect(limit.open == 2)
    try await readTwice(second)
    #expect(limit.open == 3, "the second one of the first file is closed")
    try await readTwice(first)
    _ = try await third.read { _ in 1 }
    #expect(limit.open == 3)
    let fourth = pool("fourth")
    await #expect(throws: StoreError.self) { try await fourth.read { _ in 1 } }
    #expect(throws: StoreError.self) { try fourth.openFirst() }
    for pool in [first, second, third, fourth] { await pool.close() }
    #expect(limit.open == 0)
  }

  @Test("beyond the descriptors of the process, reads wait for the connection that their file keeps")
  func descriptorLimit() async throws {
    let limit = Handle.Limit(100)
    let slots = ReadSlots<Handle>(slots: 4, seats: 4, descriptorLimit: 3)
    let pools = (0..<6).map { number in
      ReaderPool<Handle>(label: "test.\(number)", slots: slots) { try Handle(limit, $0) }
    }
    for pool in pools {
      try pool.openFirst()
      try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<30 { group.addTask { try await pool.read { _ in number } } }
        let numbers = try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        #expect(numbers == Set(0..<30))
      }
      #expect(slots.use.connections <= 6 + 3)
    }
    for pool in pools { await pool.close() }
    #expect(slots.use.connections == 0)
  }

  #if os(Linux)
    @Test("SQLite keeps the descriptor of a file whose connection is closed, and uses it for the next one")
    func descriptorsOfSQLite() async throws {
      try await withTemporaryFolder { folder in
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let file = "\(folder)/data"
        func open() throws -> [Int] {
          let targets = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
          }
          return ["", "-wal", "-shm"].map { suffix in targets.count { $0 == file + suffix } }
        }
        let writer = try Database(.file(path: file))
        try writer.execute("CREATE TABLE t (x)")
        #expect(try open() == [1, 1, 1])
        for _ in 0..<2 {
          var readers = try (0..<3).map { _ in try Database(.file(path: file), options: .init(isReadOnly: true)) }
          #expect(try open() == [4, 4, 1])
          readers = []
          #expect(try open() == [4, 1, 1])
          #expect(readers.isEmpty)
        }
        writer.close()
        #expect(try open() == [0, 0, 0])
      }
    }
  #endif
}
