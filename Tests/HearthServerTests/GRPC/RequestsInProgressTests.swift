import Foundation
import GRPCCore
import HearthModel
import HearthTransport
import HearthWire
import MetricsTestKit
import NIOCore
import RawHTTP2
import SwiftProtobuf
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("Requests in progress", .timeLimit(.minutes(5)))
struct RequestsInProgressTests {
  private static let textBytes = 100_000

  private let metrics = TestMetrics()

  /// Returns when a write waits for the transaction.
  private func untilWriteWaits(_ fixture: ServerFixture) async throws {
    try await waitUntil {
      fixture.server.reportUse()
      return (try? self.metrics.expectGauge("hearth.server.locks.waiting").lastValue) ?? 0 > 0
    }
  }

  /// Runs `body` while a transaction has locked the document `hot/d`.
  private func withLock(
    limit: Int, _ body: (ServerFixture, _ transaction: Data) async throws -> Void
  ) async throws {
    var limits = ServerLimits()
    (limits.requestBytesInProgress, limits.requestBytes) = (limit, 600_000)
    var databaseLimits = DatabaseLimits()
    databaseLimits.lockWait = .seconds(200)
    try await ServerFixture.withServer(limits: limits, databaseLimits: databaseLimits, metrics: metrics) { fixture in
      try await fixture.set("hot/d")
      var begin = Google_Firestore_V1_BeginTransactionRequest()
      begin.database = ServerFixture.database.resourceName
      begin.options.readWrite = .init()
      let begun: Google_Firestore_V1_BeginTransactionResponse = try await fixture.unary(
        Method.BeginTransaction.descriptor, begin)
      var read = Google_Firestore_V1_GetDocumentRequest()
      read.name = name("hot/d")
      read.transaction = begun.transaction
      let _: Google_Firestore_V1_Document = try await fixture.unary(Method.GetDocument.descriptor, read)
      #expect(fixture.server.load.requests.bytes == 0)
      try await body(fixture, begun.transaction)
      try await waitUntil { fixture.server.load.requests.bytes == 0 }
    }
  }

  private func rollback(_ transaction: Data, _ fixture: ServerFixture) async throws {
    var request = Google_Firestore_V1_RollbackRequest()
    request.database = ServerFixture.database.resourceName
    request.transaction = transaction
    let _: Google_Protobuf_Empty = try await fixture.unary(Method.Rollback.descriptor, request)
  }

  private static func write(_ path: String, bytes: Int = textBytes) -> Mutation {
    .set(key(path), ["text": .string(String(repeating: "x", count: bytes))])
  }

  /// The codes with which as many commits of the locked document end; nil for success.
  private func commits(_ count: Int, _ fixture: ServerFixture) -> [Task<RPCError.Code?, Never>] {
    (0..<count).map { _ in
      Task { await failure { try await fixture.commit([Self.write("hot/d")]) }?.code }
    }
  }

  @Test("writes that wait for a transaction leave room to other connections, and to the transaction itself")
  func shares() async throws {
    let limit = 1 << 20
    try await withLock(limit: limit) { fixture, transaction in
      let load = fixture.server.load
      let first = commits(20, fixture)
      try await waitUntil { load.endedCalls >= 3 + 15 }
      #expect((5 * Self.textBytes...limit / 2).contains(load.requests.bytes), "\(load.requests.bytes)")
      let second = try await ServerFixture.withClient(of: fixture.server) { other in
        let before = load.endedCalls
        let second = commits(8, other)
        try await waitUntil { load.endedCalls == before + 6 }
        #expect((7 * Self.textBytes...limit * 3 / 4).contains(load.requests.bytes), "\(load.requests.bytes)")
        try await ServerFixture.withClient(of: fixture.server) { third in
          try await third.commit([Self.write("other/d")])
          #expect(
            await failure { try await third.commit([Self.write("other/d", bytes: 500_000)]) }?.code
              == .resourceExhausted)
        }
        // Small requests are taken in any case, and the transaction may exceed the limit.
        try await fixture.set("other/small")
        try await fixture.commit([Self.write("other/large", bytes: 500_000)], transaction: transaction)
        var codes: [RPCError.Code?] = []
        for task in second { codes.append(await task.value) }
        return codes
      }
      var codes = second
      for task in first { codes.append(await task.value) }
      #expect(codes.count { $0 == nil } == 5 + 2)
      #expect(codes.count { $0 == .resourceExhausted } == 15 + 6)
    }
  }

  enum Kind: CaseIterable {
    case commit, batchWrite, stream, rest
  }

  /// Writes the locked document with a request of one kind.
  ///
  /// - Returns: True for success, false for RESOURCE_EXHAUSTED.
  private static func write(_ kind: Kind, _ fixture: ServerFixture) async throws -> Bool {
    let mutation = write("hot/d")
    do {
      switch kind {
      case .commit: try await fixture.commit([mutation])
      case .batchWrite:
        var request = Google_Firestore_V1_BatchWriteRequest()
        request.database = ServerFixture.database.resourceName
        request.writes = [ServerFixture.translator.encode(mutation)]
        let response: Google_Firestore_V1_BatchWriteResponse = try await fixture.unary(
          Method.BatchWrite.descriptor, request)
        #expect(response.status.map(\.code) == [0])
      case .stream:
        let requests: [Google_Firestore_V1_WriteRequest] = [
          .with { $0.database = ServerFixture.database.resourceName },
          .with { $0.writes = [ServerFixture.translator.encode(mutation)] },
        ]
        let responses: [Google_Firestore_V1_WriteResponse] = try await fixture.converse(
          Method.Write.descriptor, requests)
        #expect(responses.count == 2)
      case .rest:
        let text = String(repeating: "x", count: textBytes)
        let answer = try await RawHTTP1Client.withConnection(to: fixture.server) { client in
          try await client.request(
            "POST", RESTPath.documents + ":commit",
            #"{"writes":[{"update":{"name":"\#(name("hot/d"))","fields":{"text":{"stringValue":"\#(text)"}}}}]}"#)
        }
        guard answer.status != 429 else { return false }
        #expect(answer.status == 200, "\(answer.body.prefix(200))")
      }
      return true
    } catch let error as RPCError where error.code == .resourceExhausted {
      #expect(error.message.contains("--max-request-bytes-in-progress"))
      return false
    }
  }

  @Test(
    "a request counts until its answer, one beyond the limit is refused, whatever the way", arguments: Kind.allCases)
  func kinds(kind: Kind) async throws {
    let limit = Self.textBytes * 3 / 2
    try await withLock(limit: limit) { fixture, transaction in
      let load = fixture.server.load
      let waiting = Task { try await Self.write(kind, fixture) }
      try await waitUntil { load.requests.bytes >= Self.textBytes }
      try await untilWriteWaits(fixture)
      #expect(load.requests.bytes <= 2 * Self.textBytes + 5000)
      let used = try metrics.expectGauge("hearth.server.limit.used", [("limit", "request_bytes_in_progress")])
      #expect((used.lastValue ?? 0) >= Double(Self.textBytes))
      #expect(try await !Self.write(kind, fixture))
      let label = "hearth.server.limit.exceeded"
      #expect(metrics.counterTotal(label: label, dimensions: [("limit", "request_bytes_in_progress")]) == 1)
      try await rollback(transaction, fixture)
      #expect(try await waiting.value)
      try await waitUntil { load.requests.bytes == 0 }
      #expect(try await Self.write(kind, fixture))
    }
  }

  @Test("each of a request's entries counts, because of what is made of it")
  func entries() async throws {
    try await withLock(limit: 1 << 20) { fixture, transaction in
      var request = Google_Firestore_V1_BatchWriteRequest()
      request.database = ServerFixture.database.resourceName
      request.writes = ([key("hot/d")] + (0..<1000).map { key("none/\($0)") }).map {
        ServerFixture.translator.encode(.delete($0))
      }
      let sent = request
      let waiting = Task {
        let _: Google_Firestore_V1_BatchWriteResponse = try await fixture.unary(Method.BatchWrite.descriptor, sent)
      }
      try await waitUntil { fixture.server.load.requests.bytes > 1000 * 512 }
      #expect(fixture.server.load.requests.bytes < 1000 * 512 + 100_000)
      try await rollback(transaction, fixture)
      try await waiting.value
    }
  }

  @Test("requests that cannot be read, or whose client has gone, are given back")
  func ends() async throws {
    try await withLock(limit: 1 << 20) { fixture, transaction in
      let load = fixture.server.load
      try await RawHTTP2Client.withConnection(to: fixture.server) { client in
        var garbage = ByteBuffer(bytes: [0, 0, 0, 0x27, 0x10])
        garbage.writeRepeatingByte(0xff, count: 10_000)
        for (index, method) in ["Commit", "BatchWrite", "RunQuery", "Listen", "Write"].enumerated() {
          let stream = UInt32(2 * index + 1)
          let data = RawHTTP2Client.Frame(kind: 0, flags: 1, streamID: stream, payload: garbage)
          try await client.send([RawHTTP2Client.Frame.headers(stream, method: method), data])
          try await client.wait(for: "the refusal of \(method)") { $0.statuses[stream] == "3" }
        }
        try await waitUntil { load.requests.bytes == 0 }
        var request = Google_Firestore_V1_CommitRequest()
        request.database = ServerFixture.database.resourceName
        request.writes = [ServerFixture.translator.encode(Self.write("hot/d", bytes: 10_000))]
        try await client.send([RawHTTP2Client.Frame.headers(21, method: "Commit"), try .message(request, 21)])
        try await untilWriteWaits(fixture)
        #expect(load.requests.bytes > 10_000)
      }
      try await rollback(transaction, fixture)
      try await waitUntil { load.requests.bytes == 0 && load.callCount == 0 }
    }
  }

  @Test("an origin of calls may hold what it leaves free; the only request is taken whatever its size")
  func budget() {
    var limits = ServerLimits()
    (limits.requestBytesInProgress, limits.requestBytes) = (1_000_000, 300_000)
    let budget = RequestBudget(limits: limits)
    let origins = (0..<3).map { _ in CallOrigin() }
    func take(_ count: Int, _ origin: CallOrigin, ends: Bool = false) -> Bool {
      var held = RequestBudget.Held()
      return budget.take(count, for: origin, &held) { ends }
    }
    #expect(take(2_000_000, origins[0]))
    budget.giveBack(RequestBudget.Held(bytes: 2_000_000), of: origins[0])
    #expect((0..<10).count { _ in take(100_000, origins[0]) } == 5)
    #expect((0..<10).count { _ in take(50_000, origins[1]) } == 5)
    #expect(take(200_000, origins[2]))
    #expect(!take(100_000, origins[0]))
    #expect((0..<10).count { _ in take(100_000, origins[0], ends: true) } == 1)
    #expect((0..<10).count { _ in take(100_000, origins[1], ends: true) } == 1)
    #expect(take(RequestBudget.smallBytes, origins[0]))
    #expect(budget.bytes == 1_150_000 + RequestBudget.smallBytes)
  }

  @Test("requests that name transactions take nothing from those of others, and leave room to further ones")
  func reserve() {
    var limits = ServerLimits()
    (limits.requestBytesInProgress, limits.requestBytes) = (1_000_000, 400_000)
    let budget = RequestBudget(limits: limits)
    let (flood, honest) = (CallOrigin(), CallOrigin())
    var held: [RequestBudget.Held] = []
    for _ in 0..<20 {
      var taken = RequestBudget.Held()
      if budget.take(100_000, for: flood, &taken, endsTransaction: { true }) { held.append(taken) }
    }
    #expect(held.count == 5 + 2 && held.count { $0.reserved > 0 } == 2)
    var (first, commit) = (RequestBudget.Held(), RequestBudget.Held())
    func take(_ count: Int, _ held: inout RequestBudget.Held, ends: Bool = false) -> Bool {
      budget.take(count, for: honest, &held) { ends }
    }
    let isFirstTaken = take(250_000, &first)
    #expect(isFirstTaken && first == RequestBudget.Held(bytes: 250_000))
    // Its transaction, whose request grows when it is decoded.
    for bytes in [150_000, 200_000, 120_000] {
      let isTaken = take(bytes, &commit, ends: true)
      #expect(isTaken && commit == RequestBudget.Held(bytes: bytes, reserved: bytes))
    }
    budget.giveBack(commit, of: honest)
    // A body that turns out to be of no transaction.
    var body = RequestBudget.Held()
    let isBodyTaken = take(60_000, &body, ends: true)
    #expect(isBodyTaken && body.reserved == 60_000)
    let isTakenAfterwards = take(61_000, &body)
    #expect(!isTakenAfterwards && body == RequestBudget.Held())
    for taken in held { budget.giveBack(taken, of: flood) }
    #expect(budget.bytes == 250_000)
    budget.giveBack(first, of: honest)
    #expect(budget.bytes == 0)
  }
}
