import Foundation
import HearthCache
import HearthModel
import HearthStore

/// A process that wants the folder for itself.
struct FolderTaking {
  /// True for a newer release that migrates the file, false for a program that clears the cache.
  var migrates: Bool
  let request = EndRequest()
  var attempts = 0

  func end() { request.withdraw() }
}

/// Others who want the folder for themselves, and other releases.
extension FolderSimulation {
  static let wasTaken = StoreError(kind: .unavailable, message: "another process has taken the cache over")

  /// Checks that a process had to end.
  func checkReason(_ error: any Error, of process: FolderProcess) {
    if let error = error as? StoreError {
      if error.kind == .newerSchema, isMigrated { return }
      let wasTaken = process.client.map { $0.takingCount < takingCount } ?? false
      if error.message == Self.wasTaken.message, wasTaken { return }
    }
    fail("\(process.name) has ended: \(error)")
  }

  // MARK: - The folder for one alone

  func beginTaking(migrates: Bool) {
    guard taking == nil else { return }
    note("somebody wants the folder for itself, to \(migrates ? "migrate" : "clear") it")
    taking = FolderTaking(migrates: migrates)
    taking?.request.ask(clientsOf: folder.path)
    wakeAll()
  }

  func continueTaking() {
    guard let taking else { return }
    let before = numbersInFile()
    do {
      if taking.migrates {
        guard damageCount == 0 else { throw StoreError(kind: .unavailable, message: "the file is damaged") }
        let cache = try CacheFile.open(
          folder: folder.path, databaseID: Self.databaseID,
          options: .init(database: .init(busyTimeout: .zero), sharing: .takingOver, endRequest: taking.request))
        cache.close()
      } else {
        try CacheFile.delete(folder: folder.path)
      }
      note("somebody has the folder for itself")
      takingCount += 1
      if !taking.migrates { noteReplacement(of: before, by: nil) }
      endTaking()
      if taking.migrates { liveWithNewerRelease() }
    } catch {
      self.taking?.attempts += 1
      if taking.attempts > 8 { endTaking() }
    }
  }

  func endTaking() {
    taking?.end()
    taking = nil
  }

  // MARK: - A newer release

  /// A newer release migrates the file, and processes of this one have it open or open it: all of them end, and none changes anything.
  func liveWithNewerRelease() {
    guard damageCount == 0, (try? change(toNewer: true)) != nil else { return }
    note("the file is that of a newer release")
    isMigrated = true
    let intact = FileManager.default.contents(atPath: file)
    let isDamaged = generator.chance(50) && damage(sparing: pagesOfVersions()) != nil
    let before = FileManager.default.contents(atPath: file)
    let names = filesOfDamage()
    for _ in 0..<Int.random(in: 0...6, using: &generator) {
      if generator.chance(15) { beginProcess() }
      if let process = awake.randomElement(using: &generator) { smallStep(of: process) }
    }
    for _ in 0..<20 {
      for process in living {
        proceed(process)
        process.wakeUp()
        process.tick()
        process.lookForNews()
      }
    }
    for process in living { fail("\(process.name) goes on with the cache of a newer release: \(process.state)") }
    let log = FileManager.default.contents(atPath: file + "-wal")?.count ?? 0
    let isChanged = FileManager.default.contents(atPath: file) != before
    if isChanged || log > 0 || filesOfDamage() != names {
      fail("the folder of a newer release has changed: file \(isChanged), log \(log), \(filesOfDamage())")
    }
    if isDamaged, let intact {
      write(intact)
      damageCount = 0
      isAllInDoubt = false
      for number in numbersInFile() { ledger.isBack(number) }
    }
    isMigrated = false
    do { try change(toNewer: false) } catch { fail("the newer release cannot go on: \(error)") }
    removeEndedProcesses()
    for _ in 0..<history.processCount { beginProcess() }
  }

  private func change(toNewer: Bool) throws {
    try withFile { database in
      try database.execute("UPDATE schema_versions SET version = \(toNewer ? 2 : 1) WHERE component = 'cache'")
      let names = toNewer ? "sequence_number TO s" : "s TO sequence_number"
      try database.execute("ALTER TABLE cache_targets RENAME COLUMN \(names)")
      _ = try database.truncateLog()
    }
  }

  /// The page that says which release has written the file.
  private func pagesOfVersions() -> Set<Int> {
    var pages: Set<Int> = []
    try? withFile { database in
      let sql = "SELECT rootpage FROM sqlite_master WHERE tbl_name = 'schema_versions' AND rootpage > 0"
      try database.forEachRow(sql) {
        pages.insert(Int(try $0.int64(at: 0)) - 1)
        return true
      }
    }
    return pages
  }

  private func filesOfDamage() -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.filter { $0.contains(".damaged") || $0.contains(".corrupt") || $0.contains(".new") }.sorted()
  }

  // MARK: - An earlier release

  /// The tables become those of the release before the last one, and a process of this one begins.
  func outdate() {
    guard damageCount == 0, !isOutdated, !isMigrated else { return }
    do {
      try withFile { database in
        try database.transaction("Outdate") {
          try database.execute("ALTER TABLE index_definitions DROP COLUMN latest_use")
          try database.execute("UPDATE schema_versions SET version = 2 WHERE component = 'store'")
        }
      }
    } catch {
      return
    }
    note("the tables are those of an earlier release")
    isOutdated = true
    beginProcess()
    wakeAll()
    for _ in 0..<40 where isOutdated {
      guard let process = awake.randomElement(using: &generator) else { break }
      if process.isWoken { process.lookForNews() }
      process.tick()
      if generator.chance(20), process.isRunning { process.write([generator.mutations()]) }
    }
    guard isOutdated else { return }
    // A process is stopped. The migration is given up.
    isOutdated = false
    do {
      try withFile { database in
        try database.transaction("Give up") {
          try database.execute("ALTER TABLE index_definitions ADD COLUMN latest_use INTEGER NOT NULL DEFAULT 0")
          try database.execute("UPDATE schema_versions SET version = 3 WHERE component = 'store'")
        }
      }
    } catch {
      isOutdated = true
    }
  }

  /// A notice that only a newer release understands, perhaps in place of one about a document, a new batch or a target.
  func addUnknownNotice() {
    let isInPlace = generator.chance(50)
    do {
      try withFile {
        try $0.execute(
          isInPlace
            ? "UPDATE cache_notices SET kind = 99 WHERE kind IN (0, 1, 3)"
            : "INSERT INTO cache_notices (client_id, kind, user_id, path, subject, code, message) "
              + "VALUES (0, 99, 0, '', 7, 0, '')")
      }
      note("somebody leaves a notice that is not known\(isInPlace ? ", and no other one" : "")")
      wakeAll()
    } catch {
      note("no notice: \(error)")
    }
  }
}
