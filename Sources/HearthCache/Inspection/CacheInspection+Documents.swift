package import HearthModel
package import HearthPlan
package import HearthStore

extension CacheInspection {
  /// The viewpoint of the shown documents: a user's, or the backend's.
  package enum Viewpoint: Equatable, Sendable {
    /// The documents that the backend has confirmed.
    case backend
    /// The documents as a user sees them, with the user's pending writes. Nil for the signed-out user.
    case user(String?)
  }

  private func localMutations(_ viewpoint: Viewpoint) throws -> UserOverlays? {
    try row(of: viewpoint).map { UserOverlays(table: overlays, user: $0) }
  }

  /// Nil for the backend, and for a user who has written nothing.
  private func row(of viewpoint: Viewpoint) throws -> MutationQueue.UserRow? {
    guard case .user(let user) = viewpoint else { return nil }
    return try row(of: user)
  }

  // MARK: - Queries

  /// The documents of a query and the effort that it takes, by the plan that a client of this cache would choose.
  ///
  /// - Parameter clock: measures the steps; without it there are none.
  package func run(
    _ query: Query, as viewpoint: Viewpoint, clock: (() -> Duration)? = nil
  ) throws -> (documents: [Document], execution: QueryExecution) {
    let executor = QueryExecutor(documents: documents, localMutations: try localMutations(viewpoint))
    var previous: PreviousResult?
    if !query.matchesAllDocuments, let target = try targets.target(query.target) {
      let planned = try CacheQueries.planned(target, of: query, for: row(of: viewpoint), queue)
      previous = CacheQueries.previousResult(of: planned, keys: try targets.keys(of: target.targetID))
    }
    var result = try executor.run(query, previous: previous, clock: clock)
    if clock != nil { result.execution.missingIndexes = try executor.missingIndexes(for: query) }
    return result
  }

  /// The document; of kind `unknown` when the cache has none.
  package func document(for key: DocumentKey, as viewpoint: Viewpoint) throws -> Document {
    guard let row = try row(of: viewpoint) else { return try documents.document(for: key) }
    return try LocalDocuments(documents: documents, queue: queue, overlays: overlays).document(for: key, user: row)
  }

  // MARK: - Lists

  /// A collection and the number of its documents.
  package struct Collection: Equatable, Sendable {
    package var path: ResourcePath
    /// The documents that exist as the backend has confirmed them. Those that exist only through pending writes are not counted.
    package var documentCount: Int
  }

  /// The collections of ``collectionPaths(as:)`` with their documents counted. Reads all places, but no fields.
  package func collections(as viewpoint: Viewpoint) throws -> [Collection] {
    try collectionPaths(as: viewpoint).map { Collection(path: $0, documentCount: try documents.count(in: $0)) }
  }

  /// The collections that have documents, those with pending writes of the user included, in order.
  package func collectionPaths(as viewpoint: Viewpoint) throws -> [ResourcePath] {
    var paths: Set<ResourcePath> = []
    try database.forEachRow("SELECT path FROM collections") {
      let text = try $0.string(at: 0)
      guard let path = try? ResourcePath(canonical: text) else {
        throw CacheError.corruptRecord(table: "collections", row: text, reason: "not a path")
      }
      paths.insert(path)
      return true
    }
    let everything = CollectionScope.everything(under: ResourcePath())
    // A collection may exist only through pending writes.
    let pending = try localMutations(viewpoint)?.localMutations(in: everything) ?? [:]
    paths.formUnion(pending.keys.map(\.collectionPath))
    return paths.sorted()
  }

  /// The keys of the existing documents of a collection, in no particular order, without reading their fields.
  ///
  /// - Parameter limit: The most documents to look at.
  package func documentKeys(
    in collection: ResourcePath, as viewpoint: Viewpoint, limit: Int
  ) throws -> [DocumentKey] {
    let scope = CollectionScope.collection(collection)
    let pending = try localMutations(viewpoint)?.localMutations(in: scope) ?? [:]
    var keys = try pending.keys.filter { try document(for: $0, as: viewpoint).isFound }
    var looked = 0
    try documents.forEach(in: scope) { stored in
      guard looked < limit else { return false }
      looked += 1
      let key = try stored.key
      if try stored.kind == .found, pending[key] == nil { keys.append(key) }
      return true
    }
    return keys
  }

  /// Calls `body` with each existing document of a scope, in no particular order, without keeping them.
  package func forEachDocument(
    in scope: CollectionScope, as viewpoint: Viewpoint, _ body: (Document) throws -> Void
  ) throws {
    let pending = try localMutations(viewpoint)?.localMutations(in: scope) ?? [:]
    try documents.forEach(in: scope) { stored in
      guard try stored.kind == .found else { return true }
      if !pending.isEmpty, pending[try stored.key] != nil { return true }
      try body(try stored.document())
      return true
    }
    for key in pending.keys.sorted() {
      let document = try document(for: key, as: viewpoint)
      if document.isFound { try body(document) }
    }
  }

  // MARK: - Indexes

  /// All local indexes with their sizes. The cost grows with the number of entries.
  package func indexes() throws -> [IndexListing] { try documents.indexes.listings() }
}
