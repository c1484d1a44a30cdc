internal import HearthModel
internal import HearthRPC

/// Evaluates a request. Its guard is asked first: a denied request costs no more than the decision, and not even the error of a request says
/// how a document is that its caller may not write.
struct RequestEvaluation {
  private let request: CommitRequest
  private let databaseID: DatabaseID
  private let version: SnapshotVersion
  private let maximumRewrittenBytes: Int
  private let metrics: ServerMetrics?

  /// - Throws: As ``CommitGuard/inOneAttempt()``.
  init(
    _ request: CommitRequest, in databaseID: DatabaseID, at version: SnapshotVersion, maximumRewrittenBytes: Int,
    metrics: ServerMetrics?
  ) throws(StatusError) {
    var request = request
    request.commitGuard = try request.commitGuard?.inOneAttempt()
    (self.request, self.databaseID, self.version) = (request, databaseID, version)
    self.maximumRewrittenBytes = maximumRewrittenBytes
    self.metrics = metrics
  }

  /// - Parameter reads: Read documents as they are before the request.
  /// - Throws: As ``CommitEvaluation/apply(_:knowing:stored:)``, with the index of the write; PERMISSION_DENIED.
  func evaluate(_ reads: DocumentReads) throws -> CommitEvaluation {
    guard let commitGuard = request.commitGuard else { return try evaluation(knowing: [:], stored: reads.document) }
    let writes = GuardedWrites(of: request, begin(isForGuard: true), reads)
    do {
      try commitGuard.check(writes.all, at: version.timestamp, stored: writes.stored)
    } catch let denial as StatusError where denial.code == .permissionDenied {
      // Who may read all that the error may tell of may also learn it: a transaction that has lost against another one must hear of that.
      if let (index, error) = try failure(of: writes, commitGuard) {
        try requireReading(upTo: index, of: writes, commitGuard)
        throw numbered(error, index)
      }
      throw denial
    }
    return try evaluation(knowing: writes.outcomes, stored: writes.stored) { index, error, isTooLarge in
      guard error.code != .internal else { throw StatusError.cannotBeEvaluated }
      // The guard has not seen all of the documents.
      if isTooLarge {
        try requireReading(upTo: index, of: writes, commitGuard)
      } else if Self.tellsContents(error, of: request.mutations[index]),
        try !mayRead(request.mutations[...index], of: writes, commitGuard)
      {
        throw numbered(StatusError(code: error.code, message: Self.untold), index)
      }
    }
  }

  private func begin(isForGuard: Bool) -> CommitEvaluation {
    CommitEvaluation(
      database: databaseID, version: version, requestTime: version.timestamp, writes: request.mutations.count,
      maximumRewrittenBytes: maximumRewrittenBytes, isForGuard: isForGuard, countsReads: request.commitGuard != nil)
  }

  /// Evaluates all writes with their conditions.
  ///
  /// - Parameters:
  ///   - outcomes: The outcomes of writes, by their places in the request, where they were evaluated before.
  ///   - failed: Called for a write that fails, with its place, its error, and true if too much would be rewritten.
  private func evaluation(
    knowing outcomes: [Int: CommitEvaluation.Outcome], stored: (DocumentKey) throws -> Document,
    failed: (Int, StatusError, Bool) throws -> Void = { _, _, _ in }
  ) throws -> CommitEvaluation {
    var evaluation = begin(isForGuard: false)
    for (index, mutation) in request.mutations.enumerated() {
      do {
        try evaluation.apply(mutation, knowing: outcomes[index], stored: stored)
      } catch let error as StatusError {
        try failed(index, error, evaluation.isTooLarge)
        if evaluation.isTooLarge { metrics?.exceeded(.rewrittenBytesPerCommit) }
        throw numbered(error, index)
      }
    }
    return evaluation
  }

  private func numbered(_ error: StatusError, _ index: Int) -> StatusError {
    guard error.code == .invalidArgument, request.mutations.count > 1 else { return error }
    return StatusError(code: error.code, message: "\(error.message) (write \(index) of the request)")
  }

  // MARK: - Denied requests

  /// Asks whether the caller may read all documents up to that of a write.
  ///
  /// - Throws: PERMISSION_DENIED if not, with the first one; documents behind that are not read.
  private func requireReading(upTo index: Int, of writes: GuardedWrites, _ commitGuard: any CommitGuard) throws {
    let readings = writes.readings(of: request.mutations[...index])
    try commitGuard.check(readings, at: version.timestamp, stored: writes.stored)
  }

  private func mayRead(
    _ mutations: ArraySlice<Mutation>, of writes: GuardedWrites, _ commitGuard: any CommitGuard
  ) throws -> Bool {
    do {
      try commitGuard.check(writes.readings(of: mutations), at: version.timestamp, stored: writes.stored)
      return true
    } catch let denial as StatusError where denial.code == .permissionDenied {
      return false
    }
  }

  /// True for errors whose text tells the update time of a document, or its size, which depends on the fields that a mask does not name. What a
  /// write says that replaces the document depends on nothing else.
  private static func tellsContents(_ error: StatusError, of mutation: Mutation) -> Bool {
    guard case .patch = mutation.operation else { return error.code == .failedPrecondition }
    return error.code == .failedPrecondition || error.code == .invalidArgument
  }

  /// The text for those who may write a document, and not get it.
  private static let untold =
    "The write does not agree with the document as it is, or the document would be none that can be stored. Callers who may get the "
    + "document are told more."

  /// The first write of a denied request that fails for another reason: by its conditions, for which no contents are read, or by limits where the
  /// contents were read for the decision. Nil if the caller may not read a document before its writes are evaluated: a caller who may read
  /// nothing has nothing evaluated.
  private func failure(
    of writes: GuardedWrites, _ commitGuard: any CommitGuard
  ) throws -> (index: Int, error: StatusError)? {
    var evaluation = begin(isForGuard: false)
    var heads: [DocumentKey: Document] = [:]
    var readable: Set<DocumentKey> = []
    for (index, mutation) in request.mutations.enumerated() {
      if let excess = writes.excess, excess.index == index {
        metrics?.exceeded(.rewrittenBytesPerCommit)
        return excess
      }
      guard let document = writes.document(for: mutation.key) else { continue }
      do {
        // Reads the contents of a short one, too.
        let head = try heads[mutation.key] ?? document.headBefore()
        if document.known != nil {
          if readable.insert(mutation.key).inserted,
            try !mayRead(request.mutations[index...index], of: writes, commitGuard)
          {
            return nil
          }
          try evaluation.apply(mutation, knowing: writes.outcomes[index], stored: { _ in try document.before() })
        } else {
          try evaluation.checkCondition(of: mutation, on: head)
          heads[mutation.key] = mutation.head(after: head, at: version)
        }
      } catch let error as StatusError {
        guard error.code != .internal else { throw StatusError.cannotBeEvaluated }
        return (index, error)
      }
    }
    return nil
  }
}

extension Mutation {
  /// The document behind the write without its contents: a condition of a later write of the request asks whether it exists.
  fileprivate func head(after head: Document, at version: SnapshotVersion) -> Document {
    switch operation {
    case .verify: head
    case .delete: .missing(key, version: version)
    case .set, .patch: .found(key, version: version, fields: .empty)
    }
  }
}
