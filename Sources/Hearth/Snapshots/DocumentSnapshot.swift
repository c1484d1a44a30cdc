public import Foundation
internal import HearthModel

/// The state of a document at one moment. The document may be missing. Snapshots do not change.
///
/// Two snapshots are equal when they are of the same Firestore object and have the same path, existence, data and metadata.
// Not final because `QueryDocumentSnapshot` inherits from it, which the compiler needs for a checked conformance. All stored
// properties are immutable and Sendable here, and the subclass adds none.
public class DocumentSnapshot: NSObject, @unchecked Sendable {
  let firestore: Firestore
  let key: DocumentKey
  /// The document if it exists; nil for a missing one.
  let document: Document?
  /// The origin of the data (cache or backend), and whether it contains local writes.
  public let metadata: SnapshotMetadata

  init(firestore: Firestore, key: DocumentKey, document: Document?, isFromCache: Bool, hasPendingWrites: Bool) {
    self.firestore = firestore
    self.key = key
    self.document = document.flatMap { $0.isFound ? $0 : nil }
    metadata = SnapshotMetadata(hasPendingWrites: hasPendingWrites, isFromCache: isFromCache)
  }

  /// True if the document exists.
  public var exists: Bool { document != nil }

  /// The document's reference.
  public var reference: DocumentReference { DocumentReference(firestore: firestore, key: key) }

  /// The last segment of the document's path.
  public var documentID: String { key.id }

  /// All fields, or nil if the document does not exist. Server timestamps that are not yet set are `NSNull`.
  ///
  /// | stored | read as |
  /// |---|---|
  /// | null | `NSNull` |
  /// | Boolean, integer, double | `NSNumber`, which casts to `Bool` and to every Swift number type on all platforms |
  /// | text, bytes | `String`, `Data` |
  /// | timestamp | ``Timestamp``, in microseconds |
  /// | geo point, vector | ``GeoPoint``, ``VectorValue`` |
  /// | reference | ``DocumentReference`` of this database; the log has a warning if it was stored with another one |
  /// | array, map | `[Any]`, `[String: Any]` |
  public func data() -> [String: Any]? { data(with: .none) }

  /// All fields, or nil if the document does not exist.
  ///
  /// - Parameter serverTimestampBehavior: The value of server timestamps that the backend has not set yet.
  public func data(with serverTimestampBehavior: ServerTimestampBehavior) -> [String: Any]? {
    guard let document else { return nil }
    return writer(serverTimestampBehavior).dictionary(fields(of: document))
  }

  /// All fields as a value that can be passed between actors and tasks, or nil if the document does not exist.
  ///
  /// - Parameter serverTimestampBehavior: The value of server timestamps that the backend has not set yet.
  public func fieldMap(with serverTimestampBehavior: ServerTimestampBehavior = .none) -> FieldMap? {
    guard let document else { return nil }
    return FieldMap(fields(of: document), writer(serverTimestampBehavior))
  }

  /// The value of one field as in ``data()``, or nil if the document or the field does not exist.
  ///
  /// - Parameter field: A `String` with dots between the names of nested fields, or a ``FieldPath``; other types and malformed
  ///   paths are a programming error. For ``FieldPath/documentID()`` the value is nil; see ``documentID``.
  public func get(_ field: Any) -> Any? { get(field, serverTimestampBehavior: .none) }

  /// The value of one field as in ``data()``, or nil if the document or the field does not exist.
  ///
  /// - Parameters:
  ///   - field: As in ``get(_:)``.
  ///   - serverTimestampBehavior: The value of server timestamps that the backend has not set yet.
  public func get(_ field: Any, serverTimestampBehavior: ServerTimestampBehavior) -> Any? {
    let path = requireValid { () throws(ProgrammingError) in try DocumentSnapshot.path(field) }
    guard let document, !path.isDocumentKey else { return nil }
    do {
      return try document.fields.value(at: path).map(writer(serverTimestampBehavior).any)
    } catch {
      logUnreadable(error)
      return nil
    }
  }

  /// The same as ``get(_:)``.
  public subscript(key: Any) -> Any? { self.get(key, serverTimestampBehavior: .none) }

  /// Equality as in the type's description.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? DocumentSnapshot else { return false }
    guard self !== other else { return true }
    return firestore === other.firestore && key == other.key && metadata.isEqual(other.metadata)
      && hasSameData(as: other)
  }

  /// A hash of path, existence and metadata.
  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(ObjectIdentifier(firestore))
    hasher.combine(key)
    hasher.combine(exists)
    hasher.combine(metadata.hash)
    return hasher.finalize()
  }

  /// The path and the metadata, for logs.
  public override var description: String {
    "<\(type(of: self)): \(key.canonicalString) exists=\(exists) \(metadata)>"
  }

  static func path(_ field: Any) throws(ProgrammingError) -> HearthModel.FieldPath {
    guard let path = try FieldPath.parsed(untyped: field) else {
      throw ProgrammingError("Subscript key must be a String or FieldPath, but is \(type(of: field)).")
    }
    return path
  }

  private func writer(_ behavior: ServerTimestampBehavior) -> UserDataWriter {
    UserDataWriter(firestore: firestore, behavior: behavior)
  }

  /// The bytes were checked when they arrived; if they cannot be read all the same, the document shows no fields and the reason is logged,
  /// because the official signatures cannot report an error.
  private func fields(of document: Document) -> MapValue {
    do {
      return try document.fields.decoded()
    } catch {
      logUnreadable(error)
      return MapValue([:])
    }
  }

  private func logUnreadable(_ error: WireFormatError) {
    HearthLog.error("The fields of document \(key.canonicalString) cannot be read: \(error)")
  }

  private func hasSameData(as other: DocumentSnapshot) -> Bool {
    switch (document, other.document) {
    case (nil, nil): true
    case (let own?, let others?): own.fields == others.fields
    default: false
    }
  }
}

/// A document that a query found; it exists, so its data are not optional.
// @unchecked as `DocumentSnapshot`, which it inherits from: it adds no stored property.
public final class QueryDocumentSnapshot: DocumentSnapshot, @unchecked Sendable {
  /// All fields, with the types of ``DocumentSnapshot/data()``. Server timestamps that are not yet set are `NSNull`.
  public override func data() -> [String: Any] { data(with: .none) }

  /// All fields.
  ///
  /// - Parameter serverTimestampBehavior: The value of server timestamps that the backend has not set yet.
  public override func data(with serverTimestampBehavior: ServerTimestampBehavior) -> [String: Any] {
    super.data(with: serverTimestampBehavior) ?? [:]
  }

  /// All fields as a value that can be passed between actors and tasks.
  ///
  /// - Parameter serverTimestampBehavior: The value of server timestamps that the backend has not set yet.
  public override func fieldMap(with serverTimestampBehavior: ServerTimestampBehavior = .none) -> FieldMap {
    super.fieldMap(with: serverTimestampBehavior) ?? [:]
  }
}
