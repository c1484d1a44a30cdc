import Foundation
import HearthModel
import HearthServer
import HearthTransport
import Testing

@testable import HearthData

@Suite("Listening from the command line", .timeLimit(.minutes(2)))
struct WatchTests {
  @Test("a listener shows what is there, then each change")
  func watch() async throws {
    try await DataServer.with { server in
      try await server.fill([("c/a", ["v": 1]), ("c/b", ["v": 5])])
      let backend = try server.backend()
      var words = DataQuery(collection: "c")
      words.conditions = ["v < 4"]
      let watch = DataWatch(query: try words.query(in: backend.databaseID))
      let (snapshots, continuation) = AsyncStream.makeStream(of: [WatchedChange].self)
      let work = Task { try await watch.run(backend) { changes, _ in continuation.yield(changes) } }
      var iterator = snapshots.makeAsyncIterator()
      func next() async -> [String] {
        while let changes = await iterator.next() {
          if !changes.isEmpty { return changes.map(\.mark) }
        }
        return []
      }
      #expect(await next() == ["+a"])
      try await server.fill([("c/c", ["v": 2])])
      #expect(await next() == ["+c"])
      try await server.fill([("c/a", ["v": 3]), ("c/c", ["v": 9])])
      #expect(await next() == ["~a", "-c"])
      work.cancel()
      continuation.finish()
      await backend.shutdown()
      _ = await work.result
      var once = watch
      once.endsWithFirstResult = true
      let again = try server.backend()
      let first = FailureList()
      try await once.run(again) { changes, _ in for change in changes { first.add(change.key.id) } }
      #expect(first.all == ["a"])
      await again.shutdown()
    }
  }

  @Test("a listener goes on after the server was away, and shows only what has changed")
  func lostServer() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-data-" + UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    var server = try await TestServer.start(folder: folder)
    let backend = try DataServer.backend(port: server.port, project: "demo")
    func key(_ id: String) throws -> DocumentKey { try DocumentKey(parsing: "c/\(id)") }
    _ = try await backend.transport.commit([.set(try key("a"), [:]), .set(try key("b"), [:])])
    let watch = DataWatch(query: try DataQuery(collection: "c").query(in: backend.databaseID))
    let (snapshots, continuation) = AsyncStream.makeStream(of: [WatchedChange].self)
    let work = Task { try await watch.run(backend) { changes, _ in continuation.yield(changes) } }
    var iterator = snapshots.makeAsyncIterator()
    #expect(await iterator.next()?.map(\.mark) == ["+a", "+b"])
    await server.stop()
    server = try await TestServer.start(folder: folder, port: server.port)
    let writer = try DataServer.backend(port: server.port, project: "demo")
    _ = try await writer.transport.commit([
      .delete(try key("a")), .set(try key("b"), ["v": 1]), .set(try key("c"), [:]),
    ])
    var marks: [String] = []
    while marks.count < 3, let changes = await iterator.next() { marks += changes.map(\.mark) }
    #expect(marks.sorted() == ["+c", "-a", "~b"])
    work.cancel()
    for backend in [backend, writer] { await backend.shutdown() }
    _ = await work.result
    await server.stop()
  }
}

extension WatchedChange {
  fileprivate var mark: String {
    switch self {
    case .added(let document): "+\(document.key.id)"
    case .changed(let document): "~\(document.key.id)"
    case .removed(let key): "-\(key.id)"
    }
  }
}
