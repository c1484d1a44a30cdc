import Foundation
import HearthCache
import HearthModel
import HearthStore

/// A copy of the cache's folder, as a backup has it.
struct FolderCopy {
  var folder: URL
  /// The writes in its file.
  var numbers: Set<Int>
  /// True if its file is damaged.
  var isDamaged: Bool
}

/// Damage that disks and people do to the folder.
extension FolderSimulation {
  /// The writes in the cache's file and its log, as far as they can be found by their identities.
  func numbersInFile() -> Set<Int> { Self.numbers(in: file) }

  /// The writes in the outboxes, in their order.
  func outboxes() throws -> [Int] {
    var numbers: [Int] = []
    try withFile { database in
      try database.forEachRow("SELECT batch FROM cache_mutation_batches ORDER BY batch_id") { row in
        numbers += FolderLedger.numbers(in: Data(try row.bytes(at: 0)))
        return true
      }
    }
    return numbers
  }

  private static func numbers(in file: String) -> Set<Int> {
    [file, file + "-wal"].reduce(into: []) { numbers, path in
      if let bytes = FileManager.default.contents(atPath: path) { numbers.formUnion(FolderLedger.numbers(in: bytes)) }
    }
  }

  /// Does something with the file as a program does that takes no part.
  func withFile(_ body: (Database) throws -> Void) throws {
    var options = Database.Options(synchronous: .normal, busyTimeout: .zero)
    options.mustExist = true
    let database = try Database(.file(path: file), options: options)
    defer {
      database.keepLogAtClose()
      database.close()
    }
    try body(database)
  }

  /// Finds out whether another file has taken the place of the cache's.
  func lookAtFile() {
    let found = FileIdentity(path: file)
    guard found != knownFile else { return }
    if isAllInDoubt {
      // A recovery has saved of the file what it could.
      for number in Self.numbers(in: file + ".corrupt").subtracting(numbersInFile()) { ledger.lose(number, .damage) }
    }
    knownFile = found
    damageCount = 0
    isAllInDoubt = false
  }

  func report(_ text: String) {
    note("  report: \(text)")
    reports.append(text)
  }

  /// A process has opened the folder.
  func opened(by process: FolderProcess) {
    if isOutdated {
      isOutdated = false
      takingCount += 1
      note("\(process.name) has migrated the file")
    }
  }

  // MARK: - Damage

  static let pageBytes = 8192

  /// A page of the file becomes something else.
  ///
  /// - Parameter spared: The pages that stay.
  /// - Returns: The former bytes of the file; nil if nothing was damaged.
  @discardableResult
  func damage(sparing spared: Set<Int> = []) -> Data? {
    var roots: [Int] = []
    do {
      try withFile { database in
        roots = try Self.rootPages(database)
        // Pages that are only in the log would hide the damage.
        guard try database.truncateLog() else { throw StoreError(kind: .unavailable, message: "the log is in use") }
      }
    } catch {
      note("nothing is damaged: \(error)")
      return nil
    }
    guard let before = FileManager.default.contents(atPath: file) else { return nil }
    let count = before.count / Self.pageBytes
    guard count > 1 else { return nil }
    // A table or an index, the list of them, or any page.
    let list = Self.pagesOfTableList(before)
    let page: Int
    switch Int.random(in: 0..<10, using: &generator) {
    case 0..<6: page = generator.pick(roots) - 1
    case 6 where !list.isEmpty: page = generator.pick(list) - 1
    default: page = Int.random(in: 0..<count, using: &generator)
    }
    guard page >= 0, page < count, !spared.contains(page) else { return nil }
    var bytes = before
    let range = page * Self.pageBytes..<(page + 1) * Self.pageBytes
    var end = range.upperBound
    switch Int.random(in: 0..<(spared.isEmpty ? 5 : 4), using: &generator) {
    case 0, 1:
      let noise = (0..<Self.pageBytes).map { _ in UInt8.random(in: 0...255, using: &generator) }
      bytes.replaceSubrange(range, with: noise)
    case 2, 3: bytes.replaceSubrange(range, with: Data(count: Self.pageBytes))
    default:
      bytes = bytes.prefix(range.lowerBound)
      end = before.count
    }
    note("page \(page + 1) of \(count) is damaged\(bytes.count < before.count ? ", and all behind it" : "")")
    write(bytes)
    noteDamage(of: before[range.lowerBound..<end], isAll: page == 0 || end - range.lowerBound > Self.pageBytes)
    if generator.chance(50) {
      // Pages in memory would hide the damage.
      for process in living { try? process.client?.cache.database.execute("PRAGMA shrink_memory") }
    }
    return before
  }

  private static func rootPages(_ database: Database) throws -> [Int] {
    var pages: [Int] = []
    try database.forEachRow("SELECT rootpage FROM sqlite_master WHERE rootpage > 0 ORDER BY rootpage") {
      pages.append(Int(try $0.int64(at: 0)))
      return true
    }
    return pages
  }

  /// The numbers of the pages behind the first one that say which tables there are.
  static func pagesOfTableList(_ file: Data) -> [Int] {
    func number(at offset: Int, bytes: Int) -> Int { file[offset..<offset + bytes].reduce(0) { $0 << 8 | Int($1) } }
    // An interior page of a table, behind the file's header (https://www.sqlite.org/fileformat.html, 1.6).
    guard file.count > pageBytes, file[100] == 5 else { return [] }
    let cells = (0..<number(at: 103, bytes: 2)).map { number(at: 112 + 2 * $0, bytes: 2) }
    return cells.map { number(at: $0, bytes: 4) } + [number(at: 108, bytes: 4)]
  }

  /// Writes into the file that is there.
  func write(_ bytes: Data) {
    do {
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
      try handle.truncate(atOffset: UInt64(bytes.count))
      try handle.seek(toOffset: 0)
      try handle.write(contentsOf: bytes)
      try handle.close()
    } catch {
      fail("the file cannot be written: \(error)")
    }
  }

  private func noteDamage(of bytes: Data, isAll: Bool) {
    damageCount += 1
    for number in FolderLedger.numbers(in: Data(bytes)) { ledger.lose(number, .damage) }
    // The first page says where the tables are, and both copies of the same facts may be damaged before the file is read again.
    if isAll || damageCount > 1 {
      isAllInDoubt = true
      for number in numbersInFile() { ledger.lose(number, .damage) }
    }
  }

  // MARK: - Folders

  /// A backup.
  func copyFolder() {
    guard FileManager.default.fileExists(atPath: file) else { return }
    let copy = FolderCopy(
      folder: home.appendingPathComponent("copy-\(nextNumber())"), numbers: numbersInFile(), isDamaged: damageCount > 0)
    do {
      try FileManager.default.copyItem(at: folder, to: copy.folder)
    } catch {
      fail("the folder cannot be copied: \(error)")
    }
    note("the folder is copied with \(copy.numbers.sorted())")
    copies.append(copy)
  }

  /// The folder is deleted, and perhaps a copy put in its place.
  func replaceFolder(by copy: FolderCopy?) {
    let before = numbersInFile()
    note(copy.map { "the folder is replaced by \($0.folder.lastPathComponent)" } ?? "the folder is deleted")
    do {
      if FileManager.default.fileExists(atPath: folder.path) { try FileManager.default.removeItem(at: folder) }
      if let copy { try FileManager.default.copyItem(at: copy.folder, to: folder) }
    } catch {
      fail("the folder cannot be replaced: \(error)")
    }
    noteReplacement(of: before, by: copy)
  }

  /// Only the files of the database are deleted.
  func deleteFiles() {
    let before = numbersInFile()
    note("the files of the database are deleted")
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file + suffix) }
    noteReplacement(of: before, by: nil)
  }

  func noteReplacement(of before: Set<Int>, by copy: FolderCopy?) {
    // A process that has given the folder back finds another one.
    takingCount += 1
    knownFile = FileIdentity(path: file)
    damageCount = copy?.isDamaged == true ? 1 : 0
    let numbers = copy?.numbers ?? []
    for number in before.union(ledger.lostInSilence).subtracting(numbers) { ledger.lose(number, .folder) }
    for number in numbers {
      if copy?.isDamaged == true { ledger.lose(number, .folder) } else { ledger.isBack(number) }
    }
    isAllInDoubt = copy?.isDamaged ?? false
  }
}
