import Foundation
import Hearth
import HearthCache
import HearthModel
import HearthServer
import HearthStore
import HearthSync
import HearthTransport
import InteropSupport
import Logging
import TestSupport
import Testing

/// A write whose answer was lost is answered from the server's memory, although what it was sent under is not what it would be sent under
/// now.
@Suite("A write under a rule for conflicts is committed once")
struct WrittenOnceUnderRulesTests {
  enum Edit: String, CaseIterable, CustomTestStringConvertible {
    case increment, set, arrayUnion

    var testDescription: String { rawValue }

    func mutation(_ key: DocumentKey) throws -> Mutation {
      func patch(_ name: String, _ operation: TransformOperation) throws -> Mutation {
        .patch(
          key, [:], mask: .empty, transforms: [FieldTransform(path: try FieldPath([name]), operation: operation)])
      }
      switch self {
      case .increment: return try patch("n", .increment(.integer(1)))
      case .set: return .set(key, ["n": .integer(2)])
      case .arrayUnion: return try patch("list", .arrayUnion([.integer(2)]))
      }
    }
  }

  /// The event between the lost answer and the next attempt.
  enum Between: String, CaseIterable, CustomTestStringConvertible {
    /// The next release of the application has no rules.
    case rulesGone
    /// The file is damaged, and what was saved of it is used under the same rules.
    case salvage
    /// Another program without rules, on the same cache, takes over.
    case takenOver

    var testDescription: String { rawValue }
  }

  @Test(
    "whatever comes between the lost answer and the next attempt", .timeLimit(.minutes(1)), arguments: Edit.allCases,
    Between.allCases)
  func sentAgain(_ edit: Edit, _ between: Between) async throws {
    let folder = TemporaryFolder()
    let server = try await EmbeddedServer.start(
      storage: .memory, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let databaseID = DatabaseID(projectID: "rules")
    let transport = try FirestoreTransport(
      TransportConfiguration(
        host: "127.0.0.1", port: server.port, usesTLS: false, databaseID: databaseID, credentials: OwnerCredentials()))
    let witness = try InteropClient(port: server.port, project: databaseID.projectID)
    let rules = ConflictRules([
      ConflictRule(.collection(ResourcePath(["rooms"])), .mergeFields(prefersRemote: false))
    ])
    func open(_ rules: ConflictRules = ConflictRules(), sharedAs name: String? = nil) throws -> EngineDevice {
      try EngineDevice(
        folder: folder.url, transport: transport, databaseID: databaseID, conflictRules: rules, sharedAs: name)
    }
    let key = try DocumentKey(parsing: "rooms/a")
    let name = between == .takenOver ? UUID().uuidString : nil

    // The cache comes to know the document.
    var device = try open(sharedAs: name)
    device.write([.set(key, ["n": .integer(0), "list": .array([])])], identity: BatchIdentity(high: 1, low: 1))
    try await device.takeAnswer()
    device.kill()
    device = try open(rules, sharedAs: name.map { _ in UUID().uuidString })
    device.write([try edit.mutation(key)], identity: BatchIdentity(high: 1, low: 2))
    try await device.loseAnswer()
    let sent = device.sentBatches
    guard case .updateTime? = sent.first?.first?.precondition else {
      Issue.record("sent without a condition: \(sent)")
      return
    }
    // A write that is committed again would show.
    try await witness.document("rooms/a").setData(["n": 100])

    switch between {
    case .rulesGone:
      device.kill()
      device = try open()
    case .salvage:
      device.kill()
      let database = try Database(.file(path: folder.url.appendingPathComponent("cache.sqlite").path))
      try database.execute("DROP TABLE cache_targets")
      database.close()
      device = try open(rules)
      #expect(device.recovery != nil)
    case .takenOver:
      let other = try open(sharedAs: UUID().uuidString)
      device.kill()
      device = other
      try await device.takeLease()
    }
    try await device.drain()
    #expect(device.problems == [])
    #expect(device.sentBatches == sent.suffix(1))
    device.kill()

    let document = try await witness.document("rooms/a").getDocument(source: .server)
    #expect(document.data()?.count == 1 && document.get("n") as? Int == 100)
    try await witness.firestore.terminate()
    await transport.shutdown()
    await server.shutdown()
  }
}
