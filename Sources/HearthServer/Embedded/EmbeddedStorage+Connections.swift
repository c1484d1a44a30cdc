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
    /// The length of the write-ahead log in bytes.
    var writeAheadLogBytes: Int64 = 0
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
      // A reader keeps few pages in memory, because there may be many readers, and the system has the file's pages too. With four times as
      // many, gets and ranges of documents of 450 bytes were no faster, and gets of documents of 32 KB by a tenth to a fifth.
      let database = try Database(location, options: .init(isReadOnly: true, pageCacheBytes: 1 << 20))
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
}
