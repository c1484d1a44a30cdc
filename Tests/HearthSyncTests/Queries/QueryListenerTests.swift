import HearthModel
import Testing

@testable import HearthSync

@Suite("Query listeners")
struct QueryListenerTests {
  private func snapshot(
    _ documents: [Document] = [], _ changes: [DocumentViewChange] = [], fromCache: Bool = true, pending: Bool = false,
    syncStateChanged: Bool = false, cached: Bool = false
  ) -> ViewSnapshot {
    ViewSnapshot(
      query: collection("rooms"), documents: DocumentList(documents), oldDocuments: [], changes: changes,
      isFromCache: fromCache,
      mutatedKeys: pending ? [key("rooms/a")] : [], syncStateChanged: syncStateChanged, excludesMetadataChanges: false,
      hasCachedResults: cached)
  }

  private func listener(_ options: ListenOptions = .everything, _ state: OnlineState = .unknown) -> QueryListener {
    QueryListener(id: ListenerID(rawValue: 1), options: options, onlineState: state)
  }

  private let a = found("rooms/a", 1)

  @Test("an empty result from the cache is no first event, unless a complete one is remembered")
  func emptyFirst() {
    var one = listener()
    #expect(one.viewChanged(snapshot()) == nil)
    var other = listener()
    #expect(other.viewChanged(snapshot(cached: true)) != nil)
  }

  @Test("documents from the cache are shown at once, all as added")
  func documentsFirst() throws {
    var listener = listener()
    let raised = listener.viewChanged(
      snapshot([a], [DocumentViewChange(kind: .modified, document: a, oldIndex: 0, newIndex: 0)]))
    let first = try #require(raised)
    #expect(brief(first.changes) == ["+a"])
    #expect(first.changes.first?.newIndex == 0)
  }

  @Test("a synced result is shown, empty or not")
  func syncedFirst() {
    var listener = listener()
    #expect(listener.viewChanged(snapshot(fromCache: false)) != nil)
  }

  @Test("going offline shows what was held back, also to one who waits for the backend")
  func offline() {
    var waiting = listener(.get)
    #expect(waiting.viewChanged(snapshot([a])) == nil)
    #expect(waiting.onlineStateChanged(.online) == nil)
    #expect(waiting.onlineStateChanged(.offline)?.ids == ["a"])
    #expect(waiting.onlineStateChanged(.offline) == nil)
    var late = listener(.get, .offline)
    #expect(late.viewChanged(snapshot()) != nil)
  }

  @Test("who waits for the backend waits for an answer, also where the result agrees with it")
  func unanswered() {
    var unanswered = snapshot([a], fromCache: false)
    unanswered.isAnswered = false
    var other = listener()
    #expect(other.viewChanged(unanswered) != nil)
    var waiting = listener(.get)
    #expect(waiting.viewChanged(unanswered) == nil)
    let raised = waiting.onlineStateChanged(.offline)
    #expect(raised?.isFromCache == true && raised?.isAnswered == false)
    var answered = listener(.get)
    _ = answered.viewChanged(unanswered)
    unanswered.isAnswered = true
    #expect(answered.viewAnswered(unanswered)?.isFromCache == false)
  }

  @Test("going offline before the view has said anything shows nothing")
  func offlineWithoutSnapshot() {
    var listener = listener()
    #expect(listener.onlineStateChanged(.offline) == nil)
  }

  @Test("a listener to the cache alone never waits")
  func cacheSource() {
    var listener = listener(ListenOptions(source: .cache))
    #expect(listener.viewChanged(snapshot()) != nil)
  }

  @Test("who was shown a synced result hears nothing when a view that nobody has watched is synced again")
  func syncedAgain() {
    var listener = listener(ListenOptions(includeQueryMetadataChanges: true, source: .cache))
    #expect(listener.viewChanged(snapshot([a], fromCache: false, syncStateChanged: true)) != nil)
    #expect(listener.viewChanged(snapshot([a], fromCache: false, syncStateChanged: true)) == nil)
    #expect(listener.viewChanged(snapshot([a], fromCache: true, syncStateChanged: true)) != nil)
    #expect(listener.viewChanged(snapshot([a], fromCache: false, syncStateChanged: true)) != nil)
  }

  @Test("without metadata: only changes of the data are events, and metadata changes are left out of them")
  func withoutMetadata() throws {
    var listener = listener(ListenOptions())
    _ = listener.viewChanged(snapshot([a], fromCache: true))
    #expect(listener.viewChanged(snapshot([a], fromCache: false, syncStateChanged: true)) == nil)
    #expect(listener.viewChanged(snapshot([a], fromCache: false, pending: true)) == nil)
    let metadata = DocumentViewChange(kind: .metadata, document: a, oldIndex: 0, newIndex: 0)
    #expect(listener.viewChanged(snapshot([a], [metadata], fromCache: false)) == nil)
    let b = found("rooms/b", 1)
    let raised = listener.viewChanged(
      snapshot([a, b], [DocumentViewChange(kind: .added, document: b, newIndex: 1), metadata], fromCache: false))
    let event = try #require(raised)
    #expect(brief(event.changes) == ["+b"])
    #expect(event.excludesMetadataChanges)
  }

  @Test("with metadata: changes of the source and of pending writes are events")
  func withMetadata() {
    var listener = listener()
    _ = listener.viewChanged(snapshot([a]))
    #expect(listener.viewChanged(snapshot([a])) == nil)
    #expect(listener.viewChanged(snapshot([a], fromCache: false, syncStateChanged: true)) != nil)
    #expect(listener.viewChanged(snapshot([a], fromCache: false, pending: true)) != nil)
    #expect(listener.viewChanged(snapshot([a], fromCache: false, pending: true)) == nil)
    #expect(listener.viewChanged(snapshot([a], fromCache: false)) != nil)
  }
}
