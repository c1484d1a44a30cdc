import Foundation
import HearthServer
import Testing

/// Uses the public API alone. The article "Testing your app" has tests with clients.
@Suite("A test server")
struct TestServerTests {
  @Test("listens on a free port of this machine, next to others")
  func ports() async throws {
    let first = try await TestServer.start()
    let second = try await TestServer.start()
    #expect(first.host == "127.0.0.1" && (1...65535).contains(first.port) && first.port != second.port)
    #expect(first.address == "127.0.0.1:\(first.port)")
    await first.stop()
    await second.stop()
  }

  @Test("frees its port and its folder, and stops once")
  func stop() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let first = try await TestServer.start(folder: folder)
    await first.stop()
    await first.stop()
    let second = try await TestServer.start(folder: folder, port: first.port)
    #expect(second.port == first.port)
    await second.stop()
  }

  @Test("says which folder and which port it cannot have")
  func errors() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    try await TestServer.run(folder: folder) { server in
      let inUse = await #expect(throws: (any Error).self) { try await TestServer.start(folder: folder) }
      #expect(inUse?.localizedDescription.contains("\"\(folder.path)\" is in use") == true)
      let taken = await #expect(throws: (any Error).self) { try await TestServer.start(port: server.port) }
      #expect(taken.map { "\($0)" }?.contains("Port \(server.port) on 127.0.0.1 is already in use") == true)
    }
  }

  @Test("is stopped when the test throws, whose error it passes on")
  func failingBody() async throws {
    struct Failure: Error {}
    var port = 0
    await #expect(throws: Failure.self) {
      try await TestServer.run { server in
        port = server.port
        throw Failure()
      }
    }
    let next = try await TestServer.start(port: port)
    await next.stop()
  }
}
