import Foundation
import Testing

@testable import HearthStore

@Suite("Waiting for a lock of another connection")
struct BusyWaitTests {
  @Test("is done in pauses that are short for a moment, never longer than 10 ms, and reach any limit")
  func pauses() {
    let times = (0...1000).map(BusyWait.microseconds)
    let pauses = zip(times.dropFirst(), times).map(-)
    #expect(times[0] == 0)
    #expect(pauses.prefix(60).allSatisfy { $0 <= 500 } && times[60] >= 20_000)
    #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $0 <= $1 })
    #expect(pauses.allSatisfy { $0 > 0 && $0 <= 10_000 })
    #expect(BusyWait.microseconds(before: 1_000_000) > 5_000_000)
  }

  @Test("ends with the lock, or with the limit", arguments: [0, 1, 30])
  func limits(_ milliseconds: Int) throws {
    let folder = try TemporaryFolder()
    let first = try Database(.file(path: folder.file()))
    try first.execute("CREATE TABLE numbers (n INTEGER)")
    let second = try Database(.file(path: folder.file()), options: .init(busyTimeout: .milliseconds(milliseconds)))
    try first.execute("BEGIN IMMEDIATE")
    do {
      try second.execute("INSERT INTO numbers VALUES (1)")
      Issue.record("written in spite of a lock")
    } catch {
      #expect(error.kind == .unavailable)
    }
    try first.execute("COMMIT")
    try second.execute("INSERT INTO numbers VALUES (1)")
  }
}
