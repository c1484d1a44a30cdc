/// The running checksum of a write-ahead log (https://www.sqlite.org/fileformat.html#checksum_algorithm).
///
/// Each step is reversible, so two known checksums determine the bytes between them.
struct LogChecksum: Equatable {
  private var first: UInt32 = 0
  private var second: UInt32 = 0

  init(of bytes: [UInt8], isBigEndian: Bool) {
    add(bytes[...], isBigEndian: isBigEndian)
  }

  /// A checksum as the log stores it.
  init(_ bytes: ArraySlice<UInt8>) {
    first = Self.number(bytes.prefix(4))
    second = Self.number(bytes.dropFirst(4))
  }

  mutating func add(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) {
    bytes.withUnsafeBytes { bytes in
      for place in stride(from: 0, to: bytes.count, by: 8) {
        let words = Self.words(bytes, place, isBigEndian)
        first &+= words.0 &+ second
        second &+= words.1 &+ first
      }
    }
  }

  /// Undoes ``add(_:isBigEndian:)``.
  mutating func remove(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) {
    bytes.withUnsafeBytes { bytes in
      for place in stride(from: bytes.count - 8, through: 0, by: -8) {
        let words = Self.words(bytes, place, isBigEndian)
        second &-= words.1 &+ first
        first &-= words.0 &+ second
      }
    }
  }

  /// Returns the eight bytes that lead from this checksum to another one.
  func bytes(to next: LogChecksum, isBigEndian: Bool) -> [UInt8] {
    [next.first &- first &- second, next.second &- second &- next.first].flatMap { word in
      withUnsafeBytes(of: isBigEndian ? word.bigEndian : word.littleEndian) { Array($0) }
    }
  }

  private static func words(
    _ bytes: UnsafeRawBufferPointer, _ place: Int, _ isBigEndian: Bool
  ) -> (UInt32, UInt32) {
    let words = (
      bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self),
      bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
    )
    return isBigEndian
      ? (UInt32(bigEndian: words.0), UInt32(bigEndian: words.1))
      : (UInt32(littleEndian: words.0), UInt32(littleEndian: words.1))
  }

  /// Four bytes, the highest first.
  static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
}
