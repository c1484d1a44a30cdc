internal import HearthModel

/// Finds the lines of a JSON text on which its parts stand. The text is one that can be read; in another one the search ends early.
package struct JSONPlaces: Sendable {
  package enum Step: Sendable {
    case member(String)
    case element(Int)
  }

  private let bytes: [UInt8]

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The line of an offset, and the character on it, both counted from 1.
  package func position(of offset: Int) -> (line: Int, column: Int) {
    let before = bytes.prefix(offset)
    let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
    return (1 + before.count { $0 == 0x0A }, 1 + before[start...].count { $0 & 0xC0 != 0x80 })
  }

  /// The line of the last part on the way that is there, counted from 1.
  package func line(of steps: [Step]) -> Int {
    var index = behindSpace(0)
    var found = index
    for step in steps {
      guard let next = place(of: step, in: index) else { break }
      (found, index) = (next.start, next.value)
    }
    return position(of: found).line
  }

  /// - Returns: The place of the name or of the element, and that of the value.
  private func place(of step: Step, in start: Int) -> (start: Int, value: Int)? {
    var index = start + 1
    var number = 0
    while true {
      index = behindSpace(index)
      switch (step, byte(start)) {
      case (.element(let wanted), UInt8(ascii: "[")):
        guard byte(index) != UInt8(ascii: "]") else { return nil }
        if number == wanted { return (index, index) }
      case (.member(let name), UInt8(ascii: "{")):
        guard byte(index) == UInt8(ascii: "\"") else { return nil }
        let (nameStart, nameEnd) = (index, behindValue(index))
        index = behindSpace(behindSpace(nameEnd) + 1)
        if case .string(name)? = try? JSONTextReader.read(bytes[nameStart..<nameEnd]) { return (nameStart, index) }
      default: return nil
      }
      index = behindSpace(behindValue(index))
      guard byte(index) == UInt8(ascii: ",") else { return nil }
      index += 1
      number += 1
    }
  }

  private func byte(_ index: Int) -> UInt8? { index < bytes.count ? bytes[index] : nil }

  private func behindSpace(_ index: Int) -> Int {
    var index = index
    while let byte = byte(index), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { index += 1 }
    return index
  }

  private func behindValue(_ start: Int) -> Int { Self.end(ofValueAt: start, in: bytes) }

  /// The place behind a value: behind its last quotation mark or bracket, or before what cannot be part of it.
  static func end(ofValueAt start: Int, in bytes: [UInt8]) -> Int {
    var (index, depth, isQuoted) = (start, 0, false)
    while index < bytes.count {
      let byte = bytes[index]
      if isQuoted {
        if byte == UInt8(ascii: "\\") { index += 1 }
        if byte == UInt8(ascii: "\"") {
          isQuoted = false
          if depth == 0 { return index + 1 }
        }
      } else {
        switch byte {
        case UInt8(ascii: "\""): isQuoted = true
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
          guard depth > 0 else { return index }
          depth -= 1
          if depth == 0 { return index + 1 }
        case UInt8(ascii: ","), 0x20, 0x0A, 0x0D, 0x09: if depth == 0 { return index }
        default: break
        }
      }
      index += 1
    }
    return min(index, bytes.count)
  }
}
