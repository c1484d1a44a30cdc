internal import BenchmarkKit
internal import Foundation
internal import Synchronization

/// SQLite alone doing the same commits and reads: no network, no protocol, no listeners.
///
/// A commit writes the document and what it was before, as a server with a history does, and waits for the disk.
final class SQLiteFloor {
  private let database: RawDatabase
  private let path: String
  private let documentCount: Int
  private var revision = 0
  private var numbers = SystemRandomNumberGenerator()

  private static let documentBytes = 480
  private static let groupSize = 10

  /// - Parameter folder: an empty one.
  init(folder: String, documentCount: Int) throws {
    path = folder + "/floor.sqlite"
    self.documentCount = documentCount
    database = try RawDatabase(path: path, synchronous: "FULL")
    try database.execute(
      """
      CREATE TABLE documents (
        place INTEGER PRIMARY KEY, id TEXT NOT NULL, fields BLOB NOT NULL, number INTEGER NOT NULL, rank INTEGER NOT NULL,
        sequence INTEGER NOT NULL);
      CREATE UNIQUE INDEX documents_by_id ON documents (id);
      CREATE INDEX documents_by_number ON documents (number);
      CREATE INDEX documents_by_rank ON documents (rank);
      CREATE TABLE changes (sequence INTEGER PRIMARY KEY, id TEXT NOT NULL, fields BLOB);
      """)
  }

  /// - Returns: documents per second, written in transactions of 400.
  func fill() throws -> Double {
    let start = monotonicSeconds
    for first in stride(from: 0, to: documentCount, by: 400) {
      try transaction {
        for index in first..<min(first + 400, documentCount) {
          try change(id(index), before: nil)
          try database.run(
            "INSERT INTO documents (id, fields, number, rank, sequence) VALUES (?, ?, ?, ?, ?)", .text(id(index)),
            .bytes(fields(index)),
            .integer(index % (documentCount / Self.groupSize)), .integer(index * 7919 % documentCount),
            .integer(revision))
        }
      }
    }
    return Double(documentCount) / (monotonicSeconds - start)
  }

  /// - Parameter clients: the writes in a transaction: a server can put together those that wait at the same time.
  /// - Returns: documents per second.
  func sets(clients: Int, seconds: Double) throws -> Double {
    try rate(seconds: seconds, items: clients) {
      try transaction { for _ in 0..<clients { try set(Int.random(in: 0..<documentCount, using: &numbers)) } }
    }
  }

  func gets(seconds: Double) throws -> Double {
    try rate(seconds: seconds) {
      try database.run(
        "SELECT id, fields FROM documents WHERE id = ?", .text(id(Int.random(in: 0..<documentCount, using: &numbers))))
    }
  }

  func equality(seconds: Double) throws -> Double {
    let groups = documentCount / Self.groupSize
    return try rate(seconds: seconds) {
      try database.run(
        "SELECT id, fields FROM documents WHERE number = ?", .integer(Int.random(in: 0..<groups, using: &numbers)))
    }
  }

  func range(seconds: Double) throws -> Double {
    try rate(seconds: seconds) {
      try database.run(
        "SELECT id, fields FROM documents WHERE rank >= ? ORDER BY rank LIMIT 25",
        .integer(Int.random(in: 0..<documentCount / 2, using: &numbers)))
    }
  }

  /// - Returns: the times of commits of one document, in seconds.
  func commits(seconds: Double) throws -> [Double] {
    try times(seconds: seconds) { try transaction { try set(Int.random(in: 0..<documentCount, using: &numbers)) } }
  }

  /// The same while another connection reads all documents repeatedly.
  func commitsDuringScan(seconds: Double) throws -> [Double] {
    let isDone = Atomic(false)
    let hasEnded = DispatchSemaphore(value: 0)
    let path = path
    Thread.detachNewThread {
      if let reader = try? RawDatabase(path: path) {
        while !isDone.load(ordering: .relaxed), (try? reader.run("SELECT id, fields FROM documents")) != nil {}
      }
      hasEnded.signal()
    }
    defer {
      isDone.store(true, ordering: .relaxed)
      hasEnded.wait()
    }
    return try commits(seconds: seconds)
  }

  func snapshots(seconds: Double) throws -> [Double] {
    try times(seconds: seconds) { try database.run("SELECT id, fields FROM documents ORDER BY id") }
  }

  /// - Returns: the times to find the documents of the last 10 changes, in seconds.
  func resumes(seconds: Double) throws -> [Double] {
    try transaction { for index in 0..<10 { try set(index) } }
    return try times(seconds: seconds) {
      try database.run(
        "SELECT id, fields FROM documents WHERE id IN (SELECT id FROM changes WHERE sequence > ?)",
        .integer(revision - 10))
    }
  }

  /// - Returns: the times to open the file and read one document, in seconds.
  func open() throws -> Double {
    let start = monotonicSeconds
    try RawDatabase(path: path).run("SELECT id, fields FROM documents WHERE id = ?", .text(id(0)))
    return monotonicSeconds - start
  }

  // MARK: - Statements

  private func transaction(_ body: () throws -> Void) throws {
    try database.run("BEGIN IMMEDIATE")
    try body()
    try database.run("COMMIT")
  }

  private func set(_ index: Int) throws {
    let id = id(index)
    try change(id, before: try database.read(id: id))
    try database.run(
      "UPDATE documents SET fields = ?, sequence = ? WHERE id = ?", .bytes(fields(index)), .integer(revision), .text(id)
    )
  }

  private func change(_ id: String, before: [UInt8]?) throws {
    revision += 1
    try database.run(
      "INSERT INTO changes VALUES (?, ?, ?)", .integer(revision), .text(id), .bytes(before ?? []))
  }

  private func id(_ index: Int) -> String {
    let digits = String(index * 7919 % 10_000_000)
    return String(repeating: "0", count: 7 - digits.utf8.count) + digits + "placeplacepla"
  }

  private func fields(_ index: Int) -> [UInt8] {
    (0..<Self.documentBytes).map { UInt8(truncatingIfNeeded: $0 &* index &+ revision) }
  }

  // MARK: - Times

  private func rate(seconds: Double, items: Int = 1, _ body: () throws -> Void) throws -> Double {
    let start = monotonicSeconds
    var count = 0
    while monotonicSeconds - start < seconds {
      try body()
      count += items
    }
    return Double(count) / (monotonicSeconds - start)
  }

  private func times(seconds: Double, _ body: () throws -> Void) throws -> [Double] {
    var times: [Double] = []
    let start = monotonicSeconds
    while monotonicSeconds - start < seconds {
      let begin = monotonicSeconds
      try body()
      times.append(monotonicSeconds - begin)
    }
    return times
  }
}
