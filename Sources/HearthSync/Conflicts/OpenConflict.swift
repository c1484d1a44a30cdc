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

/// A document whose version at the backend is not the one that a waiting write is based on.
package struct DocumentConflict: Equatable, Sendable {
  /// The resolver that the rule names.
  package var resolver: Int
  package var batchID: BatchID
  /// The document that the write is based on; nil if the cache did not have it.
  package var base: Document?
  /// As the write makes it.
  package var local: Document
  /// As the backend has it.
  package var remote: Document
}

/// The answer of the application to a ``DocumentConflict``.
package enum ConflictAnswer: Equatable, Sendable {
  case keepLocal
  case keepRemote
  /// These mutations instead; at least one is of the document.
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
  var bases: LocalStore.BatchBases
  /// True if it was sent once before without an answer, so that the backend may have carried it out.
  var mayBeCommitted: Bool
  var stage: Stage
  var remote: DocumentMap = [:]
  /// The replacement of the mutations of the documents; nil for one that stays open.
  var parts: [DocumentKey: [Mutation]] = [:]
  /// The documents whose local edit was given up.
  var dropped: Set<DocumentKey> = []
  /// The documents that were made as copies.
  var copies: Set<DocumentKey> = []
  /// The decisions about the documents whose conflicts are resolved.
  private var reports: [DocumentKey: ConflictReport] = [:]

  init(
    _ batch: MutationBatch, owner: String?, bases: LocalStore.BatchBases, mayBeCommitted: Bool, stage: Stage
  ) {
    self.batch = batch
    self.owner = owner
    self.bases = bases
    self.mayBeCommitted = mayBeCommitted
    self.stage = stage
  }

  /// The part of the batch for a document, as an edit of what its author saw.
  func edit(of key: DocumentKey) throws(WireFormatError) -> DocumentEdit {
    guard let shown = bases.bases[key]?.shown else { return try editOfBase(of: key) }
    return try DocumentEdit(batch.mutations.filter { $0.key == key }, on: shown)
  }

  /// The part of the batch for a document, as an edit of what the batch is based on: without the writes that have left the outbox.
  private func editOfBase(of key: DocumentKey) throws(WireFormatError) -> DocumentEdit {
    try DocumentEdit(batch.mutations.filter { $0.key == key }, on: bases.bases[key]?.document ?? .unknown(key))
  }

  /// Resolves the conflict of a document by a rule.
  ///
  /// - Returns: Nil if the application has to decide.
  func resolution(
    for key: DocumentKey, by policy: ConflictPolicy, over remote: Document
  ) throws(WireFormatError) -> DocumentEdit.Resolution? {
    if isUnchanged(remote, from: key) { return .mutations(batch.mutations.filter { $0.key == key }) }
    // Where the whole document is written, it must not bring writes back that have left.
    let edit = policy.merges && remote.isFound ? try edit(of: key) : try editOfBase(of: key)
    return try edit.resolved(by: policy, with: remote, copyName: copyName(of: key), at: batch.localWriteTime)
  }

  /// Returns whether only the version has moved on, or the document has what the author saw of a write that has left.
  private func isUnchanged(_ remote: Document, from key: DocumentKey) -> Bool {
    guard let base = bases.bases[key], let shown = base.shown, remote.isFound else { return false }
    return base.document.isConfirmed(by: remote) || shown.isConfirmed(by: remote)
  }

  /// The document as the author of the batch saw it; nil if it is not known.
  func shownBase(of key: DocumentKey) -> Document? {
    guard let shown = bases.bases[key]?.shown else { return knownBase(of: key) }
    return shown.isFound || shown.isMissing ? shown : nil
  }

  /// The document that the batch is based on; nil if the cache did not know whether it exists.
  func knownBase(of key: DocumentKey) -> Document? {
    guard let base = bases.bases[key]?.document, base.isFound || base.isMissing else { return nil }
    return base
  }

  /// True if the cache knew whether the document exists when the batch was written. The condition that the batch was sent under says so,
  /// too, when the document itself was lost.
  private func knowsBase(of key: DocumentKey) -> Bool {
    if knownBase(of: key) != nil { return true }
    guard let condition = batch.guards?[key] else { return false }
    return switch condition {
    case .updateTime, .exists(false): true
    case .exists(true), .none: false
    }
  }

  /// True for a document that the cache did not know, and a write that needs it or removes it: the backend's document becomes the base of the
  /// write.
  func adopts(_ remote: Document, for key: DocumentKey) -> Bool {
    guard bases.bases[key] != nil, !knowsBase(of: key), remote.isFound,
      let first = batch.mutations.first(where: { $0.key == key })
    else { return false }
    return first.operation == .delete || first.precondition == .exists(true)
  }

  /// True if the backend's documents are those that the batch makes: its answer was lost.
  ///
  /// Fields with transforms do not count, for what they make depends on what was there. So something else must show the batch: a field
  /// that it sets in a document that was known, or a deletion. The documents of a batch change at one time.
  var isAtBackend: Bool {
    get throws(WireFormatError) {
      guard mayBeCommitted else { return false }
      var showsEdit = false
      var versions: Set<SnapshotVersion> = []
      for key in batch.keys {
        guard let remote = remote[key] else { return false }
        let effect = try editOfBase(of: key).effect(in: remote)
        guard effect != .absent else { return false }
        guard effect == .present, knowsBase(of: key) else { continue }
        showsEdit = true
        if remote.isFound { versions.insert(remote.version) }
      }
      return showsEdit && versions.count <= 1
    }
  }

  /// The documents that are read from the backend.
  var keysToRead: [DocumentKey] { mayBeCommitted ? batch.keys.sorted() : bases.bases.keys.sorted() }

  /// The batch has been carried out.
  mutating func takeAll() {
    for key in batch.keys { parts[key] = [] }
  }

  /// The part of the names of copies of a document.
  func copyName(of key: DocumentKey) -> String {
    guard let name = bases.bases[key]?.copyName, !name.isEmpty else { return batch.copyName }
    return name
  }

  /// - Parameter isMerge: True if mutations of the resolution are no edit of one side.
  mutating func take(
    _ resolution: DocumentEdit.Resolution, for key: DocumentKey, over remote: Document, isMerge: Bool
  ) throws(WireFormatError) {
    if !isUnchanged(remote, from: key) {
      reports[key] = try edit(of: key).report(
        of: resolution, isMerge: isMerge, over: remote, at: batch.localWriteTime)
    }
    switch resolution {
    case .mutations(let mutations): parts[key] = mutations
    case .copy(let mutation):
      parts[key] = [mutation]
      copies.insert(mutation.key)
    case .isThere: parts[key] = []
    case .dropped:
      parts[key] = []
      dropped.insert(key)
    }
  }

  /// Takes an answer of the application for a document.
  ///
  /// - Throws: An error if the answer cannot take the place of the document's mutations.
  mutating func take(_ answer: ConflictAnswer, for key: DocumentKey, over remote: Document) throws {
    switch answer {
    case .keepLocal:
      try take(try editOfBase(of: key).kept(over: remote), for: key, over: remote, isMerge: false)
    case .keepRemote:
      try take(.dropped, for: key, over: remote, isMerge: false)
    case .write(let mutations):
      guard mutations.contains(where: { $0.key == key }) else {
        let other = mutations.first.map { "only \"\($0.key)\"" } ?? "nothing"
        throw StatusError(
          code: .invalidArgument, message: "The answer writes \(other). It must write the document in conflict.")
      }
      try take(.mutations(mutations), for: key, over: remote, isMerge: true)
    }
  }

  /// The end of the batch.
  var outcome: LocalStore.ConflictOutcome {
    var ending: StatusError?
    if !dropped.isEmpty {
      let names = dropped.sorted().map { "\"\($0)\"" }.joined(separator: ", ")
      ending = StatusError(
        code: .aborted,
        message: "The write was given up for what the backend has at \(names), by the rule for conflicts.")
    }
    return LocalStore.ConflictOutcome(
      mutations: resolvedMutations, copies: copies, remote: remote, bases: bases, ending: ending,
      reports: reports.values.sorted { $0.key < $1.key })
  }

  /// The batch's mutations with what the conflicts have made of them, in order.
  private var resolvedMutations: [Mutation] {
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

  /// The state of it that the outbox shows.
  var state: OutboxConflict {
    var error: StatusError?
    if case .failed(let failure) = stage { error = failure }
    return OutboxConflict(batchID: batch.batchID, documents: bases.bases.keys.sorted(), error: error)
  }
}
