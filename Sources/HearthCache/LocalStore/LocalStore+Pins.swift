package import HearthModel
internal import HearthStore

extension LocalStore {
  /// Lets garbage collection spare what the backend has confirmed for a query. Does nothing if it is pinned already.
  package func pin(_ query: Query) throws {
    try transaction("Pin query", synchronous: .full) { _ = try pins.insert(query) }
  }

  /// Lets garbage collection treat a query like every other one again. Does nothing if it is not pinned.
  package func unpin(_ query: Query) throws {
    try transaction("Unpin query", synchronous: .full) {
      guard try pins.remove(query), isEager else { return }
      // With least recently used documents, the next run finds what is not needed any more.
      try touch(keysMatching(query))
      guard try !pins.contains(query.target), let data = try knownTarget(query.target), try !isInUse(data.targetID)
      else { return }
      // Otherwise done when its last listener went.
      try touch(targets.keys(of: data.targetID))
      try targets.remove(data.targetID)
    }
  }

  private func keysMatching(_ query: Query) throws -> [DocumentKey] {
    if let key = query.documentKey { return [key] }
    var keys: [DocumentKey] = []
    try documents.forEach(in: CollectionScope(of: query)) { stored in
      let document = try stored.document()
      if query.matches(document) { keys.append(document.key) }
      return true
    }
    return keys
  }

  /// The pinned queries, in the order in which they were pinned.
  package func pinnedQueries() throws -> [Query] {
    try read("List pinned queries") { try pins.queries() }
  }
}
