/// Decides which web pages may use the server, and under which host names.
///
/// Any page can make a browser send requests to a server on the same machine. Two headers reveal that:
///
/// - `Origin` names the page. It must be of this machine (`localhost`, `127.0.0.1`, `[::1]`, any port) or in the list.
/// - `Host` names the server as the page sees it. A page can make its own name resolve to this machine (DNS rebinding). Then it is its own
///   origin, but it cannot hide that name.
package struct WebAccess: Sendable, Hashable {
  /// Origins such as `https://app.example.com` that may use the server, in addition to those of this machine; `*` stands for all.
  package var origins: [String] = []
  /// Names of the server, in addition to those of this machine and the address that it listens on; `*` stands for all.
  package var hosts: [String] = []

  package init() {}

  /// - Parameters:
  ///   - listeningHost: The address that the server listens on, as it was given.
  ///   - hosts: See ``hosts``.
  package init(listeningOn listeningHost: String, hosts: [String]) {
    self.listeningHost = listeningHost
    self.hosts = hosts
  }

  /// The address that the server listens on, as it was given.
  package var listeningHost = "127.0.0.1"

  private static let localNames: Set<String> = ["localhost", "127.0.0.1", "::1"]

  package func accepts(host: String?) -> Bool {
    guard let host else { return false }
    let name = Self.name(of: host)
    if Self.isLocal(name) || name == listeningHost.lowercased() || hosts.contains("*") { return true }
    if hosts.contains(where: { Self.name(of: $0) == name || $0.lowercased() == host.lowercased() }) { return true }
    // A server on all addresses is called by any of them. A name is needed to rebind.
    return (listeningHost == "0.0.0.0" || listeningHost == "::") && AddressReach(numericHost: name) != nil
  }

  func accepts(origin: String) -> Bool {
    if origins.contains("*") || origins.contains(where: { $0.lowercased() == origin.lowercased() }) { return true }
    guard let scheme = ["http://", "https://"].first(where: { origin.lowercased().hasPrefix($0) }) else { return false }
    return Self.isLocal(Self.name(of: String(origin.dropFirst(scheme.count))))
  }

  /// Names below `localhost` are always of this machine (RFC 6761, section 6.3).
  private static func isLocal(_ name: String) -> Bool { localNames.contains(name) || name.hasSuffix(".localhost") }

  /// The host without the port and without brackets, in lower case; empty for what is neither a name nor an address.
  private static func name(of host: String) -> String {
    let host = host.lowercased()
    if host.first == "[" {
      guard let end = host.firstIndex(of: "]"), isPort(host[host.index(after: end)...]) else { return "" }
      return String(host[host.index(after: host.startIndex)..<end])
    }
    guard let colon = host.firstIndex(of: ":") else { return host }
    // More than one colon: an address of IPv6 as it is given on a command line.
    if host[host.index(after: colon)...].contains(":") { return host }
    return isPort(host[colon...]) ? String(host[..<colon]) : ""
  }

  private static func isPort(_ text: Substring) -> Bool {
    text.isEmpty || text.first == ":" && text.dropFirst().allSatisfy { $0.isASCII && $0.isNumber }
  }
}
