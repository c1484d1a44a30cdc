/// The bytes with which a match of a program can begin.
struct Prefilter: Sendable {
  private let bytes: [Bool]

  /// - Returns: Nil for a program that can match the empty text, or begin with any byte.
  init?(_ program: Program) {
    var bytes = [Bool](repeating: false, count: 256)
    var visited = PlaceSet(capacity: program.instructions.count)
    var waiting = [program.entry]
    while let place = waiting.popLast() {
      guard visited.insert(place) else { continue }
      let instruction = program.instructions[Int(place)]
      switch instruction.operation {
      case .match: return nil
      case .fail: break
      case .range, .set:
        for byte in 0..<0x80 where program.takes(instruction, UInt32(byte)) { bytes[byte] = true }
        let largest =
          instruction.operation == .range
          ? instruction.upper : program.tests[Int(instruction.lower)].set.ranges.last?.upper ?? 0
        // Invalid bytes count as a scalar, too, so that no first byte is ruled out.
        if largest >= 0x80 { for byte in 0x80..<0x100 { bytes[byte] = true } }
      case .split: waiting += [instruction.other, instruction.next]
      case .assertion, .capture: waiting.append(instruction.next)
      }
    }
    guard bytes.contains(false) else { return nil }
    self.bytes = bytes
  }

  /// The first place from which a match can begin, or the end of the text.
  func firstCandidate(in text: UTF8Text, from start: Int) -> Int {
    bytes.withUnsafeBufferPointer { bytes in
      var place = start
      while place < text.count, !bytes[Int(text.bytes[place])] { place += 1 }
      return place
    }
  }
}
