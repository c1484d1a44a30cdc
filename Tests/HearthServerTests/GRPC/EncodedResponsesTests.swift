import HearthWire
import NIOCore
import RawHTTP2
import SwiftProtobuf
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("Responses that are encoded once for several streams")
struct EncodedResponsesTests {
  typealias Frame = RawHTTP2Client.Frame
  private typealias Response = Google_Firestore_V1_WriteResponse

  @Test("reach every stream whole, among responses of its own")
  func shared() async throws {
    let own = Response.with { $0.streamID = "own" }
    var shared = ByteBuffer()
    for number in 0..<10 {
      try ResponseWriter.encode(Response.with { $0.streamID = "shared \(number)" }, to: &shared)
    }
    let bytes = shared
    let method = CallMethod.bidirectional("Write") {
      (requests: RequestStream<Google_Firestore_V1_WriteRequest>, _, writer: ResponseWriter<Response>) in
      while try await requests.next() != nil {
        try await writer.write(encoded: bytes)
        try await writer.write(own)
      }
    }
    let server = CallServer(
      services: [FirestoreService.name: [method]], limits: ServerLimits(), authenticator: DevelopmentAuthenticator(),
      interceptor: nil, logger: ServerFixture.quietLogger)
    let connections = OpenConnections()
    let listening = try await CallListener(server: server, connections: connections, refusals: 1, prepare: nil)
      .listen(host: "127.0.0.1", port: 0)
    let port = try #require(listening.localAddress?.port)
    try await RawHTTP2Client.withConnection(toPort: port) { client in
      let streams: [UInt32] = [1, 3, 5]
      for stream in streams {
        let message = try Frame.message(Google_Firestore_V1_WriteRequest(), stream, endsStream: false)
        let last = try Frame.message(Google_Firestore_V1_WriteRequest(), stream)
        try await client.send([Frame.headers(stream, method: "Write"), message, last])
      }
      try await client.wait(for: "the ends") { $0.statuses.count == streams.count }
      let expected = 2 * (bytes.readableBytes + 5 + (try own.serializedBytes() as [UInt8]).count)
      for stream in streams { #expect(client.received.messageBytes[stream] == expected) }
    }
    try await listening.close().get()
    await connections.closeAll()
    await server.load.untilIdle()
  }
}
