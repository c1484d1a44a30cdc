import GRPCCore
import HearthModel
import HearthTransport
import HearthWire
import SwiftProtobuf
import Synchronization
import TestSupport
import Testing

/// A backend that sends as fast as it can, to an owner that handles messages when the test says so.
@Suite("Messages that wait for their owner", .timeLimit(.minutes(2)))
struct BackPressureTests {
  private static let documentBytes = 10_000
  private static let limitBytes = 1 << 20
  /// The bytes that may be in flight in addition: a stream's window of 256 KiB and the messages that gRPC has read ahead, with room to
  /// spare.
  private static let buffersBytes = 1 << 20

  private let sent = Counter()

  /// Sends so many documents at once, or as many as it can before the stream ends.
  private func flood(_ count: Int, counting sent: Counter, ended: Signal<Bool>? = nil) -> Script {
    { call in
      defer { ended?.send(true) }
      let fields = EncodedFields(["text": .string(String(repeating: "x", count: Self.documentBytes))])
      for number in 0..<count {
        let key = try DocumentKey(parsing: "cities/\(number)")
        let document = Document.found(key, version: SnapshotVersion(microseconds: 1), fields: fields)
        try await call.send(
          translator.encode(
            .documentChange(WatchDocumentChange(key: key, updatedTargetIDs: [2], document: document))))
        sent.increment()
      }
    }
  }

  private let echoWrites: Script = { call in
    for try await _ in call.requests { try await call.send(writeAnswer(token: [1])) }
  }

  /// Takes so many documents from a backend of its own, on a stream without a bound.
  private func takeFreely(_ count: Int) async throws {
    let backend = try await ScriptedBackend.start(["Listen": flood(count, counting: Counter())])
    let transport = try FirestoreTransport(configuration(port: backend.port))
    let ended = Signal<Bool>()
    _ = transport.openWatchStream { if case .closed(let error) = $0 { ended.send(error == nil) } }
    #expect(await ended.wait() == true)
    await transport.shutdown()
    await backend.kill()
  }

  @Test("a backend that is too fast waits; writes go on, and the stream ends at once when it is closed")
  func waits() async throws {
    let total = 5_000
    let ended = Signal<Bool>()
    let backend = try await ScriptedBackend.start([
      "Listen": flood(total, counting: sent, ended: ended), "Write": echoWrites,
    ])
    let proxy = try StallingProxy(to: "127.0.0.1:\(backend.port)")
    let transport = try FirestoreTransport(configuration(port: proxy.port))
    let credit = DeliveryCredit(limitBytes: Self.limitBytes)
    let events = EventRecorder<WatchResponse>()
    let stream = transport.openWatchStream(within: credit, onEvent: events.record)
    try await waitUntil { credit.unhandledBytes >= Self.limitBytes || sent.value == total }
    // A backend that did not wait would get as far as this one. The bytes that it hands to its own buffers do not count: they are limited
    // only when its event loop gets to run.
    try await takeFreely(total)
    #expect(proxy.bytesFromBackend < Self.limitBytes + Self.buffersBytes)
    #expect(credit.unhandledBytes >= Self.limitBytes)
    #expect(credit.unhandledBytes < Self.limitBytes + 2 * Self.documentBytes)

    let writes = EventRecorder<WriteResponse>()
    let writeStream = transport.openWriteStream(onEvent: writes.record)
    writeStream.send(.handshake)
    #expect(await writes.next() == .opened)
    #expect(await writes.nextMessage() == WriteResponse(streamToken: [1]))

    stream.close()
    #expect(await ended.wait() == true)
    while !events.all.contains(.closed(nil)) { _ = await events.next() }
    #expect(proxy.bytesFromBackend < Self.limitBytes + 2 * Self.buffersBytes)
    await transport.shutdown()
    await backend.kill()
    proxy.close()
  }

  @Test("a transport that is shut down does not wait for an owner that handles nothing")
  func shutdown() async throws {
    let backend = try await ScriptedBackend.start(["Listen": flood(5_000, counting: sent)])
    let transport = try FirestoreTransport(configuration(port: backend.port))
    let credit = DeliveryCredit(limitBytes: Self.limitBytes)
    _ = transport.openWatchStream(within: credit) { _ in }
    try await waitUntil { credit.unhandledBytes >= Self.limitBytes }
    await transport.shutdown()
    await backend.kill()
  }

  @Test("an owner that handles one message after the other gets all of them, in order")
  func flows() async throws {
    let total = 2_000
    let backend = try await ScriptedBackend.start(["Listen": flood(total, counting: sent)])
    let transport = try FirestoreTransport(configuration(port: backend.port))
    let credit = DeliveryCredit(limitBytes: 3 * Self.documentBytes)
    let events = EventRecorder<WatchResponse>()
    _ = transport.openWatchStream(within: credit, onEvent: events.record)
    #expect(await events.next() == .opened)
    for number in 0..<total {
      guard case .documentChange(let change)? = await events.nextMessage(), change.key.id == "\(number)" else {
        Issue.record("message \(number) is missing or out of order")
        break
      }
      #expect(credit.unhandledBytes <= 4 * (Self.documentBytes + 2_000))
      credit.messageHandled()
    }
    #expect(await events.next() == .closed(nil))
    #expect(credit.unhandledBytes == 0)
    await transport.shutdown()
    await backend.kill()
  }
}

/// A count that any thread may raise.
final class Counter: Sendable {
  private let count = Mutex(0)

  var value: Int { count.withLock { $0 } }

  func increment() { count.withLock { $0 += 1 } }
}
