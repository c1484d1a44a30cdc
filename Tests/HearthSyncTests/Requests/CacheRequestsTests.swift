import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

@Suite("Requests that the cache answers")
struct CacheRequestsTests {
  private let cache: PartCache
  private let requests: CacheRequests
  private let id = RequestID(rawValue: 1)

  init() throws {
    cache = try PartCache()
    try cache.write(1...2)
    requests = CacheRequests(localStore: cache.store)
  }

  /// Short forms of actions.
  private func brief(_ actions: [CacheRequests.Action]) -> [String] {
    actions.map { action in
      switch action {
      case .emit(.answer(id, .done)): "done"
      case .emit(.answer(id, .document(let document))): "document \(document.key.canonicalString)"
      case .emit(.answer(id, .pendingWrites(let writes))): "pending \(writes.map { "\($0.count)" } ?? "many")"
      case .emit(.answer(id, .queries(let queries))): "queries \(queries.count)"
      case .emit(.requestFailed(id, let error)): "failed: \(error.message.prefix { $0 != ":" })"
      case .emit(let action): "\(action)"
      case .outboxChanges: "outbox changes"
      case .indexesChange: "indexes change"
      }
    }
  }

  @Test("a read is answered with what the cache has")
  func reads() {
    #expect(brief(requests.readDocument(id, key("rooms/1"))) == ["document rooms/1"])
    #expect(brief(requests.readPendingWrites(id, in: rooms, maximumDocuments: 2)) == ["pending 2"])
    #expect(brief(requests.readPendingWrites(id, in: rooms, maximumDocuments: 1)) == ["pending many"])
    #expect(brief(requests.pin(id, rooms)) == ["done"])
    #expect(brief(requests.readPinnedQueries(id)) == ["queries 1"])
    #expect(brief(requests.unpin(id, rooms)) == ["done"])
    #expect(brief(requests.readPinnedQueries(id)) == ["queries 0"])
  }

  @Test("a change has its consequence behind the answer, and none if it fails")
  func consequences() {
    let changes = [
      { self.requests.discardRejected(self.id, nil, [:], of: nil) },
      { self.requests.discardResolvedConflicts(self.id, nil, of: nil) },
      { self.requests.setIndexes(self.id, []) },
      { self.requests.deleteAllIndexes(self.id) },
    ]
    #expect(
      changes.map { brief($0()) } == [
        ["done", "outbox changes"], ["done", "outbox changes"], ["done", "indexes change"], ["done", "indexes change"],
      ])
    cache.fail(with: StoreError(kind: .io, message: "made to fail"))
    #expect(
      changes.map { brief($0()) } == [
        ["failed: Rejected writes could not be discarded"], ["failed: Resolved conflicts could not be discarded"],
        ["failed: The index configuration could not be stored"], ["failed: The indexes could not be deleted"],
      ])
  }
}
