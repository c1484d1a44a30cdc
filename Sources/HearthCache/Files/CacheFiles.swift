internal import Foundation
internal import HearthStore

/// The files of a cache folder. It replaces a damaged database in a way that loses nothing if it is interrupted.
struct CacheFiles {
  let folder: String

  var main: String { folder + "/" + CacheFile.fileName }
  /// The write-ahead log of `main`.
  var log: String { main + "-wal" }
  /// The new database while it is being made. It becomes `main` only when it is complete.
  var replacement: String { main + ".new" }
  /// The latest damaged database, kept for an analysis.
  var aside: String { main + ".corrupt" }
  /// A new database, and a copy of the damaged one with the list of tables of that: there while an outbox is saved.
  var template: String { main + ".template" }
  var graft: String { main + ".graft" }
  /// A copy of a database with the sound pages of its damaged log: there while an outbox is saved.
  var merged: String { main + ".merged" }
  /// There as long as a recovery is due, because damage was found while the database was in use.
  var marker: String { main + ".damaged" }

  /// The suffixes of the files that SQLite keeps next to a database.
  private static let companions = ["-wal", "-shm", "-journal"]

  /// The damage that was found when the database was last open; nil if there was none.
  var markedDamage: String? {
    guard exists(marker), exists(main) else { return nil }
    let text = (try? String(contentsOfFile: marker, encoding: .utf8)) ?? ""
    return text.isEmpty ? "it was found damaged while it was in use" : text
  }

  /// The damaged write-ahead log; nil if it is none, and while a client uses it, for whom SQLite has read it before.
  var damagedLog: DatabaseLog? { unreadLog.flatMap { $0.isDamage ? $0 : nil } }

  /// The write-ahead log if sound commits lie behind the place up to which SQLite reads it; nil while a client uses it.
  var unreadLog: DatabaseLog? {
    guard hasMain, hasLog, !ClientFiles.anyIsAlive(in: folder) else { return nil }
    return DatabaseLog(damagedIn: main)
  }

  /// The damage for which the next opening sets the database aside, as far as it is known without reading the whole of it.
  var knownDamage: String? { markedDamage ?? damagedLog?.reason }

  func mark(_ reason: String) throws {
    do {
      try Data(reason.utf8).write(to: URL(fileURLWithPath: marker))
    } catch {
      throw StoreError(kind: .io, message: "Cannot write \"\(marker)\" (\(error.localizedDescription)).")
    }
  }

  var hasMain: Bool { exists(main) }
  var hasLog: Bool { exists(log) }
  var hasInterruptedRecovery: Bool { exists(replacement) }

  /// Closes a connection to the database.
  ///
  /// While other clients live the log stays as it is, even if SQLite takes their locks for free (see ``OpenedCache/lostFiles``).
  ///
  /// - Parameter name: The client whose connection this is.
  func close(_ database: Database, besides name: String? = nil) {
    if ClientFiles.anyIsAlive(in: folder, besides: name) { database.keepLogAtClose() }
    database.close()
  }

  /// Goes on where a recovery was cut off.
  ///
  /// With `main` gone the replacement was complete, so it takes its place; with `main` still there the recovery starts
  /// again from the beginning.
  func finishInterruptedRecovery() throws {
    guard exists(replacement) else { return }
    if exists(main) {
      try remove(replacement)
    } else {
      try installReplacement()
    }
  }

  /// Sets the damaged database aside and puts the replacement in its place. One that was set aside earlier is deleted.
  ///
  /// - Parameters:
  ///   - new: The replacement, which this closes.
  ///   - isComplete: Called when only files are left to be renamed.
  /// - Throws: `StoreError`; nothing has changed if the log of the replacement could not be moved into its file: an interruption between two
  ///   renames would separate them.
  func replaceMain(by new: Database, isComplete: () -> Void) throws {
    defer { new.close() }
    guard try new.truncateLog() else {
      throw StoreError(
        kind: .unavailable,
        message: "Another program reads \(new.name), a temporary file of a recovery. End that program.")
    }
    new.close()
    isComplete()
    for name in try names() where name.hasPrefix(CacheFile.fileName + ".corrupt") {
      try removeFile(folder + "/" + name)
    }
    try move(main, to: aside)
    for companion in Self.companions where exists(main + companion) {
      try move(main + companion, to: aside + companion)
    }
    try installReplacement()
  }

  private func names() throws -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    } catch {
      throw StoreError(
        kind: .io, message: "Cannot list the cache folder \"\(folder)\" (\(error.localizedDescription)).")
    }
  }

  func deleteAll() throws {
    do {
      for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      where name.hasPrefix(CacheFile.fileName) || ClientFiles.isClientFile(name) {
        try FileManager.default.removeItem(atPath: folder + "/" + name)
      }
    } catch {
      throw StoreError(
        kind: .io, message: "Cache folder \"\(folder)\": cannot delete the cache (\(error.localizedDescription)).")
    }
  }

  private func installReplacement() throws {
    // The mark of the damaged database must not be taken for one of the new database.
    if exists(marker) { try removeFile(marker) }
    // A log that belongs to the damaged database must not be taken for the new one's, whose log is empty.
    for database in [main, replacement] { try removeCompanions(of: database) }
    try move(replacement, to: main)
  }

  func removeScratch() throws {
    for database in [template, graft] { try remove(database) }
  }

  func remove(_ database: String) throws {
    try removeCompanions(of: database)
    if exists(database) { try removeFile(database) }
  }

  private func removeCompanions(of database: String) throws {
    for path in Self.companions.map({ database + $0 }) where exists(path) { try removeFile(path) }
  }

  private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  private func move(_ path: String, to target: String) throws {
    do {
      try FileManager.default.moveItem(atPath: path, toPath: target)
    } catch {
      throw StoreError(
        kind: .io, message: "Cannot rename \"\(path)\" to \"\(target)\" (\(error.localizedDescription)).")
    }
  }

  private func removeFile(_ path: String) throws {
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      throw StoreError(kind: .io, message: "Cannot delete \"\(path)\" (\(error.localizedDescription)).")
    }
  }
}
