#if canImport(Darwin)
  internal import Darwin
  internal import Synchronization

  /// Watches files with kqueue (kqueue(2) of macOS).
  ///
  /// A touch writes one byte to the beginning of the file, whose length stays 1, because opening a file is not an event here.
  ///
  /// A process that looks at a free lock takes it for a moment, and releasing it is an event as well. So a release is reported once, until
  /// it is watched again. Otherwise processes that look because of a report would wake each other without end.
  final class KernelQueue: WatchQueue {
    private let queue: Int32
    /// The files that are watched, open for nothing but that, with what they are watched for.
    private let files = Mutex<[Int32: (path: String, event: FileWatcher.Events)]>([:])

    init?() {
      let opened = kqueue()
      guard opened >= 0 else { return nil }
      _ = fcntl(opened, F_SETFD, FD_CLOEXEC)
      var change = Self.event(0, EVFILT_USER, flags: EV_ADD)
      // The property is not set yet: `deinit`, which runs also where a complete object is given up, would close the queue a second time.
      guard kevent(opened, &change, 1, nil, 0, nil) == 0 else {
        _ = close(opened)
        return nil
      }
      queue = opened
    }

    private static func event(
      _ identity: Int32, _ filter: Int32, flags: Int32, filterFlags: Int = 0
    ) -> Darwin.kevent {
      Darwin.kevent(
        ident: UInt(identity), filter: Int16(filter), flags: UInt16(flags), fflags: UInt32(filterFlags), data: 0,
        udata: nil)
    }

    func watch(_ path: String, for event: FileWatcher.Events) -> Bool {
      files.withLock { files in
        let known = files.first { $0.value.path == path && $0.value.event == event && Self.isAt($0.key, path) }?.key
        let opened = known ?? open(path, O_EVTONLY | O_CLOEXEC | O_NOFOLLOW)
        guard opened >= 0 else { return false }
        var change = Self.event(
          opened, EVFILT_VNODE, flags: EV_ADD | (event == .touched ? EV_CLEAR : EV_ONESHOT),
          filterFlags: Int(event == .touched ? NOTE_WRITE | NOTE_EXTEND : NOTE_FUNLOCK))
        guard kevent(queue, &change, 1, nil, 0, nil) == 0 else {
          if known == nil { _ = close(opened) }
          return false
        }
        files[opened] = (path, event)
        return true
      }
    }

    func stopWatching(_ event: FileWatcher.Events) {
      files.withLock { files in
        // Closing a file ends its watch.
        for (file, _) in files.filter({ $0.value.event == event }) {
          _ = close(file)
          files[file] = nil
        }
      }
    }

    /// True if the file is still the one with this name.
    private static func isAt(_ descriptor: Int32, _ path: String) -> Bool {
      var (mine, known) = (stat(), stat())
      return fstat(descriptor, &mine) == 0 && lstat(path, &known) == 0 && mine.st_ino == known.st_ino
    }

    func wait() -> FileWatcher.Events? {
      while true {
        var event = Darwin.kevent()
        let count = kevent(queue, nil, 0, &event, 1, nil)
        guard count > 0 || errno == EINTR else { return nil }
        guard count > 0 else { continue }
        if event.filter == Int16(EVFILT_USER) { return nil }
        let file = Int32(truncatingIfNeeded: event.ident)
        if let events = files.withLock({ $0[file]?.event }) { return events }
      }
    }

    func interrupt() {
      // Not cleared, so that it ends every later waiting as well.
      var change = Self.event(0, EVFILT_USER, flags: 0, filterFlags: Int(NOTE_TRIGGER))
      _ = kevent(queue, &change, 1, nil, 0, nil)
    }

    static func touch(_ path: String) {
      let opened = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)
      guard opened >= 0 else { return }
      var byte: UInt8 = 1
      _ = pwrite(opened, &byte, 1, 0)
      _ = close(opened)
    }

    deinit {
      for file in files.withLock({ Array($0.keys) }) { _ = close(file) }
      _ = close(queue)
    }
  }
#endif
