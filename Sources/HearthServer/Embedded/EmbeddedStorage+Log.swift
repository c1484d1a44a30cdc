internal import HearthModel
internal import HearthRPC
internal import HearthStore
internal import Logging
internal import Synchronization

/// The write-ahead log: written back in the background, and kept within its limit.
extension EmbeddedStorage {
  /// Runs a transaction of the writer, and notes how long it leaves the log. Nothing else of this type begins one.
  func write<Result>(
    _ name: String, synchronous: Database.Synchronous? = nil, _ body: () throws -> Result
  ) throws -> Result {
    defer { noteLogLength() }
    return try database.transaction(name, synchronous: synchronous, body)
  }

  /// Runs a transaction in the background of the commits.
  func writeStep<Result>(
    _ name: String, synchronous: Database.Synchronous? = nil, _ body: () throws -> Result
  ) throws -> Result {
    defer { checkpoint() }
    return try write(name, synchronous: synchronous, body)
  }

  /// False while work in the background has to wait: after a failed sync, and until a full log has been cut.
  var mayWriteInBackground: Bool {
    !isClosed && !logLimit.isFull && (try? requireSafeDisk()) != nil
  }

  func noteLogLength() {
    let length = database.logPages * Checkpointer.bytesPerFrame
    let readers = published.withLock { published in
      published.writeAheadLogBytes = length
      return published.isClosed ? nil : published.file?.readers
    }
    guard let readers, let action = logLimit.note(length) else { return }
    if action == .stopReads { metrics?.exceeded(.writeAheadLogBytes) }
    readers.hold(stopsReads: action == .stopReads) { [weak self] isStopped in
      Task { await self?.beginLogAnew(isStopped) }
    }
  }

  // MARK: - Checkpoints

  /// Has the log written back when enough was written to it.
  func checkpoint() {
    guard let checkpointer = published.withLock({ $0.failedSync == nil ? $0.file?.checkpointer : nil }) else { return }
    let written = database.writtenPages
    guard !checkpoints.isFinishDue(at: written) else { return finishLog() }
    guard checkpoints.beginRound(at: written) else { return }
    checkpointer.start { [weak self] result in
      guard let self else { return }
      switch result {
      case .success(let state?):
        if state.pages >= Checkpointer.longLogPages { Task { await self.finishLog() } }
      case .success(nil): break
      case .failure(let error): logMoveFailed(error)
      }
    }
  }

  /// Checkpoints the rest of a long log, so that the next commit restarts it.
  private func finishLog() {
    _ = writeBack()
  }

  /// Writes back all that reads do not hold.
  ///
  /// - Parameter end: Carried out afterwards; its result is returned.
  /// - Returns: False if nothing can be written back.
  private func writeBack(then end: () throws -> Bool = { true }) -> Bool {
    let (checkpointer, failedSync) = published.withLock { ($0.file?.checkpointer, $0.failedSync) }
    checkpointer?.waitForRound()
    guard !isClosed, failedSync == nil else { return false }
    checkpoints.finish(at: database.writtenPages)
    do {
      _ = try database.checkpoint()
      return try end()
    } catch {
      logMoveFailed(error)
      return false
    }
  }

  // MARK: - The limit

  /// The time that commits wait at most for short reads to end, so that the log can be cut.
  private static let waitForShortReads = Duration.milliseconds(100)

  /// Writes the log back and cuts it. This waits for the short reads that have begun, if there are any. While reads overlap, one of them always
  /// sees a state from before the last commit, so that without a pause of the commits the log would never be written back whole.
  ///
  /// - Parameter isStopped: No read has begun, and none does before the end.
  private func beginLogAnew(_ isStopped: Bool) {
    let isCut = writeBack { try database.truncateLog(waitingAtMost: Self.waitForShortReads) }
    let wasFull = logLimit.isFull
    // The log has become full in the meantime. This is called again when the reads that were in the way have been stopped.
    if wasFull, !isCut, !isStopped { return }
    logLimit.endCut(isCut)
    noteLogLength()
    published.withLock { $0.file?.readers }?.release()
    guard wasFull else { return }
    // What has found the log full.
    postCommit()
    continueTrimming()
    continueFilling()
    releaseSpace()
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
