import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

/// The bases of writes that have waited in memory are those of the same writes that did not wait.
@Suite("The base of a write that has waited for the file")
struct HeldWriteBaseTests {
  /// Two processes of one cache: one that listens and holds the lease, and another that writes.
  private struct Processes {
    let cache: SharedCache
    let primary: SharedTestClient
    let writer: SharedTestClient
    let target: TargetID
    private let stopped: Database

    init(_ policy: ConflictPolicy, having documents: [Document]) throws {
      let rules = ConflictRules([ConflictRule(.collection(ResourcePath(["rooms"])), policy)])
      cache = try SharedCache()
      primary = try cache.client("a", busyTimeout: .milliseconds(20), conflictRules: rules)
      writer = try cache.client("b", busyTimeout: .milliseconds(20), conflictRules: rules)
      stopped = try Database(.file(path: cache.file))
      primary.listen(rooms)
      cache.deliver()
      target = try #require(primary.watched.first)
      if !documents.isEmpty { try primary.fill(target, documents, at: 4) }
      cache.deliver()
    }

    /// Makes writes, perhaps while the file is locked.
    func whileLocked(_ isLocked: Bool, _ body: () -> Void) throws {
      if isLocked { try stopped.execute("BEGIN IMMEDIATE") }
      body()
      if isLocked { try stopped.execute("ROLLBACK") }
    }

    /// Everything that waits is stored.
    func store() {
      cache.wait(60)
      #expect(writer.engine.heldWriteIDs.isEmpty)
    }

    /// The documents that are written by what was sent.
    var sentKeys: [DocumentKey] { primary.sentBatches.flatMap { $0 }.map(\.key) }
  }

  /// A write that is on its way with the time of the backend, and another one behind it.
  private func writesBehindTimestamp(isLocked: Bool) throws -> Processes {
    let processes = try Processes(.keepBoth, having: [found("rooms/a", 3, ["n": 1])])
    let now = [FieldTransform(path: field("at"), operation: .serverTimestamp)]
    processes.writer.write(.set(key("rooms/a"), ["n": 2], transforms: now))
    processes.cache.deliver()
    try processes.whileLocked(isLocked) {
      processes.writer.write(.patch(key("rooms/a"), ["n": 3], mask: FieldMask([field("n")])))
    }
    return processes
  }

  @Test("a document that the cache did not know is compared, also if it has come since", arguments: [true, false])
  func unknownDocument(isLocked: Bool) throws {
    let processes = try Processes(.keepBoth, having: [])
    try processes.whileLocked(isLocked) { processes.writer.write(.set(key("rooms/a"), ["mine": 1])) }
    try processes.primary.fill(processes.target, [found("rooms/a", 5, ["theirs": 1])], at: 6)
    processes.store()
    #expect(processes.sentKeys.isEmpty)
    #expect(processes.primary.lookUps.map(\.keys) == [[key("rooms/a")]])
  }

  @Test("the backend's time in an own write that was committed is no change by others", arguments: [true, false])
  func serverTimestamp(isLocked: Bool) throws {
    let processes = try writesBehindTimestamp(isLocked: isLocked)
    try processes.primary.commit(at: 5, transformResults: [.timestamp(version(5).timestamp)])
    processes.store()
    processes.cache.deliver()
    #expect(processes.primary.lookUps.isEmpty)
    #expect(processes.primary.sentBatches.flatMap { $0 }.map(\.precondition) == [.updateTime(version(5))])
    #expect(processes.sentKeys == [key("rooms/a")])
  }

  @Test("a change by others in the place of an own write with the backend's time is one", arguments: [true, false])
  func changeBehindTimestamp(isLocked: Bool) throws {
    let processes = try writesBehindTimestamp(isLocked: isLocked)
    let time = Value.timestamp(version(5).timestamp)
    try processes.primary.commit(at: 5, transformResults: [time])
    try processes.primary.fill(processes.target, [found("rooms/a", 6, ["n": 7, "at": time])], at: 7)
    processes.store()
    processes.cache.deliver()
    #expect(processes.primary.sentBatches.flatMap { $0 }.map(\.precondition) != [.updateTime(version(6))])
  }

  @Test("an own write that was refused since then is no change by others", arguments: [true, false])
  func refusedBefore(isLocked: Bool) throws {
    let processes = try Processes(.keepBoth, having: [found("rooms/a", 3, ["n": 1])])
    processes.writer.write(.set(key("rooms/a"), ["n": 2]))
    processes.cache.deliver()
    try processes.whileLocked(isLocked) {
      processes.writer.write(.patch(key("rooms/a"), ["m": 3], mask: FieldMask([field("m")])))
    }
    try processes.primary.breakWriteStream(StatusError(code: .permissionDenied, message: "no"))
    processes.store()
    if !processes.primary.lookUps.isEmpty { try processes.primary.answerLookUp(found("rooms/a", 3, ["n": 1])) }
    processes.cache.deliver()
    #expect(processes.sentKeys == [key("rooms/a")])
  }

  @Test("it is what the new user sees, also while the change of the user waits for the file", arguments: [true, false])
  func changedUser(isLocked: Bool) throws {
    let processes = try Processes(.mergeFields(prefersRemote: true), having: [found("rooms/a", 3, ["title": "old"])])
    let (client, cache) = (processes.primary, processes.cache)
    client.connectionError = StatusError(code: .unavailable, message: "away")
    client.post(.connectivityChanged)
    client.write(.set(key("rooms/a"), ["title": "draft of the former user"]))
    cache.deliver()
    var write: WriteID?
    try processes.whileLocked(isLocked) {
      client.post(.changeUser("b"))
      write = client.write(.set(key("rooms/a"), ["title": "of b"]))
      // The same user's next write is based on this one.
      client.write(.patch(key("rooms/a"), ["n": 1], mask: FieldMask([field("n")])))
    }
    client.connectionError = nil
    cache.wait(120)
    #expect(client.engine.heldWriteIDs.isEmpty)
    let leaks = try cache.count(
      """
      SELECT count(*) FROM cache_base_documents JOIN cache_users USING (user_id)
      WHERE user_key = '=b' AND instr(CAST(fields AS TEXT), 'draft') > 0
      """)
    #expect(leaks == 0)
    if !client.lookUps.isEmpty { try client.answerLookUp(found("rooms/a", 3, ["title": "old"])) }
    cache.deliver()
    #expect(client.writes[try #require(write)] == nil)
    #expect(processes.sentKeys == [key("rooms/a")])
  }

  // MARK: - Behind a write of another process

  @Test("a document that the cache did not know is compared behind a write of another process, too")
  func unknownBehindAnother() throws {
    let processes = try Processes(.mergeFields(prefersRemote: false), having: [])
    try processes.whileLocked(true) { processes.writer.write(.set(key("rooms/a"), ["of b": 1])) }
    processes.primary.write(.set(key("rooms/a"), ["of a": 1]))
    processes.store()
    try processes.primary.answerLookUp(.missing(key("rooms/a"), version: version(5), readTime: version(5)))
    processes.cache.deliver()
    try processes.primary.commit(at: 6)
    processes.cache.wait(2)
    if !processes.primary.lookUps.isEmpty { try processes.primary.answerLookUp(found("rooms/a", 6, ["of a": 1])) }
    processes.cache.deliver()
    let sent = try #require(processes.primary.sentBatches.first)
    let result = try DocumentEdit(sent, on: found("rooms/a", 6, ["of a": 1])).fields
    #expect(Set(result?.entries.map(\.key) ?? []) == ["of a", "of b"])
  }

  @Test("a write that has not seen another one has a copy of its own")
  func copies() throws {
    let processes = try Processes(.keepBoth, having: [found("rooms/a", 3, ["n": 0])])
    let client = processes.primary
    try processes.whileLocked(true) { processes.writer.write(.set(key("rooms/a"), ["of b": 1])) }
    client.write(.set(key("rooms/a"), ["of a": 1]))
    processes.store()
    // A third device has changed the document.
    var backend: [DocumentKey: (version: Int64, fields: MapValue)] = [key("rooms/a"): (5, ["theirs": 1])]
    for time in Int64(6)..<40 {
      processes.cache.wait(2)
      if let lookUp = client.lookUps.last {
        let asked = try #require(lookUp.keys.first)
        try client.answerLookUp(
          backend[asked].map { found(asked.canonicalString, $0.version, $0.fields) }
            ?? .missing(asked, version: version(time), readTime: version(time)))
      } else if let batch = client.sentBatches.first {
        let isRefused = batch.contains { mutation in
          switch mutation.precondition {
          case .updateTime(let expected): backend[mutation.key].map { version($0.version) } != expected
          case .exists(let exists): (backend[mutation.key] != nil) != exists
          case .none: false
          }
        }
        guard !isRefused else {
          try client.breakWriteStream(StatusError(code: .failedPrecondition, message: "other version"))
          continue
        }
        for mutation in batch {
          let former = backend[mutation.key].map { found(mutation.key.canonicalString, $0.version, $0.fields) }
          let edit = try DocumentEdit([mutation], on: former ?? .missing(mutation.key, version: version(1)))
          backend[mutation.key] = (time, edit.fields ?? [:])
        }
        try client.commit(at: time)
      }
    }
    #expect(client.sentBatches.isEmpty && client.lookUps.isEmpty)
    let names = Set(backend.values.flatMap { $0.fields.entries.map(\.key) })
    #expect(names.isSuperset(of: ["theirs", "of a", "of b"]), "\(names)")
  }
}
