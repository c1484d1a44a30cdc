import HearthModel
import HearthWire
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import RawHTTP2
import Synchronization
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("What is held for clients that do not read", .timeLimit(.minutes(5)))
struct UnreadBudgetTests {
  typealias Frame = RawHTTP2Client.Frame

  // MARK: - The budget alone

  private static func limits(perStream: Int = 1_000_000, queued: Int = 10_000_000, unread: Int) -> ServerLimits {
    var limits = ServerLimits()
    (limits.queuedBytesPerStream, limits.queuedBytes, limits.unreadBytes) = (perStream, queued, unread)
    return limits
  }

  private static func call(_ load: ServerLoad, _ share: ConnectionShare) -> ServerCall {
    let call = ServerCall(
      number: 1, method: .answered, metadata: CallMetadata(), transcoder: nil, load: load,
      outlet: CallOutbox(eventLoop: EmbeddedEventLoop()), share: share)
    share.add(call)
    return call
  }

  private static func send(_ count: Int, _ call: ServerCall) async throws {
    try await call.send(isHeldBack: false) { $0.writeRepeatingByte(0, count: count) }
  }

  @Test("beyond the limit each connection has the same part of it, and each call of a connection the same part of that")
  func shares() async throws {
    let load = ServerLoad(limits: Self.limits(perStream: 100_000, queued: 1_000_000, unread: 100_000_000))
    let (slow, honest) = (ConnectionShare(), ConnectionShare())
    let calls = (0..<20).map { _ in Self.call(load, slow) }
    #expect(load.unread.queuedBytesAllowed(for: slow.origin) == 100_000)
    let sends = calls.map { call in Task { try? await Self.send(60_000, call) } }
    try await waitUntil { load.unread.bytes == 20 * 60_000 }
    #expect(load.unread.queuedBytesAllowed(for: slow.origin) == 50_000)
    #expect(load.unread.queuedBytesAllowed(for: honest.origin) == 100_000)
    let call = Self.call(load, honest)
    try await Self.send(10_000, call)
    #expect(load.unread.queuedBytesAllowed(for: slow.origin) == 25_000)
    #expect(load.unread.queuedBytesAllowed(for: honest.origin) == 100_000)
    call.accepted(10_000)
    #expect(load.unread.queuedBytesAllowed(for: slow.origin) == 50_000)
    for call in calls { call.abandon() }
    for send in sends { await send.value }
    #expect(load.unread.bytes == 0)
    #expect(load.unread.queuedBytesAllowed(for: slow.origin) == 100_000)
  }

  @Test("calls whose bytes have waited longest end first; reading a little does not help, reading all that waited does")
  func order() async throws {
    let load = ServerLoad(limits: Self.limits(unread: 100_000))
    let share = ConnectionShare()
    load.unread.add(share)
    let calls = (0..<4).map { _ in Self.call(load, share) }
    for call in calls { try await Self.send(30_000, call) }
    try await Self.send(10_000, calls[0])
    #expect(load.unread.bytes == 130_000)
    #expect(calls.allSatisfy { $0.cause == nil }, "none has waited for long")
    let later = NIODeadline.now() + .seconds(6)
    calls[0].accepted(30_000, at: later)
    calls[1].accepted(1000, at: later)
    load.unread.relieve(at: later)
    #expect(calls.map { $0.cause?.code } == [nil, .resourceExhausted, nil, nil])
    #expect(load.unread.bytes == 10_000 + 60_000)
    for call in calls { call.abandon() }
    #expect(load.unread.bytes == 0)
  }

  @Test("twice the limit is exceeded by nobody, however short the wait")
  func twice() async throws {
    let load = ServerLoad(limits: Self.limits(unread: 100_000))
    let shares = (0..<10).map { _ in ConnectionShare() }
    var calls: [ServerCall] = []
    for share in shares {
      load.unread.add(share)
      let call = Self.call(load, share)
      calls.append(call)
      // Some calls have ended already, and only their bytes wait.
      try await Self.send(30_000, call)
      if calls.count.isMultiple(of: 2) { call.finish(.ok) }
      #expect(load.unread.bytes <= 200_000)
    }
    #expect(calls.map { $0.unreadSince == nil } == [true, true, true, true] + Array(repeating: false, count: 6))
    #expect(calls[1].takeOutput().end?.code == .resourceExhausted)
    #expect(calls[9].takeOutput().end?.code == .ok)
  }

  @Test("results that were read for a call count until it ends, whatever the end")
  func results() async throws {
    let load = ServerLoad(limits: ServerLimits())
    let share = ConnectionShare()
    for end in 0..<4 {
      let call = Self.call(load, share)
      call.hold(results: 5000)
      call.hold(results: 3000)
      try await Self.send(100, call)
      #expect(load.unread.bytes == 3100)
      switch end {
      case 0:
        call.finish(.ok)
        #expect(load.unread.bytes == 100)
        call.accepted(100)
      case 1: call.evict(.tooManyUnread(0))
      case 2:
        call.stop(.cancelled)
        call.finish(.cancelled)
        call.accepted(100)
      default: break
      }
      if end < 3 { #expect(load.unread.bytes == 0) }
      call.abandon()
      call.hold(results: 5000)
      #expect(load.unread.bytes == 0)
    }
  }

  // MARK: - A server

  private static let documentBytes = 100_000

  private func withDocuments(
    _ limits: ServerLimits, _ body: (ServerFixture, Google_Firestore_V1_RunQueryRequest) async throws -> Void
  ) async throws {
    try await ServerFixture.withServer(limits: limits) { fixture in
      let text = String(repeating: "x", count: Self.documentBytes)
      for index in 0..<40 { try await fixture.set("texts/\(index)", ["text": .string(text)]) }
      try await body(fixture, fixture.queryRequest(Query(path: path("texts"))))
      try await waitUntil { fixture.server.load.unread.bytes == 0 }
    }
  }

  @Test("slow streams of one connection leave another connection's stream what it may have waiting")
  func honestStream() async throws {
    try await withDocuments(Self.limits(perStream: 250_000, queued: 1 << 20, unread: 1 << 30)) { fixture, request in
      let load = fixture.server.load
      try await RawHTTP2Client.withConnection(to: fixture.server, streamWindow: 0) { slow in
        for stream in stride(from: UInt32(1), to: 21, by: 2) {
          try await slow.send([Frame.headers(stream, method: "RunQuery"), try .message(request, stream)])
        }
        try await waitUntil {
          load.unread.calls.count { call in call.state.withLock { $0.writer != nil } } == 10
        }
        let known = Set(load.unread.calls.map { ObjectIdentifier($0) })
        try await RawHTTP2Client.withConnection(to: fixture.server, streamWindow: 0) { honest in
          try await honest.send([Frame.headers(1, method: "RunQuery"), try .message(request, 1)])
          try await waitUntil {
            load.unread.calls.contains {
              !known.contains(ObjectIdentifier($0)) && $0.queuedBytes > 2 * Self.documentBytes
            }
          }
          try await honest.send([Frame.windowUpdate(1, 100_000_000)])
          try await honest.wait(for: "the end") { $0.statuses[1] == "0" }
        }
      }
    }
  }

  @Test("streams whose clients do not read hold so much together, with what was read for them; then others go on")
  func bound() async throws {
    let limit = 4 << 20
    try await withDocuments(Self.limits(unread: limit)) { fixture, request in
      let load = fixture.server.load
      let page = 33 * Self.documentBytes
      try await RawHTTP2Client.withConnection(to: fixture.server, streamWindow: 0) { slow in
        for stream in stride(from: UInt32(1), to: 41, by: 2) {
          try await slow.send([Frame.headers(stream, method: "RunQuery"), try .message(request, stream)])
          #expect(load.unread.bytes <= 2 * limit + 4 * page)
        }
        try await slow.wait(for: "ends") { !$0.statuses.isEmpty }
        #expect(slow.received.statuses.values.allSatisfy { $0 == "8" })
        let text = slow.received.headers.values.compactMap { $0.first(name: "grpc-message") }.first ?? ""
        #expect(text.contains("--max-unread-bytes"), "\(text)")
        try await waitUntil { load.unread.bytes <= 2 * limit }
        #expect(try await fixture.ids(Query(path: path("texts"))).count == 40)
      }
    }
  }
}
