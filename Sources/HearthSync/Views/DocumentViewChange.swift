package import HearthModel

/// A change of one document of a query's result.
package struct DocumentViewChange: Sendable {
  package enum Kind: Hashable, Sendable {
    case removed
    case added
    /// The fields changed.
    case modified
    /// Only the document's pending state changed.
    case metadata
  }

  package var kind: Kind
  /// The document as it is now; for a removed one, as the view last had it.
  package var document: Document
  /// The document's former index, after the changes that come before this one; `nil` if it was not there.
  package var oldIndex: Int?
  /// The document's index once this change has been carried out; `nil` if it is gone.
  package var newIndex: Int?
  /// The document that this change took out of the result. Not part of equality: it follows from the results before.
  fileprivate(set) var replaced: DocumentList.Box?

  package init(kind: Kind, document: Document, oldIndex: Int? = nil, newIndex: Int? = nil) {
    self.kind = kind
    self.document = document
    self.oldIndex = oldIndex
    self.newIndex = newIndex
  }
}

extension DocumentViewChange: Equatable {
  package static func == (a: DocumentViewChange, b: DocumentViewChange) -> Bool {
    a.kind == b.kind && a.oldIndex == b.oldIndex && a.newIndex == b.newIndex && a.document == b.document
  }
}

/// Gathers the changes of documents and keeps one for each: the difference between the first state and the last.
struct DocumentViewChangeSet {
  private var changes: [DocumentKey: DocumentViewChange] = [:]

  var isEmpty: Bool { changes.isEmpty }
  var keys: Dictionary<DocumentKey, DocumentViewChange>.Keys { changes.keys }

  /// Makes room for changes of this many more documents.
  mutating func reserveCapacity(_ count: Int) {
    changes.reserveCapacity(changes.count + count)
  }

  mutating func track(_ kind: DocumentViewChange.Kind, _ document: Document) {
    let key = document.key
    guard let earlier = changes[key] else {
      changes[key] = DocumentViewChange(kind: kind, document: document)
      return
    }
    let merged: DocumentViewChange?
    switch (earlier.kind, kind) {
    case (.added, .removed): merged = nil
    // The document that the view had, not the one that came and went in between.
    case (_, .removed): merged = DocumentViewChange(kind: .removed, document: earlier.document)
    case (.removed, _): merged = DocumentViewChange(kind: .modified, document: document)
    case (.added, _): merged = DocumentViewChange(kind: .added, document: document)
    case (.metadata, .metadata): merged = DocumentViewChange(kind: .metadata, document: document)
    case (.modified, _), (.metadata, _): merged = DocumentViewChange(kind: .modified, document: document)
    }
    changes[key] = merged
  }

  /// Carries the changes out on the documents that they were gathered for.
  ///
  /// - Returns: the changes as listeners get them: removed, added, then modified and metadata together, each in query
  ///   order, with indexes that are valid when the changes are carried out one after the other.
  func apply(to documents: inout DocumentSet, query: Query) -> [DocumentViewChange] {
    if changes.isEmpty { return [] }
    // References are sorted, because a change is large and is moved about ten times.
    let boxes = changes.values.map {
      (rank: $0.kind.rank, box: DocumentList.Box($0.document, orderedBy: query))
    }
    let order = boxes.sorted { a, b in a.rank == b.rank ? a.box.isBefore(b.box, query) : a.rank < b.rank }
    var ordered = order.compactMap { changes[$0.box.document.key] }
    if documents.isEmpty {
      // Nothing can have been removed or modified: the changes are the result itself.
      for index in ordered.indices { ordered[index].newIndex = index }
      documents = DocumentSet(query: query, sorted: order.map(\.box))
      return ordered
    }
    for index in ordered.indices {
      let box = order[index].box
      if ordered[index].kind == .removed {
        (ordered[index].replaced, ordered[index].oldIndex) = documents.take(box.document.key)
      } else {
        (ordered[index].replaced, ordered[index].oldIndex, ordered[index].newIndex) = documents.replace(with: box)
      }
    }
    return ordered
  }
}

extension DocumentViewChange.Kind {
  fileprivate var rank: Int {
    switch self {
    case .removed: 0
    case .added: 1
    case .modified, .metadata: 2
    }
  }
}
