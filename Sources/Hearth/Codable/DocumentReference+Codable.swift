internal import Foundation

extension DocumentReference {
  /// Reads the document once and decodes it. See ``getDocument(source:completion:)`` and
  /// ``DocumentSnapshot/data(as:with:decoder:)``.
  ///
  /// - Parameters:
  ///   - type: The type to decode. An optional type is nil for a missing document.
  ///   - serverTimestampBehavior: The value of server timestamps that the backend has not set yet.
  ///   - decoder: Strategies and `userInfo`. It must not be changed until the completion is called.
  ///   - source: The source of the document.
  ///   - completion: Called once on the settings' queue with the value or the error of reading or decoding; not called if the client is
  ///     terminated before there is an answer.
  public func getDocument<T: Decodable>(
    as type: T.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
    decoder: Firestore.Decoder = .init(), source: FirestoreSource = .default,
    completion: @escaping (Result<T, any Error>) -> Void
  ) {
    getDocument(source: source) { snapshot, error in
      completion(
        Result {
          if let error { throw error }
          guard let snapshot else {
            throw NSError.firestore(.internal, "Reading document \(self.path) gave neither a snapshot nor an error.")
          }
          return try snapshot.data(as: type, with: serverTimestampBehavior, decoder: decoder)
        })
    }
  }

  /// Reads the document once and decodes it. See ``getDocument(source:)`` and ``DocumentSnapshot/data(as:with:decoder:)``.
  ///
  /// ```swift
  /// let city = try await db.document("cities/SF").getDocument(as: City.self)
  /// ```
  ///
  /// - Parameters:
  ///   - type: The type to decode. An optional type is nil for a missing document.
  ///   - serverTimestampBehavior: The value of server timestamps that the backend has not set yet.
  ///   - decoder: Strategies and `userInfo`.
  ///   - source: The source of the document.
  /// - Returns: The value.
  /// - Throws: The error of reading (`NSError` of ``FirestoreErrorDomain``, `unavailable` for an unknown document while offline), or
  ///   that of decoding (`DecodingError`, and errors that types throw themselves).
  nonisolated(nonsending) public func getDocument<T: Decodable>(
    as type: T.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
    decoder: Firestore.Decoder = .init(), source: FirestoreSource = .default
  ) async throws -> T {
    try await getDocument(source: source).data(as: type, with: serverTimestampBehavior, decoder: decoder)
  }

  /// Encodes a value and replaces the document with it, or creates the document.
  ///
  /// This call does not wait for the backend, even in asynchronous code, and needs no `await`. ``setDataAndWait(from:encoder:)`` waits.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map.
  ///   - encoder: Strategies and `userInfo`.
  ///   - completion: As in ``setData(_:completion:)``: called once the backend has answered, and not while offline.
  /// - Throws: Only encoding errors (`EncodingError.invalidValue`, and errors that types throw), before anything is written.
  public func setData<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder(), completion: (((any Error)?) -> Void)? = nil
  ) throws {
    setData(try encoder.encode(value), completion: completion)
  }

  /// Encodes a value and writes its leaf fields, as ``setData(_:merge:completion:)`` does: properties that are nil leave the document's
  /// fields unchanged.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map.
  ///   - merge: True to leave other fields as they are; with false this is ``setData(from:encoder:completion:)``.
  ///   - encoder: Strategies and `userInfo`.
  ///   - completion: As in ``setData(from:encoder:completion:)``.
  /// - Throws: As ``setData(from:encoder:completion:)``.
  public func setData<T: Encodable>(
    from value: T, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder(),
    completion: (((any Error)?) -> Void)? = nil
  ) throws {
    setData(try encoder.encode(value), merge: merge, completion: completion)
  }

  /// Encodes a value and writes the named fields only, as ``setData(_:mergeFields:completion:)`` does. A named field that the value
  /// leaves out, such as a property that is nil, is a programming error; ``ExplicitNull`` makes it null.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map.
  ///   - mergeFields: `String`s, split at dots, or ``FieldPath``s: names of fields, after the encoder's strategy.
  ///   - encoder: Strategies and `userInfo`.
  ///   - completion: As in ``setData(from:encoder:completion:)``.
  /// - Throws: As ``setData(from:encoder:completion:)``.
  public func setData<T: Encodable>(
    from value: T, mergeFields: [Any], encoder: Firestore.Encoder = Firestore.Encoder(),
    completion: (((any Error)?) -> Void)? = nil
  ) throws {
    setData(try encoder.encode(value), mergeFields: mergeFields, completion: completion)
  }

  /// Same as ``setData(from:encoder:completion:)``, but waits for the backend's answer, for as long as the client is offline.
  ///
  /// It has a different name because the compiler would prefer an asynchronous `setData(from:)` in asynchronous code. Programs written for
  /// the official SDK, which call `setData(from:)` without `await`, would no longer compile.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map.
  ///   - encoder: Strategies and `userInfo`.
  /// - Throws: The encoding error, before anything is written; the backend's refusal (`NSError` of ``FirestoreErrorDomain``);
  ///   `CancellationError` when the task is cancelled; the write then stays in the queue.
  nonisolated(nonsending) public func setDataAndWait<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    try await setData(try encoder.encode(value))
  }

  /// Same as ``setData(from:merge:encoder:completion:)``, but waits for the backend's answer, for as long as the client is offline.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map.
  ///   - merge: True to leave other fields as they are.
  ///   - encoder: Strategies and `userInfo`.
  /// - Throws: As ``setDataAndWait(from:encoder:)``.
  nonisolated(nonsending) public func setDataAndWait<T: Encodable>(
    from value: T, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    try await setData(try encoder.encode(value), merge: merge)
  }

  /// Same as ``setData(from:mergeFields:encoder:completion:)``, but waits for the backend's answer, for as long as the client is offline.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map.
  ///   - mergeFields: `String`s, split at dots, or ``FieldPath``s: names of fields, after the encoder's strategy.
  ///   - encoder: Strategies and `userInfo`.
  /// - Throws: As ``setDataAndWait(from:encoder:)``.
  nonisolated(nonsending) public func setDataAndWait<T: Encodable>(
    from value: T, mergeFields: [Any], encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    try await setData(try encoder.encode(value), mergeFields: mergeFields)
  }
}

extension CollectionReference {
  /// Encodes a value and adds it as a document with a new id.
  ///
  /// This call does not wait for the backend, even in asynchronous code, and needs no `await`. ``addDocumentAndWait(from:encoder:)`` waits.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map.
  ///   - encoder: Strategies and `userInfo`.
  ///   - completion: As in ``DocumentReference/setData(from:encoder:completion:)``.
  /// - Returns: The new document's reference, at once.
  /// - Throws: As ``DocumentReference/setData(from:encoder:completion:)``.
  @discardableResult
  public func addDocument<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder(), completion: (((any Error)?) -> Void)? = nil
  ) throws -> DocumentReference {
    addDocument(data: try encoder.encode(value), completion: completion)
  }

  /// Same as ``addDocument(from:encoder:completion:)``, but waits for the backend's answer, for as long as the client is offline.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map.
  ///   - encoder: Strategies and `userInfo`.
  /// - Returns: The new document's reference, once the backend has the document.
  /// - Throws: As ``DocumentReference/setDataAndWait(from:encoder:)``.
  @discardableResult
  nonisolated(nonsending) public func addDocumentAndWait<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws -> DocumentReference {
    try await addDocument(data: try encoder.encode(value))
  }
}
