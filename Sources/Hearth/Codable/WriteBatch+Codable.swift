extension WriteBatch {
  /// Encodes a value and adds a write as ``setData(_:forDocument:)`` does.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map.
  ///   - doc: The document to replace or create.
  ///   - encoder: Strategies and `userInfo`.
  /// - Returns: The batch itself, for the next write.
  /// - Throws: Only encoding errors; the batch is then unchanged.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument doc: DocumentReference, encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteBatch {
    setData(try encoder.encode(value), forDocument: doc)
  }

  /// Encodes a value and adds a write as ``setData(_:forDocument:merge:)`` does: properties that are nil leave the document's fields
  /// unchanged.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map.
  ///   - doc: The document to change or create.
  ///   - merge: True to leave other fields as they are.
  ///   - encoder: Strategies and `userInfo`.
  /// - Returns: The batch itself, for the next write.
  /// - Throws: As ``setData(from:forDocument:encoder:)``.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument doc: DocumentReference, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteBatch {
    setData(try encoder.encode(value), forDocument: doc, merge: merge)
  }

  /// Encodes a value and adds a write as ``setData(_:forDocument:mergeFields:)`` does. A named field
  /// that the value leaves out is a programming error.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map.
  ///   - doc: The document to change or create.
  ///   - mergeFields: `String`s, split at dots, or ``FieldPath``s: names of fields, after the encoder's strategy.
  ///   - encoder: Strategies and `userInfo`.
  /// - Returns: The batch itself, for the next write.
  /// - Throws: As ``setData(from:forDocument:encoder:)``.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument doc: DocumentReference, mergeFields: [Any],
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteBatch {
    setData(try encoder.encode(value), forDocument: doc, mergeFields: mergeFields)
  }
}

extension Transaction {
  /// Encodes a value and adds a write as ``setData(_:forDocument:)`` does.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map.
  ///   - doc: The document to replace or create.
  ///   - encoder: Strategies and `userInfo`.
  /// - Returns: The transaction itself, for the next write.
  /// - Throws: Only encoding errors; the transaction is then unchanged.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument doc: DocumentReference, encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    setData(try encoder.encode(value), forDocument: doc)
  }

  /// Encodes a value and adds a write as ``setData(_:forDocument:merge:)`` does: properties that are nil leave the document's fields
  /// unchanged.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map.
  ///   - doc: The document to change or create.
  ///   - merge: True to leave other fields as they are.
  ///   - encoder: Strategies and `userInfo`.
  /// - Returns: The transaction itself, for the next write.
  /// - Throws: As ``setData(from:forDocument:encoder:)``.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument doc: DocumentReference, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    setData(try encoder.encode(value), forDocument: doc, merge: merge)
  }

  /// Encodes a value and adds a write as ``setData(_:forDocument:mergeFields:)`` does. A named field
  /// that the value leaves out is a programming error.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map.
  ///   - doc: The document to change or create.
  ///   - mergeFields: `String`s, split at dots, or ``FieldPath``s: names of fields, after the encoder's strategy.
  ///   - encoder: Strategies and `userInfo`.
  /// - Returns: The transaction itself, for the next write.
  /// - Throws: As ``setData(from:forDocument:encoder:)``.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument doc: DocumentReference, mergeFields: [Any],
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    setData(try encoder.encode(value), forDocument: doc, mergeFields: mergeFields)
  }
}
