import Foundation
import GRPCCore
import HearthModel
import HearthStore
import HearthTransport
import HearthWire
import RawHTTP2
import SwiftProtobuf
import Synchronization
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("Life of a server")
struct ServerLifeTests {
  @Test("data survive a restart; each database has its own")
  func restart() async throws {
    try await withTemporaryFolder { folder in
      try await ServerFixture.withServer(storage: .folder(folder)) { fixture in
        try await fixture.set("a/b", ["n": 1.value])
        var other = Google_Firestore_V1_CommitRequest()
        other.database = "projects/other/databases/named"
        let translator = WireTranslator(database: DatabaseID(projectID: "other", database: "named"))
        other.writes = [translator.encode(.set(key("a/c"), [:]))]
        let _: Google_Firestore_V1_CommitResponse = try await fixture.unary(Method.Commit.descriptor, other)
      }
      let files = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".sqlite") }
      #expect(files.sorted() == ["other.named.sqlite", "test.%28default%29.sqlite"])
      try await ServerFixture.withServer(storage: .folder(folder)) { fixture in
        let document = try await fixture.get("a/b")
        #expect(document.fields["n"]?.integerValue == 1)
        #expect(await failure { try await fixture.get("a/c") }?.code == .notFound)
      }
    }
  }

  @Test("a port in use, a host that is none and a port that cannot be are named")
  func addresses() async throws {
    let server = try await EmbeddedServer.start(storage: .memory, logger: ServerFixture.quietLogger)
    let port = server.port
    let inUse = await #expect(throws: ServerError.self) {
      _ = try await EmbeddedServer.start(port: port, storage: .memory, logger: ServerFixture.quietLogger)
    }
    #expect(inUse?.kind == .address)
    #expect(inUse?.message.contains("Port \(port) on 127.0.0.1 is already in use") == true)
    await server.shutdown()
    let unknown = await #expect(throws: ServerError.self) {
      _ = try await EmbeddedServer.start(
        host: "no such host", port: 0, storage: .memory, logger: ServerFixture.quietLogger)
    }
    #expect(unknown?.kind == .configuration)
    let impossible = await #expect(throws: ServerError.self) {
      _ = try await EmbeddedServer.start(port: 70_000, storage: .memory, logger: ServerFixture.quietLogger)
    }
    #expect(impossible?.message.contains("70000") == true)
  }

  @Test("a call that nothing ends does not keep the server from stopping")
  func hangingCall() async throws {
    let (release, releasing) = AsyncStream<Void>.makeStream()
    let (began, beginning) = AsyncStream<Void>.makeStream()
    let server = try await EmbeddedServer.start(storage: .memory, logger: ServerFixture.quietLogger) {
      $0.interceptor = HangingInterceptor(began: beginning, release: release)
    }
    try await RawHTTP2Client.withConnection(to: server) { client in
      try await client.send(try RawHTTP2Client.Frame.getCall(1))
      for await _ in began { break }
      await server.shutdown()
      #expect(server.load.callCount == 1)
    }
    releasing.finish()
    try await waitUntil { server.load.callCount == 0 }
  }

  @Test("a second signal ends the process at once")
  func secondSignal() async throws {
    try await withTemporaryFolder { folder in
      let server = try ServeProcess(folder: folder)
      defer { server.end() }
      let port = try await server.port()
      try await RawHTTP2Client.withConnection(toPort: port, streamWindow: 1) { client in
        // The process waits for a client that does not read.
        var request = Google_Firestore_V1_ListenRequest()
        request.database = ServerFixture.database.resourceName
        request.addTarget.targetID = 2
        request.addTarget.documents.documents = [name("rooms/eros")]
        try await client.send([
          RawHTTP2Client.Frame.headers(1, method: "Listen"), try .message(request, 1, endsStream: false),
        ])
        try await client.wait(for: "a byte") { $0.messageBytes[1] == 1 }
        server.send(SIGTERM)
        try await client.wait(for: "the end of the connection's calls") { $0.goAway != nil }
        // Until it is seen: the process may not listen for it yet.
        try await waitUntil {
          server.send(SIGINT)
          return !server.isRunning
        }
        #expect(try await server.exitStatus() == 128 + SIGINT)
      }
    }
  }

  @Test("a server without a terminal goes on after SIGHUP")
  func hangUp() async throws {
    try await withTemporaryFolder { folder in
      let server = try ServeProcess(folder: folder)
      defer { server.end() }
      let port = try await server.port()
      server.send(SIGHUP)
      try await RawHTTP2Client.withConnection(toPort: port) { client in
        try await client.send([RawHTTP2Client.Frame.request(1, [:]), try .getMessage(1)])
        try await client.wait(for: "an answer") { $0.statuses[1] != nil }
      }
      server.send(SIGTERM)
      #expect(try await server.exitStatus() == 0)
    }
  }

  @Test("a data folder that cannot be used, or is used by another server, is named")
  func folders() async throws {
    try await withTemporaryFolder { folder in
      try Data().write(to: URL(fileURLWithPath: folder))
      let error = await #expect(throws: ServerError.self) {
        _ = try await EmbeddedServer.start(storage: .folder(folder), logger: ServerFixture.quietLogger)
      }
      #expect(error?.kind == .dataFolder)
      #expect(error?.message.contains("\"\(folder)\" is a file, not a folder") == true, "\(error?.message ?? "none")")
    }
    try await withTemporaryFolder { folder in
      let first = try await EmbeddedServer.start(storage: .folder(folder), logger: ServerFixture.quietLogger)
      let second = await #expect(throws: ServerError.self) {
        _ = try await EmbeddedServer.start(storage: .folder(folder), logger: ServerFixture.quietLogger)
      }
      #expect(second?.message.contains("in use by another hearth server") == true)
      await first.shutdown()
    }
  }

  @Test("the folder of a client's cache is not taken for data of a server, and stays as it is")
  func clientCache() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Data().write(to: URL(fileURLWithPath: folder + "/cache.sqlite"))
      let error = await #expect(throws: ServerError.self) {
        _ = try await EmbeddedServer.start(storage: .folder(folder), logger: ServerFixture.quietLogger)
      }
      #expect(error?.kind == .dataFolder && error?.message.contains("the cache of a client") == true)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["cache.sqlite"])
    }
  }

  @Test("a file of a newer release is an error of the calls that need it, and keeps its data")
  func newerRelease() async throws {
    try await withTemporaryFolder { folder in
      try await ServerFixture.withServer(storage: .folder(folder)) { try await $0.set("a/b", ["n": 1.value]) }
      let file = folder + "/test.%28default%29.sqlite"
      func shiftVersions(by difference: Int) throws {
        let database = try Database(.file(path: file))
        try database.execute("UPDATE schema_versions SET version = version + \(difference)")
        database.close()
      }
      try shiftVersions(by: 1000)
      try await ServerFixture.withServer(storage: .folder(folder)) { fixture in
        let error = await failure { try await fixture.set("a/b", ["n": 2.value]) }
        #expect(error?.code == .failedPrecondition)
        #expect(error?.message.contains("newer") == true, "\(error?.message ?? "none")")
      }
      try shiftVersions(by: -1000)
      try await ServerFixture.withServer(storage: .folder(folder)) { fixture in
        let document = try await fixture.get("a/b")
        #expect(document.fields["n"]?.integerValue == 1)
      }
    }
  }

  @Test("a file that is no database is an error of the calls that need it, and is left as it is")
  func notADatabase() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let file = URL(fileURLWithPath: folder + "/test.%28default%29.sqlite")
      let contents = Data("this is no database, but a text of some length that says so".utf8)
      try contents.write(to: file)
      try await ServerFixture.withServer(storage: .folder(folder)) { fixture in
        #expect(await failure { try await fixture.get("a/b") }?.code == .dataLoss)
      }
      #expect(try Data(contentsOf: file) == contents)
    }
  }

  @Test("a shutdown ends open streams with UNAVAILABLE and frees the port")
  func shutdown() async throws {
    let server = try await EmbeddedServer.start(storage: .memory, logger: ServerFixture.quietLogger)
    try await ServerFixture.withClient(of: server) { fixture in
      var request = Google_Firestore_V1_ListenRequest()
      request.database = ServerFixture.database.resourceName
      request.addTarget.targetID = 2
      request.addTarget.documents.documents = [name("a/b")]
      let ended = await failure { [request] in
        try await fixture.listen([request]) { response in
          if response.targetChange.targetChangeType == .current { Task { await server.shutdown() } }
          return true
        }
      }
      #expect(ended?.code == .unavailable)
    }
    try await server.waitUntilStopped()
    let next = try await EmbeddedServer.start(
      port: server.port, storage: .memory, logger: ServerFixture.quietLogger)
    await next.shutdown()
  }

  @Test("a listener over the network sees a write of another client, and the stream ends when the client closes")
  func listen() async throws {
    try await ServerFixture.withServer(tokenRefreshInterval: .milliseconds(20)) { fixture in
      try await fixture.set("c/a")
      var request = Google_Firestore_V1_ListenRequest()
      request.database = ServerFixture.database.resourceName
      request.addTarget.targetID = 2
      request.addTarget.query.parent = ServerFixture.database.documentsName
      request.addTarget.query.structuredQuery.from = [.with { $0.collectionID = "c" }]
      let documents = Mutex(0)
      let snapshots = Mutex(0)
      try await fixture.listen([request]) { response in
        if case .documentChange? = response.responseType { documents.withLock { $0 += 1 } }
        guard response.targetChange.targetChangeType == .noChange, response.targetChange.hasReadTime else {
          return true
        }
        switch snapshots.withLock({ count in
          count += 1; return count
        }) {
        case 1: try await fixture.set("c/b")
        // The third one comes only because of the token's refresh.
        case 2: try await fixture.set("other/x")
        default: return false
        }
        return true
      }
      #expect(documents.withLock { $0 } == 2)
    }
  }

  @Test("17 MiB of writes are within the transport's limit, and a large document comes back whole")
  func largeMessages() async throws {
    try await ServerFixture.withServer { fixture in
      let text = Value.string(String(repeating: "x", count: 1_000_000))
      try await fixture.commit((0..<10).map { .set(key("big/\($0)"), ["t": text]) })
      #expect(try await fixture.ids(Query(path: path("big"))).count == 10)
    }
  }
}

/// Keeps a call until it is released, also when it is cancelled.
private struct HangingInterceptor: CallInterceptor {
  let began: AsyncStream<Void>.Continuation
  let release: AsyncStream<Void>

  func began(_ call: InterceptedCall) async throws -> (any CallTap)? {
    let release = release
    began.yield()
    // A task of its own is not cancelled with the call.
    await Task { for await _ in release {} }.value
    return nil
  }
}
