import Foundation
import HearthModel
import InMemoryTracing
import Metrics
import MetricsTestKit
import Synchronization
import TestSupport
import Testing
import Tracing

@testable import Hearth

/// The metrics and spans that a client reports.
@Suite("Metrics and traces", .timeLimit(.minutes(2)))
struct InstrumentTests {
  private let metrics = TestMetrics()
  private let tracer = InMemoryTracer()
  private let database = [("database", "demo-hearth/(default)")]

  /// A client that reports to this test, as one does whose program has bootstrapped both.
  private func client(host: String = "127.0.0.1:1", conflictRules: [Hearth.ConflictRule] = []) throws -> Firestore {
    let db = try TestFirestore(host: host, conflictRules: conflictRules).firestore
    let settings = db.state.withLock { $0.settings }
    var configuration = try db.configuration(settings, environment: [:])
    configuration.instruments = ClientInstruments(
      InstrumentSources(metrics: metrics, tracer: tracer), databaseID: db.databaseID)
    let runtime = ClientRuntime(configuration)
    db.state.withLock { $0.phase = .running(runtime) }
    return db
  }

  private func total(_ label: String, _ dimensions: [(String, String)] = []) -> Int64 {
    metrics.counterTotal(label: label, dimensions: database + dimensions)
  }

  private func durations(_ label: String, _ dimensions: [(String, String)] = []) throws -> [Int64] {
    try metrics.expectTimer(label, database + dimensions).values
  }

  @Test("writes, reads, listeners, streams and the outbox are counted")
  func counted() async throws {
    try await EndToEndTests().withServer { host in
      let db = try client(host: host)
      let city = db.document("cities/SF")
      try await city.setData(["n": 1])
      db.document("cities/LA").setData(["n": 2], completion: nil)
      try await db.waitForPendingWrites()
      #expect(await thrown { try await db.document("cities/none").updateData(["n": 3]) } != nil)
      #expect(total("hearth.writes.queued") == 3)
      #expect(total("hearth.writes.acknowledged") == 2)
      #expect(total("hearth.writes.failed") == 1)
      #expect(try durations("hearth.write.duration").count == 2)

      _ = try await db.collection("cities").getDocuments(source: .server)
      _ = try await city.getDocument(source: .cache)
      _ = try await db.collection("cities").getDocuments(source: .cache)
      #expect(try durations("hearth.read.duration", [("source", "server")]).count == 1)
      #expect(try durations("hearth.read.duration", [("source", "cache")]).count == 2)
      #expect(total("hearth.documents.received") == 2)
      #expect(total("hearth.reads.failed") == 0)

      let cities = db.collection("cities").record()
      _ = try await cities.recorder.next()
      #expect(total("hearth.listeners.started") == 1)
      #expect(total("hearth.streams.opened", [("stream", "watch")]) >= 1)
      #expect(total("hearth.streams.opened", [("stream", "write")]) >= 1)
      cities.registration.remove()

      try await db.disableNetwork()
      city.setData(["n": 4], completion: nil)
      _ = try await db.status()
      #expect(try metrics.expectRecorder("hearth.outbox.length", database).lastValue == 1)
      #expect(await thrown { _ = try await db.loadBundle(Data("no bundle".utf8)) } != nil)
      // The caller hears of the failure within the step, whose time is known when it has ended.
      try await waitUntil { try !durations("hearth.work.step.duration", [("work", "bundle")]).isEmpty }
      try await db.terminate()
    }
  }

  @Test("conflicts are counted by what was kept")
  func conflicts() async throws {
    try await EndToEndTests().withServer { host in
      let db = try client(host: host, conflictRules: [.collection("cities", .mergeFields)])
      let other = try TestFirestore(host: host).firestore
      let city = db.document("cities/SF")
      try await city.setData(["n": 1])
      try await db.disableNetwork()
      city.updateData(["n": 2], completion: nil)
      try await other.document("cities/SF").updateData(["n": 3])
      try await db.enableNetwork()
      try await db.waitForPendingWrites()
      #expect(total("hearth.conflicts.resolved", [("kept", "merged")]) == 1)
      #expect(total("hearth.conflicts.resolved", [("kept", "remote")]) == 0)
      try await db.terminate()
      try await other.terminate()
    }
  }

  @Test("a connection that fails is counted")
  func failures() async throws {
    let db = try client()
    db.document("cities/SF").setData(["n": 1], completion: nil)
    _ = try await db.status { if case .offline(.unreachable, _) = $0.connection { true } else { false } }
    #expect(total("hearth.streams.failed", [("stream", "write")]) >= 1)
    #expect(total("hearth.streams.opened", [("stream", "write")]) == 0)
    try await db.terminate()
  }

  @Test("reads, awaited writes and transactions are spans below the caller's, without names of documents")
  func spans() async throws {
    try await EndToEndTests().withServer { host in
      let db = try client(host: host)
      let parent = tracer.startSpan("request")
      try await ServiceContext.withValue(parent.context) {
        try await db.document("cities/secret").setData(["n": 1])
        _ = try await db.document("cities/secret").getDocument(source: .server)
        _ = try await db.collection("cities").getDocuments(source: .cache)
        _ = try await db.runTransaction { _, _ in nil }
      }
      db.document("cities/LA").setData(["n": 2], completion: nil)
      try await db.waitForPendingWrites()
      let (spans, sync) = (
        tracer.finishedSpans.filter { $0.operationName != "firestore.sync" },
        tracer.finishedSpans.filter { $0.operationName == "firestore.sync" }
      )
      let kinds = Set(sync.compactMap { $0.attributes.get("hearth.sync").map { "\($0)" } })
      #expect(kinds.contains { $0.contains("snapshot") } && kinds.contains { $0.contains("answer") })
      #expect(sync.allSatisfy { $0.spanContext.parentSpanID == nil && $0.errors.isEmpty })
      #expect(
        spans.map(\.operationName) == ["firestore.write", "firestore.read", "firestore.read", "firestore.transaction"])
      #expect(
        spans.allSatisfy { $0.spanContext.parentSpanID == parent.spanID && $0.kind == .client && $0.errors.isEmpty })
      #expect(spans.allSatisfy { $0.attributes.get("db.namespace") == .string("demo-hearth/(default)") })
      #expect(spans[1].attributes.get("db.collection.name") == .string("cities"))
      #expect(spans.compactMap { $0.attributes.get("hearth.source") } == [.string("server"), .string("cache")])
      #expect(!spans.contains { "\($0.attributes)".contains("secret") })
      try await db.terminate()
    }
  }

  @Test("an error is recorded in its span, and so is the end of a read that nobody awaits any more")
  func errors() async throws {
    let db = try client()
    try await db.disableNetwork()
    #expect(await thrown { _ = try await db.document("cities/SF").getDocument(source: .server) } != nil)
    let failed = try #require(tracer.popFinishedSpans().first)
    #expect(failed.errors.count == 1 && failed.status?.code == .error)
    #expect(total("hearth.reads.failed") == 1)

    try await db.enableNetwork()
    let reading = Task { try await db.document("cities/SF").getDocument(source: .server) }
    reading.cancel()
    _ = await reading.result
    for span in tracer.popFinishedSpans() { #expect(span.errors.count == 1) }
    #expect(tracer.activeSpans.isEmpty)
    try await db.terminate()
  }

  @Test("without a backend and a tracer nothing is wrapped")
  func idle() throws {
    let sources = InstrumentSources(metrics: NOOPMetricsHandler.instance, tracer: NoOpTracer())
    let instruments = ClientInstruments(sources, databaseID: .init(projectID: "demo-hearth"))
    #expect(instruments.metrics == nil)
    #expect(instruments.write(nil, mutationCount: 1) == nil)
    #expect(instruments.transaction() == nil)
  }
}
