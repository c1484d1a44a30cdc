import Foundation
import HearthModel
import HearthStore
import Testing

@testable import HearthCache

@Suite("Garbage collection of what was used least recently")
struct GarbageCollectionTests {
  private static let everything = GarbageCollectionParameters(thresholdBytes: 0, percentile: 100)
  private static let tiny = GarbageCollectionRun.StepLimits(
    targets: 1, keys: 1, documents: 1, documentBytes: 1, pages: 1)

  private func rooms(_ limit: Int) -> Target { collection("rooms").with(limit: limit, type: .first).target }

  /// Four targets without listeners; pending writes of two users; a document that only a view shows. The first target shares a document
  /// with one that is in use.
  private func makeCache(_ backing: Backing = .memory) throws -> (TestCache, inUse: TargetID) {
    let cache = try TestCache(backing, user: "alice")
    let store = cache.store
    try store.write(.patch(key("rooms/alices"), ["n": .integer(2)], mask: mask("n")))
    _ = try store.changeUser(nil)
    let inUse = try store.allocateTarget(collection("rooms").target).targetID
    try store.receive(found("rooms/used", 3, [:]), found("rooms/shared", 3, [:]), at: 4, for: [inUse], token: "t4")
    for number in 1...4 {
      let id = try store.allocateTarget(rooms(number)).targetID
      let time = Int64(number) * 10
      try store.receive(
        found("rooms/\(number)a", time, [:]), found("rooms/\(number)b", time, [:]), at: time, for: [id], token: "t")
      if number == 1 {
        try store.receive(
          found("rooms/shared", 3, [:]), found("rooms/alices", 3, [:]), found("rooms/own", 3, [:]), at: 15, for: [id],
          token: "t15")
      }
      try store.releaseTarget(id)
    }
    try store.write(.set(key("rooms/own"), [:]))
    try store.receive(found("rooms/shown", 50, [:]), at: 50)
    return (cache, inUse)
  }

  private static let needed = ["rooms/alices", "rooms/own", "rooms/shared", "rooms/shown", "rooms/used"]

  private func isShown(_ key: DocumentKey) -> Bool { key.canonicalString == "rooms/shown" }

  private func storedPaths(_ cache: TestCache) throws -> [String] {
    try cache.store.tables.documents.documents(in: path("rooms"), limit: 1_000).map(\.key.canonicalString)
  }

  @Test("what is listened to, pending for any user or shown stays", arguments: Backing.allCases)
  func needed(_ backing: Backing) throws {
    let (cache, inUse) = try makeCache(backing)
    defer { cache.close() }
    let report = try cache.store.collectGarbage(Self.everything, isShown: isShown)
    #expect(report.hasCollected && report.removedTargetCount == 4 && report.removedDocumentCount == 8)
    #expect(try storedPaths(cache) == Self.needed)
    #expect(try cache.store.targetData(for: rooms(1)) == nil)
    #expect(try cache.store.confirmedKeys(for: inUse) == [key("rooms/used"), key("rooms/shared")])
    // The row of a target that is listened to again is a new one.
    #expect(try cache.store.allocateTarget(rooms(1)).targetID == inUse + 10)
  }

  @Test("the oldest go first: a tenth of targets and unneeded documents, and no more than the limit")
  func share() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    for number in 10..<50 { try cache.store.receive(found("rooms/\(number)", 3, [:]), at: Int64(number)) }
    func collect(percentile: Int64 = 10, most: Int64 = 1_000) throws -> [String] {
      let before = try storedPaths(cache)
      let parameters = GarbageCollectionParameters(thresholdBytes: 0, percentile: percentile, maxSequenceNumbers: most)
      _ = try cache.store.collectGarbage(parameters) { _ in false }
      let after = Set(try storedPaths(cache))
      return before.filter { !after.contains($0) }
    }
    #expect(try collect() == ["rooms/10", "rooms/11", "rooms/12", "rooms/13"])
    #expect(try collect() == ["rooms/14", "rooms/15", "rooms/16"])
    #expect(try collect(percentile: 100, most: 2) == ["rooms/17", "rooms/18"])
    #expect(try collect(percentile: 0) == [])
    // Read again, a document is among the youngest.
    try cache.store.receive(found("rooms/19", 60, [:]), at: 60)
    #expect(try collect(percentile: 4) == ["rooms/20"])
  }

  @Test("a cache below the threshold, without limit or with eager garbage collection is left alone")
  func threshold() throws {
    let (cache, _) = try makeCache()
    defer { cache.close() }
    let before = try cache.dump()
    let size = try cache.database.usedBytes
    var parameters = Self.everything
    parameters.thresholdBytes = size + 1
    #expect(try cache.store.collectGarbage(parameters, isShown: isShown).hasCollected == false)
    #expect(try cache.dump() == before)
    parameters.thresholdBytes = size
    #expect(try cache.store.collectGarbage(parameters, isShown: isShown).removedTargetCount == 4)

    let eager = try TestCache(.memory, .eager)
    defer { eager.close() }
    try eager.store.write(.set(key("rooms/a"), [:]))
    #expect(try eager.store.collectGarbage(Self.everything) { _ in false } == GarbageCollectionReport())
    #expect(eager.store.garbageCollectionParameters == nil)
    let unlimited = try TestCache(.memory, .leastRecentlyUsed(thresholdBytes: -1))
    defer { unlimited.close() }
    #expect(unlimited.store.garbageCollectionParameters == nil)
    #expect(
      cache.store.garbageCollectionParameters
        == GarbageCollectionParameters(thresholdBytes: 100 << 20, percentile: 10, maxSequenceNumbers: 1_000))
  }

  /// Targets without a listener with a large document each.
  private func fetchLarge(_ numbers: Range<Int>, _ cache: TestCache) throws {
    let text = Value.string(String(repeating: "x", count: 100_000))
    for number in numbers {
      let id = try cache.store.allocateTarget(rooms(number)).targetID
      try cache.store.receive(
        found("rooms/\(number)", Int64(number), ["text": text]), at: Int64(number), for: [id], token: "t")
      try cache.store.releaseTarget(id)
    }
  }

  @Test("a cache of few queries becomes smaller than its threshold, and loses no more than that takes")
  func few() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    try fetchLarge(11..<16, cache)
    let parameters = GarbageCollectionParameters(thresholdBytes: try cache.database.usedBytes - 150_000)
    let report = try cache.store.collectGarbage(parameters) { _ in false }
    #expect(report.removedTargetCount == 2 && report.removedDocumentCount == 2)
    #expect(report.cacheBytesAfter < parameters.thresholdBytes && report.releasedBytes > 150_000)
    #expect(try storedPaths(cache) == ["rooms/13", "rooms/14", "rooms/15"])
    // Documents that no query holds any more, likewise.
    for number in 20..<23 {
      let text = Value.string(String(repeating: "x", count: 100_000))
      try cache.store.receive(found("halls/\(number)", 3, ["text": text]), at: Int64(number))
    }
    let least = GarbageCollectionParameters(thresholdBytes: 1)
    let all = try cache.store.collectGarbage(least) { _ in false }
    #expect(all.removedTargetCount == 3 && all.removedDocumentCount == 6)
    // Nothing is left that may go, and the run ends.
    #expect(try cache.store.collectGarbage(least) { _ in false }.removedDocumentCount == 0)
  }

  @Test("targets in use and documents on show that are older than the rest do not keep the rest")
  func olderButNeeded() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    for number in 1...5 { try cache.store.receive(found("rooms/shown\(number)", 3, [:]), at: Int64(number)) }
    _ = try cache.store.allocateTarget(rooms(100)).targetID
    try fetchLarge(11..<13, cache)
    let report = try cache.store.collectGarbage(GarbageCollectionParameters(thresholdBytes: 1)) {
      $0.id.hasPrefix("shown")
    }
    #expect(report.removedTargetCount == 2 && report.removedDocumentCount == 2)
    #expect(try storedPaths(cache).count == 5 && cache.store.targetData(for: rooms(100)) != nil)
  }

  @Test("a run looks once at each document that stays, however many passes it takes")
  func looksAtOnce() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    for number in 0..<200 { try cache.store.receive(found("rooms/shown\(number)", 3, [:]), at: Int64(number) + 1) }
    try cache.store.receive(found("rooms/last", 3, [:]), at: 300)
    var looks: [DocumentKey: Int] = [:]
    let parameters = GarbageCollectionParameters(thresholdBytes: 0, percentile: 10, maxSequenceNumbers: 5)
    let report = try cache.store.collectGarbage(parameters) {
      looks[$0, default: 0] += 1
      return $0.id.hasPrefix("shown")
    }
    #expect(looks.count == 201 && looks.values.allSatisfy { $0 == 1 })
    #expect(report.removedDocumentCount == 1 && report.stepCount > 100)
  }

  @Test("documents of a query that was used late go with it, also if they were used before others that stay")
  func lateQueryWithEarlyDocument() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    let id = try cache.store.allocateTarget(rooms(1)).targetID
    try cache.store.receive(found("rooms/early", 3, [:]), at: 3, for: [id], token: "t")
    try cache.store.releaseTarget(id)
    for number in 4..<9 { try cache.store.receive(found("rooms/shown\(number)", 3, [:]), at: Int64(number)) }
    #expect(try cache.store.allocateTarget(rooms(1)).targetID == id)
    try cache.store.releaseTarget(id)
    let parameters = GarbageCollectionParameters(thresholdBytes: 0, percentile: 100, maxSequenceNumbers: 1)
    let report = try cache.store.collectGarbage(parameters) { $0.id.hasPrefix("shown") }
    #expect(report.removedTargetCount == 1 && report.removedDocumentCount == 1)
  }

  @Test("what comes into use between two steps stays")
  func usedBetweenSteps() throws {
    // After how many steps the target is listened to again, and a document written.
    for interruption in 0..<40 {
      let (cache, _) = try makeCache()
      defer { cache.close() }
      let store = cache.store
      var run = GarbageCollectionRun(Self.everything, limits: Self.tiny)
      var target: TargetData?
      var isFinished = false
      var steps = 0
      while !isFinished {
        if steps == interruption {
          target = try store.allocateTarget(rooms(4))
          try store.write(.patch(key("rooms/3b"), ["w": .integer(1)], mask: mask("w")))
        }
        isFinished = try store.advance(&run, isShown: isShown)
        steps += 1
      }
      guard let target else { return }
      let stored = try storedPaths(cache)
      let keys = try store.confirmedKeys(for: target.targetID)
      // Either everything is still there, or the listener starts from the beginning.
      #expect(keys.count == (target.resumeToken.isEmpty ? 0 : 2), "after \(interruption) steps")
      for key in keys { #expect(stored.contains(key.canonicalString), "after \(interruption) steps") }
      #expect(try store.pendingBatches().count == 2)
      if interruption == 0 { #expect(keys.count == 2 && stored.contains("rooms/3b")) }
    }
    Issue.record("the collection has more steps than were tried")
  }

  @Test("the end of the process between two steps leaves nothing half done", arguments: Backing.allCases)
  func cutOff(_ backing: Backing) throws {
    for steps in 0..<40 {
      let (cache, inUse) = try makeCache(backing)
      defer { cache.close() }
      var run = GarbageCollectionRun(Self.everything, limits: Self.tiny)
      for _ in 0..<steps where !run.isFinished { _ = try cache.store.advance(&run, isShown: isShown) }
      try cache.restart()
      for target in [collection("rooms").target] + (1...4).map(rooms) {
        guard let data = try cache.store.targetData(for: target) else { continue }
        let keys = try cache.store.confirmedKeys(for: data.targetID)
        #expect(keys.count == (data.targetID == inUse + 2 ? 5 : 2), "after \(steps) steps")
        for key in keys { #expect(try cache.store.read(key.canonicalString).isFound, "after \(steps) steps") }
      }
      #expect(Set(try storedPaths(cache)).isSuperset(of: Self.needed))
      _ = try cache.store.allocateTarget(collection("rooms").target)
      let report = try cache.store.collectGarbage(Self.everything, isShown: isShown)
      #expect(try storedPaths(cache) == Self.needed, "after \(steps) steps")
      #expect(try cache.store.tables.globals.targetCount() == 1)
      if run.isFinished {
        #expect(report.removedDocumentCount == 0)
        return
      }
    }
    Issue.record("the collection has more steps than were tried")
  }

  @Test("a step that fails at any statement changes nothing and can be repeated")
  func failingStatements() throws {
    let (control, _) = try makeCache()
    defer { control.close() }
    _ = try control.store.collectGarbage(Self.everything, isShown: isShown)
    let expected = try control.dump()
    let (cache, _) = try makeCache()
    defer { cache.close() }
    var run = GarbageCollectionRun(Self.everything, limits: GarbageCollectionRun.StepLimits())
    var failures = 0
    while !run.isFinished {
      var index = 0
      let before = try cache.dump()
      while cache.failing(atStatement: index, { _ = try cache.store.advance(&run, isShown: isShown) }) {
        #expect(try cache.dump() == before)
        index += 1
        failures += 1
      }
    }
    #expect(failures > 20)
    #expect(try cache.dump() == expected)
  }

  @Test("documents that came for a target nobody listens to any more are collected")
  func lateDocuments() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    let id = try cache.store.allocateTarget(rooms(1)).targetID
    try cache.store.releaseTarget(id)
    try cache.store.receive(found("rooms/late", 3, [:]), at: 5, for: [id], token: "t")
    _ = try cache.store.collectGarbage(Self.everything) { _ in false }
    #expect(try storedPaths(cache) == [])
  }

  @Test("what a bundle loaded stays until the process ends, and then goes like the rest")
  func bundles() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    let store = cache.store
    let query = collection("rooms")
    let documents = ["a", "b"].map { name in
      BundledDocument(
        metadata: BundledDocumentMetadata(
          key: key("rooms/\(name)"), readTime: version(9), exists: true, queries: name == "a" ? ["one"] : []),
        document: found("rooms/\(name)", 3, [:]))
    }
    _ = try store.apply(
      BundleMetadata(id: "bundle", createTime: version(9), version: 1, totalDocuments: 2, totalBytes: 100),
      documents: documents, queries: [NamedQuery(name: "one", query: query, readTime: version(9))])
    func collect() throws -> GarbageCollectionReport { try cache.store.collectGarbage(Self.everything) { _ in false } }
    #expect(try collect().removedTargetCount == 0)
    // A listener that has ended makes the named query's target one like others; the bundle still holds its documents.
    let target = try store.allocateTarget(query.target)
    try store.releaseTarget(target.targetID)
    #expect(try collect().removedTargetCount == 1)
    #expect(try storedPaths(cache) == ["rooms/a", "rooms/b"])
    try cache.restart()
    let report = try collect()
    #expect(report.removedTargetCount == 1 && report.removedDocumentCount == 2)
  }

  @Test("a run looks at nothing that stays")
  func costOfWhatStays() throws {
    func steps(keeping count: Int) throws -> Int {
      let cache = try TestCache(.memory)
      defer { cache.close() }
      let id = try cache.store.allocateTarget(collection("rooms").target).targetID
      var event = RemoteEvent(snapshotVersion: version(9))
      let documents = (0..<count).map { found("rooms/\($0)", 3, [:]) }
      event.documentUpdates = Dictionary(uniqueKeysWithValues: documents.map { ($0.key, $0) })
      event.targetChanges[id] = TargetChange(resumeToken: [1], isCurrent: true, added: Set(documents.map(\.key)))
      _ = try cache.store.apply(event)
      for name in ["a", "b", "c"] { try cache.store.receive(found("halls/\(name)", 3, [:]), at: 10) }
      return try cache.statementSteps {
        let report = try cache.store.collectGarbage(Self.everything) { _ in false }
        #expect(report.removedDocumentCount == 3)
      }
    }
    // Not exactly the same: how many pages become free depends on how full they were.
    let (few, many) = (try steps(keeping: 10), try steps(keeping: 2_000))
    #expect(abs(few - many) < 10, "\(few) and \(many) statements")
  }

  @Test("large documents make a step end early")
  func largeDocuments() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    let large: MapValue = ["text": .string(String(repeating: "x", count: 900_000))]
    for number in 0..<12 { try cache.store.receive(found("rooms/\(number)", 3, large), at: 5) }
    var run = GarbageCollectionRun(Self.everything)
    var removed: [Int] = []
    while try !cache.store.advance(&run, isShown: { _ in false }) { removed.append(run.report.removedDocumentCount) }
    let steps = zip(removed.dropFirst(), removed).map { $0 - $1 }
    #expect(steps.max() == 5 && run.report.removedDocumentCount == 12)
  }
}
