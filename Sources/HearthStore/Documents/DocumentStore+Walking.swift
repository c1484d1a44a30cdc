package import HearthModel

/// A position in a walk through the documents of a scope: after the last document that was returned.
package struct WalkPosition: Equatable, Sendable {
  fileprivate var path: String
  fileprivate var number: Int64
  fileprivate var place: Int64
}

extension DocumentStore {
  /// The next documents of a scope, of every kind, by collection and in the order of their arrival.
  ///
  /// A walk page by page finds each document that exists from the walk's start to its end. Between two pages anything may change.
  ///
  /// - Parameters:
  ///   - position: the end of the page before; nil to begin.
  ///   - byteLimit: the page ends with the document that reaches this many bytes of fields.
  /// - Returns: the position behind the page; nil if it was the last one.
  package func page(
    of scope: CollectionScope, after position: WalkPosition?, limit: Int, byteLimit: Int
  ) throws -> (documents: [Document], end: WalkPosition?) {
    try database.readTransaction("Walk documents") {
      var documents: [Document] = []
      var bytes = 0
      var lower = position.map { $0.place }
      var next = try position.map { try collection(from: $0.path, in: scope) } ?? collection(from: "", in: scope)
      while let (text, number) = next {
        // A collection that was removed and created again between two pages is read from its start.
        if position?.path != text || position?.number != number { lower = nil }
        let path = try DocumentSchema.path(text)
        let statement = try database.prepare(
          "SELECT \(StoredDocument.columns), place FROM documents WHERE place > ? AND place <= ? ORDER BY place LIMIT ?",
          .integer(lower ?? Place.first(in: number) - 1), .integer(Place.last(in: number)),
          .integer(Int64(limit - documents.count)))
        let stored = StoredDocument(statement: statement, collection: path)
        while try statement.step() {
          let document = try stored.document()
          documents.append(document)
          bytes += document.fields.bytes.count
          guard documents.count < limit, bytes < byteLimit else {
            return (documents, WalkPosition(path: text, number: number, place: try statement.int64(at: 8)))
          }
        }
        next = try collection(from: text + "\u{0}", in: scope)
      }
      return (documents, nil)
    }
  }

  /// The first collection of a scope whose path is not before a text.
  private func collection(from lower: String, in scope: CollectionScope) throws -> (path: String, number: Int64)? {
    var condition = "path >= ?1"
    var parameters: [Statement.Parameter] = [.text(lower)]
    func narrow(to parent: ResourcePath) {
      guard !parent.isEmpty else { return }
      let range = PathRange(below: parent)
      condition += " AND path >= ?\(parameters.count + 1) AND path < ?\(parameters.count + 2)"
      parameters += [.text(range.lower), .text(range.upper)]
    }
    switch scope {
    case .collection(let path):
      parameters.append(.text(path.canonicalString))
      condition += " AND path = ?2"
    case .group(let id, let parent):
      parameters.append(.text(id))
      condition += " AND group_id = ?2"
      narrow(to: parent)
    case .everything(let parent):
      narrow(to: parent)
    }
    let statement = try database.prepare(
      "SELECT path, number FROM collections WHERE \(condition) ORDER BY path LIMIT 1", parameters)
    guard try statement.step() else { return nil }
    let path = try statement.string(at: 0)
    return (path, try DocumentSchema.checked(statement.int64(at: 1), path: path))
  }

  // MARK: - Sizes

  /// The documents of one collection.
  package struct CollectionSize: Equatable, Sendable {
    package var path: ResourcePath
    /// Without those that are known to be missing.
    package var documentCount: Int
    /// The fields of all of them, as they are stored.
    package var fieldsBytes: Int64
  }

  /// The sizes of all collections, by path. Reads a part of every page of the table of documents.
  package func collectionSizes() throws -> [CollectionSize] {
    try database.readTransaction("Measure collections") {
      let statement = try database.prepare(
        """
        SELECT sum(kind <> \(DocumentSchema.Kind.missing)), sum(length(fields)) FROM documents
        WHERE place BETWEEN ? AND ?
        """)
      return try collections(in: .everything(under: ResourcePath())).map { path, number in
        statement.reset()
        try statement.bind(1, Place.first(in: number))
        try statement.bind(2, Place.last(in: number))
        guard try statement.step(), !statement.isNull(at: 0) else {
          return CollectionSize(path: path, documentCount: 0, fieldsBytes: 0)
        }
        return CollectionSize(
          path: path, documentCount: Int(clamping: try statement.int64(at: 0)), fieldsBytes: try statement.int64(at: 1))
      }.sorted { $0.path < $1.path }
    }
  }
}
