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

  private let descriptor: Int32

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

  /// Waits until there are bytes in a pipe, which it takes out, or until the last writer of another one has ended. Blocks its thread.
  ///
  /// - Returns: Both may be true, and both are false after an interruption.
  package static func wait(for news: NamedPipe, orEndOf other: NamedPipe?) -> (hasNews: Bool, hasEnded: Bool) {
    var entries = [pollfd(fd: news.descriptor, events: Int16(POLLIN), revents: 0)]
    if let other { entries.append(pollfd(fd: other.descriptor, events: 0, revents: 0)) }
    guard poll(&entries, nfds_t(entries.count), -1) > 0 else { return (false, false) }
    let hasNews = entries[0].revents != 0
    if hasNews { drain(news.descriptor) }
    return (hasNews, entries.count > 1 && entries[1].revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0)
  }

  private static func drain(_ descriptor: Int32) {
    var bytes = [UInt8](repeating: 0, count: 256)
    while read(descriptor, &bytes, bytes.count) == bytes.count {}
  }

  deinit { _ = close(descriptor) }
}
