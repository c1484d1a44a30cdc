/// The reachability of the backend, as far as the client knows.
package enum OnlineState: Hashable, Sendable {
  /// Nothing is known yet: treat as online, a connection may be under way.
  case unknown
  /// The backend has answered, and the stream has not failed since.
  case online
  /// The backend cannot be reached or must not be used; answer from the cache.
  case offline
}
