import HearthModel
import HearthWire
import NIOCore
import NIOHPACK
import RawHTTP2
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("Clients that mean harm")
struct HostileClientTests {
  typealias Frame = RawHTTP2Client.Frame

  @Test("an answer that is complete, and that the client never lets go, is dropped after the stated time")
  func finishedAnswerIsDropped() async throws {
    var limits = ServerLimits()
    limits.unreadTime = .milliseconds(200)
    try await ServerFixture.withServer(limits: limits) { fixture in
      try await fixture.set("rooms/eros")
      try await RawHTTP2Client.withConnection(to: fixture.server, streamWindow: 0) { client in
        try await client.send(try Frame.getCall(1))
        try await client.wait(for: "the end", seconds: 10) { $0.statuses[1] == "8" }
        let load = fixture.server.load
        try await waitUntil { load.queuedBytes == 0 && load.callCount == 0 }
      }
    }
  }

  @Test("the requests of a stream do not count any more when they are handled, though the stream goes on")
  func handledRequestsDoNotCount() async throws {
    try await ServerFixture.withServer { fixture in
      try await RawHTTP2Client.withConnection(to: fixture.server) { client in
        var request = Google_Firestore_V1_ListenRequest()
        request.database = ServerFixture.database.resourceName
        request.labels["filler"] = String(repeating: "x", count: 100)
        request.removeTarget = 1
        let message = try Frame.message(request, 1, endsStream: false).payload
        var several = ByteBuffer()
        for _ in 0..<80 { several.writeImmutableBuffer(message) }
        let frame = Frame(kind: 0, streamID: 1, payload: several)
        try await client.send([Frame.headers(1, method: "Listen"), frame, frame, frame, Frame.ping])
        try await client.wait(for: "an answer") { $0.pingAnswers == 1 }
        try await waitUntil { fixture.server.load.received.bytes == 0 }
        #expect(client.received.statuses[1] == nil, "the stream goes on")
      }
    }
  }

  @Test("a status stays short enough for clients' limits, however long its text is")
  func longStatus() {
    var headers = HPACKHeaders()
    CallStatus(.unimplemented, String(repeating: "\u{e9}", count: 8000)).write(to: &headers)
    #expect((headers.first(name: "grpc-message") ?? "").utf8.count < 8000)
  }
}
