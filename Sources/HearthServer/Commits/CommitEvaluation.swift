internal import HearthModel

/// Evaluates the writes of one request without storing anything: preconditions, transforms and limits, in order, each
/// write on the result of those before it.
struct CommitEvaluation {
  struct Outcome {
    /// The document that a write leaves.
    fileprivate(set) var document: Document
    let transformResults: [Value]
    /// True if it is the document that was there before.
    fileprivate(set) var isUnchanged = false
  }

  let database: DatabaseID
  /// The commit time.
  let version: SnapshotVersion
  /// The value of server timestamps.
  let requestTime: Timestamp
  /// The bytes of documents that merges and transforms may read and write.
  private let maximumRewrittenBytes: Int
  /// True for an evaluation whose only purpose is to ask a guard: documents may be larger than is allowed.
  private let isForGuard: Bool
  /// True if also documents count that are read only. They are kept for the guard.
  private let countsReads: Bool

  private(set) var results: [MutationResult] = []
  /// The documents in the order of their first write.
  private var documents: [DocumentTransition] = []
  /// Where they stand.
  private var indices: [DocumentKey: Int]
  private var rewrittenBytes = 0
  /// True if a write was refused because the documents that merges and transforms change are too large, or too many.
  private(set) var isTooLarge = false

  /// - Parameters:
  ///   - writes: the expected number of writes.
  ///   - maximumRewrittenBytes: the bytes of documents that merges and transforms may read and write.
  init(
    database: DatabaseID, version: SnapshotVersion, requestTime: Timestamp, writes: Int,
    maximumRewrittenBytes: Int = DatabaseLimits().rewrittenBytesPerCommit, isForGuard: Bool = false,
    countsReads: Bool = false
  ) {
    self.isForGuard = isForGuard
    self.countsReads = countsReads
    self.maximumRewrittenBytes = maximumRewrittenBytes
    self.database = database
    self.version = version
    self.requestTime = requestTime
    indices = Dictionary(minimumCapacity: writes)
    documents.reserveCapacity(writes)
    results.reserveCapacity(writes)
  }

  /// The documents that differ from what they were, in the order of their first write.
  var transitions: [DocumentTransition] {
    documents.filter { document in
      let (before, after) = (document.before, document.after)
      return before.isFound != after.isFound || (after.isFound && before.version != after.version)
    }
  }

  /// The document that a request with one write leaves; nil before any write.
  var lastDocument: Document? { documents.last?.after }

  /// - Parameters:
  ///   - known: The outcome of the same write where it was evaluated before without conditions and limits, on the same document.
  ///   - stored: Reads a document as it is before the request.
  /// - Returns: The outcome.
  /// - Throws: `StatusError` for a failed precondition or a broken limit; what `stored` throws.
  @discardableResult
  mutating func apply(
    _ mutation: Mutation, knowing known: Outcome? = nil, stored: (DocumentKey) throws -> Document
  ) throws -> Outcome {
    let index = try index(of: mutation.key, stored: stored)
    let current = documents[index].after
    try checkTime(of: mutation)
    if mutation.rewritesDocument, !countsReads { try countRewritten(current) }
    // Each looks through an array, which may be all of the document.
    for _ in 0..<mutation.furtherArrayTransforms { try countRewritten(current) }
    if known != nil { try mutation.requirePrecondition(of: current, resourceName: database.name(of: mutation.key)) }
    var outcome = try known ?? self.outcome(of: mutation, on: current)
    if mutation.rewritesDocument { try countRewritten(outcome.document) }
    if known == nil { outcome.isUnchanged = Self.leaves(outcome.document, as: current, mutation) }
    if outcome.isUnchanged {
      outcome.document = current
    } else if outcome.document.isFound, !isForGuard {
      try DocumentLimits.check(outcome.document, name: database.name(of: mutation.key))
      try WriteLimits.checkVectors(writtenBy: mutation, in: outcome.document, database: database)
    }
    documents[index].after = outcome.document
    results.append(
      MutationResult(
        version: resultVersion(of: mutation, outcome: outcome.document), transformResults: outcome.transformResults))
    return outcome
  }

  /// A write that changes nothing keeps the update time (Firestore documentation of WriteResult.update_time).
  private static func leaves(_ document: Document, as current: Document, _ mutation: Mutation) -> Bool {
    mutation.operation == .verify || current.isFound && document.isFound && document.hasSameContents(as: current)
  }

  private func outcome(of mutation: Mutation, on current: Document) throws -> Outcome {
    do {
      let (document, results) = try mutation.applied(
        to: current, commitTime: version, requestTime: requestTime, resourceName: database.name(of: mutation.key))
      return Outcome(document: document, transformResults: results)
    } catch let error as WireFormatError {
      // Not DATA_LOSS, for which clients drop a write: the file can be mended.
      throw StatusError(
        code: .internal, message: "The stored fields of \(database.name(of: mutation.key)) are damaged: \(error)")
    }
  }

  /// Checks the condition of a write alone, for which the fields of the document do not matter.
  ///
  /// - Parameter current: The document as the writes before leave it.
  /// - Throws: As ``apply(_:knowing:stored:)``.
  func checkCondition(of mutation: Mutation, on current: Document) throws(StatusError) {
    try checkTime(of: mutation)
    try mutation.requirePrecondition(of: current, resourceName: database.name(of: mutation.key))
  }

  private func checkTime(of mutation: Mutation) throws(StatusError) {
    guard case .updateTime(let required) = mutation.precondition, required > version else { return }
    throw StatusError(
      code: .invalidArgument,
      message: "Document \"\(database.name(of: mutation.key))\": current_document.update_time \(required) "
        + "cannot be in the future.")
  }

  /// - Throws: INVALID_ARGUMENT, with the beginning of production's text.
  private mutating func countRewritten(_ document: Document) throws(StatusError) {
    rewrittenBytes += document.fields.bytes.count
    guard rewrittenBytes > maximumRewrittenBytes else { return }
    isTooLarge = true
    throw .invalid(
      "Transaction too big. Decrease transaction size. Its merges and transforms read and write more than "
        + "\(maximumRewrittenBytes) bytes of documents (hearth serve --max-rewritten-megabytes).")
  }

  private mutating func index(of key: DocumentKey, stored: (DocumentKey) throws -> Document) throws -> Int {
    let index = indices[key, default: documents.count]
    guard index == documents.count else { return index }
    let current = try stored(key)
    if countsReads { try countRewritten(current) }
    indices[key] = index
    documents.append(DocumentTransition(before: current, after: current))
    return index
  }

  /// A delete has no update time; a verify of a missing document has the time of the commit.
  private func resultVersion(of mutation: Mutation, outcome: Document) -> SnapshotVersion {
    if mutation.operation == .delete { return .none }
    return outcome.isFound ? outcome.version : version
  }
}

extension Mutation {
  /// The number of array transforms behind the first one.
  fileprivate var furtherArrayTransforms: Int {
    max(0, transforms.count { $0.operation.readsArray } - 1)
  }

  /// True if the document's fields are read and rewritten, whatever the size of the write.
  fileprivate var rewritesDocument: Bool {
    if !transforms.isEmpty { return true }
    if case .patch(_, let mask) = operation { return !mask.isEmpty }
    return false
  }
}

extension TransformOperation {
  fileprivate var readsArray: Bool {
    switch self {
    case .arrayUnion, .arrayRemove: true
    default: false
    }
  }
}
