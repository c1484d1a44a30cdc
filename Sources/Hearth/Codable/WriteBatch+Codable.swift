extension WriteBatch {
  /// Encodes a value and adds a write as ``setData(_:forDocument:)`` does.
  ///
  /// - Throws: Only errors of encoding; the batch is then as it was before.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument doc: DocumentReference, encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteBatch {
    setData(try encoder.encode(value), forDocument: doc)
  }

  /// Encodes a value and adds a write as ``setData(_:forDocument:merge:)`` does. For errors see
  /// ``setData(from:forDocument:encoder:)``.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument doc: DocumentReference, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteBatch {
    setData(try encoder.encode(value), forDocument: doc, merge: merge)
  }

  /// Encodes a value and adds a write as ``setData(_:forDocument:mergeFields:)`` does. For errors see
  /// ``setData(from:forDocument:encoder:)``.
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
  /// - Throws: Only errors of encoding; the transaction is then as it was before.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument doc: DocumentReference, encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    setData(try encoder.encode(value), forDocument: doc)
  }

  /// Encodes a value and adds a write as ``setData(_:forDocument:merge:)`` does. For errors see
  /// ``setData(from:forDocument:encoder:)``.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument doc: DocumentReference, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    setData(try encoder.encode(value), forDocument: doc, merge: merge)
  }

  /// Encodes a value and adds a write as ``setData(_:forDocument:mergeFields:)`` does. For errors see
  /// ``setData(from:forDocument:encoder:)``.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument doc: DocumentReference, mergeFields: [Any],
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    setData(try encoder.encode(value), forDocument: doc, mergeFields: mergeFields)
  }
}
