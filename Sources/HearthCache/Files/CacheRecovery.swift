internal import HearthModel

/// The result of setting a damaged file aside.
package struct CacheRecovery: Equatable, Sendable, CustomStringConvertible {
  /// The reason why the file could not be used.
  package var reason: String
  /// The path of the damaged file now.
  package var setAsidePath: String
  /// The number of batches of pending writes, of all users, that were saved into the new file.
  package var savedBatchCount: Int
  /// The number of batches that are kept in the new file and not sent, because they cannot be read, their user is not known, or they may have
  /// been answered.
  package var setAsideBatchCount: Int
  /// The number of batches that were seen and could not be kept.
  package var lostBatchCount: Int
  /// True if the whole outbox could be read. Otherwise more batches may be lost than were counted.
  package var isOutboxComplete: Bool
  /// The number of refused batches, of all users, that were saved into the new file.
  package var savedRejectedBatchCount: Int
  /// The number of refused batches that are kept in the new file among the batches set aside, because they cannot be read.
  package var setAsideRejectedBatchCount: Int
  /// The number of refused batches that were seen and could not be kept.
  package var lostRejectedBatchCount: Int
  /// True if all refused batches could be looked for.
  package var areRejectedComplete: Bool

  init(of outbox: SalvagedOutbox, reason: String, setAsidePath: String) {
    self.reason = reason
    self.setAsidePath = setAsidePath
    savedBatchCount = outbox.batches.count
    setAsideBatchCount = outbox.setAside.count
    lostBatchCount = outbox.lostBatchCount
    isOutboxComplete = outbox.isComplete
    savedRejectedBatchCount = outbox.rejected.count
    setAsideRejectedBatchCount = outbox.setAsideRejected.count
    lostRejectedBatchCount = outbox.lostRejectedCount
    areRejectedComplete = outbox.isRejectedComplete
  }

  package var description: String {
    var text = "The cache file was damaged (\(reason)) and set aside as \"\(setAsidePath)\". "
    text += "Pending writes saved: \(CountedText.of(savedBatchCount, "batch", plural: "batches"))"
    if setAsideBatchCount > 0 {
      text += "; kept and not sent, as unreadable, of an unknown user or perhaps answered: \(setAsideBatchCount)"
    }
    if lostBatchCount > 0 { text += "; lost: \(lostBatchCount)" }
    if !isOutboxComplete { text += "; a part of the outbox could not be searched, so more may be lost" }
    text += "."
    if savedRejectedBatchCount + setAsideRejectedBatchCount + lostRejectedBatchCount > 0 || !areRejectedComplete {
      text += " Refused writes saved: \(CountedText.of(savedRejectedBatchCount, "batch", plural: "batches"))"
      if setAsideRejectedBatchCount > 0 { text += "; kept, but unreadable: \(setAsideRejectedBatchCount)" }
      if lostRejectedBatchCount > 0 { text += "; lost: \(lostRejectedBatchCount)" }
      if !areRejectedComplete { text += "; a part of them could not be searched, so more may be lost" }
      text += "."
    }
    if setAsideBatchCount + setAsideRejectedBatchCount > 0 {
      text += " `hearth cache outbox` lists what is kept and not sent."
    }
    return text
  }

}
