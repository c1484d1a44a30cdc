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

/// An advisory lock on a file. It keeps other processes, and other openers in this process, out of a folder.
///
/// The operating system releases it when the process ends, whatever the cause. The file itself stays: removing it would let two openers
/// lock two different files.
package final class LockFile: Sendable {
  /// The reason why a lock was not acquired. The caller words the message.
  package enum Failure: Error, Equatable, Sendable {
    /// The file can neither be opened nor created; the text is that of the operating system.
    case cannotOpen(String)
    /// Another process, or another opener in this one, holds the lock.
    case inUse
    /// The file system does not lock the file; the text is that of the operating system.
    case cannotLock(String)
  }

  package enum Mode {
    /// Only one opener at a time.
    case exclusive
    /// Any number of openers, but none with an exclusive lock.
    case shared
  }

  /// Nil after ``release()``.
  private let descriptor: Mutex<Int32?>
  /// The process that has acquired the lock.
  private let process = getpid()

  /// Creates the file if it is missing, readable for this user alone, and locks it without waiting for a holder to end.
  ///
  /// - Parameter pause: Called between the attempts at a lock that may only be looked at; half a millisecond by default.
  package init(
    path: String, mode: Mode = .exclusive, pause: () -> Void = { _ = usleep(500) }
  ) throws(Failure) {
    let opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard opened >= 0 else { throw .cannotOpen(String(cString: strerror(errno))) }
    var failure = Self.lock(opened, mode)
    // Processes that only look hold the lock for a moment.
    for _ in 0..<20 where failure == .inUse {
      pause()
      failure = Self.lock(opened, mode)
    }
    if let failure {
      Self.giveUp(opened)
      throw failure
    }
    // A file of an earlier release, or one that was copied, may have other permissions.
    _ = fchmod(opened, 0o600)
    descriptor = Mutex(opened)
  }

  /// Returns true if an opener, in any process, holds a lock on the file. False if the file is missing.
  package static func isLocked(path: String) -> Bool {
    // For reading only: a user without write permission can look too, and watchers of the file (`FileWatcher`) can tell a holder that ends
    // from a process that looks.
    let opened = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard opened >= 0 else { return errno != ENOENT }
    defer { giveUp(opened) }
    // Shared, so that those who look do not take each other for holders.
    return lock(opened, .shared) != nil
  }

  /// True if the locked file is the one at the path.
  package func isAt(_ path: String) -> Bool {
    descriptor.withLock { descriptor in
      var (mine, known) = (stat(), stat())
      guard let descriptor, fstat(descriptor, &mine) == 0, lstat(path, &known) == 0 else { return false }
      return mine.st_ino == known.st_ino && mine.st_dev == known.st_dev
    }
  }

  /// Turns the lock into one of the other kind.
  ///
  /// - Returns: False if another opener prevents it. Then no lock is held any more.
  package func change(to mode: Mode) -> Bool {
    descriptor.withLock { descriptor in
      guard let known = descriptor else { return false }
      if Self.lock(known, mode) == nil { return true }
      Self.giveUp(known)
      descriptor = nil
      return false
    }
  }

  private static func lock(_ descriptor: Int32, _ mode: Mode) -> Failure? {
    while flock(descriptor, (mode == .exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 {
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
    descriptor.withLock { $0.map { Self.read($0, count: count) } ?? [] }
  }

  /// The beginning of a file whose lock another opener may hold, as ``read(count:)``.
  package static func read(path: String, count: Int) -> [UInt8] {
    let opened = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard opened >= 0 else { return [] }
    defer { _ = close(opened) }
    return read(opened, count: count)
  }

  private static func read(_ descriptor: Int32, count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let length = pread(descriptor, &bytes, count, 0)
    return Array(bytes.prefix(max(0, length)))
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
      if let descriptor { Self.giveUp(descriptor, unlocking: process == getpid()) }
      descriptor = nil
    }
  }

  /// Closes a descriptor with its lock.
  ///
  /// A process that this one is starting has copies of all descriptors until its program begins, which takes a while on a busy machine, and the
  /// lock of a copy remains. So the lock is given up first, unless this process is itself a copy: then the lock is its parent's.
  private static func giveUp(_ descriptor: Int32, unlocking isUnlocked: Bool = true) {
    if isUnlocked { _ = flock(descriptor, LOCK_UN) }
    _ = close(descriptor)
  }

  deinit { release() }
}
