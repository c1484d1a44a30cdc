import Foundation
import Hearth
import InteropSupport
import TestSupport
import Testing

@Suite("Writes that are too large", .timeLimit(.minutes(2)))
struct LargeWriteTests {
  @Test("one that the server does not take is refused and kept, and those before and behind it arrive once")
  func refused() async throws {
    let server = try LineProcess(
      Programs.product("hearth"),
      ["serve", "--in-memory", "--port", "0", "--log-level", "error", "--max-request-bytes", "1000000"])
    defer { server.killAtOnce() }
    let port = try #require(await server.nextLine()?.split(separator: ":").last.flatMap { Int($0) })
    let client = try InteropClient(port: port, project: "demo-large")
    try await client.firestore.disableNetwork()
    let counter = client.document("c/counter")
    counter.setData(["n": FieldValue.increment(Int64(1))], merge: true, completion: nil)
    client.document("c/large").setData(["text": String(repeating: "x", count: 2_000_000)], completion: nil)
    counter.setData(["n": FieldValue.increment(Int64(2))], merge: true, completion: nil)
    try await client.firestore.enableNetwork()
    try await client.firestore.waitForPendingWrites()
    let rejected = try await client.firestore.rejectedWrites.writes()
    #expect(rejected.map { $0.operations.map(\.documentPath) } == [["c/large"]])
    #expect(rejected.first?.error.code == FirestoreErrorCode.invalidArgument.rawValue)
    #expect(try await counter.getDocument(source: .server)["n"] as? Int == 3)
    try await client.firestore.terminate()
  }
}
