import Foundation
import HearthModel
import HearthTransport
import InteropSupport
import TestSupport
import Testing

/// `hearth serve` answers a commit after it is durable; so a killed server has every commit that it had answered.
@Suite("hearth serve that is killed")
struct ServerCrashTests {
  static let kills = 10

  @Test("has every acknowledged commit after each of 10 kills, and its times never go back", .timeLimit(.minutes(5)))
  func killedServerKeepsCommits() async throws {
    let folder = TemporaryFolder()
    let database = DatabaseID(projectID: "killed-server")
    var last = 0
    var lastVersion = SnapshotVersion.none
    for kill in 1...Self.kills {
      let (server, port) = try await start(folder.url)
      let transport = try FirestoreTransport(
        TransportConfiguration(host: "127.0.0.1", port: port, usesTLS: false, databaseID: database))
      try await check(transport, commits: last, after: kill - 1)
      for _ in 1...20 {
        let version = try await commit(last + 1, transport)
        #expect(version > lastVersion, "commit times rise, also over a restart")
        (last, lastVersion) = (last + 1, version)
      }
      server.killAtOnce()
      _ = await server.waitForExit()
      await transport.shutdown()
    }
    let (server, port) = try await start(folder.url)
    let transport = try FirestoreTransport(
      TransportConfiguration(host: "127.0.0.1", port: port, usesTLS: false, databaseID: database))
    try await check(transport, commits: last, after: Self.kills)
    await transport.shutdown()
    server.killAtOnce()
    _ = await server.waitForExit()
  }

  private func start(_ folder: URL) async throws -> (LineProcess, port: Int) {
    let server = try LineProcess(
      Programs.product("hearth"), ["serve", "--port", "0", "--data", folder.path, "--log-level", "error"])
    let line = try #require(await server.nextLine(), "the server ended before it served")
    let port = try #require(line.split(separator: ":").last.flatMap { Int($0) }, "no port in: \(line)")
    return (server, port)
  }

  /// One atomic commit: a journal entry and an increment.
  private func commit(_ number: Int, _ transport: FirestoreTransport) async throws -> SnapshotVersion {
    let total = Mutation(
      key: try DocumentKey(parsing: "totals/all"), operation: .patch(.empty, mask: .empty),
      transforms: [FieldTransform(path: try FieldPath(["sum"]), operation: .increment(.integer(1)))])
    let entry = Mutation.set(try DocumentKey(parsing: "journal/\(number)"), ["number": .integer(Int64(number))])
    return try await transport.commit([entry, total]).commitVersion
  }

  private func check(_ transport: FirestoreTransport, commits: Int, after kills: Int) async throws {
    guard commits > 0 else { return }
    let keys =
      try (1...commits).map { try DocumentKey(parsing: "journal/\($0)") } + [DocumentKey(parsing: "totals/all")]
    let documents = try await transport.batchGetDocuments(keys)
    let totals = try #require(documents.first { $0.key.collectionGroup == "totals" })
    #expect(try totals.fields.decoded()["sum"] == .integer(Int64(commits)), "after \(kills) kills")
    #expect(documents.filter(\.isFound).count == commits + 1, "after \(kills) kills")
  }
}
