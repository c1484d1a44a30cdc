internal import Foundation

extension DocumentReference {
  /// Reads the document once and decodes it. See ``getDocument(source:completion:)`` and
  /// ``DocumentSnapshot/data(as:with:decoder:)``.
  ///
  /// - Parameters:
  ///   - type: What to decode. For a document that does not exist an optional type gives nil.
  ///   - serverTimestampBehavior: What server timestamps are decoded from that the backend has not set yet.
  ///   - decoder: Strategies and `userInfo`.
  ///   - source: Where the document is read.
  ///   - completion: Called once on the settings' queue with the value or the error of reading or decoding.
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

  /// Reads the document once and decodes it, as the form with a completion does.
  nonisolated(nonsending) public func getDocument<T: Decodable>(
    as type: T.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
    decoder: Firestore.Decoder = .init(), source: FirestoreSource = .default
  ) async throws -> T {
    try await getDocument(source: source).data(as: type, with: serverTimestampBehavior, decoder: decoder)
  }

  /// Encodes a value and replaces the document with it, or creates the document.
  ///
  /// In asynchronous code too this call does not wait for the backend and is made without `await`;
  /// ``setDataAndWait(from:encoder:)`` waits.
  ///
  /// - Parameters:
  ///   - value: What encodes to a map.
  ///   - encoder: Strategies and `userInfo`.
  ///   - completion: As in ``setData(_:completion:)``.
  /// - Throws: Only errors of encoding, before anything is written.
  public func setData<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder(), completion: (((any Error)?) -> Void)? = nil
  ) throws {
    setData(try encoder.encode(value), completion: completion)
  }

  /// Encodes a value and writes the leaf fields that it has, as ``setData(_:merge:completion:)`` does: properties that are nil are
  /// left as they are in the document. For the parameters and errors see ``setData(from:encoder:completion:)``.
  public func setData<T: Encodable>(
    from value: T, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder(),
    completion: (((any Error)?) -> Void)? = nil
  ) throws {
    setData(try encoder.encode(value), merge: merge, completion: completion)
  }

  /// Encodes a value and writes the named fields only, as ``setData(_:mergeFields:completion:)`` does. A named field that the value
  /// leaves out, such as a property that is nil, is a programming error; ``ExplicitNull`` makes it null. For the parameters and
  /// errors see ``setData(from:encoder:completion:)``.
  public func setData<T: Encodable>(
    from value: T, mergeFields: [Any], encoder: Firestore.Encoder = Firestore.Encoder(),
    completion: (((any Error)?) -> Void)? = nil
  ) throws {
    setData(try encoder.encode(value), mergeFields: mergeFields, completion: completion)
  }

  /// As ``setData(from:encoder:completion:)``, waiting for the backend, while offline as long as it takes.
  ///
  /// A name of its own, because an asynchronous `setData(from:)` would take the place of the one that does not wait in programs
  /// written for the official SDK.
  nonisolated(nonsending) public func setDataAndWait<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    try await setData(try encoder.encode(value))
  }

  /// As ``setData(from:merge:encoder:completion:)``, waiting for the backend, while offline as long as it takes.
  nonisolated(nonsending) public func setDataAndWait<T: Encodable>(
    from value: T, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    try await setData(try encoder.encode(value), merge: merge)
  }

  /// As ``setData(from:mergeFields:encoder:completion:)``, waiting for the backend, while offline as long as it takes.
  nonisolated(nonsending) public func setDataAndWait<T: Encodable>(
    from value: T, mergeFields: [Any], encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    try await setData(try encoder.encode(value), mergeFields: mergeFields)
  }
}

extension CollectionReference {
  /// Encodes a value and adds it as a document with a new id.
  ///
  /// In asynchronous code too this call does not wait for the backend and is made without `await`;
  /// ``addDocumentAndWait(from:encoder:)`` waits. For the parameters and errors see
  /// ``DocumentReference/setData(from:encoder:completion:)``.
  ///
  /// - Returns: The new document's reference, at once.
  @discardableResult
  public func addDocument<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder(), completion: (((any Error)?) -> Void)? = nil
  ) throws -> DocumentReference {
    addDocument(data: try encoder.encode(value), completion: completion)
  }

  /// As ``addDocument(from:encoder:completion:)``, waiting for the backend, while offline as long as it takes.
  @discardableResult
  nonisolated(nonsending) public func addDocumentAndWait<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws -> DocumentReference {
    try await addDocument(data: try encoder.encode(value))
  }
}
