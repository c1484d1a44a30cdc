internal import HearthModel
internal import HearthSync

extension DocumentReference {
  /// Reads the document once, with the sources and the time limit of a policy.
  ///
  /// ```swift
  /// let city = try await db.document("cities/SF").getDocument(policy: .server(within: .seconds(2)))
  /// print(city.metadata.isFromCache ? "as this device knows it" : "as the backend has it")
  /// ```
  ///
  /// - Parameter policy: See ``ReadPolicy``.
  /// - Returns: The document; `exists` is false if it is known not to exist.
  /// - Throws: `unavailable` if the backend cannot be reached, and `deadlineExceeded` if it does not answer in time, in both cases only if
  ///   the cache has no answer that the policy accepts; errors of the backend and of the cache's file; `CancellationError` when the task is
  ///   cancelled.
  nonisolated(nonsending) public func getDocument(policy: ReadPolicy) async throws -> DocumentSnapshot {
    let read = PolicyRead<DocumentSnapshot>(
      subject: "document \(path)",
      readCache: { [self] completion in
        firestore.runtime().readDocument(key) { [self] result in
          completion(
            result.map { document in
              guard case .success(let snapshot) = cached(document) else { return nil }
              return .init(answer: snapshot, hasContent: snapshot.exists, isComplete: true)
            })
        }
      },
      askBackend: { [self] completion in
        firestore.runtime().getOnce(model, isFresh: true) { [self] result in
          completion(result.map { $0.isAnswered ? .answer(snapshot($0)) : .unreachable })
        }
      }
    )
    return try await firestore.runtime().instruments.read(of: key.collectionGroup) { try await read.answer(policy) }
  }

  /// Reads the document once, with the sources and the time limit of a policy, and decodes it.
  ///
  /// - Parameters:
  ///   - type: The type to decode. An optional type is nil for a missing document.
  ///   - policy: See ``ReadPolicy``.
  ///   - decoder: Strategies and `userInfo`.
  /// - Returns: The value.
  /// - Throws: As ``getDocument(policy:)``, and the errors of decoding.
  nonisolated(nonsending) public func getDocument<T: Decodable>(
    as type: T.Type, policy: ReadPolicy, decoder: Firestore.Decoder = .init()
  ) async throws -> T {
    try await getDocument(policy: policy).data(as: type, decoder: decoder)
  }
}

extension Query {
  /// Runs the query once, with the sources and the time limit of a policy.
  ///
  /// ```swift
  /// let cities = try await db.collection("cities").getDocuments(policy: .cacheFirst)
  /// ```
  ///
  /// An answer from the cache may lack documents; see ``QuerySnapshot/completeness``.
  ///
  /// - Parameter policy: See ``ReadPolicy``.
  /// - Returns: The result.
  /// - Throws: `unavailable` with ``ReadPolicy/cacheElseServer`` if the backend cannot be reached and the cache has no complete result;
  ///   errors of the backend and of the cache's file; `CancellationError` when the task is cancelled.
  nonisolated(nonsending) public func getDocuments(policy: ReadPolicy) async throws -> QuerySnapshot {
    try checkRunnable()
    let read = PolicyRead<QuerySnapshot>(
      subject: "the query for \(model.path.canonicalString)",
      readCache: { [self] completion in
        firestore.runtime().readQuery(model) { result in
          completion(
            result.map { view in
              .init(
                answer: QuerySnapshot(query: self, view: view), hasContent: !view.documents.isEmpty,
                isComplete: view.completeness.isComplete)
            })
        }
      },
      askBackend: { [self] completion in
        firestore.runtime().getOnce(model, isFresh: true) { result in
          completion(result.map { $0.isAnswered ? .answer(QuerySnapshot(query: self, view: $0)) : .unreachable })
        }
      }
    )
    return try await firestore.runtime().instruments.read(of: collectionName) { try await read.answer(policy) }
  }
}

extension TypedQuery {
  /// Runs the query once, with the sources and the time limit of a policy, and decodes the documents.
  ///
  /// - Parameters:
  ///   - policy: See ``ReadPolicy``.
  ///   - decodingFailures: As in ``getDocuments(source:decodingFailures:)``.
  /// - Returns: The decoded documents in the query's order.
  /// - Throws: The first mistake in the query (`invalidArgument`), what ``Query/getDocuments(policy:)`` throws, or the error of
  ///   decoding.
  nonisolated(nonsending) public func getDocuments(
    policy: ReadPolicy, decodingFailures: DecodingFailureStrategy = .raise
  ) async throws -> TypedQuerySnapshot<Model> {
    let query = try runnable.get()
    return try TypedQuerySnapshot(try await query.getDocuments(policy: policy), decodingFailures)
  }
}

extension TypedCollection {
  /// Reads one document, with the sources and the time limit of a policy, and decodes it.
  ///
  /// - Parameters:
  ///   - id: The document's id; an empty id, and a path that is not a document's, is a programming error.
  ///   - policy: See ``ReadPolicy``.
  /// - Returns: The value, or nil if there is no such document.
  /// - Throws: As ``DocumentReference/getDocument(policy:)``, and the errors of decoding.
  nonisolated(nonsending) public func getDocument(_ id: String, policy: ReadPolicy) async throws -> Model? {
    try await reference.document(id).getDocument(as: Model?.self, policy: policy, decoder: Model.documentDecoder)
  }
}
