/// Identifies one batch of writes among those of all caches: 128 random bits, drawn when the user writes.
///
/// A batch number is unique in one file only. A folder that was restored to an older state, or copied, uses the same numbers again, but it
/// never draws the same identity again.
package struct BatchIdentity: Hashable, Sendable {
  package var high: UInt64
  package var low: UInt64

  package static let byteCount = 16

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  package static func random(using generator: inout some RandomNumberGenerator) -> BatchIdentity {
    BatchIdentity(high: generator.next(), low: generator.next())
  }

  /// Big-endian.
  package var bytes: [UInt8] {
    [high, low].flatMap { half in stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: half >> $0) } }
  }

  /// Nil unless there are sixteen of them.
  package init?(bytes: some Collection<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    self.init(high: Self.number(bytes.prefix(8)), low: Self.number(bytes.dropFirst(8)))
  }

  private static func number(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Thirty-two hexadecimal digits in lower case.
  package var text: String { Self.digits(high) + Self.digits(low) }

  /// Nil for every text except the one that ``text`` gives.
  package init?(parsing text: String) {
    self.init(parsing: Array(text.utf8)[...])
  }

  fileprivate init?(parsing text: ArraySlice<UInt8>) {
    guard text.count == 32, let high = Self.number(digits: text.prefix(16)),
      let low = Self.number(digits: text.suffix(16))
    else { return nil }
    self.init(high: high, low: low)
  }

  fileprivate static func digits(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  fileprivate static func number(digits: ArraySlice<UInt8>) -> UInt64? {
    var number: UInt64 = 0
    for digit in digits {
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(digit - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
      default: return nil
      }
    }
    return number
  }
}

/// The label of a batch for a backend that has announced that it knows labels: sixteen hexadecimal digits for the client, "-", and
/// thirty-two for the batch's ``BatchIdentity``, all in lower case.
///
/// The identity alone names the batch. The client's part is a hash of its cache's name. A backend can use it to bound its storage per
/// client; two clients with the same hash are harmless.
package struct BatchLabel: Hashable, Sendable {
  package var client: UInt64
  package var identity: BatchIdentity

  package init(cacheID: String, identity: BatchIdentity) {
    // FNV-1a: short, and the same in every release.
    client = cacheID.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    self.identity = identity
  }

  package var text: String { "\(BatchIdentity.digits(client))-\(identity.text)" }

  /// Nil for every text except the one that ``text`` gives.
  package init?(parsing text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count == 49, bytes[16] == UInt8(ascii: "-"), let client = BatchIdentity.number(digits: bytes[..<16]),
      let identity = BatchIdentity(parsing: bytes[17...])
    else { return nil }
    self.client = client
    self.identity = identity
  }
}
