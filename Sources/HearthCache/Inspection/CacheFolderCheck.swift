internal import Foundation
internal import HearthStore

/// Looks at a cache folder and at the first bytes of its file, before SQLite opens anything.
package enum CacheFolderCheck {
  private static let headerBytes = 100
  private static let magic = Array("SQLite format 3\u{0}".utf8)

  /// - Throws: ``CacheInspectionError``, unless the folder holds a file that may be a cache.
  static func run(_ files: CacheFiles) throws(CacheInspectionError) {
    try checkFolder(files.folder)
    guard files.hasMain else {
      if files.hasInterruptedRecovery {
        throw .invalid(
          "The recovery of the cache in \"\(files.folder)\" was interrupted: \"\(files.replacement)\" holds what was saved. "
            + "Start the client, which completes it.")
      }
      throw .noCache(folder: files.folder)
    }
    let header = try read(files.main)
    guard !header.isEmpty else { throw .unfinished(path: files.main) }
    guard header.starts(with: magic), header.count == headerBytes else {
      throw .damaged(path: files.main, reason: "it does not begin like an SQLite database")
    }
    let owner = header[68..<72].reduce(Int32(0)) { $0 << 8 | Int32($1) }
    // The mark of a new cache may still be in its log.
    guard owner == Database.hearthApplicationID || owner == 0 else {
      throw .notACache(path: files.main, reason: "it is a database of another program (application id \(owner))")
    }
  }

  /// - Throws: ``CacheInspectionError`` if the folder is missing, is none, or may not be read.
  package static func checkFolder(_ folder: String) throws(CacheInspectionError) {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder) else {
      // What lies in a folder that this user may not enter looks as if it were missing.
      if let closed = closedParent(of: folder) { throw .noPermission(path: closed, reason: "permission denied") }
      throw .noFolder(folder)
    }
    guard isFolder.boolValue else { throw .notAFolder(folder) }
    do {
      _ = try FileManager.default.contentsOfDirectory(atPath: folder)
    } catch {
      guard FileManager.default.isReadableFile(atPath: folder) else {
        throw .noPermission(path: folder, reason: "permission denied")
      }
      throw .io(path: folder, reason: error.localizedDescription)
    }
  }

  /// The nearest existing folder above a path, if this user may not enter it.
  private static func closedParent(of path: String) -> String? {
    var folder = URL(fileURLWithPath: path).standardizedFileURL
    while folder.path != "/" {
      folder.deleteLastPathComponent()
      if FileManager.default.fileExists(atPath: folder.path) {
        return FileManager.default.isExecutableFile(atPath: folder.path) ? nil : folder.path
      }
    }
    return nil
  }

  private static func read(_ path: String) throws(CacheInspectionError) -> [UInt8] {
    // A pipe would have to be waited for.
    let place = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    let attributes = (try? FileManager.default.attributesOfItem(atPath: place)) ?? [:]
    if let type = attributes[.type] as? FileAttributeType, type != .typeRegular {
      throw .notACache(path: path, reason: "it is not a regular file")
    }
    do {
      let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      defer { try? file.close() }
      return Array(try file.read(upToCount: headerBytes) ?? Data())
    } catch {
      guard FileManager.default.isReadableFile(atPath: path) else {
        throw .noPermission(path: path, reason: "permission denied")
      }
      throw .io(path: path, reason: error.localizedDescription)
    }
  }
}

extension CacheInspectionError {
  /// The error for a failure while a cache was read; one that is none of the cache stays as it is.
  static func translating(_ error: any Error, path: String) -> any Error {
    if let damage = CacheDamage(error) { return CacheInspectionError.damaged(path: path, reason: damage.reason) }
    if case CacheError.unreadableBatch = error { return CacheInspectionError.damaged(path: path, reason: "\(error)") }
    guard let error = error as? StoreError else { return error }
    switch error.kind {
    case .unavailable: return CacheInspectionError.busy(path: path, reason: error.message)
    case .io, .full: return CacheInspectionError.io(path: path, reason: error.message)
    case .cannotOpen where error.sqliteCode == 0:
      return CacheInspectionError.notACache(path: path, reason: error.message)
    case .cannotOpen, .readOnly: return CacheInspectionError.noPermission(path: path, reason: error.message)
    case .corrupt, .notADatabase, .newerSchema, .constraint, .misuse:
      return CacheInspectionError.damaged(path: path, reason: error.message)
    }
  }
}
