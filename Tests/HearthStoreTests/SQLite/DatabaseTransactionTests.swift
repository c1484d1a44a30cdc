import HearthStore
import Testing

@Suite("Transactions")
struct DatabaseTransactionTests {
  struct Stop: Error {}
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  func table(_ location: TestLocation) throws -> Database {
    let database = try location.open(in: folder)
    try database.execute("CREATE TABLE t (i INTEGER)")
    return database
  }

  @Test("what throws is undone, what does not is kept", arguments: TestLocation.allCases)
  func commitAndRollback(location: TestLocation) throws {
    let database = try table(location)
    let result = try database.transaction("one") {
      try database.execute("INSERT INTO t VALUES (1)")
      #expect(database.isInTransaction)
      return "done"
    }
    #expect(result == "done")
    #expect(!database.isInTransaction)
    #expect(throws: Stop.self) {
      try database.transaction("two") {
        try database.execute("INSERT INTO t VALUES (2)")
        throw Stop()
      }
    }
    #expect(try integers("SELECT i FROM t", in: database) == [1])
  }

  @Test("a nested transaction joins the outer one", arguments: TestLocation.allCases)
  func joins(location: TestLocation) throws {
    let database = try table(location)
    #expect(throws: Stop.self) {
      try database.transaction("outer") {
        try database.transaction("inner") { try database.execute("INSERT INTO t VALUES (1)") }
        #expect(try database.readTransaction("read") { try integers("SELECT i FROM t", in: database) } == [1])
        throw Stop()
      }
    }
    #expect(try integers("SELECT i FROM t", in: database) == [])
  }

  @Test(
    "the outer transaction is not committed when it swallowed the failure of a part", arguments: TestLocation.allCases)
  func swallowedFailure(location: TestLocation) throws {
    let database = try table(location)
    #expect(throws: Stop.self) {
      try database.transaction("outer") {
        try? database.transaction("inner") {
          try database.execute("INSERT INTO t VALUES (1)")
          throw Stop()
        }
      }
    }
    #expect(try integers("SELECT i FROM t", in: database) == [])
    try database.transaction("next") { try database.execute("INSERT INTO t VALUES (2)") }
    #expect(try integers("SELECT i FROM t", in: database) == [2])
  }

  @Test("a read transaction cannot be turned into a write")
  func noUpgrade() throws {
    let database = try table(.memory)
    #expect(kind { try database.readTransaction("read") { try database.transaction("write") {} } } == .misuse)
    #expect(!database.isInTransaction)
  }

  @Test("a read transaction sees one state while another connection commits")
  func snapshot() throws {
    let database = try table(.file)
    let other = try Database(.file(path: folder.file()))
    try database.readTransaction("read") {
      #expect(try integers("SELECT i FROM t", in: database) == [])
      try other.execute("INSERT INTO t VALUES (1)")
      #expect(try integers("SELECT i FROM t", in: database) == [])
    }
    #expect(try integers("SELECT i FROM t", in: database) == [1])
  }

  @Test("a lock that another connection holds is unavailable, and nothing is left open")
  func busy() throws {
    let database = try table(.file)
    let other = try Database(.file(path: folder.file()), options: .init(busyTimeout: .milliseconds(1)))
    try database.transaction("holds the lock") {
      #expect(kind { try other.transaction("waits") {} } == .unavailable)
      #expect(!other.isInTransaction)
    }
    try other.transaction("gets it") { try other.execute("INSERT INTO t VALUES (1)") }
  }

  @Test("a full database rolls back, and statements after it are not committed on their own")
  func full() throws {
    let database = try table(.file)
    try database.execute("PRAGMA max_page_count = 8")
    #expect(
      kind {
        try database.transaction("too much") {
          try? database.transaction("part") {
            try database.execute("INSERT INTO t SELECT 1")
            try database.execute("CREATE TABLE big AS SELECT zeroblob(1000000) AS b")
          }
          // SQLite has rolled back; without a check this would be its own little transaction.
          try? database.execute("INSERT INTO t VALUES (7)")
        }
      } == .full)
    #expect(try integers("SELECT i FROM t", in: database) == [])
    try database.transaction("small") { try database.execute("INSERT INTO t VALUES (1)") }
    #expect(try integers("SELECT i FROM t", in: database) == [1])
  }

  @Test(
    "a failure can be injected at a name, a statement and a commit; nothing of the transaction is kept",
    arguments: TestLocation.allCases)
  func injection(location: TestLocation) throws {
    let database = try table(location)
    let injected = StoreError(kind: .unavailable, message: "injected")
    let points: [Database.FailurePoint] = [.transaction("w"), .statement("INSERT INTO t VALUES (2)"), .commit]
    for point in points {
      database.injectFailure = { $0 == point ? injected : nil }
      #expect(throws: injected) {
        try database.transaction("w") {
          try database.execute("INSERT INTO t VALUES (1)")
          try database.execute("INSERT INTO t VALUES (2)")
        }
      }
      #expect(!database.isInTransaction)
      database.injectFailure = nil
      #expect(try integers("SELECT i FROM t", in: database) == [])
    }
    database.injectFailure = { $0 == .commit ? injected : nil }
    #expect(try database.readTransaction("r") { try integers("SELECT i FROM t", in: database) } == [])
  }

  @Test("transactions are numbered, so that a reader knows when what it remembers may be stale")
  func numbers() throws {
    let database = try table(.memory)
    let before = database.transactionNumber
    try database.transaction("outer") {
      let inside = database.transactionNumber
      #expect(inside != before)
      try database.transaction("inner") { #expect(database.transactionNumber == inside) }
    }
    try database.readTransaction("read") { #expect(database.transactionNumber != before) }
  }

  @Test("durability can be chosen for one commit")
  func synchronous() throws {
    let database = try table(.file)
    #expect(try integers("PRAGMA synchronous", in: database) == [2])
    try database.transaction("replaceable", synchronous: .normal) { try database.execute("INSERT INTO t VALUES (1)") }
    #expect(try integers("PRAGMA synchronous", in: database) == [1])
    try database.transaction("promised") { try database.execute("INSERT INTO t VALUES (2)") }
    #expect(try integers("PRAGMA synchronous", in: database) == [2])
  }
}
