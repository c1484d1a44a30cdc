import GRPCCore
import HearthModel
import HearthWire
import Metrics
import MetricsTestKit
import NIOCore
import RawHTTP2
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

/// The metrics that a server reports to a metrics backend. The backend is passed to the server, because bootstrapping one would affect all
/// tests.
@Suite("Metrics of the server", .timeLimit(.minutes(2)))
struct ServerMetricsTests {
  typealias Frame = RawHTTP2Client.Frame

  private let metrics = TestMetrics()

  private func exceeded(_ limit: ServerLimit) -> Int64 {
    metrics.counterTotal(label: "hearth.server.limit.exceeded", dimensions: [("limit", limit.rawValue)])
  }

  private func used(_ limit: ServerLimit) throws -> Double? {
    try metrics.expectGauge("hearth.server.limit.used", [("limit", limit.rawValue)]).lastValue
  }

  private func gauge(_ label: String, _ dimensions: [(String, String)] = []) throws -> Double? {
    try metrics.expectGauge(label, dimensions).lastValue
  }

  /// Runs `body` with a server that reports to this test.
  private func withServer(
    _ change: (inout ServerLimits) -> Void = { _ in }, _ body: (ServerFixture) async throws -> Void
  ) async throws {
    var limits = ServerLimits()
    change(&limits)
    try await ServerFixture.withServer(
      connectionLimits: limits.connection, limits: limits, metrics: metrics, body)
  }

  // MARK: - Calls

  @Test("calls are counted by method and status, with their durations; commits with their documents")
  func calls() async throws {
    try await withServer { fixture in
      try await fixture.commit([.set(key("c/a"), [:]), .set(key("c/b"), [:])])
      _ = try await fixture.get("c/a")
      #expect(await failure { try await fixture.get("c/none") }?.code == .notFound)
      _ = try await fixture.run(Query(path: path("c")))
    }
    func calls(_ method: String, _ code: String) -> Int64 {
      metrics.counterTotal(label: "hearth.server.calls", dimensions: [("method", method), ("code", code)])
    }
    #expect(calls("Commit", "OK") == 1)
    #expect(calls("GetDocument", "OK") == 1)
    #expect(calls("GetDocument", "NOT_FOUND") == 1)
    #expect(calls("RunQuery", "OK") == 1)
    #expect(try metrics.expectTimer("hearth.server.call.duration", [("method", "GetDocument")]).values.count == 2)
    #expect(metrics.counterTotal(label: "hearth.server.commits") == 1)
    #expect(metrics.counterTotal(label: "hearth.server.documents.written") == 2)
    #expect(try metrics.expectRecorder("hearth.server.request.bytes").values.count == 4)
    #expect(try metrics.expectRecorder("hearth.server.query.components").values == [1])
    #expect(try metrics.expectRecorder("hearth.server.query.disjunctions").values == [1])
    #expect(ServerLimit.allCases.allSatisfy { exceeded($0) == 0 })
  }

  @Test("what is in use is reported on demand: streams, targets, connections, calls, databases")
  func use() async throws {
    try await withServer { fixture in
      try await fixture.set("c/a")
      try await RawHTTP2Client.withConnection(to: fixture.server) { client in
        var requests: [Frame] = [Frame.headers(1, method: "Listen"), Frame.headers(3, method: "Listen")]
        for (stream, id) in [(UInt32(1), TargetID(1)), (1, 2), (3, 1)] {
          requests.append(try .message(Self.listen(to: "c", as: id), stream, endsStream: false))
        }
        try await client.send(requests)
        try await waitUntil {
          fixture.server.reportUse()
          return (try? self.gauge("hearth.server.targets")) == 3
        }
        #expect(try gauge("hearth.server.streams", [("method", "Listen")]) == 2)
        #expect(try gauge("hearth.server.streams", [("method", "Write")]) == 0)
        #expect(try used(.targetsPerStream) == 2)
        #expect(try used(.streamsPerConnection) == 2)
        #expect(try used(.calls) == 2)
        #expect(try used(.connections) == 2)
        #expect(try used(.databases) == 1)
        #expect((try used(.historyBytes) ?? 0) > 0)
      }
      try await waitUntil {
        fixture.server.reportUse()
        return (try? self.gauge("hearth.server.targets")) == 0 && (try? self.used(.connections)) == 1
          && (try? self.used(.streamsPerConnection)) == 0
      }
    }
  }

  private static func listen(to collection: String, as id: TargetID) -> Google_Firestore_V1_ListenRequest {
    let (parent, query) = ServerFixture.translator.structuredQuery(Query(path: path(collection)).target)
    var request = Google_Firestore_V1_ListenRequest()
    request.database = ServerFixture.database.resourceName
    request.addTarget.query.parent = parent
    request.addTarget.query.structuredQuery = query
    request.addTarget.targetID = id
    return request
  }

  // MARK: - Limits of connections and calls

  @Test("connections, streams, calls and requests beyond their limits are counted")
  func refusals() async throws {
    try await withServer {
      // One client may have three of five calls.
      ($0.connections, $0.calls, $0.requestBytes) = (2, 5, 1000)
    } _: { fixture in
      try await fixture.set("c/a")
      try await RawHTTP2Client.withConnection(to: fixture.server) { client in
        try await client.send([1, 3, 5].map { Frame.headers($0, method: "Listen") })
        try await client.send(try Frame.getCall(7))
        try await client.wait(for: "a refusal") { $0.statuses[7] == "8" }
        #expect(exceeded(.calls) == 1)
        fixture.server.reportUse()
        #expect(try used(.calls) == 3)
        try await client.send([Frame.reset(5, code: 8)])
        let long = Frame(kind: 0, streamID: 9, payload: ByteBuffer(bytes: [0, 0, 0, 8, 0]))
        try await waitUntil { fixture.server.load.callCount == 2 }
        try await client.send([Frame.headers(9), long])
        try await client.wait(for: "a refusal") { $0.statuses[9] == "3" }
        #expect(exceeded(.requestBytes) == 1)
      }
      try await waitUntil { fixture.server.connectionCount == 1 }
      try await RawHTTP2Client.withConnection(to: fixture.server) { _ in
        // Connections are counted on their event loops: not always in the order in which the system accepts them.
        try await waitUntil { fixture.server.connectionCount == 2 }
        try await RawHTTP2Client.withConnection(to: fixture.server) { client in
          try await client.wait(for: "the end") { $0.goAway != nil }
        }
      }
      #expect(exceeded(.connections) == 1)
    }
    try await withServer {
      $0.connection.maximumConcurrentStreams = 2
    } _: { fixture in
      try await RawHTTP2Client.withConnection(to: fixture.server) { client in
        try await client.send([1, 3, 5].map { Frame.headers($0, method: "Listen") })
        try await waitUntil { self.exceeded(.streamsPerConnection) == 1 }
        fixture.server.reportUse()
        #expect(try used(.streamsPerConnection) == 2)
      }
    }
  }

  @Test("a reader that is too slow is counted when it holds the server up, and when it is dropped")
  func slowReader() async throws {
    try await withServer {
      ($0.queuedBytesPerStream, $0.queuedBytes, $0.unreadTime) = (10_000, 1 << 20, .milliseconds(200))
    } _: { fixture in
      let text = String(repeating: "x", count: 50_000)
      for index in 0..<4 { try await fixture.set("c/\(index)", ["text": .string(text)]) }
      try await RawHTTP2Client.withConnection(to: fixture.server, streamWindow: 100) { client in
        let request = fixture.queryRequest(Query(path: path("c")))
        try await client.send([Frame.headers(1, method: "RunQuery"), try .message(request, 1)])
        try await waitUntil { fixture.server.load.queuedBytes > 0 }
        fixture.server.reportUse()
        try await client.wait(for: "the end") { $0.statuses[1] == "8" }
      }
      #expect(exceeded(.queuedBytesPerStream) >= 1)
      #expect(exceeded(.queuedBytes) == 0)
      #expect(exceeded(.unread) == 1)
      #expect((try used(.queuedBytes) ?? 0) > 0)
    }
  }

  @Test("bytes of all streams together that wait beyond their limit are counted apart")
  func queuedBytes() async throws {
    try await withServer {
      ($0.queuedBytesPerStream, $0.queuedBytes) = (1 << 20, 10_000)
    } _: { fixture in
      for index in 0..<4 {
        try await fixture.set("c/\(index)", ["text": .string(String(repeating: "x", count: 50_000))])
      }
      try await RawHTTP2Client.withConnection(to: fixture.server, streamWindow: 0) { client in
        let request = fixture.queryRequest(Query(path: path("c")))
        try await client.send([Frame.headers(1, method: "RunQuery"), try .message(request, 1)])
        try await waitUntil { self.exceeded(.queuedBytes) > 0 }
      }
    }
  }

  @Test("unfinished requests beyond the bytes for all are counted")
  func receivedBytes() async throws {
    try await withServer {
      $0.receivedBytes = 100_000
    } _: { fixture in
      try await RawHTTP2Client.withConnection(to: fixture.server) { client in
        let head = ByteBuffer(bytes: [0, 0, 16, 0, 0])
        let more = Frame(kind: 0, streamID: 1, payload: ByteBuffer(repeating: 0, count: 10_000))
        try await client.send([Frame.headers(1), Frame(kind: 0, streamID: 1, payload: head)])
        try await client.send(Array(repeating: more, count: 12))
        try await client.wait(for: "the refusal") { $0.statuses[1] == "8" }
      }
      #expect(exceeded(.receivedBytes) == 1)
    }
  }

  @Test("each reason for which a connection is ended has its own counter")
  func floods() async throws {
    try await withServer {
      ($0.connection.idlePings, $0.connection.resets) = (.init(burst: 2, perSecond: 1), .init(burst: 2, perSecond: 1))
      ($0.connection.emptyFrames, $0.connection.strayFrames) = (
        .init(burst: 2, perSecond: 1), .init(burst: 2, perSecond: 1)
      )
    } _: { fixture in
      func flood(_ limit: ServerLimit, _ frames: [Frame]) async throws {
        try await RawHTTP2Client.withConnection(to: fixture.server) { client in
          client.sendWithoutWaiting(frames)
          try await client.wait(for: "the end") { $0.goAway != nil }
        }
        #expect(exceeded(limit) == 1, "\(limit)")
      }
      try await flood(.pings, Array(repeating: Frame.ping, count: 10))
      try await flood(
        .resets, [Frame.headers(1)] + Array(repeating: Frame.reset(1, code: 8), count: 10))
      let empty = Frame(kind: 0, streamID: 1)
      try await flood(.emptyFrames, [Frame.headers(1)] + Array(repeating: empty, count: 10))
      let stray = Frame(kind: 0, streamID: 1, payload: ByteBuffer(repeating: 0, count: 10))
      try await flood(
        .strayFrames, [Frame.headers(1), Frame.reset(1, code: 8)] + Array(repeating: stray, count: 10))
    }
  }

  @Test("answers to pings that are not read are an excess of their own")
  func unsentAnswers() {
    var limits = ConnectionLimits()
    limits.unsentPingAnswers = 1
    var budget = ConnectionBudget(limits: limits, now: .uptimeNanoseconds(0))
    _ = budget.ping(at: .uptimeNanoseconds(0), canSend: false)
    #expect(budget.ping(at: .uptimeNanoseconds(0), canSend: false)?.limit == .unsentPingAnswers)
  }

  @Test("a silent peer is counted")
  func silence() async throws {
    try await withServer {
      ($0.connection.keepAliveTime, $0.connection.keepAliveTimeout) = (.milliseconds(20), .milliseconds(20))
    } _: { fixture in
      try await RawHTTP2Client.withConnection(to: fixture.server, reads: false) { _ in
        try await waitUntil { self.exceeded(.keepAlive) == 1 }
      }
    }
  }

  @Test("a connection of HTTP/1 without a request, and a body that does not come, are counted")
  func idleWeb() async throws {
    try await withServer {
      ($0.webIdleTime, $0.webBodyTime) = (.seconds(3_600), .milliseconds(200))
    } _: { fixture in
      try await RawHTTP1Client.withConnection(to: fixture.server) { client in
        let text = RawHTTP1Client.text("POST", RESTPath.documents + ":commit", headers: ["Content-Length": "100"])
        try await client.send(text + "{")
        try await waitUntil { self.exceeded(.webBody) == 1 }
      }
    }
    try await withServer {
      $0.webIdleTime = .milliseconds(200)
    } _: { fixture in
      try await RawHTTP1Client.withConnection(to: fixture.server) { client in
        try await client.sendUnlessClosed("GET / HTTP/1.1\r\n")
        // The connection of the fixture counts as well if it takes that long to say which protocol it speaks.
        try await waitUntil { self.exceeded(.webIdle) >= 1 }
      }
    }
  }

  @Test("a connection that brings nothing is counted when it is closed")
  func silentConnection() async throws {
    try await ServerFixture.withServerAlone {
      ($0.limits.webIdleTime, $0.metrics) = (.milliseconds(20), metrics)
    } _: { server in
      try await RawHTTP1Client.withConnection(to: server) { client in
        try await waitUntil { client.isClosed }
      }
      #expect(exceeded(.webIdle) == 1)
    }
  }

  // MARK: - Without a backend

  @Test("without a metrics backend there is nothing that could count")
  func noBackend() {
    #expect(ServerMetrics(NOOPMetricsHandler.instance, allowed: ServerLimits().numbers(with: DatabaseLimits())) == nil)
    #expect(ServerMetrics(metrics, allowed: ServerLimits().numbers(with: DatabaseLimits())) != nil)
  }
}
