internal import HearthCache
internal import HearthModel

/// The end of a conflict, not yet stored.
struct SettledConflict {
  enum End {
    case resolved(LocalStore.ConflictOutcome)
    case rejected(StatusError)
  }

  let batch: MutationBatch
  let owner: String?
  let end: End

  /// True if nothing of the batch is left to be sent.
  var leavesOutbox: Bool {
    switch end {
    case .resolved(let outcome): outcome.mutations.isEmpty
    case .rejected: true
    }
  }

  /// The decisions, for the application.
  var reports: [ConflictReport] {
    if case .resolved(let outcome) = end { outcome.reports } else { [] }
  }

  /// The error with which its write ends, if nothing of it is left; nil if the write has succeeded.
  var error: StatusError? {
    switch end {
    case .resolved(let outcome): outcome.ending
    case .rejected(let error): error
    }
  }
}
