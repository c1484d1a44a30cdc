internal import HearthModel
internal import HearthRPC

/// Evaluates a request, and asks its guard before anything of the documents is told: not even the error of a request says how a document is
/// that its caller may not write.
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

  /// - Parameter stored: Reads a document as it is before the request.
  /// - Throws: As ``CommitEvaluation/apply(_:stored:)``, with the index of the write; PERMISSION_DENIED.
  func evaluate(stored: (DocumentKey) throws -> Document) throws -> CommitEvaluation {
    var evaluation = begin(isForGuard: false)
    for (index, mutation) in request.mutations.enumerated() {
      do {
        try evaluation.apply(mutation, stored: stored)
      } catch let error as StatusError {
        try askWithoutConditions(about: request.mutations[...index].map(\.key), stored)
        if evaluation.isTooLarge { metrics?.exceeded(.rewrittenBytesPerCommit) }
        guard error.code == .invalidArgument, request.mutations.count > 1 else { throw error }
        throw StatusError(code: error.code, message: "\(error.message) (write \(index) of the request)")
      }
    }
    try ask(evaluation, stored)
    return evaluation
  }

  private func begin(isForGuard: Bool) -> CommitEvaluation {
    CommitEvaluation(
      database: databaseID, version: version, requestTime: version.timestamp, writes: request.mutations.count,
      maximumRewrittenBytes: maximumRewrittenBytes, isForGuard: isForGuard, countsReads: request.commitGuard != nil)
  }

  private func ask(_ evaluation: CommitEvaluation, _ stored: (DocumentKey) throws -> Document) throws {
    try request.commitGuard?.check(
      evaluation.guardedWrites, at: evaluation.requestTime, stored: stored)
  }

  /// Asks the guard of a request that fails, as if it had no conditions and there were no limits.
  ///
  /// - Parameter keys: The documents that the error may tell of: that of the write which fails, and those of the writes before it, which did not.
  ///   Who may read all of them may also learn the error: a transaction that has lost against another one must hear of that.
  /// - Throws: PERMISSION_DENIED for a caller who must not learn the error.
  private func askWithoutConditions(about keys: [DocumentKey], _ stored: (DocumentKey) throws -> Document) throws {
    guard let commitGuard = request.commitGuard else { return }
    do {
      try askForAll(stored)
    } catch let denial as StatusError where denial.code == .permissionDenied {
      let readings = try Set(keys).sorted().map { key in
        let document = try stored(key)
        return GuardedWrite(transition: DocumentTransition(before: document, after: document), isOnlyVerified: true)
      }
      try commitGuard.check(readings, at: version.timestamp, stored: stored)
    }
  }

  private func askForAll(_ stored: (DocumentKey) throws -> Document) throws {
    var evaluation = begin(isForGuard: true)
    do {
      for mutation in request.mutations {
        var mutation = mutation
        mutation.precondition = .none
        try evaluation.apply(mutation, stored: stored)
      }
    } catch let error as StatusError {
      // Clients keep a write that meets damage.
      guard error.code == .internal else { throw StatusError.insufficientPermissions }
      throw StatusError(code: .internal, message: "The request cannot be evaluated.")
    }
    try ask(evaluation, stored)
  }
}
