internal import HearthModel

/// Evaluates the writes of one request without storing anything: preconditions, transforms and limits, in order, each
/// write on the result of those before it.
struct CommitEvaluation {
  let database: DatabaseID
  /// The commit time.
  let version: SnapshotVersion
  /// The value of server timestamps.
  let requestTime: Timestamp

  private(set) var results: [MutationResult] = []
  private var before: [DocumentKey: Document] = [:]
  private var after: [DocumentKey: Document] = [:]
  private var order: [DocumentKey] = []

  init(database: DatabaseID, version: SnapshotVersion, requestTime: Timestamp) {
    self.database = database
    self.version = version
    self.requestTime = requestTime
  }

  /// The documents that differ from what they were, in the order of their first write.
  var transitions: [DocumentTransition] {
    order.compactMap { key in
      guard let before = before[key], let after = after[key] else { return nil }
      let isUnchanged = before.isFound == after.isFound && (!after.isFound || before.version == after.version)
      return isUnchanged ? nil : DocumentTransition(before: before, after: after)
    }
  }

  /// - Parameter stored: reads a document as it is before the request.
  /// - Throws: `StatusError` for a failed precondition or a broken limit; what `stored` throws.
  mutating func apply(_ mutation: Mutation, stored: (DocumentKey) throws -> Document) throws {
    let key = mutation.key
    let current: Document
    if let known = after[key] {
      current = known
    } else {
      current = try stored(key)
      before[key] = current
      order.append(key)
    }
    let name = database.name(of: key)
    if case .updateTime(let required) = mutation.precondition, required > version {
      throw StatusError(
        code: .invalidArgument,
        message: "Document \"\(name)\": current_document.update_time \(required) cannot be in the future.")
    }
    var outcome: (document: Document, transformResults: [Value])
    do {
      outcome = try mutation.applied(
        to: current, commitTime: version, requestTime: requestTime, resourceName: name)
    } catch let error as WireFormatError {
      // Not DATA_LOSS, for which clients drop a write: the file can be mended.
      throw StatusError(code: .internal, message: "The stored fields of \(name) are damaged: \(error)")
    }
    if mutation.operation == .verify {
      outcome.document = current
    } else if current.isFound, outcome.document.isFound, outcome.document.hasSameContents(as: current) {
      // A write that changes nothing keeps the update time (Firestore documentation of WriteResult.update_time).
      outcome.document = current
    } else if outcome.document.isFound {
      try DocumentLimits.check(outcome.document, name: name)
    }
    after[key] = outcome.document
    results.append(
      MutationResult(
        version: resultVersion(of: mutation, outcome: outcome.document), transformResults: outcome.transformResults))
  }

  /// A delete has no update time; a verify of a missing document has the time of the commit.
  private func resultVersion(of mutation: Mutation, outcome: Document) -> SnapshotVersion {
    if mutation.operation == .delete { return .none }
    return outcome.isFound ? outcome.version : version
  }
}
