import Foundation
import Hearth
import HearthServer
import InteropSupport
import Logging
import TestSupport
import Testing

/// The program of `Examples/Gateway`, without a connection, with one, and killed in both states.
@Suite("The gateway at the edge")
struct GatewayExampleTests {
  @Test(
    "what it has reported as saved and not dropped arrives once, however often it is killed", .timeLimit(.minutes(3)))
  func survivesKills() async throws {
    let folder = TemporaryFolder()
    let port = try Programs.freePort()
    var log = GatewayLog()

    // Days without a connection, and the end of them in the middle of a reading.
    try await log.run(["--count", "100000", "--keep", "40"], port, folder.url, killAfter: 150)
    #expect(log.dropped.count >= 100, "the policy drops while more than 40 wait")

    let logger = Logger(label: "gateway-example") { _ in SwiftLogNoOpLogHandler() }
    let server = try await EmbeddedServer.start(host: "127.0.0.1", port: port, storage: .memory, logger: logger)
    for saved in [1, 10, 60] {
      try await log.run(
        ["--count", "100000", "--keep", "40", "--pause", "1"], port, folder.url, killAfter: saved)
    }
    try await log.run(["--count", "3", "--wait", "60"], port, folder.url, killAfter: nil)
    #expect(log.last == "all sent")

    let client = try InteropClient(port: port, project: "demo-gateway")
    let arrived = try await client.collection("readings").getDocuments(source: .server).documents
    let ids = Set(arrived.map(\.documentID))
    #expect(log.saved.subtracting(log.dropped).isSubset(of: ids), "nothing that was saved is missing")
    // A reading may be on the disk when the kill comes before the line that says so: one for each of the four kills.
    #expect(ids.subtracting(log.saved).count <= 4)
    let count = try await client.document("sensors/boiler").getDocument(source: .server).get("readings") as? Int
    #expect(count == ids.count, "each reading was counted once")
    try await client.firestore.terminate()
    await server.shutdown()
  }

  @Test(
    "it takes readings from its standard input, and keeps the newest when it has to drop some", .timeLimit(.minutes(1)))
  func readsLines() async throws {
    let folder = TemporaryFolder()
    let process = try LineProcess(
      Programs.product("GatewayExample"),
      [
        "--cache", folder.url.path, "--host", "127.0.0.1:\(try Programs.freePort())", "--keep", "2", "--wait", "0",
      ], takesInput: true)
    var lines: [String] = []
    for line in ["20", "21.5", "warm", "22"] {
      process.send(line)
      lines.append(try #require(await process.nextLine()))
    }
    let run = try #require(lines[0].split(separator: "-").dropFirst().first)
    #expect(
      lines == [
        "saved boiler-\(run)-1", "saved boiler-\(run)-2", "ignored \"warm\": not a number", "saved boiler-\(run)-3",
      ])
    #expect(await process.nextLine() == "dropping boiler-\(run)-1")
    #expect(await process.nextLine() == "dropped 1, 2 wait")
    process.endInput()
    #expect(await process.nextLine() == "2 wait")
    #expect(await process.waitForExit() == 0)
  }
}

/// The reports of the gateway in all its runs.
private struct GatewayLog {
  private(set) var saved: Set<String> = []
  /// The readings that it was about to drop. One that was sent at that moment has arrived nevertheless.
  private(set) var dropped: Set<String> = []
  private(set) var last = ""

  /// Runs the gateway until it has reported so many readings, and kills it; nil lets it end.
  mutating func run(_ arguments: [String], _ port: Int, _ folder: URL, killAfter limit: Int?) async throws {
    let process = try LineProcess(
      Programs.product("GatewayExample"), arguments + ["--cache", folder.path, "--host", "127.0.0.1:\(port)"])
    var count = 0
    while let line = await process.nextLine() {
      note(line)
      if line.hasPrefix("saved ") { count += 1 }
      if count == limit { process.killAtOnce() }
    }
    let status = await process.waitForExit()
    if let limit { #expect(count >= limit) } else { #expect(status == 0, "\(last)") }
  }

  private mutating func note(_ line: String) {
    last = line
    let words = line.split(separator: " ").map(String.init)
    switch words.first {
    case "saved": saved.formUnion(words.dropFirst())
    case "dropping": dropped.formUnion(words.dropFirst())
    default: break
    }
  }
}
