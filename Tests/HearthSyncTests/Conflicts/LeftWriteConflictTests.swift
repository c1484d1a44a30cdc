import EngineHarness
import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// Writes behind others that have left the outbox without an effect, or that had none when the later ones were made.
@Suite("The base of a write behind one without an effect")
struct LeftWriteConflictTests {
  private static let policies = [ConflictPolicy.mergeFields(prefersRemote: false), .keepBoth]

  /// The ways in which a write leaves the outbox.
  enum Leaving: CaseIterable, Sendable {
    case refused
    case cancelled
    /// The backend has carried it out, and its answer is not waited for.
    case cancelledAfterArrival
  }

  private func fields(_ numbers: [String: Int64]) -> MapValue { MapValue(numbers.mapValues { .integer($0) }) }

  private func set(_ numbers: [String: Int64]) -> Mutation { .set(key("rooms/a"), fields(numbers)) }

  private func patch(_ name: String, _ number: Int64 = 1, _ precondition: Precondition = .exists(true)) -> Mutation {
    .patch(
      key("rooms/a"), fields([name: number]), mask: FieldMask([field(name)]), precondition: precondition)
  }

  private func room(_ time: Int64, _ numbers: [String: Int64]) -> Document { found("rooms/a", time, fields(numbers)) }

  /// The oldest write of the client, which was sent, leaves its outbox.
  private func leave(_ client: SharedTestClient, _ leaving: Leaving) throws {
    switch leaving {
    case .refused: try client.breakWriteStream(error(.permissionDenied))
    case .cancelled, .cancelledAfterArrival: try withdraw(client, at: 0)
    }
  }

  private func withdraw(_ client: SharedTestClient, at index: Int) throws {
    let pending = try client.store.pendingBatches()
    try #require(pending.indices.contains(index))
    _ = client.request(.withdraw(pending[index].batchID, evenIfSent: true))
    #expect(try client.store.pendingBatches().count == pending.count - 1)
  }

  private func shown(_ client: SharedTestClient) throws -> MapValue {
    try client.store.readDocument(key("rooms/a")).fields.decoded()
  }

  private func room(in documents: [DocumentKey: Document]) throws -> MapValue? {
    try documents[key("rooms/a")]?.fields.decoded()
  }

  // MARK: - Writes that have left

  @Test("a field that its author has set back is set back", arguments: Leaving.allCases)
  func setBack(_ leaving: Leaving) throws {
    let processes = try ConflictProcesses(.mergeFields(prefersRemote: false), having: [room(3, ["n": 1])])
    let client = processes.primary
    client.write(set(["n": 2]))
    client.write(patch("n", 1))
    try leave(client, leaving)
    // The write that has left, or another client's.
    let theirs = room(5, ["n": leaving == .cancelledAfterArrival ? 2 : 9])
    let documents = try processes.answerAll(from: [theirs])
    #expect(try room(in: documents) == fields(["n": 1]))
  }

  @Test("it is set back also behind a further write, which was committed")
  func setBackBehindAnother() throws {
    let processes = try ConflictProcesses(.mergeFields(prefersRemote: false), having: [room(3, ["n": 1])])
    let client = processes.primary
    client.write(set(["n": 2]))
    client.write(patch("a"))
    client.write(patch("n", 1))
    try leave(client, .cancelled)
    processes.cache.deliver()
    try client.commit(at: 5)
    let documents = try processes.answerAll(from: [room(6, ["n": 9, "a": 1])])
    #expect(try room(in: documents) == fields(["n": 1, "a": 1]))
  }

  @Test("what a write that has left had changed is no change of the write behind it")
  func notChanged() throws {
    let processes = try ConflictProcesses(.mergeFields(prefersRemote: false), having: [room(3, ["n": 1])])
    let client = processes.primary
    client.write(set(["n": 2]))
    client.write(set(["n": 2, "m": 1]))
    try leave(client, .refused)
    let documents = try processes.answerAll(from: [room(5, ["n": 9])])
    #expect(try room(in: documents) == fields(["n": 9, "m": 1]))
  }

  @Test(
    "if nobody else has changed the document, the write behind it is no conflict",
    arguments: policies + [.ask(resolver: 0)], Leaving.allCases)
  func noConflict(_ policy: ConflictPolicy, _ leaving: Leaving) throws {
    let start = room(3, ["n": 1])
    let processes = try ConflictProcesses(policy, having: [start])
    let client = processes.primary
    client.write(set(["n": 2]))
    client.write(set(["n": 2, "m": 1]))
    client.write(set(["n": 2, "m": 1, "l": 1]))
    try leave(client, leaving)
    let documents = try processes.answerAll(from: [leaving == .cancelledAfterArrival ? room(5, ["n": 2]) : start])
    #expect(documents.count == 1 && client.questions.isEmpty)
    #expect(try room(in: documents) == fields(["n": 2, "m": 1, "l": 1]))
  }

  @Test("it is no conflict either if the one that has arrived had a time of the server")
  func serverTimestamp() throws {
    let processes = try ConflictProcesses(.keepBoth, having: [room(3, ["n": 1])])
    let client = processes.primary
    client.write(
      .set(
        key("rooms/a"), fields(["n": 2]),
        transforms: [FieldTransform(path: field("at"), operation: .serverTimestamp)]))
    client.write(patch("m"))
    try leave(client, .cancelledAfterArrival)
    var arrived = fields(["n": 2])
    arrived["at"] = .timestamp(version(5).timestamp)
    let documents = try processes.answerAll(from: [found("rooms/a", 5, arrived)])
    arrived["m"] = .integer(1)
    #expect(try room(in: documents) == arrived && documents.count == 1)
  }

  @Test("a document that others have deleted does not get what has left back", arguments: policies)
  func deletedByOthers(_ policy: ConflictPolicy) throws {
    let processes = try ConflictProcesses(policy, having: [room(3, ["n": 1])])
    let client = processes.primary
    client.write(set(["n": 2]))
    client.write(patch("m"))
    try leave(client, .refused)
    let documents = try processes.answerAll(from: [])
    #expect(try room(in: documents) == fields(["n": 1, "m": 1]) && documents.count == 1)
  }

  @Test("the question about a write behind it shows what its author saw")
  func question() throws {
    let processes = try ConflictProcesses(.ask(resolver: 0), having: [room(3, ["n": 1])])
    let client = processes.primary
    client.write(set(["n": 2]))
    client.write(patch("m"))
    try leave(client, .refused)
    _ = try? processes.answerAll(from: [room(5, ["n": 9])])
    let asked = try #require(client.driver.questions.first).conflict
    #expect(try asked.base?.fields.decoded() == fields(["n": 2]))
    #expect(try asked.local.fields.decoded() == fields(["n": 2, "m": 1]))
  }

  @Test("a write that was made after it left is based on what was shown without it", arguments: 1..<3)
  func madeAfter(count: Int) throws {
    let start = room(3, ["n": 1])
    let processes = try ConflictProcesses(.mergeFields(prefersRemote: false), having: [start])
    let client = processes.primary
    if count > 1 { client.write(patch("a")) }
    client.write(set(["n": 2]))
    client.write(patch("b"))
    try withdraw(client, at: count - 1)
    #expect(try shown(client)["n"] == .integer(1))
    client.write(set(["n": 2, "a": 1, "b": 1]))
    let documents = try processes.answerAll(from: [room(5, ["n": 9])])
    #expect(try room(in: documents) == fields(["n": 2, "a": 1, "b": 1]))
  }

  @Test("a write that was made after a conflict was resolved is based on what was shown then")
  func madeAfterConflict() throws {
    let processes = try ConflictProcesses(.mergeFields(prefersRemote: true), having: [room(3, ["n": 1])])
    let client = processes.primary
    client.write(set(["n": 2, "z": 1]))
    client.write(patch("a"))
    client.write(patch("b"))
    let theirs = room(5, ["n": 9])
    try client.breakWriteStream(error(.failedPrecondition))
    processes.cache.wait(2)
    try client.answerLookUp(theirs)
    #expect(try shown(client) == fields(["n": 9, "z": 1, "a": 1, "b": 1]))
    client.write(set(["n": 2, "z": 1, "a": 1, "b": 1]))
    let documents = try processes.answerAll(from: [theirs])
    #expect(try room(in: documents) == fields(["n": 2, "z": 1, "a": 1, "b": 1]))
  }

  // MARK: - Writes without a local effect

  @Test(
    "nothing of a write that takes effect only at the backend is lost to the one behind it", arguments: policies,
    [true, false])
  func withoutLocalEffect(_ policy: ConflictPolicy, isChangedByOthers: Bool) throws {
    let processes = try ConflictProcesses(policy, having: [])
    let client = processes.primary
    client.write(set(["a": 1]))
    client.write(.delete(key("rooms/a")))
    client.write(set(["left": 1]))
    client.write(patch("late"))
    try withdraw(client, at: 2)
    // The document is not there, so that the update has no effect any more.
    #expect(try !client.store.readDocument(key("rooms/a")).isFound)
    client.write(set(["b": 1]))
    client.write(set(["b": 1, "c": 1]))
    try withdraw(client, at: 1)
    // It has one again.
    let documents = try processes.answerAll(from: isChangedByOthers ? [room(5, ["theirs": 1])] : [])
    let names = try processes.names(in: documents)
    #expect(names.isSuperset(of: ["a", "late", "b", "c"]) && !names.contains("left"))
    #expect(names.contains("theirs") == isChangedByOthers)
    #expect(documents.count == 1 || policy == .keepBoth)
  }

  @Test("the same, if the deletion before it gives way or is refused", arguments: policies, [true, false])
  func deletionWithoutEffect(_ policy: ConflictPolicy, isRefused: Bool) throws {
    let start = room(3, ["n": 1])
    let processes = try ConflictProcesses(policy, having: [start])
    let client = processes.primary
    client.write(.delete(key("rooms/a")))
    client.write(set(["left": 1]))
    client.write(patch("late"))
    try withdraw(client, at: 1)
    client.write(set(["b": 1]))
    if isRefused { try leave(client, .refused) }
    let documents = try processes.answerAll(from: [isRefused ? start : room(5, ["n": 1, "theirs": 1])])
    #expect(try processes.names(in: documents) == Set(["n", "late", "b"] + (isRefused ? [] : ["theirs"])))
  }
}
