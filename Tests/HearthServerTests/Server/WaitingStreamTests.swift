import HearthModel
import HearthWire
import NIOCore
import RawHTTP2
import Synchronization
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("Streams that wait for the window of their connection", .timeLimit(.minutes(5)))
struct WaitingStreamTests {
  typealias Frame = RawHTTP2Client.Frame

  private static let streamCount = 20
  private static let commits = 60
  private static let textBytes = 2000
  private static let text = Value.string(String(repeating: "x", count: textBytes))

  private struct Counts: Equatable {
    var waiting = 0
    var open = 0
    var visited = 0
  }

  /// The channels that a server has accepted.
  private final class Channels: Sendable {
    private let channels = Mutex<[any Channel]>([])

    func append(_ channel: any Channel) { channels.withLock { $0.append(channel) } }

    /// The work that the connection accepted last has with its streams.
    func counts() async throws -> Counts {
      guard let channel = channels.withLock({ $0.last }) else { return Counts() }
      return try await channel.eventLoop.submit {
        let connection = try channel.pipeline.syncOperations.handler(type: CallConnection.self)
        return Counts(
          waiting: connection.waitingStreams.count, open: connection.streams.count,
          visited: connection.visitedStreams)
      }.get()
    }
  }

  @Test("each is listed once, however many messages it gets, and a byte of the window is for one of them")
  func listedOnce() async throws {
    let channels = Channels()
    let server = try await EmbeddedServer.start(storage: .memory, logger: ServerFixture.quietLogger) {
      $0.prepare = { channels.append($0) }
    }
    let result: Result<Void, any Error>
    do {
      try await ServerFixture.withClient(of: server) { fixture in
        try await fixture.set("rooms/eros", ["n": .integer(-1), "text": Self.text])
        try await RawHTTP2Client.withConnection(to: server, connectionWindow: 65_535) { client in
          try await overfill(client, server, fixture)
          let before = try await settledCounts(channels, client)
          #expect(before.open == Self.streamCount)
          #expect(before.waiting == Self.streamCount)
          let pings = client.received.pingAnswers
          try await client.send([Frame.windowUpdate(0, 1), Frame.ping])
          try await client.wait(for: "an answer") { $0.pingAnswers > pings }
          let after = try await channels.counts()
          #expect(after.visited - before.visited == 1)
          #expect(after.waiting == Self.streamCount)
          // Streams that are over do not wait.
          try await client.send((0..<15).map { Frame.reset(UInt32(2 * $0 + 1), code: 8) })
          try await waitUntil { try await channels.counts().open == 5 }
          #expect(try await channels.counts().waiting == 5)
          // All of it comes when the window is open.
          try await client.send([Frame.windowUpdate(0, 1_000_000_000)])
          try await waitUntil { server.load.queuedBytes == 0 }
          #expect(try await channels.counts().waiting == 0)
        }
      }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await server.shutdown()
    try result.get()
  }

  /// Opens listeners of a document, and changes it until far more waits for them than the connection's window takes.
  private func overfill(
    _ client: RawHTTP2Client, _ server: EmbeddedServer, _ fixture: ServerFixture
  ) async throws {
    for index in 0..<Self.streamCount {
      let stream = UInt32(2 * index + 1)
      var request = Google_Firestore_V1_ListenRequest()
      request.database = ServerFixture.database.resourceName
      request.addTarget.targetID = 2
      request.addTarget.documents.documents = [name("rooms/eros")]
      try await client.send([
        Frame.headers(stream, method: "Listen"), try .message(request, stream, endsStream: false),
      ])
      try await client.wait(for: "the first snapshot") { ($0.messageBytes[stream] ?? 0) > Self.textBytes }
    }
    for index in 0..<Self.commits {
      try await fixture.set("rooms/eros", ["n": .integer(Int64(index)), "text": Self.text])
    }
    let expected = Self.streamCount * 20 * Self.textBytes
    try await waitUntil { server.load.queuedBytes > expected }
  }

  /// The counts once nothing more is added.
  private func settledCounts(_ channels: Channels, _ client: RawHTTP2Client) async throws -> Counts {
    var last = Counts()
    var unchanged = 0
    while unchanged < 20 {
      let pings = client.received.pingAnswers
      try await client.send([Frame.ping])
      try await client.wait(for: "an answer") { $0.pingAnswers > pings }
      let counts = try await channels.counts()
      unchanged = counts == last ? unchanged + 1 : 0
      last = counts
    }
    return last
  }
}
