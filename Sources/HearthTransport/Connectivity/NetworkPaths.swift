/// The routes out of the machine ("ways out"), as far as connections depend on them.
///
/// The definition of a change, and its reasons:
///
/// * Ways out are the links of default routes, each with its gateway, and point-to-point links (VPNs) with an address. Bridges and virtual
///   links of containers and virtual machines are not ways out: they come and go without affecting a connection to the backend. Only if
///   there is no default route at all, every link with an address is a way out.
/// * A different set of ways out is a change: the network is lost or back, or connections would take another route.
/// * The loss of an address on a way out is a change, because connections from that address are dead. An additional address is not a
///   change: connections continue, and IPv6 adds addresses all the time. Temporary IPv6 addresses are ignored for the same reason.
/// * Metrics, lifetimes and routes to particular networks are ignored: systems renew them every few minutes or seconds.
struct NetworkPaths: Equatable, Sendable {
  private(set) var ways: Set<RouteMessage.Route> = []
  private(set) var addresses: Set<RouteMessage.Address> = []

  /// - Parameter messages: The kernel's answers to the requests for all links, addresses and routes.
  init(_ messages: [RouteMessage]) {
    var links: [Int32: RouteMessage.LinkFlags] = [:]
    var routes: Set<RouteMessage.Route> = []
    for message in messages {
      switch message {
      case .link(let link): links[link.interface] = link.flags
      case .address(let address): addresses.insert(address)
      case .defaultRoutes(let more): routes.formUnion(more)
      case .otherLinkOrAddress, .otherRoute, .done, .failed, .unknown: break
      }
    }
    let usable = links.filter { $0.value.isSuperset(of: [.up, .running]) && !$0.value.contains(.loopback) }
    ways = routes.filter { usable[$0.interface] != nil }
    let isIsolated = ways.isEmpty
    for address in addresses where isIsolated || links[address.interface]?.contains(.pointToPoint) == true {
      guard usable[address.interface] != nil else { continue }
      ways.insert(RouteMessage.Route(isIPv6: address.bytes.count > 4, interface: address.interface, gateway: []))
    }
    let interfaces = Set(ways.map(\.interface))
    addresses = addresses.filter { interfaces.contains($0.interface) }
  }

  /// True if connections that were made before may be dead, or attempts that failed may succeed now.
  func differs(from former: NetworkPaths) -> Bool {
    ways != former.ways || !former.addresses.isSubset(of: addresses)
  }
}

extension RouteDatagram {
  /// True if the ways out of the machine may have changed. Machines that route for others get thousands of notices about other routes.
  var concernsPaths: Bool {
    isDamaged
      || messages.contains { message in
        switch message {
        case .link, .address, .defaultRoutes, .otherLinkOrAddress: true
        case .otherRoute, .done, .failed, .unknown: false
        }
      }
  }
}
