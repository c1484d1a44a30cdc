import EngineHarness
import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// Damages a cache's file as a disk does, and lets the client go on.
extension SimulatedDevice {
  /// Something in the file becomes something else; then the client goes on, or its process starts again.
  func damage() throws {
    if world.history.kind == .damagedRows { damageRow() } else { try damagePage() }
    if world.generator.chance(40) { try restart() }
  }

  // MARK: - Rows

  /// Gives a column of a row a value of the wrong type, or bytes that mean nothing.
  private func damageRow() {
    looking {
      let tables = rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      guard let table = tables.randomElement(using: &world.generator)?[0] else { return }
      let columns = rows("SELECT name, type, CAST(pk AS TEXT) FROM pragma_table_info('\(table)')")
      let count = Int(rows("SELECT CAST(count(*) AS TEXT) FROM \(table)").first?[0] ?? "") ?? 0
      guard count > 0, let column = columns.randomElement(using: &world.generator),
        let value = Self.garbage[column[1]]?.randomElement(using: &world.generator)
      else { return }
      let place = Int.random(in: 0..<count, using: &world.generator)
      let key = columns.filter { $0[2] != "0" }.map { $0[0] }.joined(separator: ", ")
      let row = "(\(key)) = (SELECT \(key) FROM \(table) LIMIT 1 OFFSET \(place))"
      let bytes = rows("SELECT hex(\(column[0])) FROM \(table) WHERE \(row)").first?[0] ?? ""
      do {
        try client.database.execute("UPDATE \(table) SET \(column[0]) = \(value) WHERE \(row)")
      } catch {
        // A rule of the table forbids it.
        return
      }
      world.note("\(name): \(table).\(column[0]) of row \(place) becomes \(value)")
      noteDamage(of: Data(hex: bytes))
      // The owner of the writes is not known any more.
      if table == "cache_users", column[0] == "user_key" {
        world.ledger.allMayBeLost()
        hasDamagedUsers = true
      }
      // Two tables say it of a batch.
      if ["cache_mutation_batches.user_id", "cache_batch_documents.batch_id", "cache_batch_documents.user_id"]
        .contains("\(table).\(column[0])")
      {
        damagedOwners.insert(table)
        if damagedOwners.count == 2 { world.ledger.allMayBeLost() }
      }
      // The write goes out, but where its overlay should be is none.
      if table == "cache_overlays", ["path", "user_id"].contains(column[0]) { hasMisplacedOverlays = true }
    }
  }

  /// By the type of a column, what no release has ever written there.
  private static let garbage = [
    "INTEGER": ["'x'", "x'FF00'", "1.5"], "TEXT": ["x'FF00'", "CAST(x'FF' AS TEXT)"],
    "BLOB": ["'x'", "x'FF00'", "x''", "7", "1.5"],
  ]

  private func rows(_ sql: String) -> [[String]] {
    var rows: [[String]] = []
    do {
      let statement = try client.database.prepare(sql)
      while try statement.step() { rows.append(try (0..<statement.columnCount).map { try statement.string(at: $0) }) }
    } catch {
      // Rows that have been damaged before cannot be read.
    }
    return rows
  }

  // MARK: - Pages

  private static let pageBytes = 8192

  /// A page of the file is overwritten, zeroed, or changes places with another, or the file ends before it.
  private func damagePage() throws {
    guard let folder else { return }
    // Pages that are only in the log would hide the damage.
    looking { try? client.database.execute("PRAGMA wal_checkpoint(TRUNCATE)") }
    let path = folder.appendingPathComponent("cache.sqlite")
    var bytes = try Data(contentsOf: path)
    let count = bytes.count / Self.pageBytes
    guard count > 1 else { return }
    // Both copies of the same facts may be damaged before the cache is read again.
    if hasDamagedPages { headerIsDamaged() }
    hasDamagedPages = true
    let number = Int.random(in: 0..<count, using: &world.generator)
    let page = number * Self.pageBytes..<(number + 1) * Self.pageBytes
    var damaged = Data(bytes[page])
    switch Int.random(in: 0..<4, using: &world.generator) {
    case 0:
      world.note("\(name): page \(number + 1) of \(count) is overwritten")
      let noise = (0..<Self.pageBytes).map { _ in UInt8.random(in: 0...255, using: &world.generator) }
      bytes.replaceSubrange(page, with: noise)
    case 1:
      world.note("\(name): page \(number + 1) of \(count) is zeroed")
      bytes.replaceSubrange(page, with: Data(count: Self.pageBytes))
    case 2:
      let other = Int.random(in: 0..<count, using: &world.generator)
      let otherPage = other * Self.pageBytes..<(other + 1) * Self.pageBytes
      world.note("\(name): pages \(number + 1) and \(other + 1) of \(count) change places")
      let content = Data(bytes[otherPage])
      bytes.replaceSubrange(otherPage, with: damaged)
      bytes.replaceSubrange(page, with: content)
      damaged += content
      if other == 0 { headerIsDamaged() }
    default:
      let end = number * Self.pageBytes
      world.note("\(name): the file ends before page \(number + 1) of \(count)")
      damaged = Data(bytes[end...])
      bytes.removeSubrange(end...)
    }
    if number == 0 { headerIsDamaged() }
    let file = try FileHandle(forWritingTo: path)
    try file.truncate(atOffset: UInt64(bytes.count))
    try file.seek(toOffset: 0)
    try file.write(contentsOf: bytes)
    try file.close()
    noteDamage(of: damaged)
    // Pages in memory would hide the damage.
    looking { try? client.database.execute("PRAGMA shrink_memory") }
  }

  /// The first page says where the tables are.
  private func headerIsDamaged() {
    world.ledger.allMayBeLost()
    world.ledger.allMayBeDoubled()
  }

  private func noteDamage(of bytes: Data) {
    world.ledger.wereDamaged(bytes)
    if bytes.range(of: Data(Self.cacheID.utf8)) != nil { world.ledger.allMayBeDoubled() }
  }

  // MARK: - Going on

  /// Reopens the cache if its store asks for that, as a running client does.
  func reopenIfNeeded() {
    while let cause = store.reopening {
      world.note("\(name) reopens its cache: \(cause.reason)")
      reopeningCount += 1
      guard reopeningCount < 20 else { return fail("the cache is reopened again and again: \(cause.reason)") }
      let handover = engine.handOver()
      if case .fileIsDamaged(let reason) = cause { try? client.cache?.markDamaged(reason) }
      listenersToRepeat += listeners.sorted { $0.key.rawValue < $1.key.rawValue }.map { ($1.query, $1.options) }
      listeners = [:]
      endEngine()
      close()
      do {
        try openClient()
      } catch {
        return fail("the cache cannot be reopened: \(error)")
      }
      engine.takeOver(handover, reason: cause.reason)
      driver.streamUser = handover.user
      // Before what waits: it may have to be reopened at once.
      driver.handle(.start)
    }
  }

  // MARK: - Checks

  /// As the other check of what is sent, without reading the cache.
  func numberInDamagedCache(of batch: SentBatch) -> Int? {
    guard let identity = batch.label.flatMap(BatchLabel.init(parsing:))?.identity,
      let number = world.ledger.number(of: identity, with: batch.mutations)
    else {
      fail("\(batch.mutations) were sent, but never written")
      return nil
    }
    guard world.ledger.owner(of: number) == streamUser else {
      fail("\(batch.mutations) went out for \(streamUser ?? "nobody"), who did not write it")
      return nil
    }
    return number
  }

  /// Checks that the user's own write is visible, whatever became of the rest.
  func checkOwnWrite(of key: DocumentKey) {
    guard failures.statements.isEmpty, failures.transactions.isEmpty, !hasMisplacedOverlays, store.user == user,
      let write = world.ledger.latest(by: user, of: key),
      world.ledger.isSurelyPending(write.number), let mutation = write.mutations.last, mutation.transforms.isEmpty
    else { return }
    let document: Document
    switch mutation.operation {
    case .set(let fields): document = .found(key, version: .none, fields: fields)
    case .delete: document = .missing(key, version: .none)
    case .patch, .verify: return
    }
    let id = RequestID(rawValue: world.nextNumber())
    expectedAnswers[id] = (Query(path: key.path), [document])
    post(.request(id, .readDocument(key)))
    // A request that a cache that is reopened does not answer is made again.
    if expectedAnswers.removeValue(forKey: id) != nil, reopeningCount == 0 { fail("the cache did not answer \(key)") }
  }

  func answered(_ id: RequestID, _ document: Document) {
    guard let expected = expectedAnswers.removeValue(forKey: id)?.documents.first else {
      return fail("request \(id.rawValue) was not made or has been answered")
    }
    guard document.isFound == expected.isFound, !document.isFound || document.hasSameData(as: expected) else {
      return fail("the cache has \(document.brief), but the user has written \(expected.brief)")
    }
  }

  func refused(_ id: RequestID, _ error: StatusError) {
    if world.history.isDamaged, error.code == .dataLoss, expectedAnswers.removeValue(forKey: id) != nil { return }
    fail("request \(id.rawValue) was refused: \(error)")
  }
}

extension Data {
  init(hex: String) {
    self.init()
    var digits = hex[...]
    while let byte = UInt8(digits.prefix(2), radix: 16) {
      append(byte)
      digits = digits.dropFirst(2)
    }
  }
}
