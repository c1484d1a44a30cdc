package import HearthModel

extension LocalStore {
  /// A write that was queued.
  package struct StoredWrite: Sendable {
    package var batch: MutationBatch
    /// The documents that it changes, as its owner's local view has them after it.
    package var changes: DocumentMap
    /// The same documents before it; empty unless they were asked for.
    package var former: DocumentMap = [:]
  }

  /// A write that waits in memory, as its author sees it.
  package struct SeenWrite: Sendable {
    /// The mutations of the write; nil if it submits a refused batch again that cannot be read.
    package var mutations: [Mutation]?
    /// Its documents under rules for conflicts, without the writes that wait.
    package var documents: [DocumentKey: SeenDocument]

    package init(mutations: [Mutation]?, documents: [DocumentKey: SeenDocument]) {
      self.mutations = mutations
      self.documents = documents
    }
  }

  /// The owner of the outbox that an operation applies to.
  package enum Owner: Sendable {
    /// The user whose outbox the local view shows.
    case activeUser
    /// This user, active or not; nil when no user is signed in.
    case user(String?)
  }

  /// The state of a user's outbox, apart from its batches.
  package struct OutboxState: Equatable, Sendable {
    /// The failed attempts at a batch.
    package struct Attempts: Equatable, Sendable {
      package var count: Int
      package var error: StatusError
    }

    /// Batches up to this one may have reached the backend.
    package var sentThrough: BatchID
    package var attempts: [BatchID: Attempts]
  }

  /// The fate of a write, looked up by its identity.
  package enum WriteFate: Equatable, Sendable {
    case pending(BatchID)
    case ended(WriteOutcome)
    /// It was never made here, or too long ago.
    case unknown
  }

  /// A part of an outbox that is read in one step.
  package struct OutboxPage: Equatable, Sendable {
    package var batches: [MutationBatch]
    /// True if nothing is left behind it.
    package var isLast: Bool

    package init(batches: [MutationBatch], isLast: Bool) {
      self.batches = batches
      self.isLast = isLast
    }
  }

  /// The size of the part of an outbox that one step reads.
  package struct OutboxPageLimits: Sendable {
    package var batchCount: Int
    /// Reached by the batch that exceeds it, so that a page is never empty before the end.
    package var byteCount: Int

    package init(batchCount: Int = 250, byteCount: Int = 256 << 10) {
      self.batchCount = batchCount
      self.byteCount = byteCount
    }
  }

  /// The base documents that must be known before a batch is sent.
  package struct BatchBases: Equatable, Sendable {
    /// The bases of the documents that a rule contains, and of those that the batch was sent under a condition for; without a row, as of
    /// an unknown document.
    package var bases: [DocumentKey: BaseDocument]

    /// True if the backend's documents have to be read first.
    package var mustBeCompared: Bool { bases.values.contains { $0.mustBeCompared } }
  }

  /// The outcome of a conflict.
  package struct ConflictOutcome: Sendable {
    /// The mutations that replace all mutations of the batch; empty if none do.
    package var mutations: [Mutation]
    /// The backend's documents that were compared.
    package var remote: DocumentMap
    /// The bases of the batch, as they were compared. The file knows more about the bases of later writes.
    package var bases: BatchBases
    /// The documents among those that were made as copies.
    package var copies: Set<DocumentKey>
    /// The error with which the write ends if nothing is left of it; nil if it ends well.
    package var ending: StatusError?
    /// The decisions, for the application.
    package var reports: [ConflictReport]

    package init(
      mutations: [Mutation], copies: Set<DocumentKey> = [], remote: DocumentMap, bases: BatchBases,
      ending: StatusError? = nil, reports: [ConflictReport] = []
    ) {
      self.mutations = mutations
      self.copies = copies
      self.remote = remote
      self.bases = bases
      self.ending = ending
      self.reports = reports
    }

    /// Returns true if the backend's document is the one that the batch is based on.
    func isUncontradicted(_ key: DocumentKey) -> Bool {
      guard let base = bases.bases[key], let remote = remote[key] else { return false }
      return !base.isContradicted(by: remote)
    }
  }
}

extension StatusError {
  /// The backend has refused a batch, for callers that do not say why.
  package static let rejected = StatusError(code: .unknown, message: "The backend has refused the write.")
}
