import Foundation
import HearthModel
import HearthPlan
import HearthStore
import Testing

@Suite("Snapshots for other threads")
struct PinnedSnapshotTests {
  private let folder: TemporaryFolder
  private let database: Database
  private let store: DocumentStore

  init() throws {
    folder = try TemporaryFolder()
    database = try Database(.file(path: folder.file()), options: .init(synchronous: .normal))
    store = try DocumentStore(database: database)
    try store.set(found("rooms/a", 1, ["n": 1]))
  }

  private static func names(_ snapshot: PinnedSnapshot) throws -> [String] {
    try snapshot.read { database in keys(try DocumentStore(reading: database).scan(.collection(path("rooms")))) }
  }

  @Test("show what had been written when they were made, however late and wherever they are read")
  func state() async throws {
    let snapshots = try (0..<3).map { _ in try PinnedSnapshot(of: database) }
    for number in 0..<100 { try store.set(found("rooms/b\(number)", 2)) }
    try store.remove(key("rooms/a"))
    let seen = try await withThrowingTaskGroup { group in
      for snapshot in snapshots { group.addTask { try Self.names(snapshot) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(seen == Array(repeating: ["rooms/a"], count: 3))
    #expect(try Self.names(PinnedSnapshot(of: database)).count == 100)
  }

  @Test("leave out the transaction that is running")
  func runningTransaction() throws {
    let snapshot = try database.transaction("test") {
      try store.set(found("rooms/b", 2))
      return try PinnedSnapshot(of: database)
    }
    #expect(try Self.names(snapshot) == ["rooms/a"])
  }

  @Test("keep the log from being cut only until they have been read")
  func log() throws {
    func logSize() throws -> Int {
      try FileManager.default.attributesOfItem(atPath: folder.file() + "-wal")[.size] as? Int ?? -1
    }
    let read = try PinnedSnapshot(of: database)
    let closed = try PinnedSnapshot(of: database)
    try store.set(found("rooms/b", 2))
    try database.truncateLog()
    #expect(try logSize() > 0)
    _ = try Self.names(read)
    closed.close()
    try database.truncateLog()
    #expect(try logSize() == 0)
  }

  @Test("can be read once, cannot be written, and are of no use when they are closed")
  func misuse() throws {
    let snapshot = try PinnedSnapshot(of: database)
    #expect(kind { try snapshot.read { try $0.execute("DELETE FROM documents") } } == .readOnly)
    #expect(kind { _ = try Self.names(snapshot) } == .misuse)
    let closed = try PinnedSnapshot(of: database)
    closed.close()
    #expect(kind { _ = try Self.names(closed) } == .misuse)
    let memory = try Database(.memory)
    #expect(kind { _ = try PinnedSnapshot(of: memory) } == .misuse)
  }

  @Test("stop at the next row when they are interrupted, and others do not")
  func interruption() throws {
    for number in 0..<10 { try store.set(found("rooms/b\(number)", 2)) }
    let (interrupted, other) = (try PinnedSnapshot(of: database), try PinnedSnapshot(of: database))
    let error = kind {
      try interrupted.read { database in
        var rowsRead = 0
        try DocumentStore(reading: database).forEach(in: .collection(path("rooms"))) { _ in
          rowsRead += 1
          interrupted.interrupt()
          return true
        }
        Issue.record("all \(rowsRead) rows were read")
      }
    }
    #expect(error == .unavailable)
    #expect(try Self.names(other).count == 11)
    let early = try PinnedSnapshot(of: database)
    early.interrupt()
    #expect(kind { _ = try Self.names(early) } == .unavailable)
  }
}

@Suite("Scans in parts")
struct DocumentPartTests {
  private let folder: TemporaryFolder
  private let store: DocumentStore

  init() throws {
    folder = try TemporaryFolder()
    store = try DocumentStore(database: Database(.file(path: folder.file()), options: .init(synchronous: .normal)))
  }

  /// Collections of many sizes, with gaps where documents have gone.
  private func fill() throws {
    try store.database.transaction("test") {
      for (hall, count) in [0, 1, 2, 40, 7].enumerated() {
        for number in 0..<count {
          try store.set(found("halls/\(hall)/rooms/\(number)", 1, ["n": .integer(Int64(number * 31 % 17))]))
        }
      }
      for number in 0..<100 { try store.set(found("rooms/\(number)", 1, ["n": .integer(Int64(number * 31 % 17))])) }
      for number in 20..<60 { try store.remove(key("rooms/\(number)")) }
      try store.set(missing("rooms/gone", 2))
    }
  }

  private static let scopes: [CollectionScope] = [
    .collection(path("rooms")), .collection(path("halls/3/rooms")), .collection(path("nothing")),
    .group("rooms", under: ResourcePath()), .group("rooms", under: path("halls/3")), .everything(under: ResourcePath()),
  ]

  @Test("hold every document once, in at most as many parts as wanted", arguments: scopes, 1...7)
  func cover(_ scope: CollectionScope, _ count: Int) throws {
    try fill()
    let parts = try store.parts(of: scope, count: count)
    #expect((1...count).contains(parts.count))
    var seen: [String] = []
    var sizes: [Int] = []
    for part in parts {
      let before = seen.count
      try store.forEach(in: scope, part: part) {
        seen.append(try $0.key.canonicalString)
        return true
      }
      sizes.append(seen.count - before)
    }
    #expect(seen.sorted() == keys(try store.scan(scope)).sorted())
    if scope == .collection(path("halls/3/rooms")), count == 4 { #expect(sizes == [10, 10, 10, 10]) }
  }

  @Test("give together what one scan gives, local mutations included", arguments: 1...5)
  func queries(_ count: Int) throws {
    try fill()
    let overlays = Overlays([
      key("rooms/5"): .set(key("rooms/5"), ["n": 3]), key("rooms/new"): .set(key("rooms/new"), ["n": 3]),
      key("rooms/6"): .delete(key("rooms/6")),
    ])
    let executor = QueryExecutor(documents: store, localMutations: overlays)
    let rooms = Query(path: path("rooms"))
    let group = Query(path: ResourcePath(), collectionGroup: "rooms")
    for base in [rooms, group, rooms.with(filter: .field(field("n"), .greaterThan, 4))] {
      let ordered = base.with(order: OrderBy(path: field("n"), direction: .descending))
      for query in [base, ordered, ordered.with(limit: 7, type: .first), ordered.with(limit: 7, type: .last)] {
        let parts = try store.parts(of: CollectionScope(of: query), count: count)
        let merged = try QueryExecutor.merge(try parts.map { try executor.scan(query, part: $0) }, of: query)
        let whole = try executor.run(query)
        #expect(merged.documents == whole.documents)
        #expect(merged.execution.rowsRead >= whole.execution.resultCount)
      }
    }
  }

  @Test("estimates are never too low, and exact while nothing was removed")
  func estimates() throws {
    try fill()
    #expect(try store.estimatedDocumentCount(in: .collection(path("halls/3/rooms"))) == 40)
    #expect(try store.estimatedDocumentCount(in: .collection(path("nothing"))) == 0)
    #expect(try store.estimatedDocumentCount(in: .collection(path("rooms"))) == 101)
    #expect(try store.estimatedDocumentCount(in: .group("rooms", under: path("halls"))) == 50)
    try store.set(found("rooms/0", 9))
    let rooms = CollectionScope.collection(path("rooms"))
    #expect(try store.changedDocumentCount(in: rooms, after: version(1), limit: 10) == 2)
    #expect(try store.changedDocumentCount(in: rooms, after: version(0), limit: 10) == 10)
  }

  @Test("more collections than can be looked at one by one are not estimated, and one part")
  func manyCollections() throws {
    try store.database.transaction("test") {
      for number in 0..<300 { try store.set(found("halls/\(number)/seats/a", 1)) }
    }
    let scope = CollectionScope.group("seats", under: ResourcePath())
    #expect(try store.estimatedDocumentCount(in: scope) == nil)
    #expect(try store.changedDocumentCount(in: scope, after: version(0), limit: 10) == nil)
    #expect(try store.parts(of: scope, count: 4).count == 1)
  }
}
