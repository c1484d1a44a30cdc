import TestSupport
import Testing

@testable import HearthTransport

/// Messages of the kernel, made by hand.
@Suite("Notices of the Linux kernel")
struct RouteMessageTests {
  typealias Number = RouteDatagram.Number

  private func bytes<Value>(_ value: Value) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }

  private func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: -bytes.count & 3)
  }

  private func attribute(_ type: UInt16, _ contents: [UInt8]) -> [UInt8] {
    padded(bytes(UInt16(4 + contents.count)) + bytes(type) + contents)
  }

  private func message(_ type: UInt16, _ body: [UInt8]) -> [UInt8] {
    padded(bytes(UInt32(16 + body.count)) + bytes(type) + bytes(UInt16(0)) + bytes(UInt32(1)) + bytes(UInt32(0)) + body)
  }

  private func link(_ interface: Int32, _ flags: RouteMessage.LinkFlags, type: UInt16 = Number.newLink) -> [UInt8] {
    message(
      type,
      bytes(UInt16(0)) + bytes(UInt16(1)) + bytes(interface) + bytes(flags.rawValue) + bytes(UInt32(0))
        + attribute(3, Array("eth0\0".utf8)))
  }

  private func address(
    _ interface: Int32, _ own: [UInt8], flags: UInt8 = 0x80, scope: UInt8 = 0, peer: [UInt8]? = nil,
    type: UInt16 = Number.newAddress
  ) -> [UInt8] {
    let family: UInt8 = own.count == 4 ? 2 : 10
    let attributes =
      peer.map { attribute(Number.attributeLocal, own) + attribute(Number.attributeAddress, $0) }
      ?? attribute(Number.attributeAddress, own)
    return message(type, [family, 24, flags, scope] + bytes(interface) + attributes)
  }

  private func route(
    _ interface: Int32, gateway: [UInt8], length: UInt8 = 0, kind: UInt8 = 1, flags: UInt32 = 0,
    type: UInt16 = Number.newRoute
  ) -> [UInt8] {
    let family: UInt8 = gateway.count == 4 ? 2 : 10
    return message(
      type,
      [family, length, 0, 0, 254, 3, 0, kind] + bytes(flags) + attribute(Number.attributeOutgoing, bytes(interface))
        + attribute(Number.attributeGateway, gateway))
  }

  private func decode(_ bytes: [UInt8]) -> [RouteMessage]? {
    let datagram = RouteDatagram(bytes)
    return datagram.isDamaged ? nil : datagram.messages
  }

  private let home: [UInt8] = [192, 168, 1, 7]
  private let router: [UInt8] = [192, 168, 1, 1]
  private let usable: RouteMessage.LinkFlags = [.up, .running]

  @Test("links, addresses and default routes are read, several from one datagram")
  func reads() {
    #expect(
      decode(link(2, usable) + address(2, home) + route(2, gateway: router) + message(Number.done, bytes(Int32(0))))
        == [
          .link(.init(interface: 2, flags: usable)), .address(.init(interface: 2, bytes: home)),
          .defaultRoutes([.init(isIPv6: false, interface: 2, gateway: router)]), .done,
        ])
    let tunnel: [UInt8] = [10, 8, 0, 2]
    #expect(decode(address(3, tunnel, peer: [10, 8, 0, 1])) == [.address(.init(interface: 3, bytes: tunnel))])
    #expect(decode(message(Number.error, bytes(Int32(-1)))) == [.failed(code: 1)])
    #expect(decode(message(Number.error, bytes(Int32(0)))) == [.done])
    #expect(decode(message(99, [1, 2, 3])) == [.unknown])
    #expect(decode([]) == [])
  }

  @Test("addresses that no connection has, and routes that lead nowhere, are not taken for others")
  func leavesOut() {
    let global: [UInt8] = [0x20, 0x01] + [UInt8](repeating: 1, count: 14)
    #expect(decode(address(2, global)) == [.address(.init(interface: 2, bytes: global))])
    for flags: UInt8 in [0x01, 0x08, 0x40] {
      #expect(decode(address(2, global, flags: flags)) == [.otherLinkOrAddress])
    }
    // IFA_F_SECONDARY has the number of IFA_F_TEMPORARY.
    #expect(decode(address(2, home, flags: 0x01)) == [.address(.init(interface: 2, bytes: home))])
    #expect(decode(address(2, home, scope: 253)) == [.otherLinkOrAddress])
    #expect(decode(link(2, usable, type: Number.deleteLink)) == [.otherLinkOrAddress])
    #expect(decode(route(2, gateway: router, length: 24)) == [.otherRoute])
    #expect(decode(route(2, gateway: router, kind: 7)) == [.defaultRoutes([])])
    #expect(decode(route(2, gateway: router, flags: 0x10)) == [.defaultRoutes([])])
    #expect(decode(route(2, gateway: router, length: 1))?.first != .otherRoute)
  }

  @Test("a default route onto several links is one for each of them that works")
  func multipath() {
    func hop(_ interface: Int32, flags: UInt8 = 0) -> [UInt8] {
      let attributes = attribute(Number.attributeGateway, router)
      return bytes(UInt16(8 + attributes.count)) + [flags, 0] + bytes(interface) + attributes
    }
    let header: [UInt8] = [2, 0, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0]
    let hops = attribute(Number.attributeMultipath, hop(2) + hop(3, flags: 0x10) + hop(4))
    #expect(
      decode(message(Number.newRoute, header + hops)) == [
        .defaultRoutes([2, 4].map { RouteMessage.Route(isIPv6: false, interface: $0, gateway: router) })
      ])
  }

  @Test("bytes that end too early, or lie about their length, are damage and nothing worse")
  func truncated() {
    let whole = [
      link(2, usable), address(2, home), address(3, home, peer: router), route(2, gateway: router),
      message(Number.error, bytes(Int32(-13))),
    ]
    for message in whole {
      // Without the last bytes the length in the header is too large.
      for count in 1..<message.count { #expect(RouteDatagram(Array(message.prefix(count))).isDamaged) }
      // Shorter by its own account: an attribute or the header is cut off, or a part is missing.
      for count in 0..<message.count {
        var shortened = Array(message.prefix(max(count, 16)))
        shortened.replaceSubrange(0..<4, with: bytes(UInt32(count)))
        let datagram = RouteDatagram(shortened)
        #expect(datagram.isDamaged || datagram.messages.count == 1)
      }
    }
    #expect(RouteDatagram([UInt8](repeating: 0, count: 64)).isDamaged)
    #expect(RouteDatagram([UInt8](repeating: 255, count: 64)).isDamaged)
  }

  @Test("random bytes are read without harm", arguments: [UInt64(1), 2, 3, 4])
  func garbage(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let templates = [link(2, usable), address(2, home), route(2, gateway: router)]
    for _ in 0..<5_000 {
      var bytes = templates.randomElement(using: &generator) ?? []
      for _ in 0..<Int.random(in: 1...8, using: &generator) {
        bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      }
      let datagram = RouteDatagram(bytes)
      _ = NetworkPaths(datagram.messages)
      #expect(datagram.messages.count <= bytes.count / 16)
    }
  }

  @Test("what a client must hear of: damage, links, addresses, default routes; not routes to somewhere")
  func concerns() {
    for bytes in [link(2, usable), address(2, home), route(2, gateway: router), [1, 2, 3]] {
      #expect(RouteDatagram(bytes).concernsPaths)
    }
    for bytes in [route(2, gateway: router, length: 16), message(Number.done, [0, 0, 0, 0]), []] {
      #expect(!RouteDatagram(bytes).concernsPaths)
    }
  }
}

@Suite("Ways out of the machine")
struct NetworkPathsTests {
  private let usable: RouteMessage.LinkFlags = [.up, .running]
  private let router: [UInt8] = [192, 168, 1, 1]

  private func link(_ interface: Int32, _ flags: RouteMessage.LinkFlags? = nil) -> RouteMessage {
    .link(.init(interface: interface, flags: flags ?? usable))
  }

  private func address(_ interface: Int32, _ last: UInt8) -> RouteMessage {
    .address(.init(interface: interface, bytes: [192, 168, UInt8(interface), last]))
  }

  private func route(_ interface: Int32, _ gateway: [UInt8]? = nil) -> RouteMessage {
    .defaultRoutes([.init(isIPv6: false, interface: interface, gateway: gateway ?? router)])
  }

  /// The loopback interface, and Ethernet with a default route.
  private var atHome: [RouteMessage] {
    [link(1, [.up, .running, .loopback]), address(1, 1), link(2), address(2, 7), route(2)]
  }

  private func changes(to messages: [RouteMessage]) -> Bool {
    NetworkPaths(messages).differs(from: NetworkPaths(atHome))
  }

  @Test("the network's end, its return and another network are changes")
  func changes() {
    let gone = Array(atHome.prefix(2))
    #expect(changes(to: gone))
    #expect(NetworkPaths(atHome).differs(from: NetworkPaths(gone)))
    #expect(changes(to: atHome.dropLast() + [route(2, [192, 168, 1, 254])]))
    #expect(changes(to: gone + [link(2), address(2, 9), route(2)]))
    // Without a carrier, and switched off.
    #expect(changes(to: gone + [link(2, [.up]), address(2, 7), route(2)]))
    #expect(changes(to: gone + [link(2, [.running]), address(2, 7), route(2)]))
    // A second network, such as a cable in addition to Wi-Fi.
    #expect(changes(to: atHome + [link(3), address(3, 1), route(3)]))
    #expect(changes(to: atHome + [link(3, [.up, .running, .pointToPoint]), address(3, 1)]))
  }

  @Test("what touches no connection to a backend is none")
  func noChanges() {
    #expect(!changes(to: atHome))
    #expect(!changes(to: atHome.reversed()))
    // Bridges and virtual links of containers.
    #expect(!changes(to: atHome + [link(4), address(4, 1), link(5)]))
    // A further address, and one of the loopback interface.
    #expect(!changes(to: atHome + [address(2, 8), address(1, 2)]))
    // A VPN that is not up yet.
    #expect(!changes(to: atHome + [link(3, [.up, .running, .pointToPoint])]))
  }

  @Test("without a default route every link with an address is a way out")
  func isolated() {
    let loopback = Array(atHome.prefix(2))
    let alone = NetworkPaths(loopback + [link(2), address(2, 7)])
    #expect(alone.ways.count == 1)
    #expect(alone.differs(from: NetworkPaths(loopback)))
    #expect(NetworkPaths(loopback + [link(2), address(2, 7), link(3), address(3, 1)]).differs(from: alone))
    #expect(NetworkPaths(loopback).ways == [])
  }
}
