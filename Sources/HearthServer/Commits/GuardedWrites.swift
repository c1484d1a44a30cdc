internal import HearthModel

/// The documents that a request writes or verifies, as its guard sees them: before the request, and as all of its writes leave them if they have
/// no conditions and there are no limits but that of what may be rewritten.
///
/// A document is read, and its writes are evaluated, when the guard asks for that. So a request that is denied costs what the guard has asked
/// for by then.
final class GuardedWrites {
  private let request: CommitRequest
  private let reads: DocumentReads
  private var evaluation: CommitEvaluation
  /// In the order of their first write.
  private(set) var documents: [GuardedDocument] = []
  private var indices: [DocumentKey: Int]
  /// The outcomes of writes, by their places in the request, where they were evaluated.
  private(set) var outcomes: [Int: CommitEvaluation.Outcome] = [:]
  /// The first write that could not be evaluated because too much would be rewritten.
  private(set) var excess: (index: Int, error: StatusError)?

  /// - Parameter evaluation: Has evaluated nothing yet.
  init(of request: CommitRequest, _ evaluation: CommitEvaluation, _ reads: DocumentReads) {
    self.request = request
    self.evaluation = evaluation
    self.reads = reads
    indices = Dictionary(minimumCapacity: request.mutations.count)
    for (index, mutation) in request.mutations.enumerated() {
      let place = indices[mutation.key, default: documents.count]
      if place == documents.count {
        indices[mutation.key] = place
        documents.append(GuardedDocument(mutation.key, reads))
      }
      documents[place].add(mutation, at: index)
    }
  }

  /// For a guard: each document once.
  var all: [any GuardedWrite] { documents.map { WrittenDocument($0, in: self, isReading: false) } }

  /// The documents of some writes, as if they were only read, in the order of their names.
  func readings(of mutations: some Sequence<Mutation>) -> [any GuardedWrite] {
    Set(mutations.map(\.key)).sorted().compactMap { key in
      indices[key].map { WrittenDocument(documents[$0], in: self, isReading: true) }
    }
  }

  /// A document that the request writes or verifies.
  func document(for key: DocumentKey) -> GuardedDocument? { indices[key].map { documents[$0] } }

  /// A document as the request finds it. It is read once.
  func stored(_ key: DocumentKey) throws -> Document {
    try document(for: key)?.before() ?? reads.document(key)
  }

  /// A document as all of its writes leave it.
  ///
  /// - Throws: PERMISSION_DENIED if they cannot be carried out, whatever the document is like; INTERNAL if it is damaged.
  fileprivate func after(_ document: GuardedDocument) throws -> Document {
    if let after = document.after { return after }
    var after = try document.before()
    for index in document.writes {
      var mutation = request.mutations[index]
      mutation.precondition = .none
      do {
        outcomes[index] = try evaluation.apply(mutation) { _ in try document.before() }
      } catch let error as StatusError {
        if evaluation.isTooLarge, excess == nil { excess = (index, error) }
        guard error.code == .internal else { throw StatusError.insufficientPermissions }
        throw StatusError.cannotBeEvaluated
      }
      if let outcome = outcomes[index] { after = outcome.document }
    }
    document.after = after
    return after
  }
}

/// A document that a request writes or verifies. It is read when that is needed, and once.
final class GuardedDocument {
  let key: DocumentKey
  private let reads: DocumentReads
  /// The places of its writes in the request.
  private(set) var writes: [Int] = []
  private(set) var isOnlyVerified = true
  /// True if the document exists behind its writes; nil if they leave that as it is.
  private var isFoundAfterwards: Bool?
  private var head: DocumentReads.Head?
  fileprivate var after: Document?

  fileprivate init(_ key: DocumentKey, _ reads: DocumentReads) {
    (self.key, self.reads) = (key, reads)
  }

  fileprivate func add(_ mutation: Mutation, at index: Int) {
    writes.append(index)
    switch mutation.operation {
    case .verify: return
    case .delete: isFoundAfterwards = false
    case .set, .patch: isFoundAfterwards = true
    }
    isOnlyVerified = false
  }

  /// The document before the request, maybe without its fields.
  func headBefore() throws -> Document {
    if let head { return head.document }
    let new = try reads.head(key)
    head = new
    return new.document
  }

  func before() throws -> Document {
    if let head, head.isComplete { return head.document }
    let document = try reads.document(key)
    head = DocumentReads.Head(document: document, isComplete: true)
    return document
  }

  /// The document before the request with its fields, if they were read.
  var known: Document? { head.flatMap { $0.isComplete ? $0.document : nil } }

  /// True if the document exists behind the writes. Only conditions that fail, which do not count here, would change that.
  fileprivate func isFoundAfter() throws -> Bool { try isFoundAfterwards ?? headBefore().isFound }
}

private struct WrittenDocument: GuardedWrite {
  private let document: GuardedDocument
  private let writes: GuardedWrites
  /// True if the guard decides on reading the document as it is before the request.
  private let isReading: Bool

  init(_ document: GuardedDocument, in writes: GuardedWrites, isReading: Bool) {
    (self.document, self.writes, self.isReading) = (document, writes, isReading)
  }

  var key: DocumentKey { document.key }
  var isOnlyVerified: Bool { isReading || document.isOnlyVerified }

  func isFoundBefore() throws -> Bool { try document.headBefore().isFound }
  func isFoundAfter() throws -> Bool { try isReading ? isFoundBefore() : document.isFoundAfter() }

  func before() throws -> Document { try document.before() }
  func after() throws -> Document { try isReading ? before() : writes.after(document) }
}

extension StatusError {
  /// Clients keep a write that meets damage. What is damaged, is not for everybody.
  static let cannotBeEvaluated = StatusError(code: .internal, message: "The request cannot be evaluated.")
}
