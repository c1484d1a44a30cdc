import HearthModel
import Testing

@testable import HearthSync

@Suite("Limbo resolutions")
struct LimboResolutionsTests {
  private let view = QueryID(rawValue: 1)
  private let otherView = QueryID(rawValue: 2)
  private let a = key("rooms/a"), b = key("rooms/b"), c = key("rooms/c"), d = key("rooms/d")

  @Test("documents are looked up in order, as many at a time as allowed, with odd targets")
  func limit() {
    var limbo = LimboResolutions(limit: 2)
    #expect(limbo.viewChanged(view, entered: [a, b, c, d], left: []) == [.listen(a, 1), .listen(b, 3)])
    #expect(limbo.active == [a: 1, b: 3])
    #expect(limbo.enqueued == [c, d])
    #expect(limbo.viewChanged(view, entered: [], left: [a]) == [.unlisten(1), .listen(c, 5)])
    #expect(limbo.enqueued == [d])
  }

  @Test("a document is looked up once for all views, until the last one needs it no more")
  func shared() {
    var limbo = LimboResolutions(limit: 100)
    #expect(limbo.viewChanged(view, entered: [a], left: []) == [.listen(a, 1)])
    #expect(limbo.viewChanged(otherView, entered: [a], left: []) == [])
    #expect(limbo.viewChanged(view, entered: [], left: [a]) == [])
    #expect(limbo.viewRemoved(otherView) == [.unlisten(1)])
    #expect(limbo.active.isEmpty)
  }

  @Test("a document that waits stands in the queue once, and leaves it with its last view")
  func waiting() {
    var limbo = LimboResolutions(limit: 1)
    _ = limbo.viewChanged(view, entered: [a, b, c], left: [])
    _ = limbo.viewChanged(otherView, entered: [b], left: [])
    #expect(limbo.enqueued == [b, c])
    #expect(limbo.viewChanged(view, entered: [], left: [b]) == [])
    #expect(limbo.enqueued == [b, c])
    #expect(limbo.viewRemoved(otherView) == [])
    #expect(limbo.enqueued == [c])
    // Found again, it goes to the end.
    _ = limbo.viewChanged(view, entered: [b], left: [])
    #expect(limbo.enqueued == [c, b])
  }

  @Test("a refused lookup gives its place to the next, and its number to nobody")
  func rejected() {
    var limbo = LimboResolutions(limit: 1)
    _ = limbo.viewChanged(view, entered: [a, b], left: [])
    #expect(limbo.rejected(1) == [.listen(b, 3)])
    #expect(limbo.rejected(1) == [])
    // The refused document is still referenced; that it leaves the view has no further effect.
    #expect(limbo.viewChanged(view, entered: [], left: [a]) == [])
    #expect(limbo.active == [b: 3])
  }

  @Test("a document that was found keeps its target, and gives its place to the next")
  func foundDocument() {
    var limbo = LimboResolutions(limit: 1)
    _ = limbo.viewChanged(view, entered: [a, b, c], left: [])
    limbo.received(1, holdsDocument: true)
    #expect(limbo.viewChanged(view, entered: [], left: []) == [], "the backend has not said everything")
    limbo.noteCurrent(1, true)
    #expect(limbo.viewChanged(view, entered: [], left: []) == [.listen(b, 3)])
    #expect(limbo.active == [a: 1, b: 3] && limbo.enqueued == [c] && limbo.foundKeys == [a])
    // That everything is said of a missing document takes no place away: the view is about to let it go.
    limbo.noteCurrent(3, true)
    #expect(limbo.viewChanged(view, entered: [], left: [b]) == [.unlisten(3), .listen(c, 5)])
    #expect(limbo.viewRemoved(view) == [.unlisten(1), .unlisten(5)])
    limbo.assertInvariants()
  }

  @Test("documents that were found keep as many targets as the limit allows, and are known to be there without them")
  func manyFoundDocuments() {
    var limbo = LimboResolutions(limit: 2)
    let keys = (0..<50).map { key("rooms/\(10 + $0)") }
    _ = limbo.viewChanged(view, entered: keys, left: [])
    var released: [TargetID] = []
    for index in keys.indices {
      let target = TargetID(1 + 2 * index)
      limbo.received(target, holdsDocument: true)
      limbo.noteCurrent(target, true)
      for case .unlisten(let target) in limbo.viewChanged(view, entered: [], left: []) { released.append(target) }
      limbo.assertInvariants()
      #expect(limbo.active.count <= 4)
    }
    #expect(limbo.active == [keys[0]: 1, keys[1]: 3] && limbo.foundKeys == Set(keys) && limbo.enqueued.isEmpty)
    #expect(released == (2..<50).map { TargetID(1 + 2 * $0) })
    // Another view of a document that was found needs no answer.
    #expect(limbo.viewChanged(otherView, entered: [keys[7]], left: []) == [])
    #expect(limbo.viewChanged(view, entered: [], left: [keys[7], keys[8]]) == [])
    #expect(limbo.foundKeys == Set(keys).subtracting([keys[8]]))
    #expect(limbo.viewRemoved(view) == [.unlisten(1), .unlisten(3)])
    #expect(limbo.streamBegins() == [.listen(keys[7], 101)])
  }

  @Test("on a new stream the limit holds for documents that were found before as well")
  func newStream() {
    var limbo = LimboResolutions(limit: 2)
    _ = limbo.viewChanged(view, entered: [a, b, c, d], left: [])
    for target: TargetID in [1, 3, 5] {
      limbo.received(target, holdsDocument: true)
      limbo.noteCurrent(target, true)
      _ = limbo.viewChanged(view, entered: [], left: [])
    }
    #expect(limbo.active == [a: 1, b: 3, d: 7] && limbo.foundKeys == [a, b, c])
    #expect(limbo.streamBegins() == [.unlisten(7)])
    #expect(limbo.active == [a: 1, b: 3] && limbo.enqueued == [d, c] && limbo.foundKeys.isEmpty)
    limbo.assertInvariants()
    limbo.noteCurrent(1, true)
    #expect(limbo.viewChanged(view, entered: [], left: []) == [.listen(d, 9)])
    #expect(limbo.foundKeys == [a])
  }

  @Test("whether the document was received is kept with its lookup")
  func received() {
    var limbo = LimboResolutions(limit: 1)
    _ = limbo.viewChanged(view, entered: [a], left: [])
    #expect(limbo.resolution(of: 1) == .init(key: a, hasReceivedDocument: false))
    limbo.received(1, holdsDocument: true)
    #expect(limbo.resolution(of: 1) == .init(key: a, hasReceivedDocument: true))
    limbo.received(7, holdsDocument: true)
    #expect(limbo.resolution(of: 7) == nil)
  }

  @Test("removing a view frees all places that only it needed")
  func viewRemoved() {
    var limbo = LimboResolutions(limit: 2)
    _ = limbo.viewChanged(view, entered: [a, b, c], left: [])
    _ = limbo.viewChanged(otherView, entered: [d], left: [])
    #expect(limbo.viewRemoved(view) == [.unlisten(1), .unlisten(3), .listen(d, 5)])
    #expect(limbo.enqueued.isEmpty)
  }

  @Test("after a refusal the next lookup begins before the listener gets the snapshot without the refused document")
  func rejectedInEngine() throws {
    let client = try TestClient(durable: true, maxConcurrentLimboResolutions: 1)
    let listener = client.listen(collection("rooms")).rawValue
    try client.fill(2, [found("rooms/a", 1), found("rooms/b", 1)], at: 10)
    try client.take("rooms/a", outOf: 2)
    try client.take("rooms/b", outOf: 2)
    try client.snapshot(11)
    #expect(client.engine.activeLimboDocuments == [a: 1] && client.engine.enqueuedLimboDocuments == [b])

    let stream = try #require(client.watchStream)
    let refusal = WatchTargetChange(
      state: .removed, targetIDs: [1], resumeToken: [], readTime: version(0), cause: error(.permissionDenied))
    // Not by the client: it does not keep the order of requests and snapshots.
    let actions = client.engine.handle(.watchStreamMessage(stream, .targetChange(refusal)), now: client.now)
    let order = actions.compactMap { action in
      switch action {
      case .sendWatch(_, .addTarget(let request)): "add \(request.targetID)"
      case .sendWatch(_, .removeTarget(let id)): "remove \(id)"
      case .raiseSnapshot(let id, let snapshot): "listener \(id.rawValue): \(snapshot.summary)"
      default: nil
      }
    }
    #expect(order == ["add 3", "listener \(listener): cache [b] -a"])
    #expect(client.engine.activeLimboDocuments == [b: 3] && client.engine.enqueuedLimboDocuments.isEmpty)
  }
}
