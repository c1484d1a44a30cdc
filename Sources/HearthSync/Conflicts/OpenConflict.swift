internal import HearthCache
package import HearthModel

/// Names one reading of documents from the backend; chosen by the engine, never used twice in its life.
package struct LookUpID: Hashable, Sendable {
  package var rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }
}

/// Names one question to the application; chosen by the engine, never used twice in its life.
package struct ConflictID: Hashable, Sendable {
  package var rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }
}

/// A document of which the backend has another version than a waiting write was made for.
package struct DocumentConflict: Equatable, Sendable {
  /// The resolver that the rule names.
  package var resolver: Int
  package var batchID: BatchID
  /// As the write was made for it; nil if the cache did not have it.
  package var base: Document?
  /// As the write makes it.
  package var local: Document
  /// As the backend has it.
  package var remote: Document
}

/// The answer of the application to a ``DocumentConflict``.
package enum ConflictAnswer: Equatable, Sendable {
  case keepMine
  case takeTheirs
  /// These mutations instead, one of which at least is of the document.
  case write([Mutation])
}

/// A batch whose documents are compared with those of the backend. The outbox behind it waits.
struct OpenConflict {
  enum Stage {
    /// The backend's documents are being read.
    case reading(LookUpID)
    /// The documents could not be read; they are read again after a pause.
    case pausing
    /// The application has not answered for these documents.
    case asking([ConflictID: DocumentKey])
    /// The application did not resolve it.
    case failed(StatusError)
  }

  let batch: MutationBatch
  let owner: String?
  let bases: LocalStore.BatchBases
  var stage: Stage
  var remote: DocumentMap = [:]
  /// What takes the place of the mutations of the documents; nil for one that stays open.
  var parts: [DocumentKey: [Mutation]] = [:]
  /// The documents whose local edit was given up.
  var dropped: Set<DocumentKey> = []

  init(_ batch: MutationBatch, owner: String?, bases: LocalStore.BatchBases, stage: Stage) {
    self.batch = batch
    self.owner = owner
    self.bases = bases
    self.stage = stage
  }

  /// The part of the batch for a document, as an edit of what it was made for.
  func edit(of key: DocumentKey) throws(WireFormatError) -> DocumentEdit {
    try DocumentEdit(
      batch.mutations.filter { $0.key == key }, on: bases.bases[key]?.document ?? .unknown(key))
  }

  /// True for a document that the cache did not know, and a write that needs it or removes it: what the backend has is what it is made
  /// for.
  func adopts(_ remote: Document, for key: DocumentKey) -> Bool {
    guard let base = bases.bases[key]?.document, !base.isFound, !base.isMissing, remote.isFound,
      let first = batch.mutations.first(where: { $0.key == key })
    else { return false }
    return first.operation == .delete || first.precondition == .exists(true)
  }

  /// The part of the names of copies of a document.
  func copyName(of key: DocumentKey) -> String {
    guard let name = bases.bases[key]?.copyName, !name.isEmpty else { return LocalStore.copyName(of: batch) }
    return name
  }

  mutating func take(_ resolution: DocumentEdit.Resolution, for key: DocumentKey) {
    switch resolution {
    case .mutations(let mutations): parts[key] = mutations
    case .isThere: parts[key] = []
    case .dropped:
      parts[key] = []
      dropped.insert(key)
    }
  }

  /// The batch's mutations with what the conflicts have made of them, in order.
  var resolvedMutations: [Mutation] {
    var mutations: [Mutation] = []
    var placed: Set<DocumentKey> = []
    for mutation in batch.mutations {
      guard let part = parts[mutation.key] else {
        mutations.append(mutation)
        continue
      }
      if placed.insert(mutation.key).inserted { mutations += part }
    }
    return mutations
  }

  /// What the outbox shows of it.
  var state: OutboxConflict {
    var error: StatusError?
    if case .failed(let failure) = stage { error = failure }
    return OutboxConflict(batchID: batch.batchID, documents: bases.bases.keys.sorted(), error: error)
  }
}

/// What the engine knows of conflicts.
struct Conflicts {
  /// The one whose resolution the outbox waits for. One at a time: batches are sent in order.
  var open: OpenConflict?
  /// The batch that the backend has refused because of what it was made for.
  var refused: (batchID: BatchID, error: StatusError)?
  /// The batch that was sent once more because the documents did not say why it was refused.
  var sentOnceMore: BatchID?
  var pauses: ExponentialBackoff
  private var lastID = 0

  init(backoff: ExponentialBackoff.Parameters) {
    pauses = ExponentialBackoff(parameters: backoff, now: .zero)
  }

  mutating func nextID() -> Int {
    lastID += 1
    return lastID
  }

  /// Lets a conflict be looked at anew that was not resolved.
  mutating func tryAgain() {
    switch open?.stage {
    case .pausing, .failed: open = nil
    case nil, .reading, .asking: break
    }
  }
}
