// The methods of dictionaries, for `FieldMap`. The label keeps literals of programs written for the official SDK dictionaries.
extension DocumentReference {
  /// Replaces the document, or creates it, as ``setData(_:completion:)`` does.
  ///
  /// - Parameters:
  ///   - fields: The whole content of the document.
  ///   - completion: As in ``setData(_:completion:)``.
  public func setData(fields: FieldMap, completion: (((any Error)?) -> Void)? = nil) {
    setData(fields.objects, completion: completion)
  }

  /// Writes the leaf fields of the map and leaves the document's other fields unchanged, as ``setData(_:merge:completion:)`` does.
  public func setData(fields: FieldMap, merge: Bool, completion: (((any Error)?) -> Void)? = nil) {
    setData(fields.objects, merge: merge, completion: completion)
  }

  /// Writes only the named fields, as ``setData(_:mergeFields:completion:)`` does.
  public func setData(fields: FieldMap, mergeFields: [Any], completion: (((any Error)?) -> Void)? = nil) {
    setData(fields.objects, mergeFields: mergeFields, completion: completion)
  }

  /// Same as ``setData(fields:completion:)``, but waits for the backend's answer, for as long as the client is offline.
  nonisolated(nonsending) public func setData(fields: FieldMap) async throws {
    try await setData(fields.objects)
  }

  /// Same as ``setData(fields:merge:completion:)``, but waits for the backend's answer, for as long as the client is offline.
  nonisolated(nonsending) public func setData(fields: FieldMap, merge: Bool) async throws {
    try await setData(fields.objects, merge: merge)
  }

  /// Same as ``setData(fields:mergeFields:completion:)``, but waits for the backend's answer, for as long as the client is offline.
  nonisolated(nonsending) public func setData(fields: FieldMap, mergeFields: [Any]) async throws {
    try await setData(fields.objects, mergeFields: mergeFields)
  }

  /// Changes fields of an existing document, as ``updateData(_:completion:)`` does.
  ///
  /// - Parameters:
  ///   - fields: The names are paths, split at dots; a content replaces the whole field at that path.
  ///   - completion: As in ``updateData(_:completion:)``.
  public func updateData(fields: FieldMap, completion: (((any Error)?) -> Void)? = nil) {
    updateData(fields.objects, completion: completion)
  }

  /// Same as ``updateData(fields:completion:)``, but waits for the backend's answer, for as long as the client is offline.
  nonisolated(nonsending) public func updateData(fields: FieldMap) async throws {
    try await updateData(fields.objects)
  }
}

extension CollectionReference {
  /// Adds a document with a new id, as ``addDocument(data:completion:)`` does.
  ///
  /// - Returns: The new document's reference, at once.
  @discardableResult
  public func addDocument(fields: FieldMap, completion: (((any Error)?) -> Void)? = nil) -> DocumentReference {
    addDocument(data: fields.objects, completion: completion)
  }

  /// Adds a document with a new id and waits for the backend's answer, for as long as the client is offline.
  ///
  /// - Returns: The new document's reference.
  @discardableResult
  nonisolated(nonsending) public func addDocument(fields: FieldMap) async throws -> DocumentReference {
    try await addDocument(data: fields.objects)
  }
}

extension WriteBatch {
  /// Adds a write as ``DocumentReference/setData(fields:completion:)`` makes it.
  @discardableResult
  public func setData(fields: FieldMap, forDocument document: DocumentReference) -> WriteBatch {
    setData(fields.objects, forDocument: document)
  }

  /// Adds a write as ``DocumentReference/setData(fields:merge:completion:)`` makes it.
  @discardableResult
  public func setData(fields: FieldMap, forDocument document: DocumentReference, merge: Bool) -> WriteBatch {
    setData(fields.objects, forDocument: document, merge: merge)
  }

  /// Adds a write as ``DocumentReference/setData(fields:mergeFields:completion:)`` makes it.
  @discardableResult
  public func setData(fields: FieldMap, forDocument document: DocumentReference, mergeFields: [Any]) -> WriteBatch {
    setData(fields.objects, forDocument: document, mergeFields: mergeFields)
  }

  /// Adds a write as ``DocumentReference/updateData(fields:completion:)`` makes it.
  @discardableResult
  public func updateData(fields: FieldMap, forDocument document: DocumentReference) -> WriteBatch {
    updateData(fields.objects, forDocument: document)
  }
}

extension Transaction {
  /// Adds a write as ``DocumentReference/setData(fields:completion:)`` makes it.
  @discardableResult
  public func setData(fields: FieldMap, forDocument document: DocumentReference) -> Transaction {
    setData(fields.objects, forDocument: document)
  }

  /// Adds a write as ``DocumentReference/setData(fields:merge:completion:)`` makes it.
  @discardableResult
  public func setData(fields: FieldMap, forDocument document: DocumentReference, merge: Bool) -> Transaction {
    setData(fields.objects, forDocument: document, merge: merge)
  }

  /// Adds a write as ``DocumentReference/setData(fields:mergeFields:completion:)`` makes it.
  @discardableResult
  public func setData(fields: FieldMap, forDocument document: DocumentReference, mergeFields: [Any]) -> Transaction {
    setData(fields.objects, forDocument: document, mergeFields: mergeFields)
  }

  /// Adds a write as ``DocumentReference/updateData(fields:completion:)`` makes it.
  @discardableResult
  public func updateData(fields: FieldMap, forDocument document: DocumentReference) -> Transaction {
    updateData(fields.objects, forDocument: document)
  }
}
