#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// One end of a named pipe in a folder, through which processes wake each other. A byte in it means "look", and nothing else.
package final class NamedPipe {
  package enum End {
    /// Reads what others write. Without a writer the end of the file is reached, as soon as there has been one.
    case reading
    /// Reads or writes; both never block, and writing without a reader is no signal.
    case both
  }

  package let descriptor: Int32

  /// Opens a pipe.
  ///
  /// - Parameter creates: True to make it if it is missing, for this user alone.
  /// - Returns: Nil if there is no pipe at this path, or none can be made there.
  package init?(path: String, end: End, creates: Bool) {
    if creates { _ = mkfifo(path, 0o600) }
    let flags = (end == .both ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW
    let opened = open(path, flags)
    guard opened >= 0 else { return nil }
    var status = stat()
    guard fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else {
      _ = close(opened)
      return nil
    }
    descriptor = opened
  }

  /// Puts a byte into the pipe. A pipe that is full wakes its reader anyway.
  package func wake() {
    var byte: UInt8 = 1
    _ = write(descriptor, &byte, 1)
  }

  /// Takes all bytes out of a pipe.
  ///
  /// - Returns: False if no writer is left.
  package static func drain(_ descriptor: Int32) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 256)
    while true {
      let count = read(descriptor, &bytes, bytes.count)
      if count == 0 { return false }
      if count < 0 { return errno == EAGAIN || errno == EINTR }
      if count < bytes.count { return true }
    }
  }

  deinit { _ = close(descriptor) }
}
