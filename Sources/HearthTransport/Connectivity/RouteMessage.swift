/// A message of the Linux kernel about links, addresses and routes (rtnetlink(7)), as far as ``NetworkPaths`` needs it.
///
/// The decoder is built everywhere, so that its tests run everywhere.
enum RouteMessage: Equatable, Sendable {
  struct Link: Equatable, Sendable {
    var interface: Int32
    var flags: LinkFlags
  }

  struct Address: Hashable, Sendable {
    var interface: Int32
    var bytes: [UInt8]
  }

  struct Route: Hashable, Sendable {
    var isIPv6: Bool
    var interface: Int32
    /// Empty for a route that leads directly onto a link.
    var gateway: [UInt8]
  }

  struct LinkFlags: OptionSet, Sendable {
    var rawValue: UInt32

    static let up = LinkFlags(rawValue: 1 << 0)
    static let loopback = LinkFlags(rawValue: 1 << 3)
    static let pointToPoint = LinkFlags(rawValue: 1 << 4)
    /// There is a carrier.
    static let running = LinkFlags(rawValue: 1 << 6)
  }

  case link(Link)
  /// An address that a connection can have.
  case address(Address)
  /// A route to everything, or to half of everything, once for each link that it leads onto.
  case defaultRoutes([Route])
  /// A link or an address is gone, or an address that no connection is made from changed.
  case otherLinkOrAddress
  /// A route to particular networks, or a notice about a route that does not lead out of the machine.
  case otherRoute
  /// The answer to a request is complete.
  case done
  case failed(code: Int32)
  /// Any other message.
  case unknown
}

/// The contents of one datagram from the kernel.
struct RouteDatagram: Equatable, Sendable {
  var messages: [RouteMessage] = []
  /// True if the bytes did not end with a whole message, or a message was too short for its type.
  var isDamaged = false
}

// MARK: - Decoding

extension RouteDatagram {
  /// Numbers of linux/netlink.h, linux/rtnetlink.h, linux/if_addr.h: a part of the kernel's stable interface, which Swift's Glibc
  /// module does not import.
  enum Number {
    static let error: UInt16 = 2
    static let done: UInt16 = 3
    static let newLink: UInt16 = 16
    static let deleteLink: UInt16 = 17
    static let getLink: UInt16 = 18
    static let newAddress: UInt16 = 20
    static let deleteAddress: UInt16 = 21
    static let getAddress: UInt16 = 22
    static let newRoute: UInt16 = 24
    static let deleteRoute: UInt16 = 25
    static let getRoute: UInt16 = 26

    static let headerSize = 16
    static let linkHeaderSize = 16
    static let addressHeaderSize = 8
    static let routeHeaderSize = 12

    static let attributeAddress: UInt16 = 1
    static let attributeLocal: UInt16 = 2
    static let attributeAddressFlags: UInt16 = 8
    static let attributeOutgoing: UInt16 = 4
    static let attributeGateway: UInt16 = 5
    static let attributeMultipath: UInt16 = 9

    static let familyIPv6: UInt8 = 10
    static let scopeLink: UInt8 = 253
    static let unicastRoute: UInt8 = 1
    /// IFA_F_TEMPORARY, IFA_F_DADFAILED, IFA_F_TENTATIVE.
    static let unusableIPv6: UInt32 = 0x01 | 0x08 | 0x40
    /// RTNH_F_DEAD, RTNH_F_LINKDOWN.
    static let unusableRoute: UInt32 = 0x01 | 0x10
  }

  init(_ bytes: [UInt8]) {
    var rest = RouteBytes(bytes[...])
    while !rest.isEmpty {
      guard let length = rest.number(UInt32.self, at: 0), let type = rest.number(UInt16.self, at: 4),
        length >= Number.headerSize, let message = rest.takeFirst(Int(length))
      else {
        isDamaged = true
        return
      }
      guard let decoded = Self.decode(type, message.dropFirst(Number.headerSize)) else {
        isDamaged = true
        continue
      }
      messages.append(decoded)
    }
  }

  /// Returns nil for a message that is too short.
  private static func decode(_ type: UInt16, _ body: RouteBytes) -> RouteMessage? {
    switch type {
    case Number.done:
      return .done
    case Number.error:
      // Zero is an acknowledgement.
      guard let code = body.number(Int32.self, at: 0) else { return nil }
      return code == 0 ? .done : .failed(code: -code)
    case Number.newLink:
      guard let interface = body.number(Int32.self, at: 4), let flags = body.number(UInt32.self, at: 8),
        body.count >= Number.linkHeaderSize
      else { return nil }
      return .link(RouteMessage.Link(interface: interface, flags: RouteMessage.LinkFlags(rawValue: flags)))
    case Number.newAddress:
      return address(body)
    case Number.deleteLink, Number.deleteAddress:
      return .otherLinkOrAddress
    case Number.newRoute, Number.deleteRoute:
      return route(body)
    default:
      return .unknown
    }
  }

  private static func address(_ body: RouteBytes) -> RouteMessage? {
    guard body.count >= Number.addressHeaderSize, let interface = body.number(Int32.self, at: 4),
      let attributes = body.dropFirst(Number.addressHeaderSize).attributes
    else { return nil }
    let (family, scope) = (body[0], body[3])
    let flags = attributes[Number.attributeAddressFlags]?.number(UInt32.self, at: 0) ?? UInt32(body[2])
    guard scope < Number.scopeLink, family != Number.familyIPv6 || flags & Number.unusableIPv6 == 0 else {
      return .otherLinkOrAddress
    }
    // On a point-to-point link, IFA_ADDRESS is the other side's.
    guard let own = attributes[Number.attributeLocal] ?? attributes[Number.attributeAddress] else { return nil }
    return .address(RouteMessage.Address(interface: interface, bytes: own.array))
  }

  private static func route(_ body: RouteBytes) -> RouteMessage? {
    guard let flags = body.number(UInt32.self, at: 8) else { return nil }
    // Some VPNs put two routes to half of everything in front of the default route.
    guard body[1] <= 1, body[7] == Number.unicastRoute, flags & Number.unusableRoute == 0 else {
      return body[1] <= 1 ? .defaultRoutes([]) : .otherRoute
    }
    guard let attributes = body.dropFirst(Number.routeHeaderSize).attributes else { return nil }
    let isIPv6 = body[0] == Number.familyIPv6
    if let interface = attributes[Number.attributeOutgoing]?.number(Int32.self, at: 0) {
      let gateway = attributes[Number.attributeGateway]?.array ?? []
      return .defaultRoutes([RouteMessage.Route(isIPv6: isIPv6, interface: interface, gateway: gateway)])
    }
    guard var hops = attributes[Number.attributeMultipath] else { return .defaultRoutes([]) }
    var routes: [RouteMessage.Route] = []
    while !hops.isEmpty {
      // struct rtnexthop: length, flags, hops, interface; then attributes.
      guard let length = hops.number(UInt16.self, at: 0), length >= 8, let hop = hops.takeFirst(Int(length)),
        let interface = hop.number(Int32.self, at: 4), let attributes = hop.dropFirst(8).attributes
      else { return nil }
      guard UInt32(hop[2]) & Number.unusableRoute == 0 else { continue }
      let gateway = attributes[Number.attributeGateway]?.array ?? []
      routes.append(RouteMessage.Route(isIPv6: isIPv6, interface: interface, gateway: gateway))
    }
    return .defaultRoutes(routes)
  }
}

/// Bytes of a message, read with checks. Numbers are in the machine's byte order.
private struct RouteBytes {
  private var bytes: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
  }

  var isEmpty: Bool { bytes.isEmpty }
  var count: Int { bytes.count }
  var array: [UInt8] { Array(bytes) }

  /// The offset must be below ``count``.
  subscript(offset: Int) -> UInt8 { bytes[bytes.startIndex + offset] }

  func number<Number: FixedWidthInteger>(_: Number.Type, at offset: Int) -> Number? {
    let size = MemoryLayout<Number>.size
    guard offset + size <= bytes.count else { return nil }
    return bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Number.self) }
  }

  func dropFirst(_ count: Int) -> RouteBytes { RouteBytes(bytes.dropFirst(count)) }

  /// Removes a part and its padding to a multiple of four; returns nil if there are not as many bytes.
  mutating func takeFirst(_ count: Int) -> RouteBytes? {
    guard count <= bytes.count else { return nil }
    let part = RouteBytes(bytes.prefix(count))
    bytes = bytes.dropFirst((count + 3) & ~3)
    return part
  }

  /// The attributes by number; nil if they are damaged.
  var attributes: [UInt16: RouteBytes]? {
    var rest = self
    var result: [UInt16: RouteBytes] = [:]
    while !rest.isEmpty {
      guard let length = rest.number(UInt16.self, at: 0), let type = rest.number(UInt16.self, at: 2), length >= 4,
        let attribute = rest.takeFirst(Int(length))
      else { return nil }
      // The two high bits give the encoding of the contents.
      result[type & 0x3FFF] = attribute.dropFirst(4)
    }
    return result
  }
}
