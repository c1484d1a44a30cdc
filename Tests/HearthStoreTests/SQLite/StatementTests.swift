import HearthStore
import Testing

@Suite("Statements")
struct StatementTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test("what is bound is read back", arguments: TestLocation.allCases)
  func roundTrip(location: TestLocation) throws {
    let database = try location.open(in: folder)
    try database.execute("CREATE TABLE t (i INTEGER, s TEXT, e TEXT, b BLOB, eb BLOB, n)")
    let insert = try database.prepare("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)")
    try insert.bind(1, Int64.min)
    try insert.bind(2, "é\u{0}漢")
    try insert.bind(3, "")
    try insert.bind(4, [0, 255] as [UInt8])
    try insert.bind(5, [] as [UInt8])
    try insert.bindNull(6)
    try insert.run()
    let select = try database.prepare("SELECT * FROM t")
    #expect(try select.step())
    #expect(try select.int64(at: 0) == Int64.min)
    #expect(try Array(select.string(at: 1).utf8) == Array("é\u{0}漢".utf8))
    #expect(try select.string(at: 2) == "")
    #expect(try select.bytes(at: 3) == [0, 255])
    #expect(try select.bytes(at: 4) == [])
    #expect(select.isNull(at: 5))
    #expect(try select.withBytes(at: 3) { $0.count } == 2)
    #expect(try !select.step())
  }

  @Test("a column of another type than expected is a corrupt file that names the column")
  func wrongTypes() throws {
    let database = try Database(.memory)
    let select = try database.prepare("SELECT NULL AS a, 'x' AS b, x'ff' AS c, CAST(x'ff' AS TEXT) AS d")
    #expect(try select.step())
    for column in 0..<3 { #expect(kind { _ = try select.int64(at: column) } == .corrupt) }
    #expect(kind { _ = try select.string(at: 2) } == .corrupt)
    #expect(kind { _ = try select.bytes(at: 1) } == .corrupt)
    #expect(kind { _ = try select.string(at: 3) } == .corrupt)
    #expect(kind { _ = try select.int64(at: 99) } == .corrupt)
    do {
      _ = try select.int64(at: 1)
    } catch {
      #expect(error.message.contains("column \"b\""))
      #expect(error.message.contains("text where an integer belongs"))
    }
  }

  @Test("text compares as its UTF-8 bytes")
  func binaryOrder() throws {
    let database = try Database(.memory)
    try database.execute("CREATE TABLE t (s TEXT)")
    let insert = try database.prepare("INSERT INTO t VALUES (?)")
    for text in ["\u{1F600}", "\u{FFFD}", "é", "e\u{301}", "Z", "a"] {
      try insert.bind(1, text)
      try insert.run()
    }
    let select = try database.prepare("SELECT s FROM t ORDER BY s")
    var sorted: [String] = []
    while try select.step() { sorted.append(try select.string(at: 0)) }
    #expect(
      sorted.map { Array($0.utf8) } == ["Z", "a", "e\u{301}", "é", "\u{FFFD}", "\u{1F600}"].map { Array($0.utf8) })
  }

  @Test("a statement that is dropped half way does not disturb the next one with the same text")
  func statementsAreResetOnThrow() throws {
    struct Stop: Error {}
    let database = try Database(.memory)
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3) SELECT i FROM n WHERE i >= ?"
    func first(from start: Int) throws -> Int64 {
      let statement = try database.prepare(sql)
      try statement.bind(1, start)
      #expect(try statement.step())
      if start == 2 { throw Stop() }
      return try statement.int64(at: 0)
    }
    #expect(throws: Stop.self) { try first(from: 2) }
    #expect(try first(from: 1) == 1)
    let unbound = try database.prepare(sql)
    #expect(try !unbound.step(), "parameters of an earlier user are gone")
  }

  @Test("the same text may be stepped within itself")
  func nestedUse() throws {
    let database = try Database(.memory)
    let sql = "SELECT 1 UNION ALL SELECT 2"
    var pairs: [Int64] = []
    let outer = try database.prepare(sql)
    while try outer.step() {
      let inner = try database.prepare(sql)
      while try inner.step() { pairs.append(try outer.int64(at: 0) * 10 + inner.int64(at: 0)) }
    }
    #expect(pairs == [11, 12, 21, 22])
  }

  @Test("bad SQL, a bad parameter and a closed database are errors")
  func misuse() throws {
    let database = try Database(.memory)
    #expect(kind { try database.execute("SELEKT 1") } == .misuse)
    #expect(kind { _ = try database.prepare("   ") } == .misuse)
    #expect(kind { try database.prepare("SELECT ?").bind(2, 1) } == .misuse)
    let held = try database.prepare("SELECT 1")
    database.close()
    database.close()
    #expect(kind { _ = try held.step() } == .misuse)
    #expect(kind { try database.execute("SELECT 1") } == .misuse)
    #expect(kind { try database.transaction("late") {} } == .misuse)
  }

  @Test("a violated rule is a constraint error that names the statement")
  func constraint() throws {
    let database = try Database(.memory)
    try database.execute("CREATE TABLE t (i INTEGER UNIQUE)")
    try database.execute("INSERT INTO t VALUES (1)")
    do {
      try database.execute("INSERT INTO t VALUES (1)")
      Issue.record("no error")
    } catch {
      #expect(error.kind == .constraint)
      #expect(error.message.contains("INSERT INTO t"))
    }
  }
}
