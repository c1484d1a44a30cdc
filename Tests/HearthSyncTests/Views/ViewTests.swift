import HearthCache
import HearthModel
import TestSupport
import Testing

@testable import HearthSync

@Suite("Views")
struct ViewTests {
  private func view(_ query: Query, _ documents: [Document] = [], synced: Bool = false) -> View {
    var view = View(query: query, confirmedKeys: [], hasCachedResults: false)
    let change = TargetChange(isCurrent: true, added: Set(documents.map(\.key)))
    _ = view.apply(view.computeChanges(map(documents)), targetChange: synced ? change : nil)
    return view
  }

  private func map(_ documents: [Document]) -> DocumentMap {
    DocumentMap(documents.map { ($0.key, $0) }, uniquingKeysWith: { _, last in last })
  }

  private func apply(_ documents: Document..., to view: inout View) -> ViewSnapshot? {
    view.apply(view.computeChanges(map(documents))).snapshot
  }

  @Test("documents stand in query order; those that do not match, and missing ones, stay out")
  func order() {
    let view = view(
      collection("rooms").filtered("size", .greaterThan, 0).ordered(by: "size", .descending),
      [
        found("rooms/a", 1, ["size": 1]), found("rooms/b", 1, ["size": 3]), found("rooms/c", 1, ["size": 0]),
        found("users/x", 1, ["size": 9]), missing("rooms/d", 1), found("rooms/e", 1, ["size": 3]),
      ])
    #expect(view.snapshot().ids == ["e", "b", "a"])
  }

  @Test("changes come removed, added, modified with metadata, each in query order, with indexes valid in sequence")
  func changeOrder() throws {
    var view = view(
      collection("rooms").ordered(by: "n"),
      [
        found("rooms/a", 1, ["n": 1]), found("rooms/b", 1, ["n": 2]), found("rooms/c", 1, ["n": 3]),
        locallyWritten("rooms/d", ["n": 4]), found("rooms/e", 1, ["n": 5]),
      ])
    let snapshot = try #require(
      apply(
        missing("rooms/c", 2), missing("rooms/a", 2), found("rooms/x", 2, ["n": 0]), found("rooms/y", 2, ["n": 9]),
        found("rooms/b", 2, ["n": 8]), found("rooms/d", 2, ["n": 4]), to: &view))
    #expect(brief(snapshot.changes) == ["-a", "-c", "+x", "+y", "=d", "~b"])
    #expect(snapshot.changes.map(\.oldIndex) == [0, 1, nil, nil, 2, 1])
    #expect(snapshot.changes.map(\.newIndex) == [nil, nil, 0, 4, 2, 3])
    #expect(snapshot.ids == ["x", "d", "e", "b", "y"])
  }

  @Test("the first snapshot is raised even without documents; nothing new gives none")
  func snapshots() {
    var view = View(query: collection("rooms"), confirmedKeys: [], hasCachedResults: false)
    let first = view.apply(view.computeChanges([:])).snapshot
    #expect(first?.isFromCache == true && first?.syncStateChanged == true && first?.documents == [])
    #expect(view.apply(view.computeChanges([:])).snapshot == nil)
    #expect(apply(found("users/a", 1), missing("rooms/b", 1), to: &view) == nil)
  }

  @Test("being current makes the view synced, going offline ends it")
  func syncState() {
    var view = view(collection("rooms"), [found("rooms/a", 1)], synced: true)
    #expect(view.isSynced)
    #expect(view.apply(onlineState: .unknown).snapshot == nil)
    let snapshot = view.apply(onlineState: .offline).snapshot
    #expect(snapshot?.isFromCache == true && snapshot?.syncStateChanged == true && snapshot?.changes == [])
    #expect(snapshot?.hasCachedResults == true)
    #expect(view.apply(onlineState: .offline).snapshot == nil)
  }

  @Test("documents that the backend did not confirm are in limbo once the view is current")
  func limbo() {
    var view = view(collection("rooms"), [found("rooms/b", 1), found("rooms/a", 1), locallyWritten("rooms/c")])
    let outcome = view.apply(view.computeChanges([:]), targetChange: TargetChange(isCurrent: true))
    #expect(outcome.enteredLimbo == [key("rooms/a"), key("rooms/b")])
    #expect(outcome.snapshot == nil)
    #expect(!view.isSynced)
    let resolved = view.apply(
      view.computeChanges(map([missing("rooms/a", 2)])),
      targetChange: TargetChange(isCurrent: true, added: [key("rooms/b")]))
    #expect(resolved.leftLimbo == [key("rooms/a"), key("rooms/b")])
    #expect(resolved.snapshot?.isFromCache == false)
    #expect(view.limboKeys.isEmpty)
  }

  @Test("while a result is asked for again nothing enters limbo and the view is not synced")
  func pendingReset() {
    var view = view(collection("rooms"), [found("rooms/a", 1)], synced: true)
    let outcome = view.apply(
      view.computeChanges([:]), targetChange: TargetChange(isCurrent: true, removed: [key("rooms/a")]),
      isPendingReset: true)
    #expect(outcome.enteredLimbo == [])
    #expect(outcome.snapshot?.isFromCache == true)
    let later = view.apply(view.computeChanges([:]), targetChange: TargetChange(isCurrent: true))
    #expect(later.enteredLimbo == [key("rooms/a")])
  }

  @Test("a local write is pending until the watch stream delivers it, without an interim state")
  func latencyCompensation() {
    var view = view(collection("rooms"), [found("rooms/a", 1, ["n": 1])], synced: true)
    let local = apply(locallyWritten("rooms/a", ["n": 2]), to: &view)
    #expect(local.map(\.summary) == "server pending [a] ~a")
    // Acknowledged with other contents (a server timestamp, say): wait for the watch stream.
    #expect(apply(committed("rooms/a", 2, ["n": 3]), to: &view) == nil)
    #expect(apply(found("rooms/a", 2, ["n": 3]), to: &view).map(\.summary) == "server [a] ~a")
  }

  @Test("an acknowledged write with the same contents stays pending, then only metadata change")
  func acknowledgedWrite() {
    var view = view(collection("rooms"), [], synced: true)
    _ = apply(locallyWritten("rooms/a", ["n": 2]), to: &view)
    #expect(apply(committed("rooms/a", 2, ["n": 2]), to: &view) == nil)
    #expect(view.mutatedKeys == [key("rooms/a")])
    let delivered = view.apply(
      view.computeChanges(map([found("rooms/a", 2, ["n": 2])])),
      targetChange: TargetChange(isCurrent: true, added: [key("rooms/a")]))
    #expect(delivered.snapshot.map(\.summary) == "server [a] =a")
  }

  @Test("a view that starts after the acknowledgement does not show the write as pending")
  func startAfterAcknowledgement() {
    #expect(view(collection("rooms"), [committed("rooms/a", 2)]).snapshot().hasPendingWrites == false)
  }

  @Test("fields in another order on the wire are the same contents")
  func fieldOrder() throws {
    var view = view(collection("rooms"), [found("rooms/a", 1, ["x": 1, "y": 2])])
    let x = EncodedFields(["x": 1]).bytes
    let y = EncodedFields(["y": 2]).bytes
    let swapped = Document.found(key("rooms/a"), version: version(2), fields: EncodedFields(uncheckedBytes: y + x))
    #expect(apply(swapped, to: &view) == nil)
  }

  @Test("a limit keeps the first or the last documents", arguments: [Query.LimitType.first, .last])
  func limit(_ type: Query.LimitType) {
    let query = collection("rooms").ordered(by: "n").with(limit: 2, type: type)
    var view = view(query, (1...4).map { found("rooms/\($0)", 1, ["n": .integer($0)]) })
    #expect(view.snapshot().ids == (type == .first ? ["1", "2"] : ["3", "4"]))
    let better = type == .first ? found("rooms/0", 1, ["n": 0]) : found("rooms/5", 1, ["n": 5])
    let snapshot = apply(better, to: &view)
    #expect(snapshot.map { brief($0.changes) } == (type == .first ? ["-2", "+0"] : ["-3", "+5"]))
  }

  @Test("a full limit that loses a document, or whose document moves beyond the edge, asks for a refill")
  func refill() {
    let query = collection("rooms").ordered(by: "n").with(limit: 2)
    var view = view(query, [found("rooms/1", 1, ["n": 1]), found("rooms/2", 1, ["n": 2])])
    #expect(view.computeChanges(map([missing("rooms/1", 2)])).needsRefill)
    #expect(view.computeChanges(map([found("rooms/1", 2, ["n": 9])])).needsRefill)
    #expect(!view.computeChanges(map([found("rooms/1", 2, ["n": 2])])).needsRefill)
    #expect(!view.computeChanges(map([found("rooms/3", 2, ["n": 9])])).needsRefill)

    let first = view.computeChanges(map([missing("rooms/1", 2)]))
    let both = view.computeChanges(
      map([found("rooms/2", 1, ["n": 2]), found("rooms/3", 1, ["n": 3])]), after: first)
    #expect(!both.needsRefill)
    #expect(view.apply(both).snapshot.map(\.summary) == "cache [2 3] -1 +3")
  }

  @Test("a document that moved out and came back with the refill was modified")
  func refillMergesChanges() {
    let query = collection("rooms").ordered(by: "n").with(limit: 2)
    var view = view(query, [found("rooms/1", 1, ["n": 1]), found("rooms/2", 1, ["n": 2])])
    let moved = found("rooms/1", 2, ["n": 9])
    let first = view.computeChanges(map([moved]))
    let both = view.computeChanges(map([found("rooms/2", 1, ["n": 2]), moved]), after: first)
    #expect(view.apply(both).snapshot.map(\.summary) == "cache [2 1] ~1")
  }

  @Test("pending writes outside a limit do not count")
  func pendingOutsideLimit() {
    var view = view(collection("rooms").ordered(by: "n").with(limit: 1), [found("rooms/1", 1, ["n": 1])])
    #expect(apply(locallyWritten("rooms/2", ["n": 2]), to: &view) == nil)
    #expect(!view.snapshot().hasPendingWrites)
  }

  @Test("carrying out the changes in sequence always leads from the old result to the new one", arguments: 0..<40)
  func changesInSequence(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var query = collection("rooms").ordered(by: "n")
    if Bool.random(using: &generator) { query = query.filtered("n", .greaterThan, 2) }
    if Bool.random(using: &generator) {
      query = query.with(
        limit: Int.random(in: 1...6, using: &generator), type: Bool.random(using: &generator) ? .first : .last)
    }
    var view = view(query)
    var cache: DocumentMap = [:]
    for step in 1...30 {
      var changed: DocumentMap = [:]
      for _ in 0..<Int.random(in: 1...25, using: &generator) {
        let path = "rooms/\(Int.random(in: 0..<30, using: &generator))"
        let number = Value.integer(Int64.random(in: 0..<8, using: &generator))
        let document =
          switch Int.random(in: 0..<4, using: &generator) {
          case 0: missing(path, Int64(step))
          case 1: locallyWritten(path, ["n": number])
          default: found(path, Int64(step), ["n": number])
          }
        changed[document.key] = document
      }
      cache.merge(changed) { _, new in new }
      var computed = view.computeChanges(changed)
      if computed.needsRefill { computed = view.computeChanges(cache, after: computed) }
      let before = view.documents.documents.map(\.key)
      let snapshot = view.apply(computed).snapshot

      var list = before
      for change in snapshot?.changes ?? [] {
        if let index = change.oldIndex {
          try #require(list.indices.contains(index) && list[index] == change.document.key, "seed \(seed)")
          list.remove(at: index)
        }
        if let index = change.newIndex {
          try #require(index <= list.count, "seed \(seed)")
          list.insert(change.document.key, at: index)
        }
      }
      let sorted = cache.values.filter(query.matches).sorted { query.compare($0, $1) == .ascending }
      let limit = query.limit ?? sorted.count
      let expected = query.limitType == .first ? Array(sorted.prefix(limit)) : Array(sorted.suffix(limit))
      #expect(list == expected.map(\.key), "seed \(seed), step \(step)")
      // A document that only got a newer version stays as it was: there is nothing to see.
      let haveSameContents = zip(view.documents.documents, expected).allSatisfy { $0.hasSameContents(as: $1) }
      #expect(haveSameContents && view.documents.count == expected.count, "seed \(seed), step \(step)")
      #expect(
        view.mutatedKeys == Set(expected.filter(\.hasLocalMutations).map(\.key)), "seed \(seed), step \(step)")
    }
  }
}

@Suite("Merging of changes")
struct DocumentViewChangeSetTests {
  @Test(
    "two changes of a document become one change for a caller who looks only at the end",
    arguments: [
      (DocumentViewChange.Kind.added, DocumentViewChange.Kind.modified, "+"), (.added, .metadata, "+"),
      (.added, .removed, ""), (.removed, .added, "~"), (.modified, .removed, "-"), (.metadata, .removed, "-"),
      (.metadata, .modified, "~"), (.modified, .metadata, "~"), (.metadata, .metadata, "="),
    ])
  func merge(_ first: DocumentViewChange.Kind, _ second: DocumentViewChange.Kind, _ expected: String) {
    let query = collection("rooms")
    var old = DocumentSet(query: query)
    if first != .added { old.insert(found("rooms/a", 1)) }
    var changes = DocumentViewChangeSet()
    changes.track(first, found("rooms/a", 1))
    changes.track(second, found("rooms/a", 2))
    let ordered = changes.apply(to: &old, query: query)
    #expect(brief(ordered) == (expected.isEmpty ? [] : [expected + "a"]))
    if let change = ordered.first {
      #expect(change.document.version == version(change.kind == .removed ? 1 : 2))
    }
  }
}

@Suite("Document sets")
struct DocumentSetTests {
  @Test("inserting one by one and all at once give the same order, with every document at its index")
  func order() {
    let query = collection("rooms").ordered(by: "n", .descending)
    let documents = (0..<60).map { found("rooms/\($0)", 1, ["n": .integer(Int64($0 * 7 % 13))]) }
    var single = DocumentSet(query: query)
    for document in documents { single.insert(document) }
    var bulk = DocumentSet(query: query)
    bulk.insert(contentsOf: documents)
    #expect(single.documents == bulk.documents)
    for (index, document) in single.documents.enumerated() { #expect(single.index(of: document.key) == index) }
    #expect(single.index(of: key("rooms/none")) == nil)
    #expect(single.first == single.documents.first && single.last == single.documents.last)
  }

  @Test("inserting a document again moves it; removing an absent one changes nothing")
  func replace() {
    var set = DocumentSet(query: collection("rooms").ordered(by: "n"))
    set.insert(found("rooms/a", 1, ["n": 1]))
    set.insert(found("rooms/b", 1, ["n": 2]))
    set.insert(found("rooms/a", 2, ["n": 3]))
    #expect(set.documents.map(\.key.id) == ["b", "a"])
    set.remove(key("rooms/x"))
    #expect(set.count == 2)
    set.remove(key("rooms/a"))
    #expect(set.documents.map(\.key.id) == ["b"] && !set.contains(key("rooms/a")))
  }

  @Test(
    "after any changes the set is what a sorted array is, tells where documents stood, and leaves copies as they were",
    arguments: 1...8 as ClosedRange<UInt64>)
  func againstArray(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let query = seed.isMultiple(of: 2) ? collection("rooms") : collection("rooms").ordered(by: "n", .descending)
    func sorted(_ documents: [String: Document]) -> [Document] {
      documents.values.sorted { query.compare($0, $1) == .ascending }
    }
    var set = DocumentSet(query: query)
    var model: [String: Document] = [:]
    for step in 0..<900 {
      let copy = set
      let before = sorted(model)
      let id = "\(Int.random(in: 0..<500, using: &random))"
      let oldIndex = before.firstIndex { $0.key.id == id }
      // First it grows, then it shrinks.
      if Int.random(in: 0..<900, using: &random) < step {
        model[id] = nil
        #expect(set.remove(key("rooms/\(id)")) == oldIndex)
      } else {
        let document = found("rooms/\(id)", Int64(step), ["n": .integer(Int64.random(in: 0..<50, using: &random))])
        model[id] = document
        let moved = set.insert(document)
        #expect(moved.oldIndex == oldIndex)
        #expect(moved.newIndex == sorted(model).firstIndex { $0.key.id == id })
      }
      guard step.isMultiple(of: 50) else { continue }
      #expect(Array(copy.documents) == before)
      let after = sorted(model)
      #expect(Array(set.documents) == after && set.count == after.count)
      #expect(set.documents.indices.map { set.documents[$0].key } == after.map(\.key))
      #expect(set.first == after.first && set.last == after.last)
      #expect(after.allSatisfy { set[$0.key] == $0 })
    }
  }

  @Test("a set made of sorted documents is the same as one that they were inserted into")
  func madeOfSorted() {
    let query = collection("rooms")
    var inserted = DocumentSet(query: query)
    for index in (0..<700).reversed() { inserted.insert(found("rooms/\(index)", 1)) }
    let made = DocumentSet(query: query, sorted: Array(inserted.documents))
    #expect(made.documents == inserted.documents)
    #expect(made.documents.enumerated().allSatisfy { made.index(of: $1.key) == $0 })
    #expect(!made.contains(key("rooms/none")) && made.contains(key("rooms/699")))
  }
}
