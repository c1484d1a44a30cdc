#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// Keeps other processes from using a database while its files are replaced.
///
/// A program that has a database with a write-ahead log open holds a shared lock on 510 bytes of its file, from 1 GiB + 2 on, until it
/// closes it (https://www.sqlite.org/lockingv3.html). If the file were replaced, such a program would continue with a file without a name.
/// At its end it would delete the log of the new file, by its name.
///
/// Locks of this kind belong to the process. It does not see locks of its own connections, and loses them when this lock is closed, so it
/// must have no connections. This lock, in turn, is lost when the process closes another descriptor of the file.
struct OpenersLock: ~Copyable {
  private static let firstByte = 0x4000_0002
  private static let byteCount = 510

  private let descriptor: Int32

  /// - Throws: ``StoreError`` `unavailable` if another process has the database open; `io` if the file cannot be opened.
  init(of database: String) throws(StoreError) {
    descriptor = try Self.openLocked(database)
  }

  private static func openLocked(_ database: String) throws(StoreError) -> Int32 {
    let descriptor = open(database, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw StoreError(kind: .io, message: "Cannot open \"\(database)\" (\(String(cString: strerror(errno)))).")
    }
    if lock(descriptor) { return descriptor }
    _ = close(descriptor)
    throw inUse(database)
  }

  /// - Returns: False if another process has the database open.
  private static func lock(_ descriptor: Int32) -> Bool {
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = off_t(firstByte)
    lock.l_len = off_t(byteCount)
    // Where files cannot be locked, SQLite opens none with a log.
    return fcntl(descriptor, F_SETLK, &lock) == 0 || errno != EACCES && errno != EAGAIN
  }

  private static func inUse(_ database: String) -> StoreError {
    StoreError(
      kind: .unavailable, message: "Another program has \"\(database)\" open. End that program.", sqliteCode: 5)
  }

  /// Makes the file durable.
  ///
  /// - Throws: ``StoreError`` `io`.
  func synchronize(_ database: String) throws(StoreError) {
    if synchronizeFile(descriptor) { return }
    throw StoreError(kind: .io, message: "Cannot synchronize \"\(database)\" (\(String(cString: strerror(errno)))).")
  }

  deinit { _ = close(descriptor) }
}
