import HearthCache
import HearthModel
import Testing

@testable import HearthSync

@Suite("Watch-change aggregation")
struct WatchChangeAggregatorTests {
  /// The client's targets, as the engine would tell.
  private struct Targets: WatchTargetSource {
    var targets: [TargetID: TargetData] = [:]
    var keys: [TargetID: Set<DocumentKey>] = [:]
    /// The targets that those of reads continue from.
    var continued: [TargetID: TargetID] = [:]

    init(_ queries: [TargetID: Query], keys: [TargetID: Set<DocumentKey>] = [:], limbo: Set<TargetID> = []) {
      for (id, query) in queries {
        targets[id] = TargetData(
          target: query.target, targetID: id, purpose: limbo.contains(id) ? .limboResolution : .listen)
      }
      self.keys = keys
    }

    func listenedTarget(_ targetID: TargetID) -> TargetData? { targets[targetID] }
    func confirmedKeys(of targetID: TargetID) -> Set<DocumentKey> { keys[targetID] ?? [] }
    func continuedTarget(of targetID: TargetID) -> TargetID? { continued[targetID] }
    func name(of key: DocumentKey) -> String { TestClient.database.name(of: key) }
  }

  private let rooms = Targets([2: collection("rooms")])

  private func change(
    _ state: WatchTargetChange.State, _ ids: [TargetID], token: String = ""
  ) -> WatchTargetChange {
    WatchTargetChange(state: state, targetIDs: ids, resumeToken: Array(token.utf8))
  }

  private func put(_ document: Document, _ ids: TargetID...) -> WatchDocumentChange {
    WatchDocumentChange(key: document.key, updatedTargetIDs: ids, document: document)
  }

  private func take(_ path: String, _ ids: TargetID..., state: Document? = nil) -> WatchDocumentChange {
    WatchDocumentChange(key: key(path), removedTargetIDs: ids, document: state)
  }

  /// An aggregator whose targets have been asked for and acknowledged.
  private func aggregator(_ targets: Targets) -> WatchChangeAggregator {
    var aggregator = WatchChangeAggregator()
    for id in targets.targets.keys {
      aggregator.requestSent(id)
      aggregator.handle(change(.added, [id]), source: targets)
    }
    return aggregator
  }

  @Test("messages between snapshots become one event")
  func oneEvent() {
    let targets = Targets([2: collection("rooms")], keys: [2: [key("rooms/b"), key("rooms/c")]])
    var aggregator = aggregator(targets)
    aggregator.handle(put(found("rooms/a", 10), 2), source: targets)
    aggregator.handle(put(found("rooms/b", 11), 2), source: targets)
    aggregator.handle(take("rooms/c", 2, state: missing("rooms/c", 12)), source: targets)
    aggregator.handle(change(.current, [2], token: "t"), source: targets)
    let event = aggregator.makeRemoteEvent(at: version(20), source: targets)
    #expect(event.snapshotVersion == version(20))
    #expect(
      event.targetChanges == [
        2: TargetChange(
          resumeToken: Array("t".utf8), isCurrent: true, added: [key("rooms/a")], modified: [key("rooms/b")],
          removed: [key("rooms/c")])
      ])
    #expect(Set(event.documentUpdates.keys) == [key("rooms/a"), key("rooms/b"), key("rooms/c")])
    #expect(event.documentUpdates.values.allSatisfy { $0.readTime == version(20) })
    #expect(event.limboDocumentChanges.isEmpty)
    // Nothing is said twice.
    let next = aggregator.makeRemoteEvent(at: version(21), source: targets)
    #expect(next.targetChanges.isEmpty && next.documentUpdates.isEmpty)
  }

  @Test("messages count only when every answer for their target has come")
  func outstandingAnswers() {
    var aggregator = WatchChangeAggregator()
    // Listen, unlisten, listen again, before anything was answered.
    for _ in 0..<3 { aggregator.requestSent(2) }
    for (index, state) in [WatchTargetChange.State.added, .removed, .added].enumerated() {
      aggregator.handle(put(found("rooms/old\(index)", 10), 2), source: rooms)
      aggregator.handle(change(.current, [2], token: "old"), source: rooms)
      aggregator.handle(change(state, [2]), source: rooms)
    }
    aggregator.handle(put(found("rooms/a", 10), 2), source: rooms)
    let event = aggregator.makeRemoteEvent(at: version(20), source: rooms)
    #expect(event.targetChanges[2]?.added == [key("rooms/a")])
    #expect(event.targetChanges[2]?.isCurrent == false)
    #expect(event.targetChanges[2]?.resumeToken == [])
    #expect(event.documentUpdates.count == 1)
  }

  @Test("a target without outstanding answers that nobody listens to is ignored, as is one never asked for")
  func unknownTargets() {
    var aggregator = aggregator(rooms)
    let nobody = Targets([:])
    aggregator.handle(put(found("rooms/a", 10), 2, 4), source: nobody)
    for state in [WatchTargetChange.State.added, .removed, .current, .reset, .noChange] {
      aggregator.handle(change(state, [4, -1]), source: nobody)
    }
    aggregator.handle(WatchExistenceFilter(targetID: 4, count: 3), source: nobody)
    let event = aggregator.makeRemoteEvent(at: version(20), source: nobody)
    #expect(event.targetChanges.isEmpty && event.documentUpdates.isEmpty && event.targetMismatches.isEmpty)
  }

  @Test("a change without ids is for all targets whose answers have come")
  func changeForAll() {
    let targets = Targets([2: collection("rooms"), 4: collection("users"), 6: collection("cars")])
    var aggregator = aggregator(targets)
    aggregator.requestSent(6)
    aggregator.handle(change(.current, [], token: "t"), source: targets)
    let event = aggregator.makeRemoteEvent(at: version(20), source: targets)
    #expect(Set(event.targetChanges.keys) == [2, 4])
    #expect(event.targetChanges.values.allSatisfy { $0.isCurrent && $0.resumeToken == Array("t".utf8) })
  }

  @Test("a document that entered and left between two snapshots was never there")
  func enteredAndLeft() {
    var aggregator = aggregator(rooms)
    aggregator.handle(put(found("rooms/a", 10), 2), source: rooms)
    aggregator.handle(take("rooms/a", 2), source: rooms)
    let event = aggregator.makeRemoteEvent(at: version(20), source: rooms)
    #expect(event.targetChanges[2]?.added.isEmpty == true)
    #expect(event.targetChanges[2]?.removed.isEmpty == true)
  }

  @Test("a reset removes what the backend does not send again")
  func reset() {
    let targets = Targets([2: collection("rooms")], keys: [2: [key("rooms/a"), key("rooms/b")]])
    var aggregator = aggregator(targets)
    aggregator.handle(change(.current, [2], token: "t"), source: targets)
    aggregator.handle(change(.reset, [2]), source: targets)
    aggregator.handle(put(found("rooms/a", 10), 2), source: targets)
    let event = aggregator.makeRemoteEvent(at: version(20), source: targets)
    var expected = TargetChange(modified: [key("rooms/a")], removed: [key("rooms/b")])
    expected.isReset = true
    expected.isWhole = true
    #expect(event.targetChanges[2] == expected && !event.isComplete(2))
  }

  @Test("an older state that comes for another target does not replace what a whole result has just stated")
  func olderState() {
    let targets = Targets([2: collection("rooms"), 4: collection("rooms")], keys: [2: [key("rooms/a")]])
    var aggregator = WatchChangeAggregator()
    aggregator.requestSent(2)
    aggregator.requestSent(4, isWhole: true)
    for target in [2, 4] as [TargetID] { aggregator.handle(change(.added, [target]), source: targets) }
    aggregator.handle(put(found("rooms/a", 10), 4), source: targets)
    aggregator.handle(change(.current, [4], token: "t"), source: targets)
    aggregator.handle(put(found("rooms/a", 8), 2), source: targets)
    let event = aggregator.makeRemoteEvent(at: version(12), source: targets)
    #expect(event.documentUpdates[key("rooms/a")]?.version == version(10))
    #expect(event.targetChanges[4]?.isWhole == true && event.targetChanges[2]?.isWhole == false)
  }

  @Test("a target is complete in a snapshot without changes for it, and not before its answer")
  func completeTargets() {
    let targets = Targets([2: collection("rooms"), 4: collection("halls")], keys: [:])
    var aggregator = aggregator(targets)
    aggregator.handle(change(.current, [2], token: "t"), source: targets)
    let first = aggregator.makeRemoteEvent(at: version(20), source: targets)
    #expect(first.isComplete(2) && !first.isComplete(4))
    let second = aggregator.makeRemoteEvent(at: version(21), source: targets)
    #expect(second.targetChanges.isEmpty && second.isComplete(2) && !second.isComplete(4))
    aggregator.requestSent(2)
    #expect(!aggregator.makeRemoteEvent(at: version(22), source: targets).isComplete(2))
  }

  @Test("an existence filter that agrees changes nothing; one that does not asks for the result again")
  func existenceFilter() {
    let targets = Targets([2: collection("rooms")], keys: [2: [key("rooms/a"), key("rooms/b")]])
    var aggregator = aggregator(targets)
    aggregator.handle(put(found("rooms/c", 10), 2), source: targets)
    aggregator.handle(take("rooms/a", 2), source: targets)
    aggregator.handle(WatchExistenceFilter(targetID: 2, count: 2), source: targets)
    #expect(aggregator.makeRemoteEvent(at: version(20), source: targets).targetMismatches.isEmpty)

    aggregator.handle(WatchExistenceFilter(targetID: 2, count: 1), source: targets)
    let event = aggregator.makeRemoteEvent(at: version(21), source: targets)
    #expect(event.targetMismatches == [2: .existenceFilterMismatch])
    #expect(event.targetChanges[2]?.removed == [key("rooms/a"), key("rooms/b")])
    #expect(event.targetChanges[2]?.isCurrent == false)
    #expect(aggregator.makeRemoteEvent(at: version(22), source: targets).targetMismatches.isEmpty)
  }

  /// A listener's target 2 in sync with two documents, and the target of a read, 1, which continues from it.
  private func reading() -> (aggregator: WatchChangeAggregator, targets: Targets) {
    let keys: Set<DocumentKey> = [key("rooms/a"), key("rooms/b")]
    var targets = Targets([1: collection("rooms"), 2: collection("rooms")], keys: [1: keys, 2: keys])
    targets.continued = [1: 2]
    var aggregator = aggregator(targets)
    aggregator.handle(change(.current, [2], token: "t"), source: targets)
    _ = aggregator.makeRemoteEvent(at: version(10), source: targets)
    return (aggregator, targets)
  }

  @Test("a filter for the target of a read is compared with the listener's when the snapshot is complete")
  func existenceFilterOfRead() {
    var (aggregator, targets) = reading()
    aggregator.handle(put(found("rooms/c", 15), 1), source: targets)
    aggregator.handle(WatchExistenceFilter(targetID: 1, count: 3), source: targets)
    // The backend sends each target by itself, and something new after the filter.
    aggregator.handle(put(found("rooms/d", 16), 1), source: targets)
    aggregator.handle(put(found("rooms/c", 15), 2), source: targets)
    aggregator.handle(put(found("rooms/d", 16), 2), source: targets)
    let event = aggregator.makeRemoteEvent(at: version(20), source: targets)
    #expect(event.targetMismatches.isEmpty)
    #expect(event.targetChanges[2]?.added == [key("rooms/c"), key("rooms/d")])
    #expect(event.targetChanges[2]?.removed == [])
    #expect(aggregator.makeRemoteEvent(at: version(21), source: targets).targetMismatches.isEmpty)
  }

  @Test("a listener's target that has other documents than that of a read is asked for again")
  func mismatchOfRead() {
    var (aggregator, targets) = reading()
    aggregator.handle(take("rooms/a", 1), source: targets)
    aggregator.handle(WatchExistenceFilter(targetID: 1, count: 1), source: targets)
    let event = aggregator.makeRemoteEvent(at: version(20), source: targets)
    #expect(event.targetMismatches == [2: .existenceFilterMismatch])
    #expect(event.targetChanges[2]?.removed == [key("rooms/a"), key("rooms/b")])
    #expect(aggregator.makeRemoteEvent(at: version(21), source: targets).targetMismatches.isEmpty)
  }

  @Test("a filter of a read that was answered for an earlier request says nothing of the next one")
  func filterOfEarlierRead() {
    var (aggregator, targets) = reading()
    aggregator.handle(WatchExistenceFilter(targetID: 1, count: 3), source: targets)
    aggregator.requestSent(1)
    aggregator.handle(change(.added, [1]), source: targets)
    let event = aggregator.makeRemoteEvent(at: version(20), source: targets)
    #expect(event.targetMismatches[2] == nil)
  }

  @Test("an existence filter of a single document: zero means that it is gone")
  func existenceFilterOfDocument() {
    let targets = Targets([2: collection("rooms/a")], keys: [2: [key("rooms/a")]])
    var aggregator = aggregator(targets)
    aggregator.handle(WatchExistenceFilter(targetID: 2, count: 1), source: targets)
    #expect(aggregator.makeRemoteEvent(at: version(20), source: targets).documentUpdates.isEmpty)
    aggregator.handle(WatchExistenceFilter(targetID: 2, count: 0), source: targets)
    let event = aggregator.makeRemoteEvent(at: version(21), source: targets)
    #expect(event.documentUpdates[key("rooms/a")]?.isMissing == true)
    #expect(event.targetChanges[2]?.removed == [key("rooms/a")])
    #expect(event.targetMismatches.isEmpty)
  }

  @Test("a single-document target that is current without its document proves that it does not exist")
  func provenAbsence() {
    let targets = Targets([1: collection("rooms/a")], limbo: [1])
    var aggregator = aggregator(targets)
    #expect(aggregator.makeRemoteEvent(at: version(19), source: targets).documentUpdates.isEmpty)
    aggregator.handle(change(.current, [1]), source: targets)
    let event = aggregator.makeRemoteEvent(at: version(20), source: targets)
    #expect(event.documentUpdates[key("rooms/a")] == missing("rooms/a", 20))
    #expect(event.limboDocumentChanges == [key("rooms/a")])
  }

  @Test("an older copy that another target delivered does not hide the proof")
  func provenAbsenceDespiteOtherTarget() {
    let targets = Targets([1: collection("rooms/a"), 2: collection("rooms")], limbo: [1])
    var aggregator = aggregator(targets)
    aggregator.handle(take("rooms/a", 1, state: missing("rooms/a", 15)), source: targets)
    aggregator.handle(put(found("rooms/a", 10), 2), source: targets)
    aggregator.handle(take("rooms/a", 2), source: targets)
    aggregator.handle(change(.current, [1]), source: targets)
    let event = aggregator.makeRemoteEvent(at: version(20), source: targets)
    #expect(event.documentUpdates[key("rooms/a")] == missing("rooms/a", 20))
    #expect(event.limboDocumentChanges.isEmpty)
  }

  @Test("a document delivered for the single-document target exists, current or not")
  func provenPresence() {
    let targets = Targets([1: collection("rooms/a")], limbo: [1])
    var aggregator = aggregator(targets)
    aggregator.handle(put(found("rooms/a", 10), 1), source: targets)
    aggregator.handle(change(.current, [1]), source: targets)
    let event = aggregator.makeRemoteEvent(at: version(20), source: targets)
    #expect(event.documentUpdates[key("rooms/a")]?.isFound == true)
    #expect(event.targetChanges[1]?.added == [key("rooms/a")])
  }

  @Test("the last removal's answer ends the target")
  func removed() {
    var aggregator = aggregator(rooms)
    aggregator.requestSent(2)
    aggregator.handle(change(.removed, [2]), source: rooms)
    aggregator.handle(put(found("rooms/a", 10), 2), source: rooms)
    #expect(aggregator.makeRemoteEvent(at: version(20), source: rooms).documentUpdates.isEmpty)
  }
}
