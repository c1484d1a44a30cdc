internal import Crypto
internal import Foundation
internal import HearthModel

/// Makes the bloom filter of an existence filter: the names of all documents that a target holds.
///
/// Size and hash function are those of production, tested with the golden data of the official SDKs: a prime number of bits, and the two
/// halves of the name's MD5 as little-endian numbers. MD5 is part of the protocol; nothing here depends on its strength.
struct NameFilter {
  /// A target with more documents gets no filter: its client reads everything again if their numbers differ.
  static let maximumCount = 50_000

  private let bitCount: UInt64
  private let hashCount: UInt64
  private var bitmap: [UInt8]

  /// - Parameters:
  ///   - count: The number of names that will be inserted.
  ///   - errorRate: The share of other names that the filter may take for its own; between 0 and 1.
  init(count: Int, errorRate: Double = 0.0001) {
    let wanted = (-Double(max(count, 0)) * log(errorRate) / (log(2) * log(2))).rounded(.up)
    guard count > 0, wanted >= 1, let bits = Int(exactly: wanted) else {
      (bitCount, hashCount, bitmap) = (0, 0, [])
      return
    }
    bitCount = UInt64(Self.prime(from: bits))
    hashCount = UInt64(max(1, (Double(bitCount) / Double(count) * log(2)).rounded()))
    bitmap = [UInt8](repeating: 0, count: Int((bitCount + 7) / 8))
  }

  var data: BloomFilterData {
    BloomFilterData(bitmap: bitmap, padding: bitmap.count * 8 - Int(bitCount), hashCount: Int(hashCount))
  }

  /// - Parameter name: A document's full resource name; its UTF-8 form counts.
  mutating func insert(_ name: String) {
    guard bitCount > 0 else { return }
    let digest = Array(Insecure.MD5.hash(data: Data(name.utf8)))
    func half(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
    let (first, second) = (half(digest[..<8]), half(digest[8...]))
    for index in 0..<hashCount {
      let bit = (first &+ index &* second) % bitCount
      bitmap[Int(bit / 8)] |= 1 << UInt8(bit % 8)
    }
  }

  private static func prime(from start: Int) -> Int {
    var number = max(2, start)
    while !isPrime(number) { number += 1 }
    return number
  }

  private static func isPrime(_ number: Int) -> Bool {
    var divisor = 2
    while divisor * divisor <= number {
      if number.isMultiple(of: divisor) { return false }
      divisor += 1
    }
    return true
  }
}
