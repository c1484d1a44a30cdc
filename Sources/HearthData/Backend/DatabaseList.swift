package import HearthModel
internal import HearthTransport

extension DataBackend {
  /// A list is asked for in addition to the work that a user wants, so it does not wait long.
  private static var listTimeout: Duration { .seconds(10) }

  /// The databases of all projects; those of this project from a backend that lists no others.
  ///
  /// - Throws: A ``DataError`` that says so for backends without a list, such as Google's emulator.
  package func databases() async throws(DataError) -> [DatabaseID] {
    do {
      return try await transport.databases(ofProject: isGoogle ? databaseID.projectID : nil, timeout: Self.listTimeout)
    } catch {
      guard error.code == .unimplemented || error.code == .notFound else {
        throw DataError(error, doing: "The databases cannot be listed", at: place)
      }
      throw DataError(
        "The backend at \(place) does not list its databases. `hearth serve` and Cloud Firestore do, Google's emulator and "
          + "older servers do not.")
    }
  }
}

/// Says why an answer may be empty.
package struct EmptyAnswer: Sendable {
  private let backend: DataBackend

  package init(_ backend: DataBackend) { self.backend = backend }

  private static let shownNames = 8

  /// The reason why a query found nothing, as far as the backend tells: the conditions, a mistyped collection, or another project.
  ///
  /// - Parameter words: The query; nil for the list of the collections of the root.
  package func explanation(of words: DataQuery?) async -> String {
    let place = backend.databaseID.database == "(default)" ? "" : " (database \(backend.databaseID.database))"
    let start = "0 \(words == nil ? "collections" : "documents") in project \(backend.databaseID.projectID)\(place)"
    if let words, words.narrows, let count = await count(words.withoutConditions), count > 0 {
      let noun = count == 1 ? "1 document" : "\(ProgressText.grouped(count)) documents"
      return
        "\(start) match; without the conditions there \(count == 1 ? "is" : "are") \(noun) in \(words.collection). Names of fields and "
        + "types of values must be the same: n == 5 does not find \"5\"."
    }
    let collections = (try? await backend.collectionIDs(below: ResourcePath(), at: nil)) ?? []
    if let words, !collections.isEmpty {
      let first = words.collection.split(separator: "/").first.map(String.init) ?? words.collection
      if words.isCollectionGroup || collections.contains(first) { return "\(start); \(words.collection) is empty." }
      let nearest = NearestWord.of(first, in: collections).map { " Did you mean \($0)?" } ?? ""
      return "\(start); it has no collection \(first), but \(Self.list(collections)).\(nearest)"
    }
    return "\(start)\(await otherProjects())."
  }

  private func otherProjects() async -> String {
    guard let databases = try? await backend.databases() else { return ", at \(backend.place)" }
    guard !databases.contains(backend.databaseID) else { return ", at \(backend.place)" }
    let own = databases.filter { $0.projectID == backend.databaseID.projectID }.map(\.database)
    if !own.isEmpty { return "; the project has the databases \(Self.list(own)) (--database)" }
    let others = Set(databases.map(\.projectID)).sorted()
    return others.isEmpty
      ? "; this server has no documents at all" : "; this server has \(Self.list(others)) (--project)"
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

extension DataQuery {
  /// True if something else than the collection decides which documents are found.
  fileprivate var narrows: Bool {
    !conditions.isEmpty || !orders.isEmpty || startAt != nil || startAfter != nil || endAt != nil || endBefore != nil
  }

  /// The query for all documents of the collection.
  fileprivate var withoutConditions: DataQuery {
    var words = DataQuery(collection: collection)
    words.isCollectionGroup = isCollectionGroup
    return words
  }
}
