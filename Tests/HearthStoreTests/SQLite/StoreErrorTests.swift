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

  @Test("end without advice if a statement was interrupted on purpose")
  func interruption() {
    let error = StoreError(sqliteCode: 9, connection: nil, databaseName: "in memory", statement: "SELECT 1")
    #expect(error.message == "Database in memory: interrupted, in: SELECT 1.")
  }
}
