/// The place between two scalars of a text, or at one of its ends.
enum Boundary {
  /// The assertions that hold between two scalars; nil stands for what is outside of the text.
  static func assertions(before: UInt32?, after: UInt32?) -> Assertions {
    var holding: Assertions = []
    if before == nil { holding.insert([.textStart, .lineStart]) }
    if after == nil { holding.insert([.textEnd, .lineEnd]) }
    if before == newline { holding.insert(.lineStart) }
    if after == newline { holding.insert(.lineEnd) }
    holding.insert(isWord(before) != isWord(after) ? .wordBoundary : .noWordBoundary)
    return holding
  }

  /// The kinds of scalars that assertions distinguish. The raw value goes into states of automata.
  enum Side: UInt8, Sendable {
    case outside, newline, word, other

    /// - Parameter assertions: Those of a program; what none of them looks at makes no difference.
    init(_ scalar: UInt32?, for assertions: Assertions) {
      self = .other
      if scalar == nil {
        if !assertions.isEmpty { self = .outside }
      } else if scalar == Boundary.newline {
        if !assertions.isDisjoint(with: [.lineStart, .lineEnd]) { self = .newline }
      } else if Boundary.isWord(scalar) {
        if !assertions.isDisjoint(with: [.wordBoundary, .noWordBoundary]) { self = .word }
      }
    }

    /// A scalar of the kind.
    var scalar: UInt32? {
      switch self {
      case .outside: nil
      case .newline: Boundary.newline
      case .word: UInt32(UInt8(ascii: "a"))
      case .other: UInt32(UInt8(ascii: "-"))
      }
    }
  }

  private static let newline: UInt32 = 0x0A

  private static func isWord(_ scalar: UInt32?) -> Bool {
    guard let scalar else { return false }
    switch scalar {
    case 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A: return true
    default: return false
    }
  }
}
