internal import Foundation

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

extension DatabaseLog {
  /// A state of the database and its log.
  package enum State {
    /// The one that SQLite shows.
    case shown
    /// The newest, without the last commit if that may never have been finished.
    case withoutUnfinished
    case newest
  }

  /// Copies the database with the pages of the log in their places. The copy has no log. If the newest content of a page was in a frame
  /// that is lost, the copy has an older version of this page.
  ///
  /// - Throws: ``StoreError`` `io`.
  package func copyDatabase(to copy: String, _ state: State = .newest) throws(StoreError) {
    do {
      try FileManager.default.copyItem(atPath: database, toPath: copy)
      let log = try FileHandle(forReadingFrom: URL(fileURLWithPath: Self.path(of: database)))
      defer { try? log.close() }
      let file = try FileHandle(forUpdating: URL(fileURLWithPath: copy))
      defer { try? file.close() }
      for frame in frames(of: state) {
        try log.seek(toOffset: frame.place)
        try file.seek(toOffset: DatabasePages.offset(of: frame.page))
        try file.write(contentsOf: try log.read(upToCount: DatabasePages.pageBytes) ?? Data())
      }
      if state == .newest, isWhole, let last = frames.prefix(end).last {
        // As a checkpoint does.
        let length = DatabasePages.offset(of: last.length + 1)
        if try file.seekToEnd() > length { try file.truncate(atOffset: length) }
      } else {
        // The counter for which the length in the first page is right, which may be older than the others: not this one.
        try file.seek(toOffset: 92)
        try file.write(contentsOf: Data(repeating: 0xFF, count: 4))
      }
      if !synchronizeFile(file.fileDescriptor) { throw CocoaError(.fileWriteUnknown) }
    } catch {
      throw StoreError(
        kind: .io, message: "Cannot copy \"\(database)\" to \"\(copy)\" (\(error.localizedDescription)).")
    }
  }

  /// The frames whose pages take the places of those of the database.
  private func frames(of state: State) -> [LogFrames.Frame] {
    let pages =
      switch state {
      case .shown: frames.newestKnown(upTo: shownEnd)
      // A header that is damaged was sound: it is on the disk before any frame.
      case .withoutUnfinished: frames.newestKnown(upTo: damagedFrame == 0 ? end : endBeforeLast)
      case .newest: frames.newestKnown(upTo: end)
      }
    let cover = CheckpointedCover(frames, state == .shown ? [] : moved)
    return pages.values
      .filter { $0.content == .sound && !cover.contains($0) }
      .sorted { $0.page < $1.page }
  }

  /// Moves the newest state into the database, and removes the log. A database that has all of it stays; another one is replaced by a copy.
  ///
  /// Only for a log that ``isWhole``, and while no connection of this process has the database open. An interruption loses nothing: the new
  /// file has all of the log, which the next check finds.
  ///
  /// - Parameter copy: The path of the copy in the folder of the database.
  /// - Throws: ``StoreError`` `unavailable` if another process has the database open, `io`.
  package func moveIntoDatabase(through copy: String) throws(StoreError) {
    assert(isWhole, "\(reason), and is moved into the file all the same")
    defer { if !isWhollyInFile { _ = unlink(copy) } }
    // Before the lock, which the copying would take away: closing any descriptor of the file ends the locks of the process.
    if !isWhollyInFile { try copyDatabase(to: copy) }
    let lock = try OpenersLock(of: database)
    guard Self.states(of: database) == states else {
      throw StoreError(
        kind: .unavailable, message: "Another program has used \"\(database)\" since its log was read. Try again.")
    }
    if isWhollyInFile {
      // The process that ran the checkpoint may have ended before it synced the file.
      try lock.synchronize(database)
    } else {
      guard rename(copy, database) == 0 else {
        throw StoreError(
          kind: .io, message: "Cannot rename \"\(copy)\" to \"\(database)\" (\(String(cString: strerror(errno)))).")
      }
      // Without the log, the former file would have only a part.
      synchronizeFolder()
    }
    for path in [Self.path(of: database), database + "-shm"] {
      guard unlink(path) != 0, errno != ENOENT else { continue }
      throw StoreError(kind: .io, message: "Cannot delete \"\(path)\" (\(String(cString: strerror(errno)))).")
    }
    // Held until here.
    _ = consume lock
  }

  /// Not all file systems can; then the new name is as durable as they make it.
  private func synchronizeFolder() {
    let folder = open(URL(fileURLWithPath: database).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
    guard folder >= 0 else { return }
    _ = fsync(folder)
    _ = close(folder)
  }
}
