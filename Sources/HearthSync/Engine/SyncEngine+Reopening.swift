internal import HearthCache
package import HearthModel

/// The state that an engine leaves to its successor when the cache of a running client is opened anew.
package struct SyncHandover {
  /// The user whose outbox the new cache is to show, even if the change to this user could not be carried out in the old one.
  package let user: String?
  /// The calls that wait for the answers to batches.
  var pendingBatches: [BatchID: WriteWaits.Wait]
  /// Answers of the backend that could not be stored.
  var answers: [RetryableOperation]
  /// The batches that other clients have seen answered.
  var answersOfOthers: [News.Answer]
  /// Writes that are not stored yet.
  var heldWrites: [HeldWrite]
  /// The writes that are not stored yet, oldest first.
  package var heldWriteIDs: [WriteID] { heldWrites.map(\.write.id) }
  var isNetworkDisabled: Bool
  var createsIndexes: Bool
  /// True if another client may have had the answer to a batch that the new cache does not have.
  var mayLackAnswers: Bool
}

extension SyncEngine {
  /// Ends this engine in favour of another one. Listeners and requests are not handed over: what they rely on is gone.
  package func handOver() -> SyncHandover {
    // The next file may have none of the notices, and its clients read none from before they came.
    let hasReadNotices = (try? localStore.catchUp()) != nil
    let news = localStore.takeNews()
    // Others may also have come and gone unseen.
    let mayLackAnswers = membership.mayLackAnswers || news.isIncomplete || !hasReadNotices
    var pendingBatches = waits.pendingBatches
    for batchID in pendingBatches.keys where sender.mayBeAtBackend(batchID) {
      pendingBatches[batchID]?.mayBeAtBackend = true
    }
    return SyncHandover(
      user: signedInUser, pendingBatches: pendingBatches, answers: retries.answers,
      answersOfOthers: news.answers,
      heldWrites: held.writes,
      isNetworkDisabled: link.isForbidden(for: .disabledByUser), createsIndexes: localStore.createsIndexes,
      mayLackAnswers: mayLackAnswers || (try? localStore.otherClientNames().isEmpty) != true)
  }

  /// Goes on for another engine, before the start.
  ///
  /// Batches and writes are the same ones by their identities: the cache may be another one in place of the former, with the same numbers.
  ///
  /// - Parameters:
  ///   - reason: Stands in the error of calls whose batch could not be saved.
  ///   - wallTime: The device's time, as in ``handle(_:now:wallTime:)``.
  package func takeOver(_ handover: SyncHandover, reason: String, wallTime: Timestamp = .epoch) {
    time.advance(to: now, wallTime: wallTime)
    assert(link.isForbidden(for: .notStarted), "An engine goes on for another after its start.")
    waits = WriteWaits(pendingBatches: handover.pendingBatches)
    localStore.createsIndexes = handover.createsIndexes
    if handover.isNetworkDisabled { link.forbid(.disabledByUser) }
    // Before anything is sent: without its answer a batch would go out again. One that fails here stays in line.
    for answer in handover.answers { attempt(answer.keepingOutcome) }
    for answer in handover.answersOfOthers {
      emit(waits.complete(answer.batchID, answer.identity, answer.error))
    }
    // Without other clients nobody can have got the answer.
    let lossReason = handover.mayLackAnswers ? nil : reason
    do {
      try lookUpBatches(lossReason)
    } catch {
      log(.debug, "The batches that calls wait for cannot be looked up: \(error)")
      if handover.mayLackAnswers { membership.hasLostNotices() }
      emit(retries.appendOnce(.lookUpBatches(lossReason)))
    }
    held = HeldCalls(takingOver: handover.heldWrites)
    if !held.writes.isEmpty { emit(retries.append(.storeWrites)) }
  }

  /// Completes the calls that wait for batches which are not in the file.
  ///
  /// - Parameter lossReason: The reason for which a batch without a known outcome counts as lost; nil if another client may have had its answer.
  /// - Throws: An error if the file cannot be read. Then the calls whose batches were not looked up go on waiting.
  func lookUpBatches(_ lossReason: String?) throws {
    let gone = try waits.pendingBatches.sorted { $0.key < $1.key }
      .filter { try !localStore.outbox.holds($0.key, $0.value.identity) }.map(\.key)
    // An answer may have come between two of these transactions, or its notice could not be read.
    if !gone.isEmpty { try localStore.catchUp() }
    if localStore.hasNews { refreshViews([:]) }
    // Since the cache was opened anew, this client may have been away.
    let lossReason = membership.mayLackAnswers ? nil : lossReason
    for batchID in gone {
      let mayBeAtBackend = waits.pendingBatches[batchID]?.mayBeAtBackend == true
      let ending = lossReason.map { StatusError.lost(batchID, mayBeAtBackend: mayBeAtBackend, $0) } ?? .outcomeUnknown
      emit(try waits.completeMissing(batchID, ending, of: localStore.user, in: localStore.outbox))
    }
    membership.hasLookedUpBatches()
  }
}

extension StatusError {
  /// The end of a write whose batch is not in the file any more.
  ///
  /// `dataLoss` means that it can be made again. So one that may be at the backend gets `unknown`.
  fileprivate static func lost(_ batchID: BatchID, mayBeAtBackend: Bool, _ reason: String) -> StatusError {
    let message = "Pending write \(batchID) could not be saved: \(reason)"
    guard mayBeAtBackend else { return StatusError(code: .dataLoss, message: message) }
    return .committedPerhaps(message)
  }
}

extension RetryableOperation {
  /// The answer to a batch, so that its outcome is kept: processes that open the cache later wait for it, too.
  fileprivate var keepingOutcome: RetryableOperation {
    switch self {
    case .acknowledge(var result, let owner):
      result.batch.keepsOutcome = true
      return .acknowledge(result, owner: owner)
    case .reject(var batch, let error, let owner):
      batch.keepsOutcome = true
      return .reject(batch, error, owner: owner)
    default: return self
    }
  }
}
