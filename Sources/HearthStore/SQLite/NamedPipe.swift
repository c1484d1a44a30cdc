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

/// One end of a named pipe in a folder, through which processes wake each other. A byte in it means "look", and nothing else.
package final class NamedPipe: Sendable {
  package enum End {
    /// Reads what others write. Without a writer the end of the file is reached, as soon as there has been one.
    case reading
    /// Reads or writes; both never block, and writing without a reader is no signal.
    case both
  }

  /// Nil after ``close()``.
  private let descriptor: Mutex<Int32?>

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
      _ = Self.close(opened)
      return nil
    }
    descriptor = Mutex(opened)
  }

  /// True if the pipe has no name any more, so that nobody finds it.
  package var isRemoved: Bool {
    descriptor.withLock { descriptor in
      var status = stat()
      guard let descriptor, fstat(descriptor, &status) == 0 else { return true }
      return status.st_nlink == 0
    }
  }

  /// Puts a byte into the pipe. A pipe that is full wakes its reader anyway.
  package func wake() {
    descriptor.withLock { descriptor in
      guard let descriptor else { return }
      var byte: UInt8 = 1
      _ = write(descriptor, &byte, 1)
    }
  }

  /// Waits until there are bytes in a pipe, which it takes out, or until the last writer of another one has ended. Blocks its thread.
  /// Neither pipe may be closed meanwhile.
  ///
  /// - Returns: The number of bytes, and true if no writer is left. Nothing of that after an interruption.
  package static func wait(for news: NamedPipe, orEndOf other: NamedPipe?) -> (byteCount: Int, hasEnded: Bool) {
    guard let first = news.descriptor.withLock({ $0 }) else { return (0, false) }
    var entries = [pollfd(fd: first, events: Int16(POLLIN), revents: 0)]
    if let second = other?.descriptor.withLock({ $0 }) { entries.append(pollfd(fd: second, events: 0, revents: 0)) }
    guard poll(&entries, nfds_t(entries.count), -1) > 0 else { return (0, false) }
    let byteCount = entries[0].revents == 0 ? 0 : drain(first)
    return (byteCount, entries.count > 1 && entries[1].revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0)
  }

  private static func drain(_ descriptor: Int32) -> Int {
    var bytes = [UInt8](repeating: 0, count: 256)
    var total = 0
    while true {
      let count = read(descriptor, &bytes, bytes.count)
      total += max(count, 0)
      if count < bytes.count { return total }
    }
  }

  /// Closes the pipe. Does nothing the second time.
  package func close() {
    descriptor.withLock { descriptor in
      if let descriptor { _ = Self.close(descriptor) }
      descriptor = nil
    }
  }

  private static func close(_ descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
      Darwin.close(descriptor)
    #elseif canImport(Glibc)
      Glibc.close(descriptor)
    #elseif canImport(Musl)
      Musl.close(descriptor)
    #elseif canImport(Android)
      Android.close(descriptor)
    #endif
  }

  deinit { close() }
}
