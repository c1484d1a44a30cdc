/// The cells that text takes on a terminal.
///
/// A character of East Asian writing and an emoji take two cells, a combining mark takes none. The ranges are those of Unicode 16,
/// EastAsianWidth.txt (W and F), joined where the gaps between them are not assigned.
package enum CellWidth {
  package static func of(_ text: some StringProtocol) -> Int {
    // Most text is ASCII, whose characters take a cell each.
    if text.utf8.allSatisfy({ $0 < 0x80 && $0 != 0x0D }) { return text.utf8.count }
    return text.reduce(0) { $0 + width(of: $1) }
  }

  /// The text, or its beginning and an ellipsis if it takes more cells.
  package static func cut(_ text: String, to width: Int) -> String {
    guard of(text) > width else { return text }
    guard width > 0 else { return "" }
    var (result, used) = ("", 0)
    for character in text {
      let next = Self.width(of: character)
      guard used + next <= width - 1 else { break }
      result.append(character)
      used += next
    }
    return result + "…"
  }

  private static func width(of character: Character) -> Int {
    let scalars = character.unicodeScalars
    guard let first = scalars.first else { return 0 }
    if scalars.count > 1 {
      // The variation selector that asks for the picture, a pair of letters for a flag, or emoji joined to one.
      if scalars.contains(where: { $0.value == 0xFE0F }), first.properties.isEmoji { return 2 }
      if (0x1F1E6...0x1F1FF).contains(first.value) { return 2 }
    }
    // Several letters may make one character, such as those of Korean syllables: the first one decides.
    return isZero(first) ? 0 : isWide(first) ? 2 : 1
  }

  private static func isZero(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: true
    // The soft hyphen is shown.
    case .format: scalar.value != 0xAD
    default: scalar.value == 0
    }
  }

  private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value >= 0x1100 else { return false }
    if scalar.properties.isEmojiPresentation { return true }
    return wide.contains { $0.contains(scalar.value) }
  }

  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0xA4CF,
    0xA960...0xA97F,
    0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
    0x16FE0...0x18CFF, 0x1AFF0...0x1B2FF, 0x1D300...0x1D376, 0x1F200...0x1F265, 0x1F300...0x1F320, 0x20000...0x3FFFD,
  ]
}
