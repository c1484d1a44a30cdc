import Foundation
import HearthModel
import HearthPlan
import HearthStore
import TestSupport
import Testing

@testable import HearthServer

@Suite("The limit of the write-ahead log")
struct LogLimitTests {
  private static let limit = 64 << 20
  /// The most that one commit of these tests adds: a document of 200 kB, twice because of the history, and pages of the tables.
  private static let commit = 1 << 20

  private static let text = Value.string(String(repeating: "x", count: 200_000))

  /// - Parameter body: Gets the storage and the path of its file.
  private static func withStorage(
    fillsIndexes: Bool = true, _ body: (EmbeddedStorage, String) async throws -> Void
  ) async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let file = "\(folder)/data"
      let storage = try EmbeddedStorage(
        database: Database(.file(path: file), options: EmbeddedStorage.options), databaseID: ServerFixture.database,
        clock: .system, logger: ServerFixture.quietLogger, fillsIndexes: fillsIndexes, logBytes: limit)
      try await body(storage, file)
      await storage.close()
    }
  }

  private static func logSize(of file: String) throws -> Int {
    try #require(FileManager.default.attributesOfItem(atPath: file + "-wal")[.size] as? Int)
  }

  private static func write(_ round: Int, to storage: EmbeddedStorage) async throws {
    _ = try await storage.commit(
      CommitRequest(mutations: [.set(key("c/d\(round % 64)"), ["round": round.value, "t": text])]))
  }

  @Test("is not moved by long reads below it, and is tried again in steps above it")
  func steps() {
    let mebibyte: Int64 = 1 << 20
    var limit = LogLimit(bytes: 100 * mebibyte)
    func note(_ length: Int64) -> LogLimit.Action? { limit.note(length * mebibyte) }
    #expect(note(49) == nil && note(50) == .holdReads && note(60) == nil)
    limit.endCut(false)
    #expect(note(67) == nil && note(97) == .holdReads)
    limit.endCut(false)
    #expect(note(99) == nil && !limit.isFull)
    #expect(note(100) == .stopReads && limit.isFull)
    limit.endCut(false)
    #expect(note(107) == nil && !limit.isFull)
    #expect(note(108) == .stopReads && limit.isFull)
    limit.endCut(true)
    #expect(note(49) == nil && note(99) == .holdReads && note(101) == .stopReads && limit.isFull)
    limit.endCut(false)
    // The log has restarted.
    #expect(note(1) == nil && note(50) == .holdReads)
  }

  @Test(
    "holds while long or short reads overlap, and all of them end with the right answer",
    arguments: [(documents: 4_000, readers: 3), (documents: 300, readers: 6)])
  func readsBesideCommits(_ reads: (documents: Int, readers: Int)) async throws {
    try await Self.withStorage { storage, file in
      let count = reads.documents
      for first in stride(from: 0, to: count, by: 500) {
        let mutations = (first..<min(first + 500, count)).map { Mutation.set(key("scanned/d\($0)"), ["n": $0.value]) }
        _ = try await storage.commit(CommitRequest(mutations: mutations))
      }
      let query = Query(path: path("scanned")).with(filter: .field(field("n"), .notEqual, (-1).value))
      let total = Aggregation(alias: "count", operation: .count(upTo: nil))
      let isWritten = Flag()
      let scans = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<reads.readers {
          group.addTask {
            var scans = 0
            while !isWritten.isSet {
              let answer = try await storage.aggregate([total], over: query, skipping: 0, at: nil)
              #expect(answer.totals.documentCount == count)
              scans += 1
            }
            return scans
          }
        }
        group.addTask {
          defer { isWritten.set() }
          for round in 0..<700 {
            try await Self.write(round, to: storage)
            #expect(try Self.logSize(of: file) < Self.limit + Self.commit)
          }
          return 0
        }
        return try await group.reduce(0, +)
      }
      #expect(scans >= 3)
      #expect(storage.use().writeAheadLogBytes < Self.limit + Self.commit)
    }
  }

  @Test("holds while large indexes are filled and nothing is committed")
  func filling() async throws {
    try await Self.withStorage(fillsIndexes: false) { storage, file in
      var generator = SeededGenerator(seed: 1)
      let count = 6_000
      for first in stride(from: 0, to: count, by: 500) {
        let mutations = (first..<first + 500).map { number in
          // Entries in random places, so that each step writes many pages.
          let text = (0..<60).map { _ in String(generator.next(), radix: 36) }.joined()
          return Mutation.set(key("c/d\(number)"), ["s": .string(text), "n": number.value])
        }
        _ = try await storage.commit(CommitRequest(mutations: mutations))
      }
      let kinds: [[(String, IndexDefinition.Kind)]] = [
        [("s", .ascending)], [("s", .descending)], [("s", .ascending), ("n", .ascending)],
        [("s", .descending), ("n", .descending)],
      ]
      await storage.declare(
        try kinds.map { kinds in
          try IndexDefinition(
            collectionGroup: "c", fields: kinds.map { IndexDefinition.Field(path: field($0.0), kind: $0.1) })
        })
      let before = await storage.writtenPages
      var longest = 0
      while await storage.fillIndexes(EmbeddedStorage.fillLimits) {
        longest = max(longest, try Self.logSize(of: file))
      }
      let written = (await storage.writtenPages - before) * Checkpointer.bytesPerFrame
      #expect(written > 2 * Self.limit)
      #expect(longest < Self.limit + (8 << 20))
    }
  }

  @Test("does not stop commits while another program reads the file, and holds again when that has ended")
  func otherProgram() async throws {
    try await Self.withStorage { storage, file in
      try await Self.write(0, to: storage)
      let other = try Database(.file(path: file), options: .init(isReadOnly: true))
      let snapshot = try PinnedSnapshot(of: other)
      var round = 1
      while try Self.logSize(of: file) < 2 * Self.limit {
        try await Self.write(round, to: storage)
        round += 1
      }
      snapshot.close()
      other.close()
      for round in 0..<64 where try Self.logSize(of: file) >= Self.limit { try await Self.write(round, to: storage) }
      #expect(try Self.logSize(of: file) < Self.limit)
    }
  }
}

extension EmbeddedStorage {
  fileprivate var writtenPages: Int64 { database.writtenPages }
}
