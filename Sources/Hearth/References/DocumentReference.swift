public import Foundation
internal import HearthModel

/// A document's place in the database, whether the document exists or not.
///
/// Writes take effect in the cache at once and are visible to reads and listeners. They are sent when the backend can be reached, in the
/// order of the calls. Their completions, and the `async` forms, wait for the backend's answer: **while offline they wait until the network
/// is back.** To go on without waiting, call the form with a completion; in asynchronous code the argument must be written out
/// (`setData(data, completion: nil)`). ``Firestore/pendingWrites()`` waits until writes are saved on this device. When the task of an
/// `async` form is cancelled, the call throws `CancellationError` and the write stays in the queue.
///
/// Two references are equal when they are of the same Firestore object and have the same path.
public final class DocumentReference: NSObject, Sendable {
  /// The Firestore object that the reference belongs to.
  public let firestore: Firestore
  let key: DocumentKey

  init(firestore: Firestore, key: DocumentKey) {
    self.firestore = firestore
    self.key = key
  }

  /// The last segment of the path.
  public var documentID: String { key.id }

  /// The collection that the document is in.
  public var parent: CollectionReference { CollectionReference(firestore: firestore, path: key.collectionPath) }

  /// The path from the database's root, such as `"cities/SF"`.
  public var path: String { key.canonicalString }

  /// A collection under this document, whether either exists or not.
  ///
  /// - Parameter collectionPath: A path relative to the document with an odd number of segments, such as `"landmarks"`; anything
  ///   else is a programming error.
  public func collection(_ collectionPath: String) -> CollectionReference {
    CollectionReference(
      firestore: firestore,
      path: requireValid { () throws(ProgrammingError) in
        try PathParser.collection(collectionPath, under: key.path)
      })
  }

  /// Equality as in the type's description.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? DocumentReference else { return false }
    return firestore === other.firestore && key == other.key
  }

  /// A hash of the Firestore object and the path.
  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(ObjectIdentifier(firestore))
    hasher.combine(key)
    return hasher.finalize()
  }

  /// The path, for logs.
  public override var description: String { "<DocumentReference: \(path)>" }
}

// MARK: - Writing

extension DocumentReference {
  /// Replaces the document, or creates it.
  ///
  /// The backend has limits of its own, such as 1 MiB for a document and 20 levels of maps and arrays (Firestore documentation of
  /// limits). A write that exceeds them is visible locally until the backend refuses it with `invalidArgument`.
  ///
  /// - Parameters:
  ///   - documentData: Strings, numbers, Booleans, `Date`, ``Timestamp``, `Data`, ``GeoPoint``, ``DocumentReference``, ``VectorValue``,
  ///     `NSNull`, ``FieldValue``, and arrays and dictionaries of these; `nil` in an optional is null. Other types, integers above
  ///     `Int64.max`, arrays directly in arrays, references to another database, empty names and names like `__name__` are programming
  ///     errors. A ``Timestamp`` is truncated to microseconds, a `Date` rounded. A write of more than about 17 MiB is refused at once with
  ///     `invalidArgument`, because it cannot be sent.
  ///   - completion: Called on the settings' queue once the backend has accepted the write (nil) or refused it (an error such as
  ///     `permissionDenied`, after which the cache shows the old state again), or with an error of the cache's file if the write
  ///     could not be saved. Not called while offline, and not after a restart of the program, although the write is still sent
  ///     then.
  public func setData(_ documentData: [String: Any], completion: (((any Error)?) -> Void)? = nil) {
    firestore.write([setMutation(documentData)], completion)
  }

  /// Writes the leaf fields of the data and leaves the document's other fields unchanged; creates the document if necessary. Maps are
  /// merged at every depth; arrays and empty maps replace the present value. `FieldValue.delete()` removes a field. With `merge` false this
  /// is ``setData(_:completion:)``.
  public func setData(_ documentData: [String: Any], merge: Bool, completion: (((any Error)?) -> Void)? = nil) {
    firestore.write([setMutation(documentData, merge: merge)], completion)
  }

  /// Writes only the named fields of the data; creates the document if necessary. A named map is replaced as a whole. `FieldValue.delete()`
  /// at a named field removes it.
  ///
  /// - Parameters:
  ///   - documentData: As in ``setData(_:completion:)``.
  ///   - mergeFields: `String`s, split at dots, or ``FieldPath``s. A field that is not in the data is a programming error.
  ///   - completion: As in ``setData(_:completion:)``.
  public func setData(
    _ documentData: [String: Any], mergeFields: [Any], completion: (((any Error)?) -> Void)? = nil
  ) {
    firestore.write([setMutation(documentData, mergeFields: mergeFields)], completion)
  }

  /// Same as ``setData(_:completion:)``, waiting for the backend.
  nonisolated(nonsending) public func setData(_ documentData: [String: Any]) async throws {
    try await firestore.write([setMutation(documentData)])
  }

  /// Same as ``setData(_:merge:completion:)``, waiting for the backend.
  nonisolated(nonsending) public func setData(_ documentData: [String: Any], merge: Bool) async throws {
    try await firestore.write([setMutation(documentData, merge: merge)])
  }

  /// Same as ``setData(_:mergeFields:completion:)``, waiting for the backend.
  nonisolated(nonsending) public func setData(_ documentData: [String: Any], mergeFields: [Any]) async throws {
    try await firestore.write([setMutation(documentData, mergeFields: mergeFields)])
  }

  /// Changes fields of an existing document.
  ///
  /// ```swift
  /// try await city.updateData(["mayor.name": "London Breed", "visits": FieldValue.increment(Int64(1))])
  /// ```
  ///
  /// - Parameters:
  ///   - fields: Keys are `String`s, split at dots, or ``FieldPath``s; a value replaces the whole field at that path. Other keys
  ///     are a programming error. Values as in ``setData(_:completion:)``; `FieldValue.delete()` only directly as a value here.
  ///   - completion: As in ``setData(_:completion:)``; `notFound` if the document does not exist at the backend. Until then, an update of a
  ///     document that the cache does not know has no effect in the cache.
  public func updateData(_ fields: [AnyHashable: Any], completion: (((any Error)?) -> Void)? = nil) {
    firestore.write([updateMutation(fields)], completion)
  }

  /// Same as ``updateData(_:completion:)``, waiting for the backend.
  nonisolated(nonsending) public func updateData(_ fields: [AnyHashable: Any]) async throws {
    try await firestore.write([updateMutation(fields)])
  }

  /// Deletes the document. Documents in its subcollections stay. Deleting a missing document succeeds.
  ///
  /// - Parameter completion: As in ``setData(_:completion:)``.
  public func delete(completion: (((any Error)?) -> Void)? = nil) {
    firestore.write([.delete(key)], completion)
  }

  /// Same as ``delete(completion:)``, waiting for the backend.
  nonisolated(nonsending) public func delete() async throws {
    try await firestore.write([.delete(key)])
  }

  /// - Parameter function: The call that makes the write, for the message of a programming error; likewise below.
  func setMutation(_ data: [String: Any], merge: Bool = false, in function: StaticString = #function) -> Mutation {
    requireValid(in: function) { () throws(ProgrammingError) in
      merge
        ? try UserDataReader.merge(data, key: key, databaseID: firestore.databaseID)
        : try UserDataReader.set(data, key: key, databaseID: firestore.databaseID)
    }
  }

  func setMutation(
    _ data: [String: Any], mergeFields: [Any], in function: StaticString = #function
  ) -> Mutation {
    requireValid(in: function) { () throws(ProgrammingError) in
      try UserDataReader.merge(data, fields: mergeFields, key: key, databaseID: firestore.databaseID)
    }
  }

  func updateMutation(_ fields: [AnyHashable: Any], in function: StaticString = #function) -> Mutation {
    requireValid(in: function) { () throws(ProgrammingError) in
      try UserDataReader.update(fields, key: key, databaseID: firestore.databaseID)
    }
  }

  /// - Parameter fields: By name; dots in a name do not split it.
  func updateMutation(fieldsByName fields: [String: Any], in function: StaticString = #function) -> Mutation {
    requireValid(in: function) { () throws(ProgrammingError) in
      try UserDataReader.update(fieldsByName: fields, key: key, databaseID: firestore.databaseID)
    }
  }
}
