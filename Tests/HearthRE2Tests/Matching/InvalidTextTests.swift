import Testing

@testable import HearthRE2

@Suite("Bytes that are not UTF-8")
struct InvalidTextTests {
  static let texts: [[UInt8]] = [
    [0x80], [0xFF], [0xC3], [0xC3, 0x28], [0xE6, 0x97], [0xE6, 0x97, 0x28], [0xED, 0xA0, 0x80], [0xC0, 0x80],
    [0xF4, 0x90, 0x80, 0x80], [0xF0, 0x9F, 0x98], [0xE0, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80],
  ]

  @Test("each invalid byte matches as U+FFFD, forwards and backwards", arguments: texts)
  func invalidBytes(text: [UInt8]) throws {
    let wanted = text.count - text.count { $0 == 0x28 }
    let expression = try RegularExpression("\\x{FFFD}{\(wanted)}\\(?")
    #expect(expression.matches(text))
    #expect(expression.firstMatch(in: text)?.range == 0..<text.count)
    #expect(try RegularExpression("[^a]{\(text.count)}").matches(text))
    #expect(try !RegularExpression("[^\\x{FFFD}(]").contains(text))
    #expect(try !RegularExpression("[\\x{80}-\\x{FFFC}\\x{FFFE}-\\x{10FFFF}]").contains(text))
  }

  @Test("the same scalars are read in both directions")
  func directions() {
    for first in UInt8(0x70)...0xFF {
      for second in stride(from: UInt8(0x3F), through: 0xF4, by: 1) {
        let text: [UInt8] = [first, second, 0x80, 0xE6, 0x97, 0xA5, 0xF0, first, 0x98, 0x80]
        text.withUnsafeBufferPointer { bytes in
          let text = UTF8Text(bytes)
          var forwards: [UInt32] = []
          var place = 0
          while place < text.count {
            let (scalar, width) = text.scalar(at: place)
            forwards.append(scalar)
            place += width
          }
          var backwards: [UInt32] = []
          while place > 0 {
            let (scalar, width) = text.scalar(before: place)
            backwards.append(scalar)
            place -= width
          }
          #expect(forwards == backwards.reversed())
        }
      }
    }
  }

  @Test("an escaped surrogate matches no text, and an octal escape above 255 is a scalar")
  func scalarsOfEscapes() throws {
    #expect(try !RegularExpression("\\x{D800}").contains([0xED, 0xA0, 0x80]))
    #expect(try RegularExpression("\\777").matches("\u{1FF}"))
  }
}
