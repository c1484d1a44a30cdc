internal import HearthRPC
internal import HearthStore
internal import Logging

/// Returns the space of deleted documents and removed history in the file to the system.
extension EmbeddedStorage {
  /// The number of pages that one step moves: some milliseconds, for which commits wait.
  private static let pagesPerStep: Int64 = 500
  /// Unused bytes that stay in the file in any case.
  private static let keptBytes: Int64 = 8 << 20
  /// The part of the file that stays unused. The history alone makes as much room as it takes, and pages that are given back and taken again
  /// are written twice.
  private static let keptPart: Int64 = 8

  /// Gives unused pages back in steps between the commits, down to an eighth of the file.
  func releaseSpace() {
    guard !isReleasing, case .file = database.location else { return }
    isReleasing = true
    Task {
      self.isReleasing = false
      if self.releaseStep() { self.releaseSpace() }
    }
  }

  /// - Returns: False if nothing is left to be given back for now, or if it cannot be.
  private func releaseStep() -> Bool {
    guard mayWriteInBackground else { return false }
    do {
      let size = try database.fileSizeBytes
      let unused = size - (try database.usedBytes)
      let excess = (unused - max(Self.keptBytes, size / Self.keptPart)) / Checkpointer.bytesPerPage
      guard excess > 0 else { return false }
      // Not durable by itself: after a power cut the pages are unused again.
      let released = try writeStep("Release space", synchronous: .normal) {
        try database.releaseFreePages(limit: Int(min(excess, Self.pagesPerStep)))
      }
      // A file that another program has rebuilt without incremental vacuum keeps its size.
      guard released.bytes > 0 else { return false }
      guard excess <= Self.pagesPerStep else { return true }
      // The file becomes shorter when it has the whole log.
      try database.truncateLog()
      noteLogLength()
      return false
    } catch {
      if let error = error as? StoreError, error.isFailedSync { noteFailedSync(error) }
      logger.warning(
        "unused space cannot be returned to the file system",
        metadata: ["database": .escaped(databaseID), "error": .escaped("\(error)")])
      return false
    }
  }
}
