/// A change of the machine's network after which existing connections may be dead.
package struct ConnectivityChange: Sendable, Equatable {
  /// True if a way out of the machine is left.
  package var hasPath: Bool

  package init(hasPath: Bool) {
    self.hasPath = hasPath
  }
}

/// Watches the machine's network. Tests replace the system's monitor with their own.
package protocol ConnectivityMonitor: Sendable {
  /// Calls `onChange`, on a thread of the monitor, after each change, until the watch is ended. A burst of notices of the system counts
  /// once, and notices without a change do not count.
  ///
  /// - Throws: The reason why the system cannot be watched. Nothing needs to be released then.
  func watch(
    _ onChange: @escaping @Sendable (ConnectivityChange) -> Void
  ) throws(ConnectivityError) -> ConnectivityWatch
}

/// A running watch. It ends at the latest when its last reference is released.
package final class ConnectivityWatch: Sendable {
  private let stop: @Sendable () -> Void

  /// - Parameter stop: Releases the resources of the watch. Repeated calls must be harmless.
  package init(stop: @escaping @Sendable () -> Void) {
    self.stop = stop
  }

  /// Ends the watch. A change that is being reported may still arrive.
  package func end() { stop() }

  deinit { stop() }
}

/// The reason why the system's network cannot be watched.
package struct ConnectivityError: Error, CustomStringConvertible {
  package var description: String

  package init(_ description: String) {
    self.description = description
  }
}

/// The monitors of the platforms.
package enum SystemConnectivity {
  /// Returns the monitor for clients of the backend at `host`.
  ///
  /// A backend on this machine (an emulator, a local `hearth serve`) is reachable whatever the network does, so there is no monitor for
  /// it, and none on platforms that do not report their network.
  package static func monitor(forBackendAt host: String) -> (any ConnectivityMonitor)? {
    guard !isLoopback(host) else { return nil }
    #if canImport(Network)
      return PathConnectivity()
    #elseif os(Linux) || os(Android)
      return RouteConnectivity()
    #else
      return nil
    #endif
  }

  /// True if what is sent to the host stays on this machine.
  package static func isLoopback(_ host: String) -> Bool {
    let host = host.lowercased()
    if host == "localhost" || host.hasSuffix(".localhost") || host == "::1" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }
}
