import Foundation
import HearthModel
import HearthWire
import NIOCore
import NIOPosix
import RawHTTP2
import TestSupport
import Testing

@testable import HearthServer

@Suite("Descriptors of a process", .timeLimit(.minutes(5)))
struct DescriptorTests {
  typealias Frame = RawHTTP2Client.Frame

  @Test("connections leave the descriptors that the files need, or five eighths of them if that is less")
  func connections() {
    let perFile = EmbeddedStorage.descriptorsPerFile
    func connections(wanted: Int, databases: Int, limit: Int) -> Int {
      let files = StorageLocation.folder("data").descriptors(databases: databases, openFiles: limit)
      return DescriptorLimit.connections(wanted: wanted, files: files, limit: limit)
    }
    #expect(connections(wanted: 10_000, databases: 1000, limit: 128) == 48)
    #expect(connections(wanted: 10, databases: 1000, limit: 128) == 10)
    #expect(connections(wanted: 10_000, databases: 1000, limit: 1_000_000) == 10_000)
    #expect(connections(wanted: 10_000, databases: 0, limit: 1) == 1)
    #expect(StorageLocation.memory.descriptors(databases: 1000, openFiles: 128) == 0)
    let some = connections(wanted: 10_000, databases: 10, limit: 2000)
    #expect(some > 2000 / 8 * 3 && some + 10 * perFile < 2000)
  }

  @Test(
    "with 128 descriptors and 140 clients, the connections that are open read and write, and nothing is tried without end"
  )
  func fewDescriptors() async throws {
    try await withTemporaryFolder { folder in
      let server = try ServeProcess(openFiles: 128, folder: folder)
      defer { server.end() }
      let port = try await server.port()
      try await RawHTTP2Client.withConnection(toPort: port) { client in
        try await client.send([Frame.headers(1, method: "Commit"), try .message(Self.commit, 1)])
        try await client.wait(for: "the commit") { $0.statuses[1] != nil || $0.isClosed }
        var idle: [any Channel] = []
        for _ in 0..<140 {
          idle.append(
            try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
              .connectTimeout(.seconds(100)).connect(host: "127.0.0.1", port: port).get())
        }
        // All sorts of reads at once, so that connections to the file are opened.
        var stream: UInt32 = 3
        for _ in 0..<20 {
          try await client.send(try Frame.getCall(stream))
          try await client.send([Frame.headers(stream + 2, method: "RunQuery"), try .message(Self.query, stream + 2)])
          stream += 4
        }
        let last = stream
        try await client.wait(for: "the answers") { $0.statuses.count == Int(last - 1) / 2 || $0.isClosed }
        #expect(client.received.statuses.values.allSatisfy { $0 == "0" }, "\(client.received.statuses)")
        #if os(Linux)
          let before = try server.processorTime()
          try await Task.sleep(for: .seconds(2))
          #expect(try server.processorTime() - before < 0.4)
        #endif
        for channel in idle { try? await channel.close().get() }
      }
      #expect(server.log.contains("fewer connections than --max-connections"))
    }
  }

  private static var commit: Google_Firestore_V1_CommitRequest {
    var request = Google_Firestore_V1_CommitRequest()
    request.database = ServerFixture.database.resourceName
    request.writes = [ServerFixture.translator.encode(.set(key("rooms/eros"), ["n": .integer(1)]))]
    return request
  }

  private static var query: Google_Firestore_V1_RunQueryRequest {
    var request = Google_Firestore_V1_RunQueryRequest()
    request.parent = ServerFixture.database.resourceName + "/documents"
    var rooms = Google_Firestore_V1_StructuredQuery.CollectionSelector()
    rooms.collectionID = "rooms"
    request.structuredQuery.from = [rooms]
    return request
  }
}
