import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

/// Writes that have waited in memory behind several writes of their document, which their author had not seen.
@Suite("The base of a write that has waited behind several others")
struct HeldWriteChainTests {
  private static let policies = [ConflictPolicy.mergeFields(prefersRemote: false), .keepBoth]

  private func fields(_ names: String...) -> MapValue { fields(names) }
  private func fields(_ names: [String]) -> MapValue {
    MapValue(Dictionary(uniqueKeysWithValues: names.map { ($0, Value.integer(1)) }))
  }

  @Test("nothing of several writes of another process is lost to a write that had not seen them", arguments: policies)
  func behindSeveral(_ policy: ConflictPolicy) throws {
    let start = found("rooms/a", 3, fields("n"))
    let processes = try ConflictProcesses(policy, having: [start])
    try processes.whileLocked(true) { processes.writer.write(.set(key("rooms/a"), fields("n", "of b"))) }
    for count in 1...3 {
      processes.primary.write(.set(key("rooms/a"), fields(["n"] + (1...count).map { "of a \($0)" })))
    }
    processes.store()
    let names = try processes.names(in: processes.answerAll(from: [start]))
    #expect(names == ["n", "of a 1", "of a 2", "of a 3", "of b"])
  }

  @Test("it is compared also after writes before it were taken back", arguments: policies, 1..<3)
  func takenBack(_ policy: ConflictPolicy, index: Int) throws {
    let start = found("rooms/a", 3, fields("n"))
    let processes = try ConflictProcesses(policy, having: [start])
    let client = processes.primary
    try processes.whileLocked(true) { processes.writer.write(.set(key("rooms/a"), fields("n", "of b"))) }
    for number in 0..<3 { client.write(patch("of a \(number)")) }
    processes.store()
    // The first one is on its way.
    for batch in try client.store.pendingBatches()[index..<3] {
      _ = client.request(.withdraw(batch.batchID, evenIfSent: true))
    }
    let names = try processes.names(in: processes.answerAll(from: [start]))
    #expect(names == Set(["n", "of b"] + (0..<index).map { "of a \($0)" }))
  }

  private func patch(_ name: String) -> Mutation {
    .patch(key("rooms/a"), fields(name), mask: FieldMask([field(name)]))
  }

  @Test("what its author had not seen is not lost to a write behind it either, after it was taken back")
  func inherited() throws {
    let start = found("rooms/a", 3, fields("n"))
    let processes = try ConflictProcesses(.mergeFields(prefersRemote: false), having: [start])
    let client = processes.primary
    try processes.whileLocked(true) { processes.writer.write(.set(key("rooms/a"), fields("n", "of b"))) }
    for number in 1...2 { client.write(patch("of a \(number)")) }
    processes.store()
    // What is shown is the last of the whole documents.
    client.write(.set(key("rooms/a"), fields("n", "of b", "later")))
    let taken = try #require(client.store.pendingBatches().dropLast().last)
    _ = client.request(.withdraw(taken.batchID, evenIfSent: true))
    let names = try processes.names(in: processes.answerAll(from: [start]))
    #expect(names == ["n", "of a 1", "of a 2", "later"])
  }

  @Test("a write behind an own one that waited is based on that, also if another process has written in between")
  func betweenOwn() throws {
    let start = found("rooms/a", 3, fields("n"))
    let processes = try ConflictProcesses(.mergeFields(prefersRemote: false), having: [start])
    func store(_ names: [String], _ number: UInt64, seeing document: Document?, _ last: SeenDocument.LastWrite) throws {
      var write = LocalWrite(
        mutations: [.set(key("rooms/a"), fields(names))], localWriteTime: .epoch,
        identity: BatchIdentity(high: 9, low: number))
      write.seen = document.map { [key("rooms/a"): .read($0, remoteVersion: version(3), last: last)] }
      _ = try processes.writer.store.write(many: [write])
    }
    // As they are stored in two groups.
    let own = found("rooms/a", 3, fields("n", "of b 1"))
    try store(["n", "of b 1"], 1, seeing: start, .none)
    try store(["n", "of b 1", "of a"], 2, seeing: nil, .none)
    try store(["n", "of b 1", "of b 2"], 3, seeing: own, .waiting(BatchIdentity(high: 9, low: 1)))
    let both = found("rooms/a", 3, fields("n", "of b 1", "of b 2"))
    try store(["n", "of b 1", "of b 2", "of b 3"], 4, seeing: both, .waiting(BatchIdentity(high: 9, low: 3)))
    let views = try processes.writer.store.pendingBatches().map { $0.views[key("rooms/a")]?.document?.fields }
    #expect(views == [nil, nil, own.fields, nil])
    let names = try processes.names(in: processes.answerAll(from: [start]))
    #expect(names == ["n", "of a", "of b 1", "of b 2", "of b 3"])
  }

  @Test(
    "a write behind one that had not seen a deletion is based on the deletion, also where the first base is not known")
  func deletedBefore() throws {
    let processes = try ConflictProcesses(.mergeFields(prefersRemote: false), having: [])
    let client = processes.primary
    client.write(.set(key("rooms/a"), fields("of a")))
    client.write(.delete(key("rooms/a")))
    let first = try #require(client.store.pendingBatches().first)
    var write = LocalWrite(
      mutations: [patch("of b")], localWriteTime: .epoch, identity: BatchIdentity(high: 9, low: 1))
    write.seen = [
      key("rooms/a"): .read(
        found("rooms/a", 0, fields("of a")), remoteVersion: .none, last: .pending(first.batchID))
    ]
    _ = try processes.writer.store.write(many: [write])
    client.write(.set(key("rooms/a"), fields("later")))
    // An edit is worth more than a deletion.
    let names = try processes.names(in: processes.answerAll(from: [found("rooms/a", 5, fields("theirs"))]))
    #expect(names == ["later", "of a", "of b", "theirs"])
  }

  @Test("it is compared also if the one that its author saw has left before, and the first base is not known")
  func seenHasLeft() throws {
    let processes = try ConflictProcesses(.mergeFields(prefersRemote: false), having: [])
    let client = processes.primary
    client.write(.set(key("rooms/a"), fields("of b")))
    client.write(.set(key("rooms/a"), fields("of a")))
    let pending = try client.store.pendingBatches()
    let shown = found("rooms/a", 0, fields("of a"))
    _ = client.request(.withdraw(pending[1].batchID, evenIfSent: true))
    var write = LocalWrite(
      mutations: [.delete(key("rooms/a"))], localWriteTime: .epoch, identity: BatchIdentity(high: 9, low: 1))
    write.seen = [key("rooms/a"): .read(shown, remoteVersion: .none, last: .pending(pending[1].batchID))]
    _ = try processes.writer.store.write(many: [write])
    // It deletes nothing that its author had not seen.
    #expect(try processes.names(in: processes.answerAll(from: [])) == ["of b"])
  }

  @Test(
    "writes of one author that have waited need no comparing, and are no conflict with each other", arguments: policies)
  func own(_ policy: ConflictPolicy) throws {
    let processes = try ConflictProcesses(policy, having: [found("rooms/a", 3, fields("n"))])
    let now = [FieldTransform(path: field("at"), operation: .serverTimestamp)]
    try processes.whileLocked(true) {
      for number in 0..<4 {
        processes.writer.write(.set(key("rooms/a"), fields("n", "\(number)"), transforms: now))
      }
    }
    processes.store()
    for time in Int64(5)..<9 {
      #expect(processes.primary.lookUps.isEmpty)
      #expect(processes.primary.sentBatches.first?.map(\.key) == [key("rooms/a")])
      #expect(
        processes.primary.sentBatches.first?.map(\.precondition) == [.updateTime(version(time == 5 ? 3 : time - 1))])
      try processes.primary.commit(at: time, transformResults: [.timestamp(version(time).timestamp)])
      processes.cache.deliver()
    }
    #expect(processes.primary.sentBatches.isEmpty && processes.primary.lookUps.isEmpty)
  }

  @Test("a refused write that is submitted again and waits overwrites nothing that its author had not seen")
  func submittedAgain() throws {
    let start = found("rooms/a", 3, fields("n"))
    let processes = try ConflictProcesses(.mergeFields(prefersRemote: false), having: [start])
    let (client, writer) = (processes.primary, processes.writer)
    let again = try submission(ofRefused: .set(key("rooms/a"), fields("n", "of b")), by: processes)
    try processes.whileLocked(true) { writer.post(.writes([again])) }
    #expect(writer.engine.heldWriteIDs.count == 1)
    client.write(.set(key("rooms/a"), fields("n", "of a")))
    processes.store()
    #expect(try processes.names(in: processes.answerAll(from: [start])) == ["n", "of a", "of b"])
  }

  /// A refused write of the process that writes, which submits it again.
  private func submission(ofRefused mutation: Mutation, by processes: ConflictProcesses) throws -> LocalWrite {
    processes.writer.write(mutation)
    processes.cache.deliver()
    try processes.primary.breakWriteStream(StatusError(code: .permissionDenied, message: "no"))
    processes.cache.wait(2)
    let refused = try #require(processes.writer.store.outbox.rejectedBatches(of: nil).first).batch
    return LocalWrite(
      id: WriteID(rawValue: 1000), mutations: [], localWriteTime: .epoch, identity: BatchIdentity(high: 0, low: 1000),
      resubmits: refused.batchID, resubmitsIdentity: refused.identity)
  }

  @Test("nor does a write behind it, which its author based on it", arguments: policies)
  func behindSubmittedAgain(_ policy: ConflictPolicy) throws {
    let start = found("rooms/a", 3, fields("n"))
    let processes = try ConflictProcesses(policy, having: [start])
    let writer = processes.writer
    let again = try submission(ofRefused: .set(key("rooms/a"), fields("n", "of b")), by: processes)
    try processes.whileLocked(true) {
      writer.post(.writes([again]))
      writer.write(.set(key("rooms/a"), fields("n", "of b", "later")))
    }
    #expect(writer.engine.heldWriteIDs.count == 2)
    processes.primary.write(.set(key("rooms/a"), fields("n", "of a")))
    processes.store()
    let names = try processes.names(in: processes.answerAll(from: [start]))
    #expect(names == ["n", "of a", "of b", "later"])
  }

  @Test("the two are no conflict with each other", arguments: policies)
  func noConflictWithSubmittedAgain(_ policy: ConflictPolicy) throws {
    let processes = try ConflictProcesses(policy, having: [found("rooms/a", 3, fields("n"))])
    let again = try submission(ofRefused: .set(key("rooms/a"), fields("n", "of b")), by: processes)
    try processes.whileLocked(true) {
      processes.writer.post(.writes([again]))
      processes.writer.write(.set(key("rooms/a"), fields("n", "later")))
    }
    processes.store()
    for time in Int64(5)..<7 {
      #expect(processes.primary.lookUps.isEmpty)
      #expect(
        processes.primary.sentBatches.first?.map(\.precondition) == [.updateTime(version(time == 5 ? 3 : 5))])
      try processes.primary.commit(at: time)
      processes.cache.deliver()
    }
    #expect(processes.primary.sentBatches.isEmpty && processes.primary.lookUps.isEmpty)
  }

  @Test("a write behind two others is based on what its author saw of others' changes")
  func changedBehindTwo() throws {
    let processes = try ConflictProcesses(
      .mergeFields(prefersRemote: false), having: [found("rooms/a", 3, fields("n"))])
    let client = processes.primary
    client.write(patch("first"))
    client.write(patch("second"))
    let theirs = found("rooms/a", 5, fields("n", "theirs"))
    try client.fill(processes.target, [theirs], at: 6)
    // Its author saw the change, and removes it.
    client.write(.set(key("rooms/a"), fields("n", "first", "second", "third")))
    #expect(try processes.names(in: processes.answerAll(from: [theirs])) == ["n", "first", "second", "third"])
  }
}
