import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

/// The bases of writes that have waited in memory are those of the same writes that did not wait.
@Suite("The base of a write that has waited for the file")
struct HeldWriteBaseTests {
  /// A write that is on its way with the time of the backend, and another one behind it.
  private func writesBehindTimestamp(isLocked: Bool) throws -> ConflictProcesses {
    let processes = try ConflictProcesses(.keepBoth, having: [found("rooms/a", 3, ["n": 1])])
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
    let processes = try ConflictProcesses(.keepBoth, having: [])
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
    let processes = try ConflictProcesses(.keepBoth, having: [found("rooms/a", 3, ["n": 1])])
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
    let processes = try ConflictProcesses(
      .mergeFields(prefersRemote: true), having: [found("rooms/a", 3, ["title": "old"])])
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
    let processes = try ConflictProcesses(.mergeFields(prefersRemote: false), having: [])
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
    let processes = try ConflictProcesses(.keepBoth, having: [found("rooms/a", 3, ["n": 0])])
    let client = processes.primary
    try processes.whileLocked(true) { processes.writer.write(.set(key("rooms/a"), ["of b": 1])) }
    client.write(.set(key("rooms/a"), ["of a": 1]))
    processes.store()
    // A third device has changed the document.
    let backend = try processes.answerAll(from: [found("rooms/a", 5, ["theirs": 1])])
    let names = try processes.names(in: backend)
    #expect(names.isSuperset(of: ["theirs", "of a", "of b"]), "\(names)")
  }
}
