public import Foundation
internal import HearthCache
internal import HearthModel

/// The documents of the cache that ``Firestore/clearCache(_:securely:progress:)`` removes.
///
/// ```swift
/// let everythingOfOneUser = CacheScope.document(db.document("users/anna"), includingSubcollections: true)
/// let oldMessages = CacheScope.collectionGroup("messages").olderThan(Date(timeIntervalSinceNow: -30 * 24 * 3600))
/// print(everythingOfOneUser, oldMessages)
/// ```
public struct CacheScope: Sendable, Hashable, CustomStringConvertible {
  enum Kind: Sendable, Hashable {
    case everything
    case document(DocumentReference, Bool)
    case collection(CollectionReference, Bool)
    case collectionGroup(String)
    case query(Query)
  }

  let kind: Kind
  private(set) var date: Date?

  /// All documents, the remembered results of all queries without a listener, and the query names from bundles.
  public static let everything = CacheScope(kind: .everything)

  /// One document.
  ///
  /// - Parameters:
  ///   - document: The document; it need not exist.
  ///   - includingSubcollections: True for the documents of all collections below it as well.
  public static func document(_ document: DocumentReference, includingSubcollections: Bool = false) -> CacheScope {
    CacheScope(kind: .document(document, includingSubcollections))
  }

  /// The documents of one collection.
  ///
  /// - Parameters:
  ///   - collection: The collection.
  ///   - includingSubcollections: True for the documents of all collections below its documents as well.
  public static func collection(
    _ collection: CollectionReference, includingSubcollections: Bool = false
  ) -> CacheScope {
    CacheScope(kind: .collection(collection, includingSubcollections))
  }

  /// The documents of all collections with an id, wherever they are.
  ///
  /// - Parameter id: The id. An empty id, or one with a slash, is refused when the scope is used.
  public static func collectionGroup(_ id: String) -> CacheScope {
    CacheScope(kind: .collectionGroup(id))
  }

  /// The documents in the cache that are in a query's result. With a limit, the cache's own result counts.
  public static func query(_ query: Query) -> CacheScope {
    CacheScope(kind: .query(query))
  }

  /// Restricts the scope to documents that the backend has last confirmed before a time.
  ///
  /// The backend confirms a document when it sends the document, and when it brings a query with this document in sync; it need not send
  /// unchanged documents for that. The times are the backend's, so a wrong clock of the device does not matter. Documents from bundles
  /// count from the time of loading.
  public func olderThan(_ date: Date) -> CacheScope {
    var scope = self
    scope.date = min(date, scope.date ?? date)
    return scope
  }

  /// The kind, the path and the time, for a log.
  public var description: String {
    let documents =
      switch kind {
      case .everything: "everything"
      case .document(let document, let all): "document \(document.path)\(all ? " and all below" : "")"
      case .collection(let collection, let all): "collection \(collection.path)\(all ? " and all below" : "")"
      case .collectionGroup(let id): "collection group \(id)"
      case .query(let query): "query \(query.model.canonicalID)"
      }
    return documents + (date.map { " before \($0.formatted(.iso8601))" } ?? "")
  }
}

extension CacheScope {
  /// The scope in the cache's terms, or the query whose result must be looked up first.
  enum Resolution {
    case known(ClearingScope)
    /// The documents that this query has in the cache, and only those confirmed before the moment.
    case result(HearthModel.Query, confirmedBefore: SnapshotVersion?)
  }

  /// - Throws: `invalidArgument`.
  func resolution(in firestore: Firestore) throws -> Resolution {
    var confirmedBefore: SnapshotVersion?
    if let date {
      do {
        confirmedBefore = SnapshotVersion(try HearthModel.Timestamp(checking: date))
      } catch {
        throw NSError.firestore(.invalidArgument, error.message)
      }
    }
    var scope: ClearingScope
    switch kind {
    case .everything:
      scope = .everything
    case .document(let document, let all):
      try Self.check(document.firestore, is: firestore)
      scope = .document(document.key, includesSubcollections: all)
    case .collection(let collection, let all):
      try Self.check(collection.firestore, is: firestore)
      scope = .collection(collection.model.path, includesSubcollections: all)
    case .collectionGroup(let id):
      guard !id.isEmpty, !id.contains("/") else {
        throw NSError.firestore(
          .invalidArgument, "Invalid collection ID \"\(id)\": it must be non-empty and must not contain \"/\".")
      }
      scope = .collectionGroup(id)
    case .query(let query):
      try Self.check(query.firestore, is: firestore)
      try query.checkRunnable()
      if query.model.limit != nil { return .result(query.model, confirmedBefore: confirmedBefore) }
      scope = .query(query.model)
    }
    scope.confirmedBefore = confirmedBefore
    return .known(scope)
  }

  private static func check(_ owner: Firestore, is firestore: Firestore) throws {
    guard owner === firestore else {
      throw NSError.firestore(.invalidArgument, "The scope was created with a different Firestore instance.")
    }
  }
}
