#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// Reports operations of other processes on files, without polling. A report is a hint and may get lost, so an owner also looks at
/// intervals.
///
/// The operating system watches the files: with inotify on Linux (`InotifyQueue`) and with kqueue on Apple platforms (`KernelQueue`).
package final class FileWatcher: Sendable {
  /// The events since the last ``wait()``.
  package struct Events: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// A process has touched a file (``touch(_:)``).
    package static let touched = Events(rawValue: 1)
    /// A process has closed a file that was open for writing, or released its lock. A kill does so too, possibly a moment before the lock
    /// is free.
    package static let released = Events(rawValue: 2)
  }

  private let queue: any WatchQueue

  /// - Returns: Nil where the system watches no files, or watches no more of them for this user.
  package init?() {
    #if canImport(Darwin)
      guard let queue = KernelQueue() else { return nil }
      self.queue = queue
    #elseif os(Linux) || os(Android)
      guard let queue = InotifyQueue() else { return nil }
      self.queue = queue
    #else
      return nil
    #endif
  }

  /// Reports from now on that a file is touched.
  ///
  /// - Returns: False if the file cannot be watched.
  package func watchTouches(of path: String) -> Bool { queue.watch(path, for: .touched) }

  /// Reports from now on that a file is released; see ``reportsReleasesOnce``.
  ///
  /// - Returns: False if the file cannot be watched.
  package func watchReleases(of path: String) -> Bool { queue.watch(path, for: .released) }

  /// Reports no releases any more.
  package func stopWatchingReleases() { queue.stopWatching(.released) }

  /// True if a release is reported only once after each ``watchReleases(of:)``.
  package static var reportsReleasesOnce: Bool {
    #if canImport(Darwin)
      true
    #else
      false
    #endif
  }

  /// Blocks the thread until something has happened.
  ///
  /// - Returns: Nil after ``interrupt()``, and when nothing can be reported any more.
  package func wait() -> Events? { queue.wait() }

  /// Ends this and every later ``wait()``.
  package func interrupt() { queue.interrupt() }

  /// Creates an empty file for this user alone, unless there is one.
  ///
  /// - Returns: False if it cannot be made, or what is there cannot be opened.
  package static func makeFile(_ path: String) -> Bool {
    // Not for writing: its close would count as a release of the file.
    let opened = open(path, O_RDONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, 0o600)
    if opened >= 0 { _ = close(opened) }
    return opened >= 0
  }

  /// Notifies the watchers of the touches of a file. Never blocks, and does nothing if there is no file at the path.
  package static func touch(_ path: String) {
    #if canImport(Darwin)
      KernelQueue.touch(path)
    #elseif os(Linux) || os(Android)
      InotifyQueue.touch(path)
    #endif
  }
}

/// The part of ``FileWatcher`` that depends on a system's interface for watching files.
protocol WatchQueue: Sendable {
  func watch(_ path: String, for event: FileWatcher.Events) -> Bool
  func stopWatching(_ event: FileWatcher.Events)
  func wait() -> FileWatcher.Events?
  func interrupt()
}
