internal import HearthModel

/// A message to the client of a listen stream.
enum ListenMessage: Sendable {
  case response(WatchResponse)
  /// The bytes of a `ListenResponse`.
  case encoded([UInt8])
}
