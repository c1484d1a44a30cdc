internal import HearthModel
internal import NIOCore

/// A message to the client of a listen stream.
enum ListenMessage: Sendable {
  case response(WatchResponse)
  /// The bytes of a `ListenResponse`.
  case encoded([UInt8])
  /// Several messages with their heads, as ``DocumentFrames`` writes them.
  case frames(ByteBuffer)

  /// The size in bytes of the pieces in which messages are passed to the transport, so that a client that does not read holds back little
  /// more than what may wait for it.
  static let bytesPerPiece = 48 << 10
}
