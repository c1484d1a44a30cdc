/// The sets of ASCII that have a name of their own.
enum NamedSets {
  static let digits = ScalarSet([range("0", "9")])
  static let spaces = ScalarSet([(0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20)])
  static let wordScalars = ScalarSet([range("0", "9"), range("A", "Z"), range("_", "_"), range("a", "z")])
  static let newline = ScalarSet([(0x0A, 0x0A)])
  static let allButNewline = newline.inverted

  /// The set of `\d`, `\s` or `\w`, by its lower-case letter.
  static func perlClass(_ letter: UInt8) -> ScalarSet? {
    switch letter {
    case UInt8(ascii: "d"): digits
    case UInt8(ascii: "s"): spaces
    case UInt8(ascii: "w"): wordScalars
    default: nil
    }
  }

  /// The set of `[[:NAME:]]`.
  static func asciiClass(_ name: Substring) -> ScalarSet? {
    switch name {
    case "alnum": ScalarSet([range("0", "9"), range("A", "Z"), range("a", "z")])
    case "alpha": ScalarSet([range("A", "Z"), range("a", "z")])
    case "ascii": ScalarSet([(0x00, 0x7F)])
    case "blank": ScalarSet([(0x09, 0x09), (0x20, 0x20)])
    case "cntrl": ScalarSet([(0x00, 0x1F), (0x7F, 0x7F)])
    case "digit": digits
    case "graph": ScalarSet([range("!", "~")])
    case "lower": ScalarSet([range("a", "z")])
    case "print": ScalarSet([range(" ", "~")])
    case "punct": ScalarSet([range("!", "/"), range(":", "@"), range("[", "`"), range("{", "~")])
    case "space": ScalarSet([(0x09, 0x0D), (0x20, 0x20)])
    case "upper": ScalarSet([range("A", "Z")])
    case "word": wordScalars
    case "xdigit": ScalarSet([range("0", "9"), range("A", "F"), range("a", "f")])
    default: nil
    }
  }

  private static func range(_ lower: Unicode.Scalar, _ upper: Unicode.Scalar) -> (UInt32, UInt32) {
    (lower.value, upper.value)
  }
}
