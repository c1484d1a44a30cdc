import HearthModel
import Testing

@testable import HearthData

@Suite("The result that a listener shows")
struct WatchedResultTests {
  private let key = DocumentKeys()

  private struct DocumentKeys {
    func callAsFunction(_ id: String) throws -> DocumentKey { try DocumentKey(parsing: "c/\(id)") }
  }

  private func document(_ id: String, _ version: Int64) throws -> Document {
    .found(
      try key(id), version: SnapshotVersion(microseconds: version), fields: EncodedFields(["v": .integer(version)]))
  }

  private func changed(_ document: Document, _ target: TargetID = 1) -> WatchResponse {
    .documentChange(WatchDocumentChange(key: document.key, updatedTargetIDs: [target], document: document))
  }

  private func gone(_ id: String) throws -> WatchResponse {
    .documentChange(WatchDocumentChange(key: try key(id), removedTargetIDs: [1]))
  }

  private let current = WatchResponse.targetChange(WatchTargetChange(state: .current, targetIDs: [1]))

  private func snapshot(_ time: Int64) -> WatchResponse {
    .targetChange(
      WatchTargetChange(state: .noChange, resumeToken: [UInt8(time)], readTime: SnapshotVersion(microseconds: time)))
  }

  /// Sends messages. Only the last is a snapshot.
  private func changes(_ result: inout WatchedResult, _ messages: [WatchResponse]) -> [WatchedChange]? {
    var event = WatchedResult.Event.nothing
    for message in messages { event = result.received(message) }
    guard case .snapshot(let changes, _) = event else { return nil }
    return changes
  }

  @Test("only complete and consistent states are shown, in the order of keys")
  func states() throws {
    var result = WatchedResult(target: 1)
    let (b, a) = (try document("b", 1), try document("a", 1))
    #expect(changes(&result, [changed(b), snapshot(5)]) == nil)
    #expect(changes(&result, [changed(a), current, snapshot(6)]) == [.added(a), .added(b)])
    #expect(result.resumeToken == [6])
    let newer = try document("b", 7)
    #expect(changes(&result, [changed(newer), try gone("a"), snapshot(8)]) == [.removed(a.key), .changed(newer)])
    #expect(changes(&result, [changed(newer), changed(a, 9), snapshot(9)]) == [])
  }

  @Test("what comes and goes before a snapshot is not shown")
  func passing() throws {
    var result = WatchedResult(target: 1)
    #expect(changes(&result, [current, changed(try document("a", 1)), try gone("a"), snapshot(5)]) == [])
  }

  @Test("after a reset only the differences are shown")
  func reset() throws {
    var result = WatchedResult(target: 1)
    let (a, b, c) = (try document("a", 1), try document("b", 1), try document("c", 1))
    _ = changes(&result, [changed(a), changed(b), current, snapshot(5)])
    let newer = try document("b", 6)
    let reset = WatchResponse.targetChange(WatchTargetChange(state: .reset, targetIDs: [1]))
    #expect(
      changes(&result, [reset, changed(newer), changed(c), current, snapshot(7)])
        == [.removed(a.key), .changed(newer), .added(c)])
  }

  @Test("a count that differs starts again under another number, and late messages of the old one do not count")
  func mismatch() throws {
    var result = WatchedResult(target: 1)
    let (a, b) = (try document("a", 1), try document("b", 1))
    _ = changes(&result, [changed(a), changed(b), current, snapshot(5)])
    #expect(result.received(.existenceFilter(WatchExistenceFilter(targetID: 1, count: 2))) == .nothing)
    #expect(result.received(.existenceFilter(WatchExistenceFilter(targetID: 1, count: 1))) == .mustListenAgain(1))
    #expect(result.target == 2 && result.resumeToken.isEmpty)
    let removed = WatchResponse.targetChange(WatchTargetChange(state: .removed, targetIDs: [1]))
    #expect(result.received(removed) == .nothing)
    let currentAgain = WatchResponse.targetChange(WatchTargetChange(state: .current, targetIDs: [2]))
    #expect(changes(&result, [changed(b, 2), currentAgain, snapshot(9)]) == [.removed(a.key)])
  }

  @Test("a refused target ends the listener with its reason")
  func refused() {
    var result = WatchedResult(target: 1)
    let error = StatusError(code: .permissionDenied, message: "no")
    let message = WatchResponse.targetChange(WatchTargetChange(state: .removed, targetIDs: [1], cause: error))
    #expect(result.received(message) == .ended(error))
  }
}
