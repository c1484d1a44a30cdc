import Foundation
import HearthModel
import HearthPlan
import HearthStore
import Synchronization
import Testing

@Suite("Connections that work alongside others")
struct ProgressTests {
  private let folder: TemporaryFolder
  private let database: Database
  private let store: DocumentStore

  init() throws {
    folder = try TemporaryFolder()
    var options = Database.Options(synchronous: .normal)
    options.checkpointsAtCommits = false
    database = try Database(.file(path: folder.file()), options: options)
    store = try DocumentStore(database: database)
  }

  @Test("a long statement reports its progress, and fails when it is told to stop; the connection works afterwards")
  func progress() throws {
    try database.transaction("fill") {
      for n in 0..<2_000 { try store.set(found("rooms/r\(n)", 1, ["n": 1])) }
    }
    var (calls, isToStop) = (0, false)
    database.onProgress(everyInstructions: 1_000) {
      calls += 1
      return isToStop
    }
    #expect(try keys(store.scan(.collection(path("rooms")))).count == 2_000)
    #expect(calls > 5)
    isToStop = true
    #expect(kind { _ = try store.scan(.collection(path("rooms"))) } == .unavailable)
    isToStop = false
    #expect(try keys(store.scan(.collection(path("rooms")))).count == 2_000)
  }

  @Test("so does the work on a few rows of large documents, for each condition that looks through them")
  func largeDocuments() throws {
    let text = Value.string(String(repeating: "x", count: 100_000))
    try database.transaction("fill") {
      for n in 0..<40 { try store.set(found("rooms/r\(n)", 1, ["a": text, "n": 1])) }
    }
    var (calls, isToStop) = (0, false)
    database.onProgress(everyInstructions: 1_000_000, everyBytes: 1_000_000) {
      calls += 1
      return isToStop
    }
    func run(_ conditions: Int) throws -> Int {
      calls = 0
      var query = Query(path: path("rooms"))
      for _ in 0..<conditions { query = query.with(filter: .field(field("n"), .greaterThanOrEqual, 1)) }
      #expect(try QueryExecutor(documents: store).run(query).documents.count == 40)
      return calls
    }
    let (one, ten) = (try run(1), try run(10))
    #expect(one >= 4 && ten >= 8 * one, "\(one), \(ten)")
    isToStop = true
    #expect(kind { _ = try run(1) } == .unavailable)
  }

  @Test("no commit moves the log into the file; another connection does, but not what a reader still needs")
  func log() throws {
    func write(_ round: Int) throws {
      for n in 0..<600 { try store.set(found("rooms/r\(n)", Int64(round), ["n": 1])) }
    }
    let before = database.writtenPages
    for round in 1...6 { try write(round) }
    let checkpointer = try Database(.file(path: folder.file()))
    let reader = try PinnedSnapshot(of: database)
    let first = try checkpointer.checkpoint()
    // SQLite's own limit is 1,000 pages, and 2,000 for other connections of this library.
    #expect(first.pages > 2_000)
    #expect(first.checkpointedPages == first.pages)
    #expect(database.writtenPages - before > 2_000)
    try write(7)
    let second = try checkpointer.checkpoint()
    #expect(second.pages > first.pages)
    #expect(second.checkpointedPages < second.pages)
    reader.close()
    let third = try checkpointer.checkpoint()
    #expect(third.checkpointedPages == third.pages)
    try write(8)
    #expect(try checkpointer.checkpoint().pages < third.pages)
  }

  @Test(
    "a log that starts again keeps the size of its file up to a limit, and is written over", arguments: [true, false])
  func logRoom(isKept: Bool) throws {
    let file = folder.file("room-\(isKept)")
    var options = Database.Options(synchronous: .full)
    options.checkpointsAtCommits = false
    options.keptLogBytes = isKept ? 16 << 20 : 100_000
    let database = try Database(.file(path: file), options: options)
    let store = try DocumentStore(database: database)
    func logBytes() throws -> Int {
      try #require(try FileManager.default.attributesOfItem(atPath: file + "-wal")[.size] as? Int)
    }
    for n in 0..<100 { try store.set(found("rooms/r\(n)", 1, ["n": 1])) }
    let long = try logBytes()
    #expect(long > 1_000_000)
    for round in 2..<5 {
      let state = try database.checkpoint()
      #expect(state.checkpointedPages == state.pages)
      for n in 0..<20 {
        try store.set(found("rooms/r\(n)", Int64(round), ["n": 1]))
        let size = try logBytes()
        #expect(isKept ? size == long : size < long)
        if n == 0, !isKept { #expect(size == 100_000) }
      }
    }
  }

  @Test("definitions of indexes are read once for each state that the owner names")
  func indexState() throws {
    let reads = Mutex(0)
    try store.indexes.add(StoreIndexTests.index("rooms", ("n", .ascending)), origin: .declared)
    while try store.indexes.fill() {}
    database.injectFailure = { point in
      if case .statement(let sql) = point, sql.contains("index_definitions") { reads.withLock { $0 += 1 } }
      return nil
    }
    let query = Query(path: path("rooms"), filters: [.field(field("n"), .equal, .integer(2))])
    func run(_ state: Int64?) throws -> Int {
      try database.transaction("test") {
        if let state { store.indexes.use(state) }
        try store.set(found("rooms/a", 1, ["n": 2]))
        #expect(try QueryExecutor(documents: store).run(query).execution.plan == .index)
      }
      return reads.withLock { reads in
        defer { reads = 0 }
        return reads
      }
    }
    #expect(try run(nil) > 0)
    #expect(try run(1) > 0)
    #expect(try run(1) == 0)
    #expect(try run(1) == 0)
    #expect(try run(2) > 0)
    #expect(try run(nil) > 0)
    #expect(try run(2) > 0)
  }

  @Test("declared indexes can be exchanged without the automatic ones")
  func declare() throws {
    let automatic = StoreIndexTests.index("rooms", ("a", .ascending))
    let (first, second) = (
      StoreIndexTests.index("rooms", ("n", .ascending)), StoreIndexTests.index("rooms", ("m", .ascending))
    )
    try store.indexes.add(automatic, origin: .automatic)
    try store.indexes.declare([first])
    #expect(try store.indexes.declaredDefinitions() == [first])
    try store.indexes.declare([second])
    #expect(try store.indexes.declaredDefinitions() == [second])
    #expect(try store.indexes.automaticIndexCount(of: "rooms") == 1)
  }
}
