extension Mutation {
  /// The document after the backend has carried out this mutation, and the results of its transforms.
  ///
  /// A mutation that changes nothing still gives a document with the version of the commit: callers that store it compare with
  /// ``Document/hasSameContents(as:)`` to keep the old update time (Firestore documentation of WriteResult.update_time).
  ///
  /// - Parameters:
  ///   - document: the stored document; an unknown one counts as missing.
  ///   - commitTime: the version that the commit gets.
  ///   - requestTime: the value of server timestamps, cut to milliseconds.
  ///   - resourceName: the full name of the document, for the texts of errors; its path in the database if nil.
  /// - Returns: the document (unchanged for a verify), and one result for each transform, null for those of arrays.
  /// - Throws: ``StatusError`` if the precondition does not hold: `alreadyExists`, `notFound`, or `failedPrecondition`
  ///   for an update time. ``WireFormatError`` if fields cannot be decoded.
  package func applied(
    to document: Document, commitTime: SnapshotVersion, requestTime: Timestamp,
    resourceName: @autoclosure () -> String? = nil
  ) throws -> (document: Document, transformResults: [Value]) {
    try requirePrecondition(of: document, resourceName: resourceName())
    switch operation {
    case .verify:
      return (document, [])
    case .delete:
      return (.missing(key, version: commitTime, readTime: commitTime), [])
    case .set, .patch:
      guard let data = try fieldsBeforeTransforms(on: document) else { return (document, []) }
      let time = Timestamp(
        seconds: requestTime.seconds, nanoseconds: requestTime.nanoseconds - requestTime.nanoseconds % 1_000_000)
      var results: [Value] = []
      let fields = try transforming(data) { transform, _, value in
        let outcome = transform.operation.applied(to: value, time: time)
        results.append(transform.operation.reportedResult(of: outcome))
        return outcome
      }
      let createTime = document.isFound ? document.createTime : commitTime
      let changed = Document.found(
        key, version: commitTime, createTime: createTime, readTime: commitTime, fields: fields)
      return (changed, results)
    }
  }

  /// Checks the precondition alone. The fields of the document do not matter.
  ///
  /// - Throws: As ``applied(to:commitTime:requestTime:resourceName:)``.
  package func requirePrecondition(
    of document: Document, resourceName: @autoclosure () -> String? = nil
  ) throws(StatusError) {
    if let failure = preconditionFailure(for: document, resourceName: resourceName() ?? key.canonicalString) {
      throw failure
    }
  }

  private func preconditionFailure(for document: Document, resourceName: @autoclosure () -> String) -> StatusError? {
    if precondition.isSatisfied(by: document) { return nil }
    switch precondition {
    case .none:
      return nil
    case .exists(true):
      return StatusError(code: .notFound, message: "No document to update: \(resourceName())")
    case .exists(false):
      return StatusError(code: .alreadyExists, message: "Document already exists: \(resourceName())")
    case .updateTime(let required):
      let stored = document.isFound ? document.version.microseconds : 0
      return StatusError(
        code: .failedPrecondition,
        message: "the stored version (\(stored)) does not match the required base version (\(required.microseconds))")
    }
  }
}
