#if os(Linux) || os(Android)
  internal import CSQLite
  internal import Synchronization

  #if canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #elseif canImport(Android)
    internal import Android
  #endif

  /// Watches files with inotify (https://man7.org/linux/man-pages/man7/inotify.7.html).
  ///
  /// A touch is the opening of a file for reading. Unlike writing a byte, it needs no disk space, waits for no journal and leaves no dirty
  /// page. A program that copies the folder touches the files as well; that costs one superfluous look.
  final class InotifyQueue: WatchQueue {
    private let descriptor: Int32
    /// Ends the waiting: a pipe without a name.
    private let interruption: (reading: Int32, writing: Int32)
    /// The purpose of each watch.
    private let watches = Mutex<[Int32: FileWatcher.Events]>([:])

    init?() {
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0 else { return nil }
      for end in ends {
        _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        _ = fcntl(end, F_SETFL, O_NONBLOCK)
      }
      // A user may have 128 of them by default.
      let opened = inotify_init1(O_CLOEXEC | O_NONBLOCK)
      // Nothing is set yet: `deinit`, which runs also where a complete object is given up, would close the pipe a second time.
      guard opened >= 0 else {
        for end in ends { _ = close(end) }
        return nil
      }
      descriptor = opened
      interruption = (ends[0], ends[1])
    }

    func watch(_ path: String, for event: FileWatcher.Events) -> Bool {
      let mask = event == .touched ? IN_OPEN : IN_CLOSE_WRITE
      return watches.withLock { watches in
        let watch = inotify_add_watch(descriptor, path, UInt32(mask))
        guard watch >= 0 else { return false }
        watches[watch] = event
        return true
      }
    }

    func stopWatching(_ event: FileWatcher.Events) {
      watches.withLock { watches in
        for (watch, _) in watches.filter({ $0.value == event }) {
          _ = inotify_rm_watch(descriptor, watch)
          watches[watch] = nil
        }
      }
    }

    func wait() -> FileWatcher.Events? {
      while true {
        var entries = [
          pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
          pollfd(fd: interruption.reading, events: Int16(POLLIN), revents: 0),
        ]
        let count = poll(&entries, nfds_t(entries.count), -1)
        guard count > 0 || errno == EINTR else { return nil }
        guard count > 0 else { continue }
        if entries[1].revents != 0 { return nil }
        guard let events = takeEvents() else { return nil }
        if !events.isEmpty { return events }
      }
    }

    /// The events that are there; nil if none can come any more.
    private func takeEvents() -> FileWatcher.Events? {
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = read(descriptor, &bytes, bytes.count)
      guard count > 0 else { return errno == EINTR || errno == EAGAIN ? [] : nil }
      var events: FileWatcher.Events = []
      bytes.withUnsafeBytes { bytes in
        var place = 0
        while place + MemoryLayout<inotify_event>.size <= count {
          let event = bytes.loadUnaligned(fromByteOffset: place, as: inotify_event.self)
          place += MemoryLayout<inotify_event>.size + Int(event.len)
          events.formUnion(meaning(of: event))
        }
      }
      return events
    }

    private func meaning(of event: inotify_event) -> FileWatcher.Events {
      // Some are lost, so anything may have happened.
      if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { return [.touched, .released] }
      guard event.mask & UInt32(IN_OPEN | IN_CLOSE_WRITE) != 0 else { return [] }
      return watches.withLock { $0[event.wd] ?? [] }
    }

    func interrupt() {
      var byte: UInt8 = 1
      _ = write(interruption.writing, &byte, 1)
    }

    static func touch(_ path: String) {
      // A named pipe of an earlier build would be waited for.
      let opened = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)
      if opened >= 0 { _ = close(opened) }
    }

    deinit {
      for opened in [descriptor, interruption.reading, interruption.writing] { _ = close(opened) }
    }
  }
#endif
