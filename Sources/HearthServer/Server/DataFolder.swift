internal import Foundation
internal import HearthModel
internal import HearthStore
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// The folder that holds one SQLite file for each database. It is locked for one server at a time; the lock goes with
/// the process, however it ends.
final class DataFolder: Sendable {
  let path: String
  private let lockDescriptor: Mutex<Int32?>

  /// File systems allow 255 bytes for a name; SQLite appends up to 4 ("-wal", "-shm").
  private static let maximumFileNameBytes = 250

  /// Creates the folder if need be and locks it.
  init(path: String) throws(ServerError) {
    self.path = path
    do {
      try DatabaseFolder.create(path)
    } catch {
      throw ServerError(
        .dataFolder,
        "Data folder \"\(path)\" cannot be created: \(error.message). Choose another one with --data.")
    }
    let lockPath = path + "/hearth.lock"
    let descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      throw ServerError(
        .dataFolder,
        "Data folder \"\(path)\" cannot be written (\(String(cString: strerror(errno)))): change its permissions or "
          + "choose another one with --data.")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      _ = Self.close(descriptor)
      throw ServerError(
        .dataFolder,
        "Data folder \"\(path)\" is in use by another hearth server: stop it or choose another folder with --data.")
    }
    lockDescriptor = Mutex(descriptor)
  }

  deinit { unlock() }

  func unlock() {
    lockDescriptor.withLock { descriptor in
      if let descriptor { _ = Self.close(descriptor) }
      descriptor = nil
    }
  }

  private static func close(_ descriptor: Int32) -> Int32 {
    #if canImport(Glibc)
      Glibc.close(descriptor)
    #elseif canImport(Musl)
      Musl.close(descriptor)
    #elseif canImport(Darwin)
      Darwin.close(descriptor)
    #endif
  }

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
