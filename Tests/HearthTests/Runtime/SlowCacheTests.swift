import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2
import HearthModel
import HearthSync
import HearthTransport
import HearthWire
import NIOCore
import NIOPosix
import SwiftProtobuf
import Synchronization
import TestSupport
import Testing

@testable import Hearth

/// True for the full figures. The test run has a fiftieth of them and measures no memory, which other tests use, too.
private let isFullLoad = ProcessInfo.processInfo.environment["HEARTH_FULL_LOAD"] != nil

/// A backend that sends as fast as it can, and a client whose loop is slow: its listener blocks the loop.
@Suite("A backend that is faster than the cache", .timeLimit(.minutes(10)))
struct SlowCacheTests {
  private static let documentBytes = 10_000
  private static let documentsPerSnapshot = 100
  private static let database = DatabaseID(projectID: "demo-hearth")
  private static let rooms = HearthModel.Query(path: ResourcePath(["rooms"]))
  private let snapshotCount = isFullLoad ? 1_000 : 20

  @Test("the backend waits for a loop that stands still, and everything arrives when it goes on")
  func standingLoop() async throws {
    let limit = 1 << 20
    let sent = Counter()
    try await withClient(sent: sent, limit: limit) { runtime in
      let gate = DispatchSemaphore(value: 0)
      let first = Counter()
      let snapshots = listen(runtime) { _ in if first.increment() == 1 { gate.wait() } }
      let total = snapshotCount * Self.documentsPerSnapshot
      try await waitUntil { sent.value * Self.documentBytes >= limit }
      // A backend that did not wait would get as far as this one.
      try await takeFreely()
      // The counted bytes, the buffers of HTTP/2 and gRPC, and the snapshot that is being handled.
      let buffers = 5 << 20
      #expect(sent.value * Self.documentBytes < limit + buffers)
      gate.signal()
      try await untilLast(snapshots)
      #expect(sent.value == total)
    }
  }

  @Test(
    "memory does not grow with the backend's lead over a slow loop",
    .enabled(if: isFullLoad, "needs HEARTH_FULL_LOAD=1 and a process of its own"))
  func slowLoop() async throws {
    let sent = Counter()
    try await withClient(sent: sent) { runtime in
      let start = Self.privateMemoryBytes
      let peak = Mutex(start)
      let snapshots = listen(runtime) { snapshot in
        // A slow listener, which decodes each document 40 times.
        for _ in 0..<40 { for document in snapshot.documents { _ = try? document.fields.decoded() } }
        peak.withLock { $0 = max($0, Self.privateMemoryBytes) }
      }
      try await untilLast(snapshots)
      #expect(sent.value == snapshotCount * Self.documentsPerSnapshot)
      let growth = peak.withLock { $0 } - start
      print("Peak memory above the start: \(growth >> 20) MiB")
      #expect(growth < 100_000_000)
    }
  }

  // MARK: - Parts

  private func withClient(
    sent: Counter, limit: Int? = nil, _ body: (ClientRuntime) async throws -> Void
  ) async throws {
    try await withBackend(FloodingService(snapshotCount: snapshotCount, sent: sent)) { port in
      let folder = try TemporaryFolder()
      var configuration = ClientConfiguration(
        databaseID: Self.database, endpoint: try Endpoint(host: "127.0.0.1:\(port)", usesTLS: false),
        cache: .file(folder: folder.url.appendingPathComponent("cache").path, sizeBytes: -1),
        callbackQueue: DispatchQueue(label: "test"))
      if let limit { configuration.unhandledWatchBytes = limit }
      let runtime = ClientRuntime(configuration)
      try await body(runtime)
      let outcome = Outcome<Void>()
      runtime.stop { _ in outcome.resolve(.success(())) }
      try await outcome.value()
    }
  }

  private func withBackend(_ service: FloodingService, _ body: (_ port: Int) async throws -> Void) async throws {
    let server = GRPCServer(
      transport: .http2NIOPosix(address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext),
      services: [service])
    let serving = Task { try await server.serve() }
    try await body(try #require(try await server.listeningAddress?.ipv4?.port))
    server.beginGracefulShutdown()
    _ = await serving.result
  }

  /// Takes the snapshots of the test run from a backend of its own, on a stream without a bound.
  private func takeFreely() async throws {
    let count = 20
    try await withBackend(FloodingService(snapshotCount: count, sent: Counter())) { port in
      let transport = try FirestoreTransport(
        TransportConfiguration(host: "127.0.0.1", port: port, usesTLS: false, databaseID: Self.database))
      let snapshots = Recorder<SnapshotVersion>()
      let stream = transport.openWatchStream { event in
        if case .message(.targetChange(let change)) = event, change.state == .noChange {
          snapshots.record(change.readTime)
        }
      }
      stream.send(.addTarget(TargetRequest(targetID: 2, target: Self.rooms.target)))
      _ = try await snapshots.next { $0 == SnapshotVersion(microseconds: Int64(count)) }
      stream.close()
      await transport.shutdown()
    }
  }

  /// Records the documents of each synchronised snapshot by their first number.
  private func listen(
    _ runtime: ClientRuntime, onLoop: @escaping @Sendable (ViewSnapshot) -> Void
  ) -> Recorder<Int> {
    let recorder = Recorder<Int>()
    _ = runtime.listen(Self.rooms, options: ListenOptions(), on: nil) { event in
      guard let snapshot = try? event.get(), let first = snapshot.documents.first else { return }
      onLoop(snapshot)
      recorder.record(Int(first.key.id) ?? -1)
    }
    return recorder
  }

  private func untilLast(_ snapshots: Recorder<Int>) async throws {
    let last = FloodingService.firstID + (snapshotCount - 1) * Self.documentsPerSnapshot
    _ = try await snapshots.next { $0 == last }
  }

  /// The memory of this process without mapped files; zero where the system does not tell.
  private static var privateMemoryBytes: Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
    return 1024 * (line?.split(separator: " ").compactMap { Int($0) }.first ?? 0)
  }

  /// Answers the first target with one snapshot after the other; the documents of each are deleted with the next.
  private struct FloodingService: RegistrableRPCService {
    static let firstID = 1_000_000

    let snapshotCount: Int
    let sent: Counter

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
      let service = ServiceDescriptor(fullyQualifiedService: "google.firestore.v1.Firestore")
      router.registerHandler(
        forMethod: MethodDescriptor(service: service, method: "Listen"), deserializer: RawMessage(),
        serializer: RawMessage()
      ) { request, _ in
        StreamingServerResponse { writer in
          var isAnswered = false
          for try await bytes in request.messages {
            let request = try Google_Firestore_V1_ListenRequest(serializedBytes: bytes)
            guard request.addTarget.targetID != 0, !isAnswered else { continue }
            isAnswered = true
            try await answer(TargetID(request.addTarget.targetID)) { response in
              try await writer.write(Self.translator.encode(response).serializedBytes())
            }
          }
          return [:]
        }
      }
    }

    private static let translator = WireTranslator(database: database)

    /// The event loop of a stream finds out whether the stream takes more. On a busy machine a sleeping loop would be sent anything.
    private func untilLoopsHaveTurned() async throws {
      for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() { try await loop.submit {}.get() }
    }

    private func answer(_ target: TargetID, send: (WatchResponse) async throws -> Void) async throws {
      func change(_ state: WatchTargetChange.State, _ targets: [TargetID], at time: Int64 = 0) -> WatchResponse {
        .targetChange(
          WatchTargetChange(
            state: state, targetIDs: targets, resumeToken: Array("\(time)".utf8),
            readTime: SnapshotVersion(microseconds: time)))
      }
      let text = EncodedFields(["text": .string(String(repeating: "x", count: documentBytes))])
      try await send(change(.added, [target]))
      for snapshot in 0..<snapshotCount {
        let time = Int64(snapshot + 1)
        for offset in 0..<documentsPerSnapshot {
          if offset.isMultiple(of: 10) { try await untilLoopsHaveTurned() }
          let id = Self.firstID + snapshot * documentsPerSnapshot + offset
          let key = try DocumentKey(parsing: "rooms/\(id)")
          let document = Document.found(key, version: SnapshotVersion(microseconds: time), fields: text)
          try await send(
            .documentChange(WatchDocumentChange(key: key, updatedTargetIDs: [target], document: document)))
          sent.increment()
          guard snapshot > 0 else { continue }
          let former = try DocumentKey(parsing: "rooms/\(id - documentsPerSnapshot)")
          let deleted = Document.missing(former, version: SnapshotVersion(microseconds: time))
          try await send(
            .documentChange(WatchDocumentChange(key: former, removedTargetIDs: [target], document: deleted)))
        }
        try await send(change(.current, [target], at: time))
        try await send(change(.noChange, [], at: time))
      }
    }
  }

  private struct RawMessage: MessageSerializer, MessageDeserializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) throws -> Bytes { Bytes(message) }

    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> [UInt8] {
      bytes.withUnsafeBytes { [UInt8]($0) }
    }
  }
}
