// Reads Swift files as tokens, for scripts/structure.swift: what each declares, and the names that it uses.

/// Splits source text into identifiers and single punctuation characters, without comments and the text of strings.
struct Tokenizer {
  private let bytes: [UInt8]
  private var index = 0
  private(set) var tokens: [Substring] = []

  init(_ text: String) {
    bytes = Array(text.utf8)
    readCode(untilParenthesis: false)
  }

  private func byte(_ offset: Int = 0) -> UInt8 { index + offset < bytes.count ? bytes[index + offset] : 0 }

  private func isIdentifier(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...: true
    default: false
    }
  }

  /// Reads to the end of the text, or past the parenthesis that ends an interpolation.
  private mutating func readCode(untilParenthesis: Bool) {
    var depth = 0
    while index < bytes.count {
      switch byte() {
      case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "/"):
        while index < bytes.count, byte() != UInt8(ascii: "\n") { index += 1 }
      case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "*"): skipBlockComment()
      case UInt8(ascii: "\""): readString(hashes: 0)
      case UInt8(ascii: "#") where startsRawString: readString(hashes: hashCount)
      case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\t"), UInt8(ascii: "`"): index += 1
      case let first where isIdentifier(first):
        let start = index
        while isIdentifier(byte()) { index += 1 }
        tokens.append(Substring(decoding: bytes[start..<index], as: UTF8.self))
      case let mark:
        index += 1
        if mark == UInt8(ascii: "(") { depth += 1 }
        if mark == UInt8(ascii: ")") {
          depth -= 1
          if untilParenthesis, depth < 0 { return }
        }
        tokens.append(Substring(decoding: [mark], as: UTF8.self))
      }
    }
  }

  private mutating func skipBlockComment() {
    var depth = 0
    repeat {
      if byte() == UInt8(ascii: "/"), byte(1) == UInt8(ascii: "*") {
        depth += 1
        index += 2
      } else if byte() == UInt8(ascii: "*"), byte(1) == UInt8(ascii: "/") {
        depth -= 1
        index += 2
      } else {
        index += 1
      }
    } while depth > 0 && index < bytes.count
  }

  private var hashCount: Int { bytes[index...].prefix { $0 == UInt8(ascii: "#") }.count }
  private var startsRawString: Bool { byte(hashCount) == UInt8(ascii: "\"") }

  private mutating func readString(hashes: Int) {
    index += hashes
    let quotes = byte(1) == UInt8(ascii: "\"") && byte(2) == UInt8(ascii: "\"") ? 3 : 1
    let hash = [UInt8](repeating: UInt8(ascii: "#"), count: hashes)
    let end = [UInt8](repeating: UInt8(ascii: "\""), count: quotes) + hash
    let escape = [UInt8(ascii: "\\")] + hash
    index += quotes
    while index < bytes.count {
      if bytes[index...].starts(with: end) {
        index += end.count
        return
      }
      guard bytes[index...].starts(with: escape) else {
        index += 1
        continue
      }
      index += escape.count
      let isInterpolation = byte() == UInt8(ascii: "(")
      index += 1
      if isInterpolation { readCode(untilParenthesis: true) }
    }
  }
}

/// One file: its declarations, and the names it uses that could be types of another place.
struct SourceFile {
  struct Use: Hashable {
    var name: Substring
    /// The module before the dot, if one is written.
    var module: Substring?
    /// The types and extensions around the use, outermost first.
    var scope: [Substring]
  }

  static let typeKeywords: Set<Substring> = ["struct", "class", "enum", "actor", "protocol", "typealias"]
  static let declarationKeywords: Set<Substring> = typeKeywords.union(["func", "var", "let", "case"])

  let path: String
  let lineCount: Int
  let names: Set<Substring>
  private(set) var imports: Set<Substring> = []
  /// Top-level types that other files can see.
  private(set) var types: Set<Substring> = []
  /// Types of this file alone, types within types, and generic parameters: names that hide those of other places.
  private(set) var hidden: Set<Substring> = []
  /// The names of the types within each type, by the innermost name around them.
  private(set) var nested: [Substring: Set<Substring>] = [:]
  private(set) var uses: Set<Use> = []
  private(set) var packageNames: [Substring] = []

  private var scopes: [(name: Substring, depth: Int)] = []
  private var depth = 0
  private var pending: Substring?

  init(path: String, text: String) {
    self.path = path
    lineCount = text.utf8.reduce(0) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) }
    let tokens = Tokenizer(text).tokens
    names = Set(tokens)
    for index in tokens.indices { read(tokens, at: index) }
  }

  private mutating func read(_ tokens: [Substring], at index: Int) {
    let token = tokens[index]
    let previous = index > 0 ? tokens[index - 1] : ""
    switch token {
    case "{":
      depth += 1
      if let name = pending { scopes.append((name, depth)) }
      pending = nil
    case "}":
      if scopes.last?.depth == depth { scopes.removeLast() }
      depth -= 1
    case "package": readPackageDeclaration(tokens, after: index)
    default:
      if previous == "import" || (index > 1 && tokens[index - 2] == "import" && Self.typeKeywords.contains(previous)) {
        imports.insert(token)
      } else if Self.typeKeywords.contains(previous), !["func", "var", "let"].contains(token) {
        declare(token, tokens, at: index)
      } else if previous == "func" || previous == "init" {
        hideGenericParameters(tokens, after: previous == "init" ? index - 1 : index)
      } else {
        if previous == "extension" { pending = lastName(tokens, at: index) }
        use(token, tokens, at: index)
      }
    }
  }

  private mutating func declare(_ name: Substring, _ tokens: [Substring], at index: Int) {
    let modifiers = tokens[..<(index - 1)].suffix(3)
    if depth > 0 {
      hidden.insert(name)
      if let around = scopes.last { nested[around.name, default: []].insert(name) }
    } else if modifiers.contains("private") || modifiers.contains("fileprivate") {
      hidden.insert(name)
    } else {
      types.insert(name)
    }
    if tokens[index - 1] != "typealias" { pending = name }
    hideGenericParameters(tokens, after: index)
  }

  /// `extension A.B` is an extension of B.
  private func lastName(_ tokens: [Substring], at index: Int) -> Substring {
    var index = index
    while index + 2 < tokens.count, tokens[index + 1] == "." { index += 2 }
    return tokens[index]
  }

  private mutating func hideGenericParameters(_ tokens: [Substring], after index: Int) {
    guard index + 1 < tokens.count, tokens[index + 1] == "<" else { return }
    var index = index + 2
    var isName = true
    while index < tokens.count, tokens[index] != ">" {
      if isName { hidden.insert(tokens[index]) }
      isName = tokens[index] == "," || tokens[index] == "each"
      index += 1
    }
  }

  private mutating func use(_ name: Substring, _ tokens: [Substring], at index: Int) {
    guard let first = name.utf8.first, (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) else { return }
    var module: Substring?
    if index > 1, tokens[index - 1] == "." {
      guard tokens[index - 2].hasPrefix("Hearth") else { return }
      module = tokens[index - 2]
    }
    uses.insert(Use(name: name, module: module, scope: scopes.map(\.name)))
  }

  private mutating func readPackageDeclaration(_ tokens: [Substring], after index: Int) {
    var index = index + 1
    guard index < tokens.count, tokens[index] != "import", tokens[index] != "(", tokens[index] != "." else { return }
    while index + 1 < tokens.count, !Self.declarationKeywords.contains(tokens[index]) {
      if ["init", "subscript", "extension", "{", "="].contains(tokens[index]) { return }
      index += 1
    }
    if tokens[index] == "class", Self.declarationKeywords.contains(tokens[index + 1]) { index += 1 }
    let name = tokens[index + 1]
    if name.first?.isLetter ?? false { packageNames.append(name) }
  }
}
