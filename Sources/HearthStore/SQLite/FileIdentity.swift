#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// The identity of a file, whatever its name. A file that was deleted and created again has another one.
package struct FileIdentity: Equatable, Sendable {
  private let device: UInt64
  private let number: UInt64

  /// The file that has this name now; nil if there is none.
  package init?(path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    device = UInt64(truncatingIfNeeded: status.st_dev)
    number = UInt64(truncatingIfNeeded: status.st_ino)
  }
}

/// A state of a file. It differs after every write to the file.
struct FileState: Equatable, Sendable {
  private let identity: FileIdentity
  private let size: Int64
  /// When it was written last, in nanoseconds since 1970.
  private let time: Int64

  /// The state of the file that has this name now; nil if there is none.
  init?(path: String) {
    var status = stat()
    guard let identity = FileIdentity(path: path), stat(path, &status) == 0 else { return nil }
    self.identity = identity
    size = Int64(status.st_size)
    #if canImport(Darwin)
      let written = status.st_mtimespec
    #else
      let written = status.st_mtim
    #endif
    time = Int64(written.tv_sec) &* 1_000_000_000 &+ Int64(written.tv_nsec)
  }
}

/// Makes a file durable.
///
/// - Returns: False if the system cannot; `errno` says why.
func synchronizeFile(_ descriptor: Int32) -> Bool {
  #if canImport(Darwin)
    // There, `fsync` leaves the bytes in the cache of the disk.
    if fcntl(descriptor, F_FULLFSYNC) == 0 { return true }
  #endif
  return fsync(descriptor) == 0
}
