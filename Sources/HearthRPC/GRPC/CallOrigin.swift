/// Where calls come from: a client, or a connection whose client is not known. Calls of one origin share what a limit leaves to it.
package enum CallOrigin: Hashable, Sendable {
  case client(ClientNetwork)
  case connection(ObjectIdentifier)

  /// - Parameter hasAddressesOfClients: See ``ServerLimits/hasAddressesOfClients``.
  init(_ share: ConnectionShare, hasAddressesOfClients: Bool) {
    if hasAddressesOfClients, let client = share.client {
      self = .client(client)
    } else {
      self = .connection(ObjectIdentifier(share))
    }
  }
}

extension ServerCall {
  /// It stays the same, and differs from those of other connections, as long as the call exists.
  package var origin: CallOrigin { load.origin(of: share) }
}
