import HearthModel
import NIOEmbedded
import TestSupport
import Testing

@testable import HearthRPC

@Suite("Bytes of unfinished requests")
struct ReceivedBudgetTests {
  private static func call(_ load: ServerLoad, _ origin: CallOrigin) -> ServerCall {
    ServerCall(
      number: 1, method: .answered, metadata: CallMetadata(), transcoder: nil, load: load,
      outlet: CallOutbox(eventLoop: EmbeddedEventLoop()), share: ConnectionShare(origin: origin))
  }

  @Test("requests of a client that floods the server in small pieces end before a large one of another client")
  func pieces() {
    var limits = ServerLimits()
    limits.receivedBytes = 1_000_000
    let load = ServerLoad(limits: limits)
    let (flooding, honest) = (CallOrigin(), CallOrigin())
    let large = Self.call(load, honest)
    #expect(load.received.note(300_000, of: large).isEmpty)
    // Each on a connection of its own.
    let pieces = (0..<40).map { _ in Self.call(load, flooding) }
    var ended = 0
    for piece in pieces {
      let calls = load.received.note(20_000, of: piece)
      #expect(!calls.contains { $0 === large })
      ended += calls.count
      #expect(load.received.bytes == 300_000 + (pieces.firstIndex { $0 === piece }! + 1 - ended) * 20_000)
      #expect(load.received.bytes <= limits.receivedBytes)
    }
    #expect((5..<15).contains(ended))
    // What the honest client sends alone beyond the limit ends.
    #expect(load.received.note(2_000_000, of: large).contains { $0 === large })
    #expect(load.received.bytes == (40 - ended) * 20_000)
  }

  @Test("of one client, the largest requests end")
  func largest() {
    var limits = ServerLimits()
    limits.receivedBytes = 1_000_000
    let load = ServerLoad(limits: limits)
    let origin = CallOrigin()
    let calls = (1...10).map { _ in Self.call(load, origin) }
    for (index, call) in calls.dropLast().enumerated() {
      #expect(load.received.note(20_000 * (index + 1), of: call).isEmpty)
    }
    let ended = load.received.note(150_000, of: calls[9])
    #expect(ended.map { call in calls.firstIndex { $0 === call } } == [8])
    #expect(load.received.bytes == 870_000)
  }

  @Test("parts are reduced to the largest size with which all together are as small as is wanted")
  func shares() {
    var choices = SeededGenerator(seed: 7)
    for _ in 0..<1000 {
      let parts = (0..<(1 + choices.below(8))).map { _ in choices.below(1000) }
      let wanted = choices.below(3000)
      let share = ReceivedBudget.share(of: wanted, among: parts)
      let kept = parts.reduce(0) { $0 + min($1, share) }
      #expect(kept <= wanted, "\(wanted) of \(parts)")
      if parts.reduce(0, +) > wanted {
        #expect(parts.reduce(0) { $0 + min($1, share + 1) } > wanted, "\(wanted) of \(parts)")
      } else {
        #expect(kept == parts.reduce(0, +), "\(wanted) of \(parts)")
      }
    }
  }

  @Test(
    "connections of one client have one origin where addresses are those of clients, and it is forgotten with the last of them"
  )
  func origins() throws {
    let client = try #require(ClientNetwork(numericHost: "192.0.2.1"))
    let origins = CallOrigins(hasAddressesOfClients: true)
    var first: CallOrigin? = origins.origin(of: client)
    #expect(origins.origin(of: client) === first)
    #expect(origins.origin(of: nil) != origins.origin(of: nil))
    #expect(origins.origin(of: ClientNetwork(numericHost: "192.0.2.2")) !== first)
    for number in 0..<200 {
      let other = try #require(ClientNetwork(numericHost: "10.0.0.\(number)"))
      _ = origins.origin(of: other)
    }
    #expect(origins.count <= 64)
    #expect(origins.origin(of: client) === first)
    first = nil
    let withoutAddresses = CallOrigins(hasAddressesOfClients: false)
    let (one, other) = (withoutAddresses.origin(of: client), withoutAddresses.origin(of: client))
    #expect(one != other && withoutAddresses.count == 0)
  }
}
