internal import Foundation
internal import HearthModel
internal import HearthRPC
internal import HearthStore
internal import Logging
internal import Synchronization

/// The connections of a database other than the writer's, and the state of the writer that they see.
extension EmbeddedStorage {
  /// The state of the writer that readers see.
  struct Published {
    /// Everything up to this version is durable.
    var version: SnapshotVersion
    /// The change log holds everything after this version.
    var logStart: SnapshotVersion
    /// The size of the change log.
    var logBytes: Int64
    /// The newest commit, or the creation of the database.
    var committedVersion: SnapshotVersion
    /// Without the newest commit, see ``EmbeddedStorage/epochs``.
    var epochs: Epochs
    var announcements: Announcements
    /// The folder of the file; nil if its place is not looked at.
    let place: FolderPlace?
    /// The length of the write-ahead log when it was last looked at.
    var logPages: Int64 = 0
    var isClosed = false
    /// Set once the system could not say whether a write has reached the disk.
    var failedSync: String?
    /// Nil for a database in memory.
    var file: FileAccess?
    /// The definitions that the server was started with.
    var declared: [IndexDefinition]?
  }

  /// The other connections to a file.
  struct FileAccess {
    let readers: ReaderPool<StorageReader>
    let checkpointer: Checkpointer
  }

  /// The options of connections that write.
  static var options: Database.Options {
    var options = Database.Options(synchronous: .full)
    options.checkpointsAtCommits = false
    options.keptLogBytes = Int(Checkpointer.longestLogPages * Checkpointer.bytesPerPage)
    return options
  }

  /// The connections for reading a file and for writing its log back, one reader open; nil for a database in memory.
  ///
  /// - Parameters:
  ///   - place: The folder of the file. Later connections open the file by its path, so they are refused while another folder is there.
  ///   - slots: The slots that all databases of a process share.
  static func fileAccess(
    to location: Database.Location, in place: FolderPlace?, _ databaseID: DatabaseID, slots: ReadSlots<StorageReader>,
    sortBudget: SortBudget
  ) throws -> FileAccess? {
    guard case .file = location else { return nil }
    let readers = ReaderPool(label: "hearth.reader.\(databaseID)", slots: slots) { isToStop in
      try place?.require()
      // A reader keeps few pages in memory: the system has the file's pages too.
      let database = try Database(location, options: .init(isReadOnly: true, pageCacheBytes: 4 << 20))
      database.onProgress(everyInstructions: instructionsPerStep, isToStop)
      return StorageReader(database, sortBudget: sortBudget)
    }
    try readers.openFirst()
    let checkpointer = Checkpointer(label: "hearth.log.\(databaseID)") {
      try place?.require()
      return try Database(location, options: Self.options)
    }
    return FileAccess(readers: readers, checkpointer: checkpointer)
  }

  /// Slots for the reads of all databases of a process.
  ///
  /// - Parameter openFiles: The files and sockets that the process may have open; nil if it is not known.
  static func readSlots(openFiles: Int? = nil) -> ReadSlots<StorageReader> {
    ReadSlots(slots: readSlotCount, seats: readSeatCount, descriptorLimit: openFiles.map(furtherReaders(openFiles:)))
  }

  /// The reads of files that run at the same time, and the long ones that have begun.
  private static var readSlotCount: Int { max(ProcessInfo.processInfo.activeProcessorCount, 2) }
  private static let readSeatCount = 16

  /// The descriptors that an open database needs: the writer, the ``Checkpointer`` and one reader have the file and its log open; the log's index
  /// is open once.
  static let descriptorsPerFile = 2 * 3 + 1

  /// The descriptors for reading that all databases share: each further reader has the file and its log open. SQLite keeps the file's
  /// longer, see ``ReaderLanes``.
  static func descriptorsOfReads(openFiles: Int) -> Int {
    furtherReaders(openFiles: openFiles) + 2 * readSlotCount + readSeatCount
  }

  /// An eighth of the descriptors is enough for each of many databases to have several.
  private static func furtherReaders(openFiles: Int) -> Int {
    max(readSlotCount + readSeatCount, openFiles / 8)
  }

  /// The length of a step of a long read in instructions of SQLite: about 2,000 rows of a scan, a millisecond.
  private static let instructionsPerStep = 20_000

  /// Has the log written back when enough was written to it.
  func checkpoint() {
    guard let checkpointer = published.withLock({ $0.failedSync == nil ? $0.file?.checkpointer : nil }) else { return }
    let written = database.writtenPages
    guard written - finishedPages < Checkpointer.longestLogPages else { return finishLog() }
    guard written - checkpointedPages >= Checkpointer.pagesPerRound else { return }
    checkpointedPages = written
    checkpointer.start { [weak self] result in
      guard let self else { return }
      switch result {
      case .success(let state?):
        boundLog(pages: state.pages)
        if state.pages >= Checkpointer.longLogPages { Task { await self.finishLog() } }
      case .success(nil): break
      case .failure(let error): logMoveFailed(error)
      }
    }
  }

  /// Checkpoints the rest of a long log, so that the next commit restarts it.
  private func finishLog() {
    published.withLock { $0.file?.checkpointer }?.waitForRound()
    guard !isClosed, published.withLock({ $0.failedSync == nil }) else { return }
    finishedPages = database.writtenPages
    checkpointedPages = finishedPages
    do {
      boundLog(pages: try database.checkpoint().pages)
    } catch {
      logMoveFailed(error)
    }
  }

  /// Has long reads make room when the log has half of its limit: none begins until those that have begun are over and the log has been
  /// written back whole. At the limit they are stopped, and start over.
  nonisolated func boundLog(pages: Int64) {
    let readers = published.withLock { published in
      published.logPages = pages
      return published.file?.readers
    }
    let bytes = pages * Checkpointer.bytesPerPage
    guard let readers, bytes >= maximumLogBytes / 2 else { return }
    if bytes >= maximumLogBytes { noteLongLog() }
    readers.hold(stopsLong: bytes >= maximumLogBytes) { [weak self] in
      Task { await self?.beginLogAnew() }
    }
  }

  /// The time that commits wait at most for short reads to end, so that the log can be cut.
  private static let waitForShortReads = Duration.milliseconds(100)

  /// Writes the log back and cuts it. This waits for the short reads that have begun. While reads overlap, one of them always sees a state
  /// from before the last commit, so that without a pause of the commits the log would never be written back whole.
  private func beginLogAnew() {
    defer { published.withLock { $0.file?.readers }?.release() }
    published.withLock { $0.file?.checkpointer }?.waitForRound()
    guard !isClosed, published.withLock({ $0.failedSync == nil }) else { return }
    finishedPages = database.writtenPages
    checkpointedPages = finishedPages
    do {
      let state = try database.checkpoint()
      let isCut = try database.truncateLog(waitingAtMost: Self.waitForShortReads)
      published.withLock { $0.logPages = isCut ? 0 : state.pages }
    } catch {
      logMoveFailed(error)
    }
  }

  /// The status of a read that was started over too often.
  nonisolated var readGivenUp: StatusError {
    StatusError(
      code: .resourceExhausted,
      message:
        "The read was started \(ReadSchedule.maximumStops + 1) times, and each time commits filled the write-ahead log "
        + "to its limit (--max-wal-megabytes, \(maximumLogBytes >> 20) MiB) before it had ended. Read less at once.")
  }

  private nonisolated func logMoveFailed(_ error: any Error) {
    if let error = error as? StoreError, error.isFailedSync { return noteFailedSync(error) }
    // The log only grows a little longer.
    logger.warning(
      "write-ahead log cannot be checkpointed",
      metadata: ["database": .escaped(databaseID), "error": .escaped("\(error)")])
  }
}
