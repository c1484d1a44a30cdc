import TestSupport

/// Generates patterns of every syntax, and texts that have a chance to match them.
struct PatternGenerator {
  var random: SeededGenerator
  /// Groups that were opened in the present pattern.
  private var groups = 0

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  struct Pattern {
    /// The pattern as we read it.
    var text: String
    /// The same for Go 1.19, which knows named groups with a `P` only.
    var forGo: String
    /// The pattern between other parts of one: a quotation that the end would close is closed.
    var closed: String
  }

  mutating func pattern() -> Pattern {
    groups = 0
    var text = random.chance(10) ? element(["^", "(?i)", "(?m)^", "(?s)", "(?U)", "\\A", ".*", "\\b"]) : ""
    text += alternatives(depth: random.below(4))
    if random.chance(10) { text += element(["$", "\\z", "\\b", "(?m:$)", ".*"]) }
    if random.chance(6) { text = damaged(text) }
    if random.chance(3) { text += "\\Q" + element(["a", "a+", "b.c", "", "[", "日"]) }
    var forGo = text.replacing("(?<", with: "(?P<")
    for lookBehind in ["=", "!"] { forGo = forGo.replacing("(?P<\(lookBehind)", with: "(?<\(lookBehind)") }
    return Pattern(text: text, forGo: forGo, closed: Self.endsInQuotation(text) ? forGo + "\\E" : forGo)
  }

  // MARK: - Parts

  private mutating func alternatives(depth: Int) -> String {
    let count = random.chance(30) ? 2 + random.below(3) : 1
    return (0..<count).map { _ in sequence(depth: depth) }.joined(separator: "|")
  }

  private mutating func sequence(depth: Int) -> String {
    let count = random.chance(5) ? 0 : 1 + random.below(depth > 0 ? 4 : 2)
    return (0..<count).map { _ in repeated(depth: depth) }.joined()
  }

  private mutating func repeated(depth: Int) -> String {
    let part = atom(depth: depth)
    guard random.chance(35) else { return part }
    return part + element(Self.operators, rarely: Self.badOperators) + (random.chance(25) ? "?" : "")
  }

  private static let operators = [
    "*", "*", "*", "+", "+", "+", "?", "?", "?", "{0}", "{1}", "{2}", "{3}", "{0,}", "{1,}", "{2,}", "{0,1}", "{0,2}",
    "{1,3}", "{2,4}", "{0,20}",
  ]
  private static let badOperators = [
    "{,2}", "{a}", "{1,a}", "{01}", "{3,2}", "{1000}", "{1001}", "{40}", "{}", "{1,2", "**", "+*", "{2}{3}", "??*",
  ]

  private mutating func atom(depth: Int) -> String {
    switch random.below(depth > 0 ? 100 : 66) {
    case 0..<38: return literal()
    case 38..<44: return "."
    case 44..<49: return characterClass()
    case 49..<54: return element(Self.classEscapes)
    case 54..<58: return element(Self.unicodeClasses, rarely: Self.badUnicodeClasses)
    case 58..<62: return element(["^", "$", "\\A", "\\z", "\\b", "\\B", "\\b", "\\B"])
    case 62..<64: return element(Self.escapes, rarely: Self.badEscapes)
    case 64..<65: return "\\Q" + element(["a", "a.b", "*", "a+", "(", "é", ""]) + "\\E"
    case 65..<66: return flags()
    default: return group(depth: depth - 1)
    }
  }

  private mutating func literal() -> String { random.chance(95) ? element(Self.letters) : element(Self.rare) }

  static let letters = [
    "a", "a", "a", "a", "b", "b", "b", "c", "c", "A", "B", "k", "s", "0", "1", "7", "_", "-", " ", "é", "日", "\n",
  ]
  static let rare = [
    "K", "S", "\u{212A}", "\u{17F}", "É", "ß", "\u{1E9E}", "α", "Α", "ς", "σ", "Σ", "µ", "μ", "ǆ", "ǅ", "Ǆ", "𝔸", "😀",
    "\u{FFFD}", "\u{10FFFF}", "\u{80}", "\u{7FF}", "\u{800}", "\u{FFFF}", "\u{10000}", "\t", "\u{0B}", "]", "}", "/",
    "ٱ", "५", "Ⅷ", "€", "\u{301}", "\u{2028}", "ж", "Ж", "ə", "Ə", "\u{0}", "\r", "\"", "&", "~", ",", "<", "İ", "ı",
  ]
  private static let classEscapes = ["\\d", "\\D", "\\s", "\\S", "\\w", "\\W"]
  private static let unicodeClasses = [
    "\\pL", "\\PL", "\\pN", "\\p{Lu}", "\\P{Lu}", "\\p{^Lu}", "\\P{^Ll}", "\\p{Greek}", "\\P{Greek}", "\\p{Latin}",
    "\\p{Han}", "\\p{Cyrillic}", "\\p{Nd}", "\\pZ", "\\p{Any}", "\\P{Any}", "\\p{Sm}", "\\p{Mn}", "\\p{Lt}", "\\pC",
    "\\p{Cs}", "\\p{Common}", "\\p{Sc}", "\\pP", "\\p{Arabic}", "\\p{Ll}",
  ]
  private static let badUnicodeClasses = [
    "\\p", "\\p{", "\\p{Foo}", "\\p{}", "\\p{greek}", "\\pQ", "\\p{^}", "\\p日", "\\p{Cn}",
  ]
  private static let escapes = [
    "\\a", "\\f", "\\t", "\\n", "\\r", "\\v", "\\141", "\\142", "\\012", "\\0", "\\07", "\\x61", "\\x{62}",
    "\\x{1F600}", "\\x{e9}", "\\xe9", "\\x{10FFFF}", "\\.", "\\*", "\\[", "\\\\", "\\-", "\\_", "\\ ", "\\<", "\\/",
    "\\377", "\\777", "\\x{0061}", "\\x{D800}", "\\x00", "\\\n",
  ]
  private static let badEscapes = [
    "\\x{110000}", "\\x6", "\\x{}", "\\x{61", "\\1", "\\8", "\\19", "\\é", "\\C", "\\Z", "\\E", "\\G", "\\K", "\\R",
    "\\k", "\\e", "\\cA", "\\h", "\\X", "\\N", "\\x{FFFFFFFFFF}", "\\u0061",
  ]

  private mutating func flags() -> String {
    element(
      [
        "(?i)", "(?-i)", "(?s)", "(?-s)", "(?m)", "(?-m)", "(?U)", "(?-U)", "(?im-s)", "(?i-i)", "(?)", "(?ii)",
        "(?mU)",
      ], rarely: ["(?-)", "(?i-)", "(?x)", "(?i", "(?i--s)", "(?é)", "(?"])
  }

  private mutating func group(depth: Int) -> String {
    let opening: String
    switch random.below(20) {
    case 0..<9: opening = "("
    case 9..<14: opening = "(?:"
    case 14: opening = "(?P<g\(groups)>"
    case 15: opening = "(?<g\(groups)>"
    case 16: opening = element(["(?i:", "(?s:", "(?m:", "(?U:", "(?-i:", "(?-U:", "(?ims-U:", "(?i-s:"])
    case 17:
      opening = element(
        ["(", "(?:"],
        rarely: [
          "(?P<>", "(?P<a b>", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?#", "(?P=g0", "(?P>g0", "(?P<g", "(?P<é>",
        ])
    default: opening = "(?:"
    }
    groups += 1
    return opening + alternatives(depth: depth) + ")"
  }

  private mutating func characterClass() -> String {
    var text = random.chance(30) ? "[^" : "["
    if random.chance(4) { text += "]" }
    for _ in 0..<1 + random.below(4) { text += classItem() }
    if random.chance(4) { text += "-" }
    return random.chance(99) ? text + "]" : text
  }

  private mutating func classItem() -> String {
    switch random.below(12) {
    case 0..<4: return literal()
    case 4..<7: return element(Self.ranges, rarely: ["b-a", "a-\\d", "\\x{10}-\\t", "é-e", "a-[:alpha:]"])
    case 7: return element(Self.classEscapes)
    case 8: return element(Self.unicodeClasses, rarely: Self.badUnicodeClasses)
    case 9, 10:
      return element(Self.asciiClasses, rarely: ["[:foo:]", "[:ALPHA:]", "[::]", "[:^:]", "[:alpha:", "[: alpha:]"])
    default:
      return element(
        Self.escapes + ["^", ".", "$", "*", "(", "|", "[", "[:", "[a", "[=a=]", "[:alpha"],
        rarely: Self.badEscapes + ["\\b", "\\A", "\\Q"])
    }
  }

  private static let ranges = [
    "a-c", "a-z", "A-Z", "0-9", "a-a", "!-~", "é-ü", "α-ω", "Α-Ω", "ぁ-ん", "\\x00-\\x{10FFFF}", "\\n-a", "+--", "--/",
    "\\d-z", "a-b-c", "\\x61-\\143", "k-s", "K-S", "\\x{80}-\\x{FFFD}", "-a", "{-\\x7f", "😀-😂",
  ]
  private static let asciiClasses = [
    "[:alpha:]", "[:^alpha:]", "[:digit:]", "[:space:]", "[:word:]", "[:^word:]", "[:punct:]", "[:alnum:]", "[:ascii:]",
    "[:^ascii:]", "[:blank:]", "[:cntrl:]", "[:graph:]", "[:lower:]", "[:print:]", "[:upper:]", "[:xdigit:]",
    "[:^upper:]",
  ]

  /// A pattern in which a character is missing, doubled or out of place.
  private mutating func damaged(_ text: String) -> String {
    var scalars = Array(text.unicodeScalars)
    guard !scalars.isEmpty else { return text }
    let place = random.below(scalars.count)
    switch random.below(3) {
    case 0: scalars.remove(at: place)
    case 1: scalars.insert(scalars[place], at: place)
    default: scalars.insert(element(Array("()[]{}*+?|\\^$.-,:<>P".unicodeScalars)), at: place)
    }
    return String(String.UnicodeScalarView(scalars))
  }

  /// Reads a pattern as far as backslashes matter.
  private static func endsInQuotation(_ text: String) -> Bool {
    var rest = Substring(text).unicodeScalars
    var isQuoted = false
    while let scalar = rest.popFirst() {
      guard scalar == "\\" else { continue }
      if isQuoted {
        if rest.first == "E" {
          rest.removeFirst()
          isQuoted = false
        }
      } else if rest.popFirst() == "Q" {
        isQuoted = true
      }
    }
    return isQuoted
  }

  // MARK: - Texts

  /// - Parameter pattern: Some of its characters come into the text.
  mutating func text(for pattern: String) -> [UInt8] {
    let own = Array(pattern.unicodeScalars).map { String($0) }
    var text: [UInt8] = []
    for _ in 0..<random.below(random.chance(10) ? 60 : 12) {
      switch random.below(20) {
      case 0..<9: text += Array(element(Self.letters).utf8)
      case 9..<17 where !own.isEmpty: text += Array(element(own).utf8)
      case 17..<19: text += Array(element(Self.rare).utf8)
      default: text += element(["aaaa", "abcabc", "a\nb\n", "ab ab", "123", "aA"]).utf8
      }
    }
    if random.chance(12), !text.isEmpty { damage(&text) }
    return text
  }

  /// Makes the UTF-8 of a text invalid, most times.
  private mutating func damage(_ text: inout [UInt8]) {
    let place = random.below(text.count)
    switch random.below(3) {
    case 0: text.remove(at: place)
    case 1: text[place] = UInt8(random.below(256))
    default:
      text.insert(
        contentsOf: element([[0x80], [0xFF], [0xC3], [0xE6, 0x97], [0xED, 0xA0, 0x80], [0xC0, 0x80]]), at: place)
    }
  }

  private mutating func element<T>(_ array: [T]) -> T { random.element(array) }

  /// One in thirty comes from the second array, so that a pattern with many parts still has a chance to be valid.
  private mutating func element<T>(_ array: [T], rarely others: [T]) -> T {
    random.element(random.below(30) == 0 ? others : array)
  }
}
