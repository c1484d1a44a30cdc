/// The reachability of the backend, as far as the client knows. The numbers are part of the format of a shared cache.
package enum OnlineState: Int64, Sendable {
  /// Nothing is known yet: treat as online, a connection may be under way.
  case unknown = 0
  /// The backend has answered, and the stream has not failed since.
  case online = 1
  /// The backend cannot be reached or must not be used; answer from the cache.
  case offline = 2
}
