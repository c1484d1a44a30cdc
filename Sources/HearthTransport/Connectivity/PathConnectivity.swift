#if canImport(Network)
  internal import Dispatch
  internal import Network
  internal import Synchronization

  /// The network as Apple's systems report it.
  ///
  /// A change is a different set of interfaces in use, of gateways, or of address families, or the loss or return of any path. The path's
  /// other properties (expensive, constrained, DNS) do not affect existing connections.
  struct PathConnectivity: ConnectivityMonitor {
    private struct Way: Equatable {
      var isSatisfied: Bool
      var interfaces: [String]
      var gateways: [String]
      var supportsIPv4: Bool
      var supportsIPv6: Bool

      init(_ path: NWPath) {
        isSatisfied = path.status == .satisfied
        // Only interfaces that carry traffic: the list of available ones includes links that come and go without effect.
        interfaces = path.availableInterfaces.filter { path.usesInterfaceType($0.type) }.map(\.name).sorted()
        gateways = path.gateways.map { "\($0)" }.sorted()
        supportsIPv4 = path.supportsIPv4
        supportsIPv6 = path.supportsIPv6
      }
    }

    func watch(
      _ onChange: @escaping @Sendable (ConnectivityChange) -> Void
    ) throws(ConnectivityError) -> ConnectivityWatch {
      let monitor = NWPathMonitor()
      let known = Mutex<Way?>(nil)
      monitor.pathUpdateHandler = { path in
        let way = Way(path)
        let former = known.withLock { known in
          defer { known = way }
          return known
        }
        // The first report is the initial state.
        if let former, former != way { onChange(ConnectivityChange(hasPath: way.isSatisfied)) }
      }
      monitor.start(queue: DispatchQueue(label: "hearth.connectivity"))
      return ConnectivityWatch { monitor.cancel() }
    }
  }
#endif
