import Foundation
import HearthModel
import HearthStore
import TestSupport
import Testing

@testable import HearthCache

/// The kind of a cache: of one client, or of clients that share it and have more tables.
enum DamagedCacheKind: String, CaseIterable, CustomTestStringConvertible {
  case single, shared

  var testDescription: String { rawValue }
}

/// A cache with something in every table, and what a client does with it after its file was damaged.
private final class DamagedCache {
  static let users: [String?] = [nil, "alice"]

  let kind: DamagedCacheKind
  let folder = TemporaryFolder()
  /// The batches that must be somewhere, with a text that only the batch and what is derived from it contain.
  private(set) var written: [BatchID: String] = [:]
  private(set) var recoveries = 0
  private var cache: OpenedCache?
  private(set) var store: LocalStore

  var file: String { folder.file(CacheFile.fileName) }

  /// Made once for each kind: the bytes of the file, and what is in its outbox.
  private static let templates = Result { () throws -> [DamagedCacheKind: (bytes: Data, written: [BatchID: String])] in
    try Dictionary(uniqueKeysWithValues: DamagedCacheKind.allCases.map { ($0, try makeTemplate($0)) })
  }

  private static func makeTemplate(_ kind: DamagedCacheKind) throws -> (bytes: Data, written: [BatchID: String]) {
    let cache = try DamagedCache(empty: kind)
    try cache.fill()
    // No client leaves in good order, so that the tables keep what it has told.
    cache.close()
    return (try Data(contentsOf: URL(fileURLWithPath: cache.file)), cache.written)
  }

  static func pageCount() throws -> Int {
    (try templates.get()[.single]?.bytes.count ?? 0) / PageDamage.pageBytes
  }

  private init(empty kind: DamagedCacheKind) throws {
    self.kind = kind
    (cache, store) = try Self.open(folder, kind)
  }

  /// A cache that is full, not open.
  convenience init(_ kind: DamagedCacheKind = .single) throws {
    let template = try #require(try Self.templates.get()[kind])
    try self.init(empty: kind)
    close()
    try template.bytes.write(to: URL(fileURLWithPath: file))
    written = template.written
  }

  private static func open(_ folder: TemporaryFolder, _ kind: DamagedCacheKind) throws -> (OpenedCache, LocalStore) {
    let options =
      kind == .single
      ? CacheFile.Options() : CacheFile.Options(sharing: .shared, clientName: UUID().uuidString)
    let opened = try CacheFile.openStore(folder: folder.path, databaseID: TestCache.databaseID, options: options) {
      database, client in
      try LocalStore(
        database: database, databaseID: TestCache.databaseID, garbageCollection: TestCache.lru, user: nil,
        newCacheID: "new", locks: client)
    }
    return (opened.cache, opened.store)
  }

  private func fill() throws {
    let filler = String(repeating: "x", count: 1000)
    if kind == .shared { #expect(try store.updateClient(wantsNetwork: true, isVisible: true) == .taken) }
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
    if kind == .shared { try fillTablesOfClients() }
    store.conflictRules = ConflictRules([ConflictRule(.collection(path("halls")), .keepBoth)])
    try store.write(.set(key("halls/1"), [:]))
    store.conflictRules = ConflictRules()
    for (number, isRefused) in [(UInt64(1), false), (2, true)] {
      let write = LocalWrite(
        mutations: [.set(key("halls/own"), [:])], localWriteTime: time(1),
        identity: BatchIdentity(high: 0, low: number), keepsOutcome: true)
      let batch = try #require(try store.write(many: [write]).first).batch
      _ =
        try isRefused
        ? store.reject(batch, needsLease: false)
        : store.withdraw(batch.batchID, evenIfSent: true, .rejected, at: time(1))
    }
    _ = try store.noteSending(1, reserving: 100)
    try store.noteFailedAttempt(at: [1], .rejected)
  }

  /// Exchanges notices between two clients. This one holds the lease.
  private func fillTablesOfClients() throws {
    let (other, neighbour) = try Self.open(folder, kind)
    defer { other.close() }
    for (client, name) in [(store, "rooms"), (neighbour, "halls")] {
      let target = try client.allocateTarget(collection(name).target).targetID
      try store.catchUp()
      try store.followTarget(target)
      try store.publish([target: .complete])
      try client.write(.set(key("\(name)/told"), [:]))
    }
  }

  private func write(_ path: String, text: String) throws {
    let marker = String(text.prefix { $0 != "!" }) + "!"
    written[try store.write(.set(key(path), ["text": .string(text)])).batchID] = marker
  }

  /// Damages the file and starts again on it.
  func damage(_ body: (inout Data) throws -> Void) throws {
    var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
    try body(&bytes)
    try bytes.write(to: URL(fileURLWithPath: file))
  }

  func open() throws {
    let opened = try Self.open(folder, kind)
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

  /// - Returns: The operations that have failed.
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
    if kind == .shared { attempt("neighbour") { try share() } }
    useDocuments(round, attempt)
    for user in Self.users {
      attempt("user") { _ = try store.changeUser(user) }
      attempt("outbox") { _ = try store.pendingBatches() }
      attempt("write") { try write("news/\(round)", text: "new-\(user ?? "nobody")-\(round)!") }
    }
    attempt("user") { _ = try store.changeUser(nil) }
    guard kind == .single else { return failures }
    attempt("indexes") {
      while try store.advanceIndexFill() {}
      _ = try store.indexes.listings()
    }
    attempt("garbage") {
      let everything = GarbageCollectionParameters(thresholdBytes: 0, percentile: 100)
      _ = try store.collectGarbage(everything, isShown: { _ in false })
    }
    return failures
  }

  /// Tries less with a shared cache, because its tables of documents are those of a single client.
  private func useDocuments(_ round: Int, _ attempt: (String, () throws -> Void) -> Void) {
    for name in kind == .single ? ["rooms", "halls"] : ["halls"] {
      attempt("target") {
        let target = try store.allocateTarget(collection(name).target).targetID
        _ = try store.run(collection(name), usePreviousResults: true)
        let time = 200 + Int64(round)
        try store.receive(found("\(name)/0", time, ["n": .integer(0)]), at: time, for: [target])
        try store.releaseTarget(target)
      }
      attempt("scan") { _ = try store.read(collection(name)) }
      attempt("order") { _ = try store.read(collection(name).ordered(by: field("n"))) }
      for number in 0..<(kind == .single ? 25 : 1) { attempt("document") { _ = try store.read("\(name)/\(number)") } }
    }
  }

  /// Takes the lease, and lets another client write something that this one must learn of.
  private func share() throws {
    #expect(try store.updateClient(wantsNetwork: true, isVisible: true) != .notHeld)
    try store.publish(.online)
    let (other, neighbour) = try Self.open(folder, kind)
    defer { other.close() }
    try store.catchUp()
    _ = store.takeNews()
    try neighbour.write(.set(key("halls/told"), [:]))
    try store.catchUp()
    #expect(store.takeNews().hasNewBatches)
    try neighbour.leave()
    try store.catchUp()
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

  /// Every column of every table.
  private static func columns(_ kind: DamagedCacheKind) throws -> [(table: String, column: String)] {
    let cache = try DamagedCache(kind)
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
  }

  /// Puts a value in the place of a column of all rows, or of one where that is possible.
  ///
  /// - Returns: Nil if it is possible in none, or if the file would be that of a newer release, which is refused and left alone.
  private func cache(
    _ kind: DamagedCacheKind, _ table: String, _ column: String, _ value: String
  ) throws -> DamagedCache? {
    if table == "schema_versions", column == "version", ["7", "9223372036854775807"].contains(value) { return nil }
    let cache = try DamagedCache(kind)
    let database = try Database(.file(path: cache.file))
    defer { database.close() }
    try database.execute("PRAGMA ignore_check_constraints = ON")
    guard (try? database.execute("UPDATE OR IGNORE \(table) SET \(column) = \(value)")) != nil else { return nil }
    return cache
  }

  /// The columns that hold the batches themselves, and whose they are.
  private static let ofBatches: Set<String> = [
    "cache_mutation_batches.batch", "cache_mutation_batches.batch_id", "cache_users.user_key", "cache_users.user_id",
  ]

  @Test(
    "with any column of any table replaced works after at most one reopening, with the whole outbox",
    arguments: ["NULL", "7", "-1", "9223372036854775807", "1.5", "'a'", "CAST(x'FF' AS TEXT)", "x'FF'"],
    DamagedCacheKind.allCases)
  func columns(value: String, kind: DamagedCacheKind) throws {
    let columns = try Self.columns(kind)
    #expect(columns.count > (kind == .shared ? 110 : 80))
    // The other tables of a shared cache are those of a single one.
    for (table, column) in columns where kind == .single || Self.tablesOfClients.contains(table) {
      guard let cache = try cache(kind, table, column, value) else { continue }
      let context = "\(table).\(column) = \(value)"
      try cache.exercise(context)
      let lost = try cache.lostBatches().filter { _, marker in
        !Self.ofBatches.contains("\(table).\(column)") || marker.hasPrefix("new")
      }
      #expect(lost.isEmpty, "\(context): \(lost.keys.sorted())")
      cache.close()
    }
  }

  private static let tablesOfClients: Set<String> = [
    "cache_sharing", "cache_clients", "cache_client_targets", "cache_current_targets", "cache_notices",
    "cache_followed_targets",
  ]

  /// The tables that are saved from a damaged file.
  private static let tablesOfOutbox: Set<String> = [
    "cache_globals", "cache_users", "cache_mutation_batches", "cache_batch_documents", "cache_unreadable_batches",
    "cache_rejected_batches", "cache_base_documents", "cache_sent_marks",
  ]

  @Test(
    "with a number out of all measure in any column, and a page that leads to the outbox, works as well",
    arguments: ["-9223372036854775808", "9223372036854775807"])
  func columnsAndPages(value: String) throws {
    for (table, column) in try Self.columns(.shared) where Self.tablesOfOutbox.contains(table) {
      guard let cache = try cache(.shared, table, column, value) else { continue }
      let root = try {
        let database = try Database(.file(path: cache.file))
        defer { database.close() }
        return try database.firstRow("SELECT rootpage FROM sqlite_master WHERE name = 'cache_mutation_batches'") {
          Int(try $0.int64(at: 0))
        }
      }()
      try cache.damage { PageDamage.overwritten.apply(to: &$0, page: try #require(root) - 1) }
      let context = "\(table).\(column) = \(value)"
      try cache.exercise(context)
      // Lost batches are found by means of these tables.
      if !["cache_batch_documents", "cache_mutation_batches", "cache_users"].contains(table) {
        let lost = try cache.lostBatches()
        #expect(lost.isEmpty, "\(context): \(lost.keys.sorted())")
      }
      cache.close()
    }
  }
}
