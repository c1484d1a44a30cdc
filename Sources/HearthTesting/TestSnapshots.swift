internal import Foundation
public import Hearth

/// Makes snapshots from plain data, for code under test that takes them. No backend, no file and no running client is needed.
///
/// ```swift
/// let snapshots = TestSnapshots()
/// let city = try snapshots.document("cities/SF", ["name": "San Francisco"])
/// let cities = try snapshots.query(in: "cities", ["SF": ["name": "San Francisco"], "LA": ["name": "Los Angeles"]])
/// ```
public struct TestSnapshots: Sendable {
  /// The database that the snapshots are of. It is never connected.
  public let firestore: Firestore

  /// Makes a maker.
  ///
  /// - Parameter firestore: The database of the snapshots, for tests that compare references; nil for one of their own.
  public init(of firestore: Firestore? = nil) {
    self.firestore = firestore ?? Self.unconnected()
  }

  private static func unconnected() -> Firestore {
    let name = UUID().uuidString
    FirebaseApp.configure(name: name, options: FirebaseOptions(projectID: "demo-test"))
    guard let app = FirebaseApp.app(name: name) else { preconditionFailure("An app that was made has a name.") }
    let db = Firestore.firestore(app: app)
    let settings = FirestoreSettings()
    settings.host = "127.0.0.1:1"
    settings.isSSLEnabled = false
    settings.cacheSettings = MemoryCacheSettings()
    db.settings = settings
    return db
  }

  /// A snapshot of a document.
  ///
  /// - Parameters:
  ///   - path: The document's path, such as `"cities/SF"`; a wrong one is a programming error.
  ///   - fields: Its content; nil for a document that does not exist. A server timestamp is that of 1970.
  ///   - isFromCache: As in the snapshot's metadata.
  ///   - hasPendingWrites: As in the snapshot's metadata.
  /// - Throws: `invalidArgument`, with the document, for fields that cannot be stored.
  public func document(
    _ path: String, _ fields: FieldMap?, isFromCache: Bool = false, hasPendingWrites: Bool = false
  ) throws -> DocumentSnapshot {
    try SnapshotMaking.document(
      firestore.document(path), fields, isFromCache: isFromCache, hasPendingWrites: hasPendingWrites)
  }

  /// A snapshot of a document in a query's result. As ``document(_:_:isFromCache:hasPendingWrites:)``.
  public func queryDocument(
    _ path: String, _ fields: FieldMap, isFromCache: Bool = false, hasPendingWrites: Bool = false
  ) throws -> QueryDocumentSnapshot {
    try SnapshotMaking.queryDocument(
      firestore.document(path), fields, isFromCache: isFromCache, hasPendingWrites: hasPendingWrites)
  }

  /// A snapshot of a whole collection.
  ///
  /// - Parameters:
  ///   - path: The collection's path; a wrong one is a programming error.
  ///   - documents: The contents by the documents' ids.
  ///   - pending: The ids of documents with pending writes.
  ///   - previous: The snapshot that the listener had before, for the changes; nil for a first one.
  ///   - isFromCache: As in the snapshot's metadata.
  /// - Throws: As ``document(_:_:isFromCache:hasPendingWrites:)``.
  public func query(
    in path: String, _ documents: [String: FieldMap], pending: Set<String> = [], since previous: QuerySnapshot? = nil,
    isFromCache: Bool = false
  ) throws -> QuerySnapshot {
    let paths = Dictionary(uniqueKeysWithValues: documents.map { ("\(path)/\($0)", $1) })
    return try query(
      firestore.collection(path), paths, pending: Set(pending.map { "\(path)/\($0)" }), since: previous,
      isFromCache: isFromCache)
  }

  /// A snapshot of a query, in the query's order.
  ///
  /// - Parameters:
  ///   - query: A query of ``firestore``.
  ///   - documents: The contents by the documents' paths.
  ///   - pending: The paths of documents with pending writes.
  ///   - previous: The snapshot that the listener had before, for the changes; nil for a first one.
  ///   - isFromCache: As in the snapshot's metadata.
  /// - Throws: `invalidArgument`, with the document, for fields that cannot be stored and for a document that the query does not match;
  ///   also for more documents than the query's limit.
  public func query(
    _ query: Query, _ documents: [String: FieldMap], pending: Set<String> = [], since previous: QuerySnapshot? = nil,
    isFromCache: Bool = false
  ) throws -> QuerySnapshot {
    try SnapshotMaking.query(
      query, documents.sorted { $0.key < $1.key }.map { (firestore.document($0.key), $0.value) }, pending: pending,
      since: previous, isFromCache: isFromCache)
  }
}
