internal import HearthModel

/// A set of document names with false positives and no false negatives.
///
/// The backend sends it with an existence filter: the names of all documents that match now. Format and hash function are those of the
/// Firestore protocol, and are tested with the golden data of the official SDKs.
struct BloomFilter {
  /// A filter with more hash functions than this is refused: one in 2 to the power of 1,000 wrong answers is of no use, and
  /// every lookup costs as much.
  static let maximumHashCount = 1000

  private let bitmap: [UInt8]
  private let bitCount: UInt64
  private let hashCount: Int

  /// - Returns: nil for a filter that cannot be used, which counts as none: its padding is not within the last byte, it has
  ///   bits without hash functions or the other way round, or no bits at all.
  init?(_ data: BloomFilterData) {
    guard (0...7).contains(data.padding), (0...BloomFilter.maximumHashCount).contains(data.hashCount) else {
      return nil
    }
    guard !data.bitmap.isEmpty, data.hashCount > 0 else { return nil }
    bitmap = data.bitmap
    // At least one: a byte has more bits than the padding may take.
    bitCount = UInt64(data.bitmap.count) * 8 - UInt64(data.padding)
    hashCount = data.hashCount
  }

  /// True if the name may be in the set.
  ///
  /// - Parameter name: A document's full resource name; its UTF-8 form counts.
  func mightContain(_ name: String) -> Bool {
    let (first, second) = BloomFilter.hashes(of: name)
    for index in 0..<UInt64(hashCount) {
      let bit = (first &+ index &* second) % bitCount
      if bitmap[Int(bit / 8)] & (1 << UInt8(bit % 8)) == 0 { return false }
    }
    return true
  }

  /// The two halves of the name's MD5, each read as a little-endian number. MD5 is part of the protocol; nothing here depends on
  /// its strength.
  private static func hashes(of name: String) -> (UInt64, UInt64) {
    var name = name
    return name.withUTF8 { MD5.digest(of: UnsafeRawBufferPointer($0)) }
  }
}
