internal import Foundation
internal import HearthModel
internal import HearthRPC
internal import HearthStore
internal import Logging
internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// The folder that holds one SQLite file for each database. It is locked for one server at a time; the lock ends with the process, whatever
/// the cause.
///
/// Only the server's user can read it: a new or empty folder, or one that a server has used before, gets the permissions 0700, and all
/// files have 0600.
final class DataFolder: Sendable {
  let path: String
  let place: FolderPlace
  private let lock: LockFile
  /// See ``reportNew(to:at:)``.
  let looks = Mutex(Looks())

  /// File systems allow 255 bytes for a name; SQLite appends up to 4 ("-wal", "-shm").
  private static let maximumFileNameBytes = 250

  /// Creates the folder if it is missing, and locks it.
  ///
  /// - Parameter logger: Reports that the folder is no longer in its place.
  init(path: String, logger: Logger) throws(ServerError) {
    self.path = path
    guard !FileManager.default.fileExists(atPath: "\(path)/\(Self.clientCacheName)") else {
      throw Self.failure(path, "holds \(Self.clientCacheName), the cache of a client: choose another one.")
    }
    do {
      try DatabaseFolder.create(path, permissions: Self.folderPermissions)
      Self.closeToOthers(folder: path)
    } catch {
      throw Self.failure(path, "cannot be created: \(error.message). Choose another one.")
    }
    do {
      lock = try LockFile(path: "\(path)/\(Self.lockName)")
    } catch {
      switch error {
      case .cannotOpen(let reason):
        throw Self.failure(path, "cannot be written (\(reason)): change its permissions or choose another one.")
      case .cannotLock(let reason):
        throw Self.failure(path, "cannot be locked (\(reason)): choose a folder on a local disk.")
      case .inUse:
        throw Self.failure(path, "is in use by another hearth server: stop it or choose another folder.")
      }
    }
    place = FolderPlace(folder: path, lockFile: "\(path)/\(Self.lockName)", logger: logger)
  }

  private static func failure(_ path: String, _ text: String) -> ServerError {
    ServerError(.dataFolder, "Data folder \"\(path)\" \(text)")
  }

  private static let folderPermissions = 0o700
  /// Set on folders that several users share, such as `/tmp`.
  private static let stickyBit = 0o1000
  private static let filePermissions: mode_t = 0o600
  private static let lockName = "hearth.lock"
  private static let clientCacheName = "cache.sqlite"

  /// Removes the permissions of other users from the folder, unless it has other content or another owner. Such a folder may
  /// be shared on purpose; the permissions of the files protect the databases there.
  private static func closeToOthers(folder: String) {
    let content = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    guard content.isEmpty || content.contains(lockName) else { return }
    let target = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path
    guard let attributes = try? FileManager.default.attributesOfItem(atPath: target),
      attributes[.ownerAccountID] as? Int == Int(geteuid()), let mode = attributes[.posixPermissions] as? Int,
      mode & stickyBit == 0
    else { return }
    _ = chmod(folder, mode_t(folderPermissions))
  }

  func unlock() { lock.release() }

  /// The file of a database that exists, closed to others; nil when there is none.
  ///
  /// - Throws: as ``file(for:)``.
  func existingFile(for id: DatabaseID) throws(StatusError) -> String? {
    let file = try file(for: id)
    guard FileManager.default.fileExists(atPath: file) else { return nil }
    for suffix in Self.fileSuffixes { _ = chmod(file + suffix, Self.filePermissions) }
    return file
  }

  /// Creates an empty file for a database, which is a new database to SQLite. The files that SQLite puts next to it have the same
  /// permissions.
  ///
  /// - Throws: as ``file(for:)``; RESOURCE_EXHAUSTED, UNAVAILABLE or INTERNAL when it cannot be created.
  func createFile(for id: DatabaseID) throws(StatusError) -> String {
    let file = try file(for: id)
    let descriptor = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, Self.filePermissions)
    guard descriptor >= 0 else {
      let isFull = errno == ENOSPC || errno == EDQUOT
      throw StatusError(
        code: isFull ? .resourceExhausted : .unavailable,
        message: "the file of \(id.resourceName) cannot be created: \(String(cString: strerror(errno)))")
    }
    _ = close(descriptor)
    return file
  }

  /// Removes a file that ``createFile(for:)`` has made.
  func removeFile(for id: DatabaseID) {
    guard let file = try? file(for: id) else { return }
    for suffix in Self.fileSuffixes { unlink(file + suffix) }
  }

  /// The databases that have a file.
  ///
  /// - Throws: INTERNAL if the folder cannot be read.
  func databases() throws(StatusError) -> [DatabaseID] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: path).compactMap { name in
        isFolder(name) ? nil : Self.databaseID(ofFile: name)
      }
    } catch {
      throw StatusError(code: .internal, message: "The data folder cannot be read: \(error.localizedDescription)")
    }
  }

  /// True for a folder with the name of a database's file.
  func isFolder(_ name: String) -> Bool {
    guard Self.databaseID(ofFile: name) != nil else { return false }
    var status = stat()
    return stat("\(path)/\(name)", &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// The database whose file has this name; nil for other files.
  static func databaseID(ofFile name: String) -> DatabaseID? {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[2] == "sqlite", let project = parts[0].removingPercentEncoding,
      let database = parts[1].removingPercentEncoding, escaped(project) == parts[0], escaped(database) == parts[1]
    else { return nil }
    return DatabaseID(projectID: project, database: database)
  }

  /// True for the lock, the file of a database, and what SQLite and this server put next to one.
  static func isKnown(_ name: String) -> Bool {
    guard name != lockName else { return true }
    return (fileSuffixes + ["-journal", DamagedLog.copySuffix]).contains {
      name.hasSuffix($0) && databaseID(ofFile: String(name.dropLast($0.count))) != nil
    }
  }

  /// The database and the files that SQLite puts next to it.
  private static let fileSuffixes = ["", "-wal", "-shm"]

  /// The path of a database's file.
  ///
  /// Bytes other than lower-case letters, digits, `-` and `_` are written as `%XX`, so that no two databases share a
  /// file on file systems that ignore case, and no id can name a place outside the folder.
  ///
  /// - Throws: INVALID_ARGUMENT when the ids are too long for a file name.
  func file(for id: DatabaseID) throws(StatusError) -> String {
    let name = "\(Self.escaped(id.projectID)).\(Self.escaped(id.database)).sqlite"
    guard name.utf8.count <= Self.maximumFileNameBytes else {
      throw StatusError(
        code: .invalidArgument, message: "\(id.resourceName.prefix(100))…: the project and database ids are too long")
    }
    return "\(path)/\(name)"
  }

  static func escaped(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
        UInt8(ascii: "_"):
        result.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    return result
  }
}
