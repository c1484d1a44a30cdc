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

/// An exclusive advisory lock on a file, which keeps other processes, and other openers in this one, out of a folder.
///
/// The operating system releases it when the process ends, however it ends. The file itself stays: removing it would let
/// two openers lock two different files.
package final class LockFile: Sendable {
  /// The reason why a lock was not acquired, for a message in the words of the caller.
  package enum Failure: Error, Equatable, Sendable {
    /// The file can neither be opened nor created; the text is that of the operating system.
    case cannotOpen(String)
    /// Another process, or another opener in this one, holds the lock.
    case inUse
    /// The file system does not lock the file; the text is that of the operating system.
    case cannotLock(String)
  }

  /// Nil after ``release()``.
  private let descriptor: Mutex<Int32?>

  /// Creates the file if it is missing, readable for this user alone, and locks it without waiting.
  package init(path: String) throws(Failure) {
    let opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard opened >= 0 else { throw .cannotOpen(String(cString: strerror(errno))) }
    if let failure = Self.lock(opened) {
      _ = close(opened)
      throw failure
    }
    // A file of an earlier release, or one that was copied, may have other permissions.
    _ = fchmod(opened, 0o600)
    descriptor = Mutex(opened)
  }

  private static func lock(_ descriptor: Int32) -> Failure? {
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      switch errno {
      case EINTR: continue
      case EWOULDBLOCK: return .inUse
      case let code: return .cannotLock(String(cString: strerror(code)))
      }
    }
    return nil
  }

  /// The beginning of the file, up to `count` bytes; empty if it cannot be read or the lock is released.
  package func read(count: Int) -> [UInt8] {
    descriptor.withLock { descriptor in
      guard let descriptor else { return [] }
      var bytes = [UInt8](repeating: 0, count: count)
      let length = pread(descriptor, &bytes, count, 0)
      return Array(bytes.prefix(max(0, length)))
    }
  }

  /// Overwrites the beginning of the file.
  ///
  /// - Returns: True if all bytes are written.
  package func write(_ bytes: [UInt8]) -> Bool {
    descriptor.withLock { descriptor in
      guard let descriptor else { return false }
      return pwrite(descriptor, bytes, bytes.count, 0) == bytes.count
    }
  }

  /// Releases the lock. Does nothing the second time.
  package func release() {
    descriptor.withLock { descriptor in
      if let descriptor { _ = close(descriptor) }
      descriptor = nil
    }
  }

  deinit { release() }
}
