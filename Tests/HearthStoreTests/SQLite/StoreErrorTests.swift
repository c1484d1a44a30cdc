import Foundation
import Testing

@testable import HearthStore

@Suite("The messages of errors of the store")
struct StoreErrorTests {
  @Test(
    "advise what helps against their cause, and name another process only if one may hold a lock",
    arguments: [
      (Int32(5), "Another process or connection is using it; try again."), (6, "Another process or connection"),
      (7, "out of memory. Free some memory, then try again."), (17, "Try again."), (13, "Free some disk space"),
    ])
  func advice(_ code: Int32, _ advice: String) {
    let error = StoreError(sqliteCode: code, connection: nil, databaseName: "\"a.sqlite\"")
    #expect(error.message.hasPrefix("Database \"a.sqlite\": ") && error.message.contains(advice), "\(error)")
    #expect(error.message.contains("Another process") == (code == 5 || code == 6), "\(error)")
  }

  @Test("say of a failure of the disk that it is full if that is its cause, but never of a sync that has failed")
  func fullDisk() {
    // SQLITE_IOERR_SHMSIZE and SQLITE_IOERR_WRITE; SQLITE_IOERR_FSYNC and SQLITE_IOERR_DIR_FSYNC.
    let others: [Int32] = [10 | 19 << 8, 10 | 3 << 8]
    let syncs: [Int32] = [10 | 4 << 8, 10 | 5 << 8]
    for code in others {
      #expect(StoreError.Kind(sqliteCode: code, systemCode: ENOSPC) == .full)
      #expect(StoreError.Kind(sqliteCode: code, systemCode: EDQUOT) == .full)
      #expect(StoreError.Kind(sqliteCode: code, systemCode: EIO) == .io && StoreError.Kind(sqliteCode: code) == .io)
    }
    for code in syncs { #expect(StoreError.Kind(sqliteCode: code, systemCode: ENOSPC) == .io) }
  }

  @Test("end without advice if a statement was interrupted on purpose")
  func interruption() {
    let error = StoreError(sqliteCode: 9, connection: nil, databaseName: "in memory", statement: "SELECT 1")
    #expect(error.message == "Database in memory: interrupted, in: SELECT 1.")
  }
}
