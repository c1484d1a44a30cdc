import Foundation
import HearthModel
import HearthStore
import TestSupport
import Testing

@testable import HearthCache

/// A cache with something in every table, and what a client does with it after its file was damaged.
private final class DamagedCache {
  static let users: [String?] = [nil, "alice"]

  let folder = TemporaryFolder()
  /// The batches that must be somewhere, with a text that only the batch and what is derived from it contain.
  private(set) var written: [BatchID: String] = [:]
  private(set) var recoveries = 0
  private var cache: OpenedCache?
  private(set) var store: LocalStore

  var file: String { folder.file(CacheFile.fileName) }

  /// Made once: the bytes of the file, and what is in its outbox.
  private static let template = Result { () throws -> (bytes: Data, written: [BatchID: String]) in
    let cache = try DamagedCache(empty: ())
    try cache.fill()
    cache.close()
    return (try Data(contentsOf: URL(fileURLWithPath: cache.file)), cache.written)
  }

  static func pageCount() throws -> Int { try template.get().bytes.count / PageDamage.pageBytes }

  init(empty: Void) throws {
    (cache, store) = try Self.open(folder)
  }

  /// A cache that is full, not open.
  convenience init() throws {
    let template = try Self.template.get()
    try self.init(empty: ())
    close()
    try template.bytes.write(to: URL(fileURLWithPath: file))
    written = template.written
  }

  private static func open(_ folder: TemporaryFolder) throws -> (OpenedCache, LocalStore) {
    let opened = try CacheFile.openStore(folder: folder.path, databaseID: TestCache.databaseID) { database, _ in
      try LocalStore(
        database: database, databaseID: TestCache.databaseID, garbageCollection: TestCache.lru, user: nil,
        newCacheID: "new")
    }
    return (opened.cache, opened.store)
  }

  private func fill() throws {
    let filler = String(repeating: "x", count: 1000)
    try store.setIndexes([
      IndexDefinition(collectionGroup: "rooms", fields: [IndexDefinition.Field(path: field("n"), kind: .ascending)])
    ])
    for name in ["rooms", "halls"] {
      let target = try store.allocateTarget(collection(name).target).targetID
      var event = RemoteEvent(snapshotVersion: version(100))
      for number in 0..<25 {
        let document = found("\(name)/\(number)", 50, ["n": .integer(Int64(number)), "text": .string(filler)])
        event.documentUpdates[document.key] = document
      }
      event.targetChanges[target] = TargetChange(
        resumeToken: [1, 2, 3], isCurrent: true, added: Set(event.documentUpdates.keys), removed: [])
      _ = try store.apply(event)
      try store.releaseTarget(target)
    }
    for number in 0..<20 {
      for user in Self.users {
        _ = try store.changeUser(user)
        try write("rooms/\(number)", text: "marker-\(user ?? "nobody")-\(number)!" + filler)
      }
    }
    _ = try store.changeUser(nil)
    while try store.advanceIndexFill() {}
  }

  private func write(_ path: String, text: String) throws {
    let marker = String(text.prefix { $0 != "!" }) + "!"
    written[try store.write(.set(key(path), ["text": .string(text)])).batchID] = marker
  }

  /// Damages the file and begins anew on it.
  func damage(_ body: (inout Data) -> Void) throws {
    var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
    body(&bytes)
    try bytes.write(to: URL(fileURLWithPath: file))
  }

  func open() throws {
    let opened = try Self.open(folder)
    (cache, store) = opened
    if opened.0.recovery != nil { recoveries += 1 }
  }

  func close() { cache?.close() }

  /// Reopens the cache as a client does when its store asks for it.
  private func reopen(_ cause: Reopening) throws {
    if case .fileIsDamaged(let reason) = cause { try cache?.markDamaged(reason) }
    close()
    try open()
  }

  /// Uses everything. After at most one reopening nothing may fail.
  func exercise(_ context: String) throws {
    try open()
    let failures = use(round: 1)
    if let cause = store.reopening {
      try reopen(cause)
      #expect(use(round: 2).isEmpty, "\(context)")
    } else {
      #expect(failures.isEmpty, "\(context)")
    }
    #expect(store.reopening == nil, "\(context): \(String(describing: store.reopening))")
    close()
    try open()
    #expect(use(round: 3).isEmpty, "\(context)")
    #expect(store.reopening == nil, "\(context)")
    let kept = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains(".corrupt") }
    #expect(kept.filter { $0.hasSuffix(".corrupt") }.count <= 1 && kept.count <= 3, "\(context): \(kept)")
  }

  private func use(round: Int) -> [String] {
    var failures: [String] = []
    func attempt(_ name: String, _ body: () throws -> Void) {
      do {
        do {
          try body()
        } catch CacheError.unreadableBatch {
          _ = try store.setAsideUnreadableBatches()
          try body()
        }
      } catch {
        failures.append("\(name): \(error)")
      }
    }
    for name in ["rooms", "halls"] {
      attempt("target") {
        let target = try store.allocateTarget(collection(name).target).targetID
        _ = try store.run(collection(name), usePreviousResults: true)
        let time = 200 + Int64(round)
        try store.receive(found("\(name)/0", time, ["n": .integer(0)]), at: time, for: [target])
        try store.releaseTarget(target)
      }
      attempt("scan") { _ = try store.read(collection(name)) }
      attempt("order") { _ = try store.read(collection(name).ordered(by: field("n"))) }
      for number in 0..<25 { attempt("document") { _ = try store.read("\(name)/\(number)") } }
    }
    for user in Self.users {
      attempt("user") { _ = try store.changeUser(user) }
      attempt("outbox") { _ = try store.pendingBatches() }
      attempt("write") { try write("news/\(round)", text: "new-\(user ?? "nobody")-\(round)!") }
    }
    attempt("user") { _ = try store.changeUser(nil) }
    attempt("indexes") {
      while try store.advanceIndexFill() {}
      _ = try store.indexListings()
    }
    attempt("garbage") {
      let everything = GarbageCollectionParameters(thresholdBytes: 0, percentile: 100)
      _ = try store.collectGarbage(everything, isShown: { _ in false })
    }
    return failures
  }

  /// The batches that are in nobody's queue, whatever became of them.
  func lostBatches() throws -> [BatchID: String] {
    var lost = written
    for user in Self.users {
      _ = try store.changeUser(user)
      for batch in try store.pendingBatches() { lost[batch.batchID] = nil }
    }
    return lost
  }
}

extension Query {
  fileprivate func ordered(by path: FieldPath) -> Query {
    with(order: OrderBy(path: path))
  }
}

@Suite("A damaged cache file")
struct DamagedFileTests {
  @Test("works after at most one reopening, without any batch but those on the page", arguments: PageDamage.allCases)
  func pages(damage: PageDamage) throws {
    let pageCount = try DamagedCache.pageCount()
    #expect(pageCount > 20)
    // A file that is cut to nothing is that of a cache that was never used.
    for page in (damage == .truncated ? 1 : 0)..<pageCount {
      let cache = try DamagedCache()
      var hit = Data()
      try cache.damage { bytes in
        let before = bytes
        damage.apply(to: &bytes, page: page)
        hit = PageDamage.replacedBytes(of: before, in: bytes)
      }
      try cache.exercise("\(damage) page \(page + 1)")
      for (batchID, marker) in try cache.lostBatches() {
        #expect(
          hit.range(of: Data(marker.utf8)) != nil, "\(damage) page \(page + 1): batch \(batchID), \(marker), is lost")
      }
      // The list of tables.
      if hit.range(of: Data("CREATE ".utf8)) != nil { #expect(cache.recoveries > 0) }
      cache.close()
    }
  }

  @Test(
    "with any column of any table replaced works after at most one reopening, with the whole outbox",
    arguments: ["NULL", "7", "-1", "9223372036854775807", "1.5", "'a'", "CAST(x'FF' AS TEXT)", "x'FF'"])
  func columns(value: String) throws {
    let columns = try {
      let cache = try DamagedCache()
      let database = try Database(.file(path: cache.file))
      defer { database.close() }
      var columns: [(table: String, column: String)] = []
      try database.forEachRow(
        """
        SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
        WHERE m.type = 'table' ORDER BY 1, 2
        """
      ) {
        columns.append((try $0.string(at: 0), try $0.string(at: 1)))
        return true
      }
      return columns
    }()
    #expect(columns.count > 60)
    for (table, column) in columns {
      // A higher version is that of a newer release, whose file is refused and left alone.
      if table == "schema_versions", column == "version", ["7", "9223372036854775807"].contains(value) { continue }
      let cache = try DamagedCache()
      let database = try Database(.file(path: cache.file))
      try database.execute("PRAGMA ignore_check_constraints = ON")
      let isPossible = (try? database.execute("UPDATE OR IGNORE \(table) SET \(column) = \(value)")) != nil
      database.close()
      guard isPossible else { continue }
      let context = "\(table).\(column) = \(value)"
      try cache.exercise(context)
      let lost = try cache.lostBatches().filter { _, marker in
        switch "\(table).\(column)" {
        // The contents themselves, and whose they are.
        case "cache_mutation_batches.batch", "cache_mutation_batches.batch_id", "cache_users.user_key",
          "cache_users.user_id":
          marker.hasPrefix("new")
        default: true
        }
      }
      #expect(lost.isEmpty, "\(context): \(lost.keys.sorted())")
      cache.close()
    }
  }
}
