internal import HearthModel

/// The position from which a client can resume a target: the version up to which it has all changes, and the epoch of the database in which
/// it was given, see ``Epochs``.
///
/// To clients it is opaque bytes: a format number, the epoch, and the version in microseconds (big endian).
struct ResumeToken: Equatable, Sendable {
  private static let format: UInt8 = 1

  var epoch: [UInt8]
  var version: SnapshotVersion

  init(epoch: [UInt8], version: SnapshotVersion) {
    self.epoch = epoch
    self.version = version
  }

  /// Reads a token; nil for bytes that are not one.
  init?(bytes: [UInt8]) {
    guard bytes.count >= 9, bytes[0] == Self.format else { return nil }
    let microseconds = bytes.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard microseconds <= UInt64(Int64.max) else { return nil }
    epoch = Array(bytes[1..<(bytes.count - 8)])
    version = SnapshotVersion(microseconds: Int64(microseconds))
  }

  var bytes: [UInt8] {
    let microseconds = UInt64(bitPattern: version.microseconds)
    return [Self.format] + epoch + (0..<8).map { UInt8(truncatingIfNeeded: microseconds >> (56 - 8 * $0)) }
  }
}
