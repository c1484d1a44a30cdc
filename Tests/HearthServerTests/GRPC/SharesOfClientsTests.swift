import HearthModel
import HearthWire
import MetricsTestKit
import NIOHPACK
import RawHTTP2
import SwiftProtobuf
import Synchronization
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("What one client leaves to others", .timeLimit(.minutes(2)))
struct SharesOfClientsTests {
  private typealias Frame = RawHTTP2Client.Frame

  private static let exhausted = "8"

  private func withServer(
    _ change: (inout ServerLimits) -> Void, _ body: (EmbeddedServer) async throws -> Void
  ) async throws {
    try await ServerFixture.withServerAlone({ change(&$0.limits) }, body)
  }

  /// Opens ten streams, more than there may be.
  ///
  /// - Returns: The number of streams that stay open.
  private func streams(_ client: RawHTTP2Client) async throws -> Int {
    let ids = (0..<10).map { UInt32(2 * $0 + 1) }
    // The last one is answered after the others were opened or refused. Only then nothing that has ended counts any more.
    try await client.send(
      ids.map { Frame.headers($0, method: "Listen") } + [Frame.request(21, [:]), try Frame.getMessage(21)])
    try await client.wait(for: "an answer") { $0.statuses[21] != nil }
    #expect(client.received.statuses[21] == Self.exhausted)
    return ids.count { client.received.statuses[$0] == nil }
  }

  @Test("without addresses of clients, a connection may have as many calls as it leaves free")
  func connections() async throws {
    try await withServer {
      $0.calls = 9
    } _: { server in
      try await RawHTTP2Client.withConnection(toPort: server.port) { first in
        let open = try await streams(first)
        #expect(open == 5)
        try await RawHTTP2Client.withConnection(toPort: server.port) { second in
          let open = try await streams(second)
          #expect(open == 2)
          let refusal = try #require(second.received.headers.values.compactMap { $0.first(name: "grpc-message") }.first)
          #expect(
            refusal.contains("7 of at most 9 calls in progress") && refusal.contains("as many of them as are free"))
        }
      }
    }
  }

  /// Adds targets of about 12,000 counted bytes on a stream: 1 to 10, and 11 after the first one was removed.
  ///
  /// - Parameter whileOpen: Called with the targets that have room, before the stream ends.
  private func addTargets(
    _ fixture: ServerFixture, whileOpen: @escaping @Sendable (Set<TargetID>) async throws -> Void
  ) async throws {
    func added(_ id: TargetID) -> Google_Firestore_V1_ListenRequest {
      .with {
        $0.database = ServerFixture.database.resourceName
        $0.addTarget.targetID = id
        $0.addTarget.documents.documents = [name("c/\(id)-" + String(repeating: "x", count: 400))]
      }
    }
    let removed = ServerFixture.translator.encode(WatchRequest.removeTarget(1))
    let open = Mutex<Set<TargetID>>([])
    let ended = Mutex<[TargetID: Int32]>([:])
    try await fixture.listen((1...10).map(added) + [removed, added(11)]) { response in
      let (change, ids) = (response.targetChange, response.targetChange.targetIds)
      switch change.targetChangeType {
      case .current: open.withLock { $0.formUnion(ids) }
      case .remove: ended.withLock { ended in for id in ids { ended[id] = change.cause.code } }
      default: break
      }
      let openIDs = open.withLock { $0 }
      var statuses = ended.withLock { $0 }
      guard openIDs.contains(11) || statuses[11] != nil else { return true }
      let ofRemoved = statuses.removeValue(forKey: 1)
      #expect(ofRemoved == 0 && statuses.values.allSatisfy { $0 == 8 }, "\(statuses)")
      try await whileOpen(openIDs)
      return false
    }
  }

  @Test("targets count with their bytes: those of one client leave room to others, and give it back when they end")
  func targets() async throws {
    let metrics = TestMetrics()
    var limits = DatabaseLimits()
    limits.targetBytes = 120_000
    try await ServerFixture.withServer(databaseLimits: limits, metrics: metrics) { fixture in
      for _ in 0..<3 {
        try await addTargets(fixture) { first in
          #expect(first.contains(11) && (4...6).contains(first.count), "\(first.count)")
          try await ServerFixture.withClient(of: fixture.server) { other in
            try await addTargets(other) { second in
              #expect(second.contains(11) && (2...4).contains(second.count), "\(second.count)")
            }
          }
        }
        try await waitUntil { fixture.server.load.callCount == 0 }
      }
      let exceeded = metrics.counterTotal(
        label: "hearth.server.limit.exceeded", dimensions: [("limit", "target_bytes")])
      #expect(exceeded > 3)
    }
  }

  // Elsewhere 127.0.0.1 is the only address of this machine that can be relied on.
  #if os(Linux)
    @Test("with addresses of clients, all connections of an address share its calls")
    func addresses() async throws {
      try await withServer {
        ($0.calls, $0.hasAddressesOfClients) = (9, true)
      } _: { server in
        try await RawHTTP2Client.withConnection(toPort: server.port, from: "127.0.0.2") { first in
          let open = try await streams(first)
          #expect(open == 5)
          try await RawHTTP2Client.withConnection(toPort: server.port, from: "127.0.0.2") { second in
            let open = try await streams(second)
            #expect(open == 0)
          }
          try await RawHTTP2Client.withConnection(toPort: server.port, from: "127.0.0.3") { second in
            let open = try await streams(second)
            #expect(open == 2)
          }
        }
      }
    }

    @Test("with addresses of clients, an address may have as many connections as it leaves free")
    func openConnections() async throws {
      try await withServer {
        ($0.connections, $0.hasAddressesOfClients) = (3, true)
      } _: { server in
        func isServed(_ client: RawHTTP2Client) async throws -> Bool {
          try await client.send([Frame.request(1, [:]), try Frame.getMessage(1)])
          try await client.wait(for: "an answer, or the end") { $0.statuses[1] != nil || $0.goAway != nil }
          return client.received.goAway == nil
        }
        try await RawHTTP2Client.withConnection(toPort: server.port, from: "127.0.0.2") { first in
          try await RawHTTP2Client.withConnection(toPort: server.port, from: "127.0.0.2") { second in
            let served = (try await isServed(first), try await isServed(second))
            #expect(served == (true, true))
            try await RawHTTP2Client.withConnection(toPort: server.port, from: "127.0.0.2") { third in
              try await third.wait(for: "the end") { $0.goAway != nil }
              #expect(third.received.goAway?.text == "too_many_connections")
              #expect(server.refusedConnections == 1)
              // While its client reads that, the refused one takes nobody's place.
              try await RawHTTP2Client.withConnection(toPort: server.port, from: "127.0.0.3") { other in
                let served = try await isServed(other)
                #expect(served)
              }
            }
          }
        }
        // They are given back.
        try await waitUntil { server.connectionCount == 0 }
        try await RawHTTP2Client.withConnection(toPort: server.port, from: "127.0.0.2") { client in
          let served = try await isServed(client)
          #expect(served)
        }
      }
    }
  #endif
}
