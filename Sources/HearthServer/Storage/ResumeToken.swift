internal import HearthModel

/// The position from which a client can resume a target: the version up to which it has all changes, and the epoch of the database in which
/// it was given, see ``Epochs``.
///
/// To clients it is opaque bytes: a format number, the epoch, and the version in microseconds (big endian). In the second format, the version
/// of the snapshot follows.
struct ResumeToken: Equatable, Sendable {
  private static let format: UInt8 = 1
  private static let formatOfLaterSnapshot: UInt8 = 2

  var epoch: [UInt8]
  var version: SnapshotVersion
  /// The version of the snapshot with which the token was given, the same or a later one that is no commit.
  var snapshot: SnapshotVersion

  init(epoch: [UInt8], version: SnapshotVersion, snapshot: SnapshotVersion? = nil) {
    self.epoch = epoch
    self.version = version
    self.snapshot = snapshot ?? version
  }

  /// Reads a token; nil for bytes that are not one.
  init?(bytes: [UInt8]) {
    guard let format = bytes.first, format == Self.format || format == Self.formatOfLaterSnapshot else { return nil }
    let versions = format == Self.format ? 1 : 2
    guard bytes.count > 8 * versions else { return nil }
    let all = (0..<versions).compactMap { Self.version(bytes.dropLast(8 * $0).suffix(8)) }
    guard all.count == versions, let first = all.last, let last = all.first, first <= last else { return nil }
    self.init(epoch: Array(bytes[1..<(bytes.count - 8 * versions)]), version: first, snapshot: last)
  }

  private static func version(_ bytes: ArraySlice<UInt8>) -> SnapshotVersion? {
    let microseconds = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard microseconds <= UInt64(Int64.max) else { return nil }
    return SnapshotVersion(microseconds: Int64(microseconds))
  }

  private static func bytes(of version: SnapshotVersion) -> [UInt8] {
    let microseconds = UInt64(bitPattern: version.microseconds)
    return (0..<8).map { UInt8(truncatingIfNeeded: microseconds >> (56 - 8 * $0)) }
  }

  var bytes: [UInt8] {
    let position = epoch + Self.bytes(of: version)
    if snapshot == version { return [Self.format] + position }
    return [Self.formatOfLaterSnapshot] + position + Self.bytes(of: snapshot)
  }
}
