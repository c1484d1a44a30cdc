public import Foundation
internal import HearthModel
internal import HearthSync
internal import Synchronization

/// The result of a query at one moment, with the changes since the listener's previous call. It is immutable.
public final class QuerySnapshot: NSObject, Sendable {
  /// The query of the result.
  public let query: Query
  /// The origin of the result (cache or backend), and whether any document in it contains local writes.
  public let metadata: SnapshotMetadata
  private let view: ViewSnapshot
  /// Made at the first access, since many listeners use only the changes or the count.
  private let cachedDocuments = Mutex<[QueryDocumentSnapshot]?>(nil)

  init(query: Query, view: ViewSnapshot) {
    self.query = query
    self.view = view
    metadata = SnapshotMetadata(hasPendingWrites: view.hasPendingWrites, isFromCache: view.isFromCache)
  }

  /// Tells whether the result has every document that matches at the backend, and at what time that was true. Not part of equality.
  ///
  /// A change of this property alone does not call a listener.
  public var completeness: QueryCompleteness { QueryCompleteness(view.completeness) }

  var modelDocuments: DocumentList { view.documents }

  /// True if no document matches.
  public var isEmpty: Bool { view.documents.isEmpty }

  /// The number of documents in the result.
  public var count: Int { view.documents.count }

  /// The matching documents in the query's order.
  public var documents: [QueryDocumentSnapshot] {
    cachedDocuments.withLock { cached in
      if let cached { return cached }
      let documents = view.documents.map(snapshot)
      cached = documents
      return documents
    }
  }

  /// The changes since the previous snapshot of the same listener, without changes of metadata alone: first the removed documents, then the
  /// added ones, then the modified ones. In the first snapshot, and in the snapshot of a single read, every document is `.added`.
  public var documentChanges: [DocumentChange] { documentChanges(includeMetadataChanges: false) }

  /// The changes since the previous snapshot of the same listener, as ``documentChanges``.
  ///
  /// - Parameter includeMetadataChanges: True to include changes of metadata alone, as `.modified`. That is a programming error
  ///   in snapshots of a listener that excludes them.
  public func documentChanges(includeMetadataChanges: Bool) -> [DocumentChange] {
    requireValid { () throws(ProgrammingError) in
      try QuerySnapshot.validate(
        includeMetadataChanges: includeMetadataChanges, excludesMetadataChanges: view.excludesMetadataChanges)
    }
    return view.changes.compactMap { change in
      let type: DocumentChangeType
      switch change.kind {
      case .added: type = .added
      case .removed: type = .removed
      case .modified: type = .modified
      case .metadata:
        guard includeMetadataChanges else { return nil }
        type = .modified
      }
      return DocumentChange(
        type: type, document: snapshot(change.document), oldIndex: change.oldIndex, newIndex: change.newIndex)
    }
  }

  /// Two snapshots are equal when query, metadata, documents and changes are.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? QuerySnapshot else { return false }
    guard self !== other else { return true }
    return query == other.query && metadata == other.metadata && documents == other.documents
      && view.excludesMetadataChanges == other.view.excludesMetadataChanges && documentChanges == other.documentChanges
  }

  /// A hash of query, metadata and number of documents.
  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(query.hash)
    hasher.combine(metadata.hash)
    hasher.combine(count)
    return hasher.finalize()
  }

  /// The number of documents and the metadata, for logs.
  public override var description: String { "<QuerySnapshot: \(count) documents \(metadata)>" }

  static func validate(includeMetadataChanges: Bool, excludesMetadataChanges: Bool) throws(ProgrammingError) {
    guard !(includeMetadataChanges && excludesMetadataChanges) else {
      throw ProgrammingError(
        "To include metadata changes with your document changes, you must call "
          + "addSnapshotListener(includeMetadataChanges: true).")
    }
  }

  /// This snapshot for a listener that did not get the one before it.
  func merging(_ skipped: QuerySnapshot) -> QuerySnapshot {
    QuerySnapshot(query: query, view: view.merging(skipped.view))
  }

  private func snapshot(_ document: Document) -> QueryDocumentSnapshot {
    QueryDocumentSnapshot(
      firestore: query.firestore, key: document.key, document: document, isFromCache: view.isFromCache,
      hasPendingWrites: view.mutatedKeys.contains(document.key))
  }
}

/// The kind of change of a document in a query's result.
@frozen public enum DocumentChangeType: Int, Sendable {
  /// The document entered the result.
  case added
  /// The document's data (or, if requested, its metadata) changed.
  case modified
  /// The document left the result: it was deleted, no longer matches, or fell out of the limit.
  case removed
}

/// One change between two snapshots of a listener.
///
/// Each index holds after all earlier changes of the list have been applied, so a list view can apply the changes one after the other.
public final class DocumentChange: NSObject, Sendable {
  /// The kind of change.
  public let type: DocumentChangeType
  /// The present document; for `.removed` its last state.
  public let document: QueryDocumentSnapshot
  /// The document's place before the change; `UInt(NSNotFound)` for `.added`.
  public let oldIndex: UInt
  /// The document's place after the change; `UInt(NSNotFound)` for `.removed`.
  public let newIndex: UInt

  init(type: DocumentChangeType, document: QueryDocumentSnapshot, oldIndex: Int?, newIndex: Int?) {
    self.type = type
    self.document = document
    self.oldIndex = UInt(clamping: oldIndex ?? NSNotFound)
    self.newIndex = UInt(clamping: newIndex ?? NSNotFound)
  }

  /// Two changes are equal when all properties are.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? DocumentChange else { return false }
    return type == other.type && oldIndex == other.oldIndex && newIndex == other.newIndex
      && document == other.document
  }

  /// A hash of all properties.
  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(type)
    hasher.combine(oldIndex)
    hasher.combine(newIndex)
    hasher.combine(document.hash)
    return hasher.finalize()
  }
}
