package import HearthModel
internal import HearthTransport

/// The calls of interactive commands: each is made once, and fails with what to do.
extension DataBackend {
  /// One document for each distinct key, found or missing, in order.
  package func documents(for keys: [DocumentKey], at version: SnapshotVersion?) async throws(DataError) -> [Document] {
    try await once("Reading") { () async throws(StatusError) in
      try await transport.batchGetDocuments(keys, at: version)
    }
  }

  /// - Parameter failure: What is said if it fails, such as `Document "a/b" was not written`.
  /// - Returns: The version of the document, or that of the commit.
  @discardableResult
  package func commit(_ mutation: Mutation, failure: String) async throws(DataError) -> SnapshotVersion {
    let answer = try await once(failure) { () async throws(StatusError) in try await transport.commit([mutation]) }
    return answer.results.first?.version ?? answer.commitVersion
  }

  /// Deletes a document that exists.
  ///
  /// - Returns: The version of the deletion; nil if there was no such document.
  package func delete(_ key: DocumentKey, failure: String) async throws(DataError) -> SnapshotVersion? {
    try await once(failure) { () async throws(StatusError) in try await deleteIfThere(key) }
  }

  func deleteIfThere(_ key: DocumentKey) async throws(StatusError) -> SnapshotVersion? {
    do {
      return try await transport.commit([.delete(key, precondition: .exists(true))]).commitVersion
    } catch {
      // The error of a missing database has the same code: "The database (default) does not exist for project …".
      guard error.code == .notFound, !error.message.hasPrefix("The database") else { throw error }
      return nil
    }
  }

  package func query(
    _ query: Query, selecting fields: [FieldPath]?, at version: SnapshotVersion?,
    onDocument: @escaping @Sendable (Document) -> Void
  ) async throws(DataError) {
    _ = try await once("The query failed") { () async throws(StatusError) in
      try await transport.runQuery(query, selecting: fields, at: version, onDocument: onDocument)
    }
  }

  /// The values of the aggregations by their aliases.
  package func aggregate(_ query: Query, _ aggregations: [Aggregation]) async throws(DataError) -> [String: Value] {
    try await once("The count failed") { () async throws(StatusError) in
      try await transport.aggregate(query, aggregations).values
    }
  }

  package func collectionIDs(below parent: ResourcePath, at version: SnapshotVersion?) async throws(DataError)
    -> [String]
  {
    try await once("The collections cannot be listed") { () async throws(StatusError) in
      try await transport.collectionIDs(below: parent, at: version)
    }
  }

  private func once<Answer>(
    _ what: String, _ body: () async throws(StatusError) -> Answer
  ) async throws(DataError) -> Answer {
    do {
      return try await body()
    } catch {
      throw failure(error, doing: what)
    }
  }
}
