import Foundation
import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

@Suite("Several clients of one cache")
struct SharedCacheScenarioTests {
  @Test("a view shows what another client writes between two writes that were stored together")
  func newsBetweenTwoWrites() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let listener = a.listen(rooms)
    let other = b.listen(rooms)
    cache.deliver()
    // The first of a's writes is shown and reported before the second one.
    a.hooks["notifyLocalViewChanges"] = { b.write(set("rooms/2", 20)) }
    a.write(set("rooms/1", 1), set("rooms/2", 2))
    cache.wait(2)
    #expect(b.value(other, "2") == .integer(20))
    #expect(a.value(listener, "2") == .integer(20))
  }

  @Test("a first snapshot counts as the backend's only with the documents that the backend had then")
  func currentBetweenTwoReads() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let target = a.listen(rooms)
    cache.deliver()
    guard let id = a.engine.targetID(of: rooms) else { throw TestFailure("no target") }
    b.hooks["Get target state"] = {
      do { try a.fill(id, [found("rooms/1", 10, number(1))], at: 10) } catch { Issue.record("\(error)") }
    }
    let listener = b.listen(rooms)
    for snapshot in b.snapshots[listener] ?? [] where !snapshot.isFromCache { #expect(snapshot.ids == ["1"]) }
    cache.wait(2)
    #expect(a.ids(target) == ["1"] && b.ids(listener) == ["1"])
    #expect(b.snapshots[listener]?.last?.isFromCache == false)
  }

  @Test(
    "a target that the former holder of the lease left agrees with the backend no longer", arguments: [false, true])
  func staleCurrentTargets(isKilled: Bool) throws {
    let (cache, a, b) = try SharedCache.makePair()
    a.listen(rooms)
    cache.deliver()
    guard let id = a.engine.targetID(of: rooms) else { throw TestFailure("no target") }
    try a.fill(id, [found("rooms/1", 10, number(1))], at: 10)
    cache.deliver()
    if !isKilled { a.post(.shutdown) }
    a.kill()
    cache.wait(2)
    #expect(b.engine.isPrimary)
    // Not as long as until the first garbage collection, which removes the target.
    cache.wait(50)
    let c = try cache.client("c")
    let listener = c.listen(rooms)
    // Nobody has asked the backend since.
    #expect(c.snapshots[listener]?.last?.isFromCache == true)
  }

  @Test("the holder of the lease gives up the targets of a client that was killed")
  func targetsOfKilledClient() throws {
    let (cache, a, b) = try SharedCache.makePair()
    b.listen(rooms)
    cache.deliver()
    #expect(a.watched.count == 1)
    b.kill()
    cache.wait(3)
    #expect(a.watched.isEmpty)
  }

  @Test(
    "a target that another client began to use during a background query stays watched when the query's listener goes")
  func foreignTargetDuringBackgroundQuery() throws {
    let limits = BackgroundQueryLimits(documentsOnLoop: 0, partsPerScan: 1)
    let cache = try SharedCache()
    let a = try cache.client("a", limits: limits)
    let b = try cache.client("b")
    a.write(set("rooms/1", 1), set("rooms/2", 2))
    cache.deliver()
    let mine = a.listen(rooms)
    #expect(a.queries.count == 1)
    b.listen(rooms)
    cache.deliver()
    try a.runQuery()
    cache.deliver()
    #expect(a.watched.count == 1)
    a.post(.unlisten(mine))
    cache.wait(2)
    #expect(a.watched.count == 1)
  }

  @Test("a background query's listener hears of what another client wrote after the query's snapshot was taken")
  func writeBeforeBackgroundListen() throws {
    let limits = BackgroundQueryLimits(documentsOnLoop: 0, partsPerScan: 1)
    let cache = try SharedCache()
    let a = try cache.client("a", limits: limits)
    let b = try cache.client("b")
    a.write(set("rooms/1", 1), set("rooms/2", 2))
    cache.deliver()
    a.hooks["Allocate target"] = { b.write(set("rooms/2", 20)) }
    let listener = a.listen(rooms)
    #expect(a.queries.count == 1)
    cache.deliver()
    try a.runQuery()
    cache.wait(2)
    #expect(a.value(listener, "2") == .integer(20))
  }

  @Test("indexes that a secondary client sets are filled by the primary one, without a failure")
  func indexesOfSecondary() throws {
    let (cache, a, b) = try SharedCache.makePair()
    _ = b.request(.setIndexes([]))
    cache.wait(3)
    #expect(b.warnings.isEmpty)
    _ = a
  }

  @Test("the parts of a scan show one state while another process writes")
  func partsShowOneState() throws {
    let cache = try SharedCache()
    let a = try cache.client("a", limits: BackgroundQueryLimits(documentsOnLoop: 0, partsPerScan: 4, connections: 20))
    let (file, stop) = (cache.file, StopFlag())
    // Without notices, which do not matter here.
    let documents = { @Sendable (numbers: [Int], n: Int64) in
      RemoteEvent(
        snapshotVersion: version(n),
        documentUpdates: DocumentMap(
          uniqueKeysWithValues: numbers.map { (key("rooms/\($0)"), found("rooms/\($0)", n, ["n": .integer(n)])) }))
    }
    let open = { @Sendable in
      let database = try Database(.file(path: file), options: .init(synchronous: .normal))
      return try LocalStore(
        database: database, databaseID: TestClient.database, garbageCollection: .leastRecentlyUsed(thresholdBytes: -1),
        user: nil, newCacheID: "cache")
    }
    _ = try open().apply(documents(Array(100..<500), 1))
    let writer = DispatchGroup()
    DispatchQueue(label: "writer").async(group: writer) {
      do {
        let store = try open()
        var n: Int64 = 1
        while !stop.isSet {
          n += 1
          // One transaction: nobody may see a part of it.
          _ = try store.apply(documents([100, 499], n))
        }
      } catch { Issue.record("\(error)") }
    }
    defer {
      stop.set()
      writer.wait()
    }
    var torn = 0
    for _ in 0..<500 {
      let id = a.request(.readQuery(rooms))
      if !a.queries.isEmpty { try a.runQuery() }
      guard case .snapshot(let snapshot)? = a.answers[id] else { throw TestFailure("no answer") }
      let ends = [snapshot.documents.first, snapshot.documents.last].map { try? $0?.fields.decoded()["n"] }
      if ends[0] != ends[1] { torn += 1 }
    }
    #expect(torn == 0)
    #expect(a.backgroundQueryCount == 500)
  }

  @Test(
    "what is on its way when the holder of the lease disables its network is not sent by the next one before it is answered"
  )
  func handoverWithBatchOnItsWay() throws {
    let (cache, a, b) = try SharedCache.makePair()
    a.answersLate = true
    let write = a.write(set("rooms/1", 1))
    #expect(a.sentBatches.count == 1)
    _ = a.request(.disableNetwork)
    cache.wait(1)
    #expect(b.sentBatches.isEmpty)
    try a.commitLate(at: 10)
    a.endParting()
    cache.wait(3)
    #expect(a.writes[write] == .some(nil))
    #expect(b.engine.isPrimary && b.sentBatches.isEmpty)
  }

  @Test("several processes open a new cache at the same time")
  func openingTogether() throws {
    for _ in 0..<10 {
      let cache = try SharedCache()
      let failures = Failures()
      DispatchQueue.concurrentPerform(iterations: 8) { number in
        do {
          let options = CacheFile.Options(sharing: .shared, clientName: "\(number)")
          let opened = try CacheFile.openStore(
            folder: cache.folder, databaseID: TestClient.database, options: options
          ) { database, client in
            try LocalStore(
              database: database, databaseID: TestClient.database,
              garbageCollection: .leastRecentlyUsed(thresholdBytes: -1), user: nil, newCacheID: "cache", locks: client)
          }
          if let recovery = opened.cache.recovery { failures.add("\(recovery)") }
          try opened.store.leave()
          opened.cache.close()
        } catch {
          failures.add("\(error)")
        }
      }
      #expect(failures.all == [])
    }
  }

  @Test("a client that was taken for dead while it was suspended can be woken again")
  func wakeUpAfterSuspension() throws {
    let cache = try SharedCache()
    let (a, b) = (try ClientFiles(folder: cache.folder, name: "a"), try ClientFiles(folder: cache.folder, name: "b"))
    a.wake(["b"])
    b.suspend()
    #expect(!a.isAlive("b"))
    try b.resume()
    #expect(a.isAlive("b"))
    guard let watcher = b.watcher else { throw TestFailure("files cannot be watched") }
    a.wake(["b"])
    #expect(watcher.wait() == .touched)
    a.end()
    b.end()
  }

  @Test("looking whether a lock is free keeps nobody from taking it, nor from looking")
  func probesAndLocks() throws {
    let cache = try SharedCache()
    defer { withExtendedLifetime(cache) {} }
    let path = cache.folder + "/lock"
    // Processes that only look have such a lock for a moment.
    let probe = try LockFile(path: path, mode: .shared)
    #expect(!LockFile.isLocked(path: path))
    var pauseCount = 0
    let lock = try LockFile(path: path) {
      pauseCount += 1
      if pauseCount == 3 { probe.release() }
    }
    #expect(pauseCount == 3)
    #expect(LockFile.isLocked(path: path))
    lock.release()
    #expect(!LockFile.isLocked(path: path))
  }

  @Test("a lock that is held for longer than a moment is refused")
  func heldLock() throws {
    let cache = try SharedCache()
    defer { withExtendedLifetime(cache) {} }
    let path = cache.folder + "/lock"
    let held = try LockFile(path: path)
    var pauseCount = 0
    #expect(throws: LockFile.Failure.inUse) { try LockFile(path: path) { pauseCount += 1 } }
    #expect(pauseCount == 20)
    held.release()
  }

  @Test("a write waits for another process that was stopped in a transaction")
  func writeWhileFileIsLocked() throws {
    let cache = try SharedCache()
    let a = try cache.client("a", busyTimeout: .milliseconds(20))
    let stopped = try Database(.file(path: cache.file))
    defer { stopped.close() }
    try stopped.execute("BEGIN IMMEDIATE")
    let write = a.write(set("rooms/1", 1))
    #expect(a.writes[write] == nil)
    try stopped.execute("ROLLBACK")
    cache.wait(60)
    let listener = a.listen(rooms)
    cache.wait(1)
    #expect(a.ids(listener) == ["1"])
  }

  @Test("many writes that wait for another process share commits, and are stored in order and for their users")
  func manyWritesWhileFileIsLocked() throws {
    let cache = try SharedCache()
    let a = try cache.client("a", busyTimeout: .milliseconds(20))
    let listener = a.listen(rooms)
    let stopped = try Database(.file(path: cache.file))
    defer { stopped.close() }
    try stopped.execute("BEGIN IMMEDIATE")
    for number in 0..<600 { a.write(set("rooms/\(1000 + number)", Int64(number))) }
    a.post(.changeUser("bob"))
    for number in 600..<610 { a.write(set("rooms/\(1000 + number)", Int64(number))) }
    var commitCount = 0
    a.database.injectFailure = { point in
      if case .transaction("Locally write mutations") = point { commitCount += 1 }
      return nil
    }
    try stopped.execute("ROLLBACK")
    cache.wait(120)
    #expect(try a.store.pendingBatches(of: .user(nil)).map { $0.keys.map(\.id) } == (1000..<1600).map { ["\($0)"] })
    #expect(try a.store.pendingBatches(of: .user("bob")).map { $0.keys.map(\.id) } == (1600..<1610).map { ["\($0)"] })
    #expect(a.ids(listener) == (1600..<1610).map { "\($0)" })
    #expect((4...8).contains(commitCount))
  }

  @Test("writes that wait together with one that cannot be stored are stored one by one, once")
  func badWriteWhileFileIsLocked() throws {
    let cache = try SharedCache()
    let a = try cache.client("a", busyTimeout: .milliseconds(20))
    let stopped = try Database(.file(path: cache.file))
    defer { stopped.close() }
    try stopped.execute("BEGIN IMMEDIATE")
    for number in 0..<50 { a.write(set("rooms/\(1000 + number)", Int64(number))) }
    let bad = WriteID(rawValue: 9000)
    var write = LocalWrite(id: bad, mutations: [], localWriteTime: .epoch, identity: BatchIdentity(high: 1, low: 1))
    write.resubmits = 77
    a.post(.writes([write]))
    var commitCount = 0
    a.database.injectFailure = { point in
      if case .transaction("Locally write mutations") = point { commitCount += 1 }
      return nil
    }
    try stopped.execute("ROLLBACK")
    cache.wait(120)
    #expect(try a.store.pendingBatches().count == 50)
    #expect(a.writes[bad]??.code == .notFound)
    #expect(commitCount <= 54)
  }

  @Test(
    "an event that meets a file that another process holds waits for it once",
    arguments: HeldFileEvent.allCases)
  func oneWait(_ event: HeldFileEvent) throws {
    let cache = try SharedCache()
    let a = try cache.client("a", busyTimeout: .milliseconds(20))
    if event == .acknowledgement { a.write(set("rooms/0", 0)) }
    let stopped = try Database(.file(path: cache.file))
    defer { stopped.close() }
    try stopped.execute("BEGIN IMMEDIATE")
    var attempts: [String] = []
    a.database.injectFailure = {
      if case .transaction(let name) = $0 { attempts.append(name) }
      return nil
    }
    switch event {
    case .write: a.write(set("rooms/1", 1))
    case .writes: a.write(set("rooms/1", 1), set("rooms/2", 2))
    case .listener: a.listen(rooms)
    case .acknowledgement: try a.commit(at: 10)
    }
    #expect(attempts.count { $0 == event.transaction } == 1, "\(attempts)")
    try stopped.execute("ROLLBACK")
    cache.wait(60)
    #expect(attempts.count { $0 == event.transaction } > 1)
  }

  @Test("a listener that waits for its first result hears that the backend refuses its query")
  func rejectionBeforeFirstResult() throws {
    let cache = try SharedCache()
    let a = try cache.client("a")
    let b = try cache.client("b", limits: BackgroundQueryLimits(documentsOnLoop: -1, partsPerScan: 1))
    let listener = b.listen(rooms)
    cache.deliver()
    let target = try #require(a.watched.first)
    try a.refuse(target)
    cache.deliver()
    #expect(b.errors[listener]?.code == .permissionDenied)
    try? b.runQuery()
    #expect(b.snapshots[listener] == nil && b.engine.targetID(of: rooms) == nil)
  }
}

/// An event that stores something, in a transaction of this name.
enum HeldFileEvent: CaseIterable {
  case write, writes, listener, acknowledgement

  var transaction: String {
    switch self {
    case .write, .writes: "Locally write mutations"
    case .listener: "Allocate target"
    case .acknowledgement: "Acknowledge batch"
    }
  }
}

/// Gathered on several threads.
private final class Failures: @unchecked Sendable {
  private let lock = NSLock()
  private var texts: [String] = []
  var all: [String] { lock.withLock { texts } }
  func add(_ text: String) { lock.withLock { texts.append(text) } }
}

/// Set once, from one thread; read by another.
private final class StopFlag: @unchecked Sendable {
  private let lock = NSLock()
  private var value = false
  var isSet: Bool { lock.withLock { value } }
  func set() { lock.withLock { value = true } }
}
