internal import HearthModel
internal import HearthTransport

/// Looks at a backend for documents whose ids may be meant by one that is not there.
struct NearbyDocuments {
  let backend: DataBackend

  /// The most documents that one query may read: each of them may have its price.
  private static let limit = 100

  /// The first documents of the collection, and if there are more, those that begin like the id, in capitals or not.
  func keys(near key: DocumentKey) async -> [DocumentKey] {
    var keys = await self.keys(in: key.collectionPath, from: nil)
    guard keys.count == Self.limit else { return keys }
    let start = String(key.id.prefix(max(1, key.id.count / 2)))
    let capitalized = start.prefix(1).uppercased() + start.dropFirst().lowercased()
    for start in Set([start, start.lowercased(), start.uppercased(), capitalized]).sorted() {
      keys += await self.keys(in: key.collectionPath, from: start)
    }
    return keys
  }

  private func keys(in collection: ResourcePath, from start: String?) async -> [DocumentKey] {
    let first = start.flatMap { try? DocumentKey(collection.appending($0)) }
    return await keys(in: .collection(collection), from: first)
  }

  private func keys(in scope: ExportScope, from start: DocumentKey?) async -> [DocumentKey] {
    let query = scope.query(after: nil, from: start, to: nil, in: backend.databaseID).with(limit: Self.limit)
    let found = KeyCollection()
    try? await backend.query(query, selecting: [], at: nil) { found.add($0.key) }
    return found.keys
  }

  /// Ids of collections that may be meant by one that has no documents: those of the first documents of the database, and its plural or
  /// singular if a collection is called so.
  func collectionIDs(near id: String) async -> [String] {
    var ids = Set(await keys(in: .everything, from: nil).map(\.collectionGroup))
    for other in [id + "s", id.hasSuffix("s") ? String(id.dropLast()) : nil, id.lowercased()].compactMap({ $0 })
    where !other.isEmpty && !ids.contains(other) {
      var group = DataQuery(collection: other)
      group.isCollectionGroup = true
      group.limit = 1
      if await !backend.sample(group).isEmpty { ids.insert(other) }
    }
    ids.remove(id)
    return ids.sorted()
  }

  /// The question whether another document was meant that may have collections below it, also if it does not exist itself; empty if none is
  /// near.
  func question(aboutParent key: DocumentKey) async -> String {
    let below = await keys(in: .below(key.collectionPath), from: nil)
    let parents = below.compactMap { try? DocumentKey(ResourcePath(Array($0.path.segments.prefix(key.path.count)))) }
    return Self.question(about: key, among: await keys(near: key) + parents)
  }

  /// The question whether another document of the collection was meant; empty if none is near.
  static func question(about key: DocumentKey, among keys: [DocumentKey]) -> String {
    guard let id = NearestID.of(key.id, in: keys.map(\.id)) else { return "" }
    return " Did you mean \(ShellWord.bare(key.collectionPath.appending(id).canonicalString))?"
  }
}
