import CoreMetrics
import Foundation
import HearthModel
import HearthStore
import MetricsTestKit
import Synchronization
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("A data folder that is moved, or a disk that is full, under a server", .timeLimit(.minutes(2)))
struct FolderPlaceTests {
  private static func set(_ id: String, in backend: EmbeddedBackend, project: String = "demo") async throws {
    let database = try await backend.database(DatabaseID(projectID: project))
    _ = try await database.storage.commit(CommitRequest(mutations: [.set(key("c/\(id)"), [:])]))
  }

  private static func count(in backend: EmbeddedBackend) async throws -> Int {
    let database = try await backend.database(DatabaseID(projectID: "demo"))
    let keys = ["a", "b", "c"].map { key("c/\($0)") }
    return try await database.storage.documents(for: keys, at: nil).documents.count { $0.isFound }
  }

  private static func refusal(_ body: () async throws -> Void) async -> StatusError? {
    await #expect(throws: StatusError.self) { try await body() }
  }

  @Test("takes no commits and opens nothing while another folder is in its place, and goes on when it is back")
  func moved() async throws {
    try await withTemporaryFolder { folder in
      let log = LogRecorder()
      let backend = try EmbeddedBackend(location: .folder(folder), clock: .system, logger: log.logger)
      func lines() -> [String] { log.lines.filter { $0.contains("the data folder") } }
      try await Self.set("a", in: backend)
      #expect(backend.availability?.isAvailable == true)
      try FileManager.default.moveItem(atPath: folder, toPath: folder + ".moved")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)

      for _ in 0..<3 {
        let refusal = await Self.refusal { try await Self.set("b", in: backend) }
        #expect(refusal?.code == .unavailable && refusal?.message.contains("Put the folder back") == true)
      }
      #expect(await Self.refusal { try await Self.set("a", in: backend, project: "other") }?.code == .unavailable)
      #expect(await Self.refusal { _ = try await backend.names() }?.code == .unavailable)
      #expect(try await Self.count(in: backend) == 1)
      #expect(backend.availability?.isAvailable == false)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
      #expect(lines().count == 1 && lines()[0].hasPrefix("error ") && lines()[0].contains(folder), "\(lines())")

      try FileManager.default.removeItem(atPath: folder)
      try FileManager.default.moveItem(atPath: folder + ".moved", toPath: folder)
      try await Self.set("b", in: backend)
      #expect(try await Self.count(in: backend) == 2)
      #expect(backend.availability?.isAvailable == true && lines().count == 2, "\(lines())")
      await backend.close()
    }
  }

  @Test("a lock file that was replaced is noticed without a commit, and health says so", .timeLimit(.minutes(1)))
  func replacedLock() async throws {
    try await withTemporaryFolder { folder in
      let log = LogRecorder()
      let server = try await EmbeddedServer.start(storage: .folder(folder), logger: log.logger) {
        $0.intervals.databases = .milliseconds(10)
      }
      func status() async throws -> Int {
        try await RawHTTP1Client.withConnection(to: server) { try await $0.request("GET", "/").status }
      }
      #expect(try await status() == 200)
      let lock = "\(folder)/hearth.lock"
      // Another file of the same name: the former one keeps its number as long as it is open.
      try FileManager.default.removeItem(atPath: lock)
      try Data().write(to: URL(fileURLWithPath: lock))
      try await waitUntil { try await status() == 503 }
      #expect(log.lines.contains { $0.hasPrefix("error the data folder or its hearth.lock was moved") }, "\(log.lines)")
      await server.shutdown()
    }
  }

  @Test("a database that cannot be opened because the disk is full fails with RESOURCE_EXHAUSTED, and counts")
  func fullDisk() async throws {
    try await withTemporaryFolder { folder in
      let (log, factory) = (LogRecorder(), TestMetrics())
      let isFull = Mutex(false)
      let metrics = try #require(ServerMetrics(factory, allowed: ServerLimits().numbers(with: DatabaseLimits())))
      func backend() throws -> EmbeddedBackend {
        try EmbeddedBackend(location: .folder(folder), clock: .system, metrics: metrics, logger: log.logger) {
          _, open in
          if isFull.withLock({ $0 }) { throw StoreError(kind: .full, message: "disk I/O error", sqliteCode: 4874) }
          return try open()
        }
      }
      let first = try backend()
      try await Self.set("a", in: first)
      await first.close()
      isFull.withLock { $0 = true }
      let second = try backend()
      for _ in 0..<3 {
        let refusal = await Self.refusal { _ = try await Self.count(in: second) }
        #expect(refusal?.code == .resourceExhausted && refusal?.message == "The server's disk is full.")
      }
      #expect(factory.counterTotal(label: "hearth.server.disk.full") == 3)
      #expect(log.lines.count { $0.contains("database cannot be opened") } == 1, "\(log.lines)")
      isFull.withLock { $0 = false }
      #expect(try await Self.count(in: second) == 1)
      await second.close()
    }
  }
}
