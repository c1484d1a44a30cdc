internal import HearthModel
internal import HearthStore

/// The damage of a cache's file that an error reports; none for errors that are not about damage.
enum CacheDamage {
  /// Pages of the file are not what SQLite wrote. Only another file helps.
  case pages(String)
  /// Rows do not hold what this library wrote. Most of them can be repaired by themselves.
  case rows(String)

  init?(_ error: any Error) {
    switch error {
    case let error as StoreError: self.init(error)
    case let error as CacheError: self.init(error)
    case let error as WireFormatError: self = .rows("stored values are malformed: \(error)")
    default: return nil
    }
  }

  private init?(_ error: StoreError) {
    switch error.kind {
    case .corrupt where error.sqliteCode == 0: self = .rows(error.message)
    case .corrupt, .notADatabase: self = .pages(error.message)
    // No transaction of this library breaks a rule of the tables as long as the rows agree with each other.
    case .constraint: self = .rows(error.message)
    // Opening the file has found them all.
    case .misuse where error.isMissingTable: self = .pages(error.message)
    case .unavailable, .full, .io, .newerSchema, .cannotOpen, .readOnly, .misuse: return nil
    }
  }

  private init?(_ error: CacheError) {
    switch error {
    // A counter at its end is one that was not counted up to there.
    case .corruptRecord, .exhausted: self = .rows(error.description)
    // Set aside by themselves, so that the rest of the queue is sent.
    case .unreadableBatch: return nil
    case .unknownBatch, .batchMayBeSent, .unknownRejectedBatch, .unknownTarget, .emptyBatch, .leaseLost, .otherBackend,
      .filesAreLost:
      return nil
    }
  }

  var reason: String {
    switch self {
    case .pages(let reason), .rows(let reason): reason
    }
  }
}
