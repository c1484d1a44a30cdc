import HearthCache
import HearthModel
import Testing

@testable import HearthSync

@Suite("Query views")
struct QueryViewsTests {
  private let rooms = collection("rooms")
  private let first = ListenerID(rawValue: 1), second = ListenerID(rawValue: 2), inSync = ListenerID(rawValue: 9)

  private func target(_ query: Query, _ id: TargetID) -> TargetData {
    TargetData(target: query.target, targetID: id)
  }

  private func map(_ documents: [Document]) -> DocumentMap {
    DocumentMap(documents.map { ($0.key, $0) }, uniquingKeysWith: { _, last in last })
  }

  /// Views with one listener to the backend, on target 2.
  private func views(
    _ query: Query, _ documents: [Document] = [], confirmed: Set<DocumentKey> = [], limboLimit: Int = 100
  ) -> QueryViews {
    var views = QueryViews(limboLimit: limboLimit)
    let initial = InitialViewState(query: query, result: documents, confirmedKeys: confirmed)
    _ = views.activate(query, on: target(query, 2), with: initial, isWatched: true, onlineState: .unknown)
    _ = views.listen(first, to: query, .everything, target: target(query, 2), onlineState: .unknown)
    return views
  }

  private func apply(
    _ documents: [Document], _ event: RemoteEvent? = nil, to views: inout QueryViews,
    refill: (Query) throws -> DocumentMap = { _ in throw error(.internal) }
  ) -> [String] {
    brief(views.apply(map(documents), event: event, refill: refill, localDocuments: { _ in [:] }).actions)
  }

  private func brief(_ actions: [QueryViews.Action]) -> [String] {
    actions.map { action in
      switch action {
      case .watch(let target): "watch \(target.targetID)"
      case .unwatch(let target): "unwatch \(target)"
      case .leave(let target): "leave \(target)"
      case .stopWatching(let target): "only the cache \(target)"
      case .release(let target, let keys): "release \(target) [\(keys.map(\.id).sorted().joined(separator: " "))]"
      case .report(let changes): "report \(changes.map(\.targetID))"
      case .reread(let keys): "reread \(keys.map(\.id).sorted())"
      case .show(let documents): "show \(documents.keys.map(\.id).sorted())"
      case .readFailed: "read failed"
      case .showLater: "show later"
      case .considerIndexes: "indexes"
      case .synchronize: "synchronize"
      case .loseLease: "lease lost"
      case .emit(.raiseSnapshot(let id, let snapshot)):
        "listener \(id.rawValue): [\(snapshot.ids.joined(separator: " "))]"
      case .emit(.raiseError(let id, let error)): "listener \(id.rawValue): error \(error.code)"
      case .emit(.snapshotsInSync(let id)): "in sync \(id.rawValue)"
      case .emit(.log(_, let message)): message
      case .emit(let action): "\(action)"
      }
    }
  }

  @Test("the first listener to the backend needs the target, further ones and those to the cache do not")
  func targets() {
    var views = QueryViews(limboLimit: 100)
    let cacheOnly = ListenOptions(source: .cache)
    #expect(views.needsTarget(for: rooms, cacheOnly), "no view yet")
    let a = found("rooms/a", 1)
    let initial = InitialViewState(query: rooms, result: [a], confirmedKeys: [])
    #expect(views.activate(rooms, on: target(rooms, 2), with: initial, isWatched: false, onlineState: .unknown).isEmpty)
    #expect(
      brief(views.listen(first, to: rooms, cacheOnly, target: target(rooms, 2), onlineState: .unknown))
        == ["listener 1: [a]"])
    #expect(!views.needsTarget(for: rooms, cacheOnly) && views.needsTarget(for: rooms, .everything))
    #expect(
      brief(views.listen(second, to: rooms, .everything, target: target(rooms, 2), onlineState: .unknown))
        == ["watch 2", "listener 2: [a]"])
    #expect(!views.needsTarget(for: rooms, .everything))
    #expect(brief(views.unlisten(second)) == ["only the cache 2", "unwatch 2"])
    #expect(brief(views.unlisten(first)) == ["release 2 [a]", "unwatch 2"])
    #expect(!views.hasView(of: rooms) && !views.hasView(on: 2))
  }

  @Test("a round of snapshots: lookups, then listeners, then the mark, then the report")
  func round() {
    let a = found("rooms/a", 1), b = found("rooms/b", 1)
    var views = views(rooms, [a, b], confirmed: [a.key])
    #expect(brief(views.addSnapshotsInSyncListener(inSync)) == ["in sync 9"])
    #expect(views.addSnapshotsInSyncListener(inSync).isEmpty)
    let event = RemoteEvent(snapshotVersion: version(5), targetChanges: [2: TargetChange(isCurrent: true)])
    let changed = found("rooms/a", 2, ["n": 1])
    #expect(
      apply([changed], event, to: &views)
        == ["New document in limbo: rooms/b", "watch 1", "listener 1: [a b]", "in sync 9", "report [2]"])
    #expect(views.activeLimboDocuments == [b.key: 1] && views.limboDocument(of: 1) == b.key)
    #expect(views.unconfirmedKeys(of: 2) == [b.key])
    views.removeSnapshotsInSyncListener(inSync)
    #expect(apply([missing("rooms/b", 6)], to: &views) == ["unwatch 1", "listener 1: [a]", "report [2]"])
  }

  @Test("a document that a lookup has brought counts as confirmed for the lookup's target")
  func lookup() {
    let a = found("rooms/a", 1)
    var views = views(rooms, [a])
    let current = RemoteEvent(snapshotVersion: version(5), targetChanges: [2: TargetChange(isCurrent: true)])
    _ = apply([], current, to: &views)
    #expect(views.confirmedKeys(of: 1).isEmpty)
    let found = RemoteEvent(snapshotVersion: version(6), targetChanges: [1: TargetChange(added: [a.key])])
    _ = apply([], found, to: &views)
    #expect(views.confirmedKeys(of: 1) == [a.key] && views.confirmedKeys(of: 2).isEmpty)
  }

  @Test("a refused lookup gives its place to the next document")
  func refusedLookup() {
    let a = found("rooms/a", 1), b = found("rooms/b", 1)
    var views = views(rooms, [a, b], limboLimit: 1)
    let current = RemoteEvent(snapshotVersion: version(5), targetChanges: [2: TargetChange(isCurrent: true)])
    _ = apply([], current, to: &views)
    #expect(views.activeLimboDocuments == [a.key: 1] && views.enqueuedLimboDocuments == [b.key])
    #expect(brief(views.limboRejected(1)) == ["New document in limbo: rooms/b", "watch 3"])
  }

  @Test("a limit that lost a document is filled from the cache, at the next round if the cache fails")
  func refill() {
    let query = rooms.with(limit: 1)
    let a = found("rooms/a", 1), b = found("rooms/b", 1)
    var views = views(query, [a])
    let failed = views.apply(
      map([missing("rooms/a", 2)]), refill: { _ in throw error(.unavailable) }, localDocuments: { _ in [:] })
    #expect(failed.failure as? StatusError == error(.unavailable))
    #expect(brief(failed.actions) == ["listener 1: []", "report [2]"])
    var asked: [Query] = []
    let mended = views.apply(
      [:],
      refill: {
        asked.append($0)
        return [b.key: b]
      }, localDocuments: { _ in [:] })
    #expect(asked == [query] && mended.failure == nil)
    #expect(brief(mended.actions) == ["listener 1: [b]", "report [2]"])
    #expect(apply([], to: &views).isEmpty, "the cache is not asked again")
  }

  @Test("being offline shows what was held back, then what is no longer in sync")
  func offline() {
    let a = found("rooms/a", 1)
    var views = views(rooms, [a], confirmed: [a.key])
    let current = RemoteEvent(snapshotVersion: version(5), targetChanges: [2: TargetChange(isCurrent: true)])
    #expect(apply([], current, to: &views) == ["listener 1: [a]", "report [2]"])
    let empty = collection("empty")
    let initial = InitialViewState(query: empty, result: [], confirmedKeys: [])
    _ = views.activate(empty, on: target(empty, 4), with: initial, isWatched: true, onlineState: .online)
    let silent = views.listen(second, to: empty, .everything, target: target(empty, 4), onlineState: .online)
    #expect(brief(silent) == ["watch 4"])
    _ = views.addSnapshotsInSyncListener(inSync)
    #expect(views.show(.unknown).isEmpty)
    #expect(brief(views.show(.offline)) == ["listener 2: []", "in sync 9", "listener 1: [a]", "in sync 9"])
    #expect(views.show(.offline).isEmpty)
  }

  @Test("a refused target ends its listeners, and the lookups for its documents")
  func rejected() {
    let a = found("rooms/a", 1)
    var views = views(rooms, [a])
    let current = RemoteEvent(snapshotVersion: version(5), targetChanges: [2: TargetChange(isCurrent: true)])
    _ = apply([], current, to: &views)
    #expect(
      brief(views.reject(2, error(.permissionDenied)))
        == [
          "Listen for query at rooms failed: \(error(.permissionDenied).message)",
          "listener 1: error PERMISSION_DENIED",
          "unwatch 1",
        ])
    #expect(!views.hasListener(first) && views.activeQueries.isEmpty)
  }

  @Test("after the end nothing is left to show")
  func end() {
    var views = views(rooms, [found("rooms/a", 1)])
    _ = views.addSnapshotsInSyncListener(inSync)
    views.removeAllListeners()
    #expect(!views.hasListener(first) && !views.shows(key("rooms/a")) && views.show(.offline).isEmpty)
    #expect(apply([found("rooms/b", 2)], to: &views).isEmpty)
  }
}
