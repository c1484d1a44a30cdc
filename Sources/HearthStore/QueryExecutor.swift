package import HearthModel

/// The keys that a query had at its last snapshot without documents in limbo, and that snapshot's version.
package struct PreviousResult: Equatable, Sendable {
  package var keys: Set<DocumentKey>
  package var limboFreeVersion: SnapshotVersion

  package init(keys: Set<DocumentKey>, limboFreeVersion: SnapshotVersion) {
    self.keys = keys
    self.limboFreeVersion = limboFreeVersion
  }
}

/// How a query is answered. All ways give the same documents in the same order.
package enum QueryPlan: Equatable, Sendable {
  /// One document by its key.
  case document(DocumentKey)
  /// The documents of the previous result that still match, and those that changed since.
  case previousResult
  /// Every document of the scope.
  case scan
}

/// What it took to answer a query.
package struct QueryExecution: Equatable, Sendable {
  package var plan: QueryPlan
  /// Stored documents that were looked at.
  package var rowsRead: Int
  /// Stored documents that were copied out of the database.
  package var documentsDecoded: Int

  package init(plan: QueryPlan, rowsRead: Int = 0, documentsDecoded: Int = 0) {
    self.plan = plan
    self.rowsRead = rowsRead
    self.documentsDecoded = documentsDecoded
  }
}

/// Answers queries from the stored documents and the local mutations over them.
package struct QueryExecutor {
  let documents: DocumentStore
  private let localMutations: (any LocalMutationSource)?

  package init(documents: DocumentStore, localMutations: (any LocalMutationSource)? = nil) {
    self.documents = documents
    self.localMutations = localMutations
  }

  /// The existing documents that match, in the order of the query, with its limit applied.
  ///
  /// - Parameter previous: what the query had before, if known; it is used where the outcome is the same as that of a
  ///   scan and the effort smaller.
  /// - Throws: ``StoreError``; `corrupt` names the document whose stored form cannot be read.
  package func run(
    _ query: Query, previous: PreviousResult? = nil
  ) throws -> (documents: [Document], execution: QueryExecution) {
    try documents.database.readTransaction("Execute query") {
      if query.collectionGroup == nil, let key = try? DocumentKey(query.path) {
        return try runDocument(query, key)
      }
      if let previous, let answer = try runPreviousResult(query, previous) { return answer }
      return try runScan(query)
    }
  }

  // MARK: - Document

  private func runDocument(_ query: Query, _ key: DocumentKey) throws -> ([Document], QueryExecution) {
    let execution = QueryExecution(plan: .document(key), rowsRead: 1, documentsDecoded: 1)
    var document = try documents.document(for: key)
    if let overlay = try localMutations?.localMutations(for: [key])[key] { try document.apply(overlay: overlay) }
    return (try matches(query, document) ? [document] : [], execution)
  }

  // MARK: - Scan

  /// - Parameter part: only the stored documents of this part; the first one also has those with a local mutation.
  func runScan(_ query: Query, part: DocumentPart? = nil) throws -> ([Document], QueryExecution) {
    var execution = QueryExecution(plan: .scan)
    let scope = CollectionScope(of: query)
    let overlays = try localMutations?.localMutations(in: scope) ?? [:]
    var result = LimitedResult(of: query)
    if part?.isFirst ?? true { try addOverlaid(overlays, query, to: &result, &execution) }
    let filter = InPlaceFilter(query)
    try documents.forEach(in: scope, part: part) { stored in
      execution.rowsRead += 1
      guard let key = try filter.matchingKey(of: stored, inside: result.edge), overlays[key] == nil else { return true }
      execution.documentsDecoded += 1
      result.add(try stored.document(key: key))
      return true
    }
    return (result.finish(), execution)
  }

  /// Documents with a local mutation are looked at one by one, because what is stored says nothing about whether they
  /// match; many of them are not stored at all.
  private func addOverlaid(
    _ overlays: [DocumentKey: Mutation], _ query: Query, to result: inout LimitedResult,
    _ execution: inout QueryExecution
  ) throws {
    for (key, overlay) in overlays {
      var document = try documents.document(for: key)
      execution.rowsRead += 1
      execution.documentsDecoded += 1
      try document.apply(overlay: overlay)
      if try matches(query, document) { result.add(document) }
    }
  }

  // MARK: - Previous result

  /// - Returns: nil when the previous result cannot be used and the query must be scanned.
  private func runPreviousResult(
    _ query: Query, _ previous: PreviousResult
  ) throws -> ([Document], QueryExecution)? {
    // Nothing has been confirmed yet, or everything is wanted and a scan reads it in one sweep.
    guard previous.limboFreeVersion != .none, !query.matchesAllDocuments else { return nil }
    var execution = QueryExecution(plan: .previousResult)
    let scope = CollectionScope(of: query)
    let overlays = try localMutations?.localMutations(in: scope) ?? [:]

    var matching: [Document] = []
    for key in previous.keys {
      var document = try documents.document(for: key)
      execution.rowsRead += 1
      execution.documentsDecoded += 1
      if let overlay = overlays[key] { try document.apply(overlay: overlay) }
      if try matches(query, document) { matching.append(document) }
    }
    if needsRefill(query, matching, previous) { return nil }

    var result = LimitedResult(of: query)
    for document in matching { result.add(document) }
    try addOverlaid(overlays.filter { !previous.keys.contains($0.key) }, query, to: &result, &execution)
    let filter = InPlaceFilter(query)
    try documents.forEach(in: scope, changedAfter: previous.limboFreeVersion) { stored in
      execution.rowsRead += 1
      guard let key = try filter.matchingKey(of: stored, inside: result.edge), overlays[key] == nil,
        !previous.keys.contains(key)
      else {
        return true
      }
      execution.documentsDecoded += 1
      result.add(try stored.document(key: key))
      return true
    }
    return (result.finish(), execution)
  }

  /// Whether documents that were beyond the limit may have to come in: one of the former result is gone, or the one at the
  /// edge has changed, so that it may now sort behind a document that nobody has looked at. This is the rule of the
  /// official SDKs.
  private func needsRefill(_ query: Query, _ matching: [Document], _ previous: PreviousResult) -> Bool {
    guard query.limit != nil else { return false }
    if matching.count != previous.keys.count { return true }
    let edge = matching.reduce(nil as Document?) { edge, document in
      guard let edge else { return document }
      let isFurtherOut = query.compare(document, edge) == (query.isLimitToLast ? .ascending : .descending)
      return isFurtherOut ? document : edge
    }
    guard let edge else { return false }
    return edge.hasPendingWrites || edge.version > previous.limboFreeVersion
  }

  /// Like `query.matches(document)`, but contents that cannot be read are an error and not a document less.
  private func matches(_ query: Query, _ document: Document) throws -> Bool {
    guard document.isFound else { return false }
    do {
      return try document.fields.withUnsafeBytes { bytes in
        try query.matches(key: document.key, fields: EncodedFieldsView(bytes))
      }
    } catch let error as WireFormatError {
      throw StoreError.corrupt("Document \(document.key): fields are malformed: \(error)")
    }
  }
}
