// Not in the official SDK (firebase-ios-sdk #9402), with the names and the waiting of its forms of `setData(from:)`.
extension DocumentReference {
  /// Encodes a value and changes its fields in an existing document, as ``updateData(_:completion:)`` does.
  ///
  /// ```swift
  /// struct Visit: Encodable {
  ///   var lastVisitor: String?
  ///   var visits = FieldValue.increment(Int64(1))
  /// }
  /// try city.updateData(from: Visit(lastVisitor: "Ada"))
  /// ```
  ///
  /// Only the fields that the value encodes are changed: properties that are nil leave their fields unchanged, and ``ExplicitNull`` sets
  /// null. Each field is replaced as a whole, even a map or an array: a nested struct, a dictionary or an enum with payloads loses
  /// everything that the value does not have. To merge maps field by field, use ``setData(from:merge:encoder:completion:)``. A value that
  /// encodes no field changes nothing, and still fails with `notFound` if the document does not exist.
  ///
  /// Like ``setData(from:encoder:completion:)``, this call does not wait for the backend, even in asynchronous code.
  /// ``updateDataAndWait(from:encoder:)`` waits.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map. The names of its fields are not split at dots. `FieldValue.delete()` is legal for its own
  ///     properties, and a programming error at a deeper level.
  ///   - encoder: Strategies and `userInfo`.
  ///   - completion: As in ``updateData(_:completion:)``: called once the backend has answered, with `notFound` if the document does not
  ///     exist there; not called while offline. Until then, an update of a document that the cache does not know has no effect in the
  ///     cache.
  /// - Throws: Only encoding errors (`EncodingError.invalidValue`, and errors that types throw), before anything is written.
  public func updateData<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder(), completion: (((any Error)?) -> Void)? = nil
  ) throws {
    firestore.write([updateMutation(fieldsByName: try encoder.encode(value))], completion)
  }

  /// Same as ``updateData(from:encoder:completion:)``, but waits for the backend's answer, for as long as the client is offline.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map.
  ///   - encoder: Strategies and `userInfo`.
  /// - Throws: As ``setDataAndWait(from:encoder:)``; `notFound` if the document does not exist at the backend.
  nonisolated(nonsending) public func updateDataAndWait<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    try await firestore.write([updateMutation(fieldsByName: try encoder.encode(value))])
  }
}

extension WriteBatch {
  /// Encodes a value and adds a write as ``DocumentReference/updateData(from:encoder:completion:)`` makes it. If the document does
  /// not exist at the backend, the whole batch fails with `notFound`.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map.
  ///   - doc: The document to change.
  ///   - encoder: Strategies and `userInfo`.
  /// - Returns: The batch itself, for the next write.
  /// - Throws: Only encoding errors; the batch is then unchanged.
  @discardableResult
  public func updateData<T: Encodable>(
    from value: T, forDocument doc: DocumentReference, encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteBatch {
    update(fieldsByName: try encoder.encode(value), of: doc)
  }
}

extension Transaction {
  /// Encodes a value and adds a write as ``DocumentReference/updateData(from:encoder:completion:)`` makes it. If the document was
  /// read as missing, the transaction fails with `invalidArgument`; if it was not read and is missing, with `notFound`.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map.
  ///   - doc: The document to change.
  ///   - encoder: Strategies and `userInfo`.
  /// - Returns: The transaction itself, for the next write.
  /// - Throws: Only encoding errors; the transaction is then unchanged.
  @discardableResult
  public func updateData<T: Encodable>(
    from value: T, forDocument doc: DocumentReference, encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    update(fieldsByName: try encoder.encode(value), of: doc)
  }
}
