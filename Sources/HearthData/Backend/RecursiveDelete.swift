package import HearthModel
internal import HearthTransport

/// Deletes everything below a path, a page at a time.
package struct RecursiveDelete: Sendable {
  /// A document with all below it, or a collection with all below its documents.
  package var path: ResourcePath
  /// Requests that are on their way at the same time.
  package var parallelism = 8

  private static let pageSize = 4000
  private static let batchSize = 500

  package init(path: ResourcePath) { self.path = path }

  private var document: DocumentKey? { try? DocumentKey(path) }

  /// Deletes the documents below first, and a document itself last: one that was interrupted can run again.
  ///
  /// - Throws: A ``DataError`` that names a document that was not deleted, or `CancellationError`.
  package func run(_ backend: DataBackend, progress: DataProgress) async throws {
    var isFirst = true
    var position: DocumentKey?
    while true {
      let page = try await page(after: position, backend, isFirst: isFirst)
      isFirst = false
      try await delete(page, backend, progress)
      guard page.count == Self.pageSize, let last = page.last else { break }
      position = last
    }
    guard let document else { return }
    let version = try await backend.retrying("Deleting") { () async throws(StatusError) in
      try await backend.deleteIfThere(document)
    }
    guard version != nil else { return }
    progress.change {
      $0.documents += 1
      $0.done += 1
    }
  }

  private func page(
    after position: DocumentKey?, _ backend: DataBackend, isFirst: Bool
  ) async throws -> [DocumentKey] {
    let collection = KeyCollection()
    let scope = ExportScope.below(path)
    _ = try await backend.retrying("Reading", isFirstContact: isFirst) { () async throws(StatusError) in
      collection.removeAll()
      var query = scope.query(after: position, from: nil, to: nil, in: backend.databaseID)
      if document != nil {
        // Everything below a document is below one parent; its own collection is not part of that.
        query = Query(
          path: path, collectionGroup: "", explicitOrders: query.explicitOrders,
          startAt: position == nil ? nil : query.startAt)
      }
      return try await backend.transport.runQuery(query.with(limit: Self.pageSize), selecting: []) {
        collection.add($0.key)
      }
    }
    return collection.keys.filter { path.isPrefix(of: $0.path) }
  }

  private func delete(_ keys: [DocumentKey], _ backend: DataBackend, _ progress: DataProgress) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      var running = 0
      for start in stride(from: 0, to: keys.count, by: Self.batchSize) {
        if running == parallelism { _ = try await group.next() } else { running += 1 }
        let batch = keys[start..<min(start + Self.batchSize, keys.count)]
        group.addTask { try await deleteBatch(Array(batch), backend, progress) }
      }
      try await group.waitForAll()
    }
  }

  private static let rounds = 10

  private func deleteBatch(_ keys: [DocumentKey], _ backend: DataBackend, _ progress: DataProgress) async throws {
    var waiting = keys
    for round in 1... {
      let sent = waiting
      let results = try await backend.retrying("Deleting") { () async throws(StatusError) in
        try await backend.transport.batchWrite(sent.map { .delete($0) })
      }
      waiting = []
      for (key, error) in zip(sent, results) {
        guard let error else { continue }
        guard error.isPassing, round < Self.rounds else {
          throw backend.failure(error, doing: "Document \"\(key)\" cannot be deleted")
        }
        waiting.append(key)
      }
      let count = sent.count - waiting.count
      progress.change {
        $0.documents += count
        $0.done += count
      }
      if waiting.isEmpty { return }
      try await Task.sleep(for: .milliseconds(100 << min(round, 8)))
    }
  }
}
