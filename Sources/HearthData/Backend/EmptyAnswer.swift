package import HearthModel
internal import HearthTransport
internal import Synchronization

/// Says why an answer may be empty.
package struct EmptyAnswer: Sendable {
  private let backend: DataBackend

  package init(_ backend: DataBackend) { self.backend = backend }

  private var nearby: NearbyDocuments { NearbyDocuments(backend: backend) }

  private static let shownNames = 8

  /// The reason why a query found nothing, as far as the backend tells: the conditions, a mistyped collection, or another project.
  ///
  /// - Parameter words: The query; nil for the list of the collections of the root.
  package func explanation(of words: DataQuery?) async -> String {
    let start = "0 \(words == nil ? "collections" : "documents") in \(project)"
    if let words, words.narrows, let count = await count(words.withoutConditions), count > 0 {
      let all = "\(count == 1 ? "is" : "are") \(ProgressText.count(count, "document"))"
      var keys: [DocumentKey] = []
      for key in words.namedDocuments(in: backend.databaseID).prefix(1) { keys += await nearby.keys(near: key) }
      let sample = await backend.sample(words.withoutConditions)
      let advice =
        EmptyResultAdvice(sample, and: keys, in: backend.databaseID).text(for: words).map { " " + $0 } ?? ""
      return "\(start) match; without the \(words.narrowing) there \(all) in \(words.collection).\(advice)"
    }
    let collections = (try? await backend.collectionIDs(below: ResourcePath(), at: nil)) ?? []
    if let words, !collections.isEmpty {
      let first = words.collection.split(separator: "/").first.map(String.init) ?? words.collection
      if words.isCollectionGroup { return "\(start); \(await group(words.collection, besides: collections))" }
      if collections.contains(first) { return "\(start); \(await emptiness(of: words.collection))" }
      let nearest = NearestWord.of(first, in: collections).map { " Did you mean \($0)?" } ?? ""
      return "\(start); it has no collection \(first), but \(Self.list(collections)).\(nearest)\(await below(words))"
    }
    return "\(start)\(await otherProjects())"
  }

  /// The sentence about a collection group without documents.
  ///
  /// - Parameter collections: The ids of the collections at the root.
  private func group(_ id: String, besides collections: [String]) async -> String {
    var nearest = NearestWord.of(id, in: collections.filter { $0 != id })
    if nearest == nil { nearest = NearestWord.of(id, in: await nearby.collectionIDs(near: id)) }
    let question = nearest.map { " Did you mean \(ShellWord.bare($0))?" } ?? ""
    return "no collection called \(id) has documents; at the root there are \(Self.list(collections)).\(question)"
  }

  /// The sentence about a collection without documents, below a collection of the root that is there.
  private func emptiness(of text: String) async -> String {
    guard let path = try? ResourcePath(parsing: text), let id = path.last else { return "\(text) is empty." }
    if path.count > 1, let siblings = try? await backend.collectionIDs(below: path.parent, at: nil),
      !siblings.contains(id)
    {
      let parent = path.parent.canonicalString
      guard !siblings.isEmpty else {
        let question =
          if let key = try? DocumentKey(path.parent) { await nearby.question(aboutParent: key) } else { "" }
        return "there are no collections below \(parent).\(question)"
      }
      let nearest =
        NearestWord.of(id, in: siblings).map {
          " Did you mean \(ShellWord.bare(path.parent.appending($0).canonicalString))?"
        } ?? ""
      return "\(parent) has no collection \(id), but \(Self.list(siblings)).\(nearest)"
    }
    guard let nested = await firstDocument(below: path)?.path.parent, nested != path else { return "\(text) is empty." }
    return "\(text) has no documents itself; there are collections below it, such as "
      + "\(ShellWord.bare(nested.canonicalString))."
  }

  /// A document of a collection or below it.
  private func firstDocument(below path: ResourcePath) async -> DocumentKey? {
    let query = ExportScope.below(path).query(after: nil, from: nil, to: nil, in: backend.databaseID)
    let keys = KeyCollection()
    try? await backend.query(query.with(limit: 1), selecting: [], at: nil) { keys.add($0.key) }
    return keys.keys.first { path.isPrefix(of: $0.path) }
  }

  /// The sentence about the collections with an id that documents have below them; empty if there are none.
  private func below(_ words: DataQuery) async -> String {
    guard !words.collection.contains("/") else { return "" }
    var group = words.withoutConditions
    group.isCollectionGroup = true
    group.limit = 1
    guard let key = await backend.sample(group).first?.key else { return "" }
    let path = ShellWord.bare(key.path.parent.canonicalString)
    return " There is a collection \(path): give its path, or --collection-group for all with this id."
  }

  /// The sentence about a document that does not exist.
  ///
  /// - Parameter subject: The beginning of the sentence; nil for the word "document" and the path.
  package func missing(_ path: ResourcePath, as subject: String? = nil) async -> String {
    let collections = (try? await backend.collectionIDs(below: ResourcePath(), at: nil)) ?? []
    let start = "\(subject ?? "document \"\(path.canonicalString)\"") does not exist in \(project)"
    guard let first = path.segments.first, !collections.isEmpty else { return "\(start)\(await otherProjects())" }
    if collections.contains(first) { return "\(start), at \(backend.place)\(await siblings(of: path))" }
    let nearest = NearestWord.of(first, in: collections).map { " Did you mean \($0)?" } ?? ""
    return "\(start), which has no collection \(first), but \(Self.list(collections)).\(nearest)"
  }

  /// The end of a sentence about a document that does not exist: the nearest one, or the fault of its collection.
  private func siblings(of path: ResourcePath) async -> String {
    guard let key = try? DocumentKey(path) else { return "." }
    let keys = await nearby.keys(near: key)
    guard keys.isEmpty, path.count > 2 else { return "." + NearbyDocuments.question(about: key, among: keys) }
    return "; \(await emptiness(of: key.collectionPath.canonicalString))"
  }

  /// The project, and the database if it is not the usual one.
  package var project: String {
    let (id, database) = (backend.databaseID.projectID, backend.databaseID.database)
    return database == "(default)" ? "project \(id)" : "project \(id) (database \(database))"
  }

  /// The project and the address of the backend.
  package var place: String { "\(project), at \(backend.place)" }

  /// The end of a sentence: the place, or the databases or projects that are there.
  private func otherProjects() async -> String {
    let place = ", at \(backend.place)."
    guard let databases = try? await backend.databases(), !databases.contains(backend.databaseID) else { return place }
    let own = databases.filter { $0.projectID == backend.databaseID.projectID }.map(\.database)
    if !own.isEmpty {
      let start = "; the project has the \(own.count == 1 ? "database" : "databases") \(Self.list(own))."
      let nearest =
        own.contains("(default)") && own.count == 1 ? "(default)" : NearestWord.of(backend.databaseID.database, in: own)
      return start + (nearest.map { " Did you mean --database \(ShellWord.bare($0))?" } ?? " Name one with --database.")
    }
    let others = Set(databases.map(\.projectID)).sorted()
    return others.isEmpty
      ? "; this server has no documents at all." : "; this server has \(Self.list(others)) (--project)."
  }

  private func count(_ words: DataQuery) async -> Int? {
    guard let query = try? words.query(in: backend.databaseID) else { return nil }
    let aggregation = Aggregation(alias: "count", operation: .count(upTo: nil))
    guard case .integer(let count)? = try? await backend.aggregate(query, [aggregation])["count"] else { return nil }
    return Int(clamping: count)
  }

  private static func list(_ names: [String]) -> String {
    let more = names.count > shownNames ? " and \(names.count - shownNames) more" : ""
    return names.prefix(shownNames).joined(separator: ", ") + more
  }
}

extension DataBackend {
  /// Some documents that a query finds; none if they cannot be read.
  func sample(_ words: DataQuery) async -> [Document] {
    var words = words
    words.limit = min(words.limit ?? .max, EmptyResultAdvice.sampleSize)
    guard let query = try? words.query(in: databaseID) else { return [] }
    let documents = Mutex<[Document]>([])
    try? await self.query(query, selecting: nil, at: nil) { document in
      documents.withLock { $0.append(document) }
    }
    return documents.withLock { $0 }
  }
}

extension DataQuery {
  /// True if something else than the collection decides which documents are found.
  fileprivate var narrows: Bool {
    !conditions.isEmpty || !orders.isEmpty || !aggregatedFields.isEmpty || startAt != nil || startAfter != nil
      || endAt != nil || endBefore != nil
  }

  /// The words that narrow the result.
  fileprivate var narrowing: String {
    if !conditions.isEmpty { return "conditions" }
    if startAt != nil || startAfter != nil || endAt != nil || endBefore != nil { return "positions" }
    return orders.isEmpty ? "aggregated fields" : "order"
  }

  /// The query for all documents of the collection.
  package var withoutConditions: DataQuery {
    var words = DataQuery(collection: collection)
    words.isCollectionGroup = isCollectionGroup
    return words
  }
}
