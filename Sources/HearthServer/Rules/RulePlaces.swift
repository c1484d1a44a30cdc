internal import HearthModel
internal import HearthRules

/// The places of parts of a rules file in the JSON of Google's emulator.
struct RulePlaces {
  private let source: SourceText
  /// The number of Unicode scalars in front of each byte of the source, and of its end: the emulator counts them.
  private let offsets: [Int32]

  init(_ source: SourceText) {
    self.source = source
    var count: Int32 = 0
    var offsets: [Int32] = []
    offsets.reserveCapacity(source.bytes.count + 1)
    for byte in source.bytes {
      offsets.append(count)
      // The first byte of a scalar.
      if byte & 0xC0 != 0x80 { count += 1 }
    }
    self.offsets = offsets + [count]
  }

  /// - Parameter fileName: The first member; nil for none.
  func json(of range: SourceRange, fileName: String? = nil) -> JSONText {
    let place = source.position(of: Int(range.start))
    let (start, end) = (offset(of: range.start), offset(of: range.end))
    let numbers = [
      ("line", place.line), ("column", place.column), ("currentOffset", Int(start)),
      // That of the last character.
      ("endOffset", Int(max(start, end - 1))),
    ]
    return .object((fileName.map { [("fileName", .string($0))] } ?? []) + numbers.map { ($0.0, .number("\($0.1)")) })
  }

  private func offset(of byte: Int32) -> Int32 { offsets[min(max(0, Int(byte)), offsets.count - 1)] }
}
