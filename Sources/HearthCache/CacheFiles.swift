internal import Foundation
internal import HearthStore

/// The files of a cache folder, and how a damaged database is replaced so that an interruption loses nothing.
struct CacheFiles {
  let folder: String

  var main: String { folder + "/" + CacheFile.fileName }
  /// The new database while it is being made. It becomes `main` only when it is complete.
  var replacement: String { main + ".new" }

  /// What SQLite keeps beside a database.
  private static let companions = ["-wal", "-shm", "-journal"]

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

  /// Sets the damaged database aside and puts the replacement in its place.
  /// - Returns: where the damaged one is now.
  func replaceMain() throws -> String {
    var number = 1
    while exists("\(main).corrupt-\(number)") { number += 1 }
    let aside = "\(main).corrupt-\(number)"
    try move(main, to: aside)
    for companion in Self.companions where exists(main + companion) {
      try move(main + companion, to: aside + companion)
    }
    try installReplacement()
    return aside
  }

  func deleteAll() throws {
    do {
      for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      where name.hasPrefix(CacheFile.fileName) {
        try FileManager.default.removeItem(atPath: folder + "/" + name)
      }
    } catch {
      throw StoreError(
        kind: .io, message: "Cache folder \"\(folder)\": cannot delete the cache (\(error.localizedDescription)).")
    }
  }

  private func installReplacement() throws {
    // A log that belongs to the damaged database must not be taken for the new one's.
    for companion in Self.companions where exists(main + companion) { try removeFile(main + companion) }
    for companion in Self.companions where exists(replacement + companion) {
      try move(replacement + companion, to: main + companion)
    }
    try move(replacement, to: main)
  }

  private func remove(_ database: String) throws {
    for companion in Self.companions where exists(database + companion) { try removeFile(database + companion) }
    try removeFile(database)
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
