internal import Foundation
internal import HearthModel
internal import HearthSync

/// Makes snapshots from plain data, for tests of programs; see the product `HearthTesting`.
package enum SnapshotMaking {
  /// - Parameter fields: Nil for a document that does not exist.
  /// - Throws: `invalidArgument`, with the document, for fields that cannot be stored.
  package static func document(
    _ reference: DocumentReference, _ fields: FieldMap?, isFromCache: Bool, hasPendingWrites: Bool
  ) throws -> DocumentSnapshot {
    DocumentSnapshot(
      firestore: reference.firestore, key: reference.key,
      document: try fields.map { try document(reference, $0, hasPendingWrites: hasPendingWrites) },
      isFromCache: isFromCache, hasPendingWrites: hasPendingWrites)
  }

  /// As ``document(_:_:isFromCache:hasPendingWrites:)``, for a document that exists.
  package static func queryDocument(
    _ reference: DocumentReference, _ fields: FieldMap, isFromCache: Bool, hasPendingWrites: Bool
  ) throws -> QueryDocumentSnapshot {
    QueryDocumentSnapshot(
      firestore: reference.firestore, key: reference.key,
      document: try document(reference, fields, hasPendingWrites: hasPendingWrites), isFromCache: isFromCache,
      hasPendingWrites: hasPendingWrites)
  }

  /// A query's result, in the order of the query, with the changes since another one.
  ///
  /// - Throws: `invalidArgument` for a document that the query does not match, or more than its limit.
  package static func query(
    _ query: Query, _ documents: [(reference: DocumentReference, fields: FieldMap)], pending: Set<String>,
    since previous: QuerySnapshot?, isFromCache: Bool
  ) throws -> QuerySnapshot {
    let model = query.model
    var result = try documents.map {
      try document($0.reference, $0.fields, hasPendingWrites: pending.contains($0.reference.path))
    }
    for document in result where !model.matches(document) {
      throw NSError.firestore(.invalidArgument, "The query does not match the document \"\(document.key)\".")
    }
    if let limit = model.limit, result.count > limit {
      throw NSError.firestore(
        .invalidArgument, "The result has \(result.count) documents, and the query's limit is \(limit).")
    }
    result.sort { model.compare($0, $1) == .ascending }
    let before = previous.map { Array($0.modelDocuments) } ?? []
    let view = ViewSnapshot(
      query: model, documents: DocumentList(result), oldDocuments: DocumentList(before),
      changes: changes(from: before, to: result, of: model), isFromCache: isFromCache,
      mutatedKeys: Set(result.filter(\.hasLocalMutations).map(\.key)), syncStateChanged: true,
      excludesMetadataChanges: false, hasCachedResults: !isFromCache,
      completeness: isFromCache ? .notSynchronized : .complete(asOf: .none))
    return QuerySnapshot(query: query, view: view)
  }

  private static func document(
    _ reference: DocumentReference, _ fields: FieldMap, hasPendingWrites: Bool
  ) throws -> Document {
    do {
      let mutation = try UserDataReader.set(
        fields.objects, key: reference.key, databaseID: reference.firestore.databaseID)
      let version = SnapshotVersion(microseconds: 1)
      var document = try mutation.applied(
        to: .missing(reference.key, version: .none), commitTime: version, requestTime: .epoch
      ).document
      if hasPendingWrites { document.mutationState = .hasLocalMutations }
      return document
    } catch let error as ProgrammingError {
      throw NSError.firestore(.invalidArgument, "\"\(reference.path)\": \(error.message)")
    }
  }

  /// The removed documents, then the added ones, then the modified ones, as listeners get them.
  private static func changes(
    from before: [Document], to after: [Document], of query: HearthModel.Query
  ) -> [DocumentViewChange] {
    var list = before
    var changes: [DocumentViewChange] = []
    let remaining = Set(after.map(\.key))
    for document in before where !remaining.contains(document.key) {
      guard let index = list.firstIndex(where: { $0.key == document.key }) else { continue }
      list.remove(at: index)
      changes.append(DocumentViewChange(kind: .removed, document: document, oldIndex: index))
    }
    func insert(_ document: Document) -> Int {
      let index = list.firstIndex { query.compare(document, $0) == .ascending } ?? list.count
      list.insert(document, at: index)
      return index
    }
    let known = Set(before.map(\.key))
    for document in after where !known.contains(document.key) {
      changes.append(DocumentViewChange(kind: .added, document: document, newIndex: insert(document)))
    }
    for document in after {
      guard let former = before.first(where: { $0.key == document.key }), former != document,
        let oldIndex = list.firstIndex(where: { $0.key == document.key })
      else { continue }
      list.remove(at: oldIndex)
      let kind: DocumentViewChange.Kind = former.hasSameContents(as: document) ? .metadata : .modified
      changes.append(
        DocumentViewChange(kind: kind, document: document, oldIndex: oldIndex, newIndex: insert(document)))
    }
    return changes
  }
}
