/// A word or sign of a rules file.
struct Token: Hashable {
  enum Kind: Hashable {
    case identifier
    case integer
    case float
    case string
    case bytes
    case sign(Sign)
    case end
  }

  enum Sign: String, CaseIterable {
    case openBrace = "{"
    case closeBrace = "}"
    case openParenthesis = "("
    case closeParenthesis = ")"
    case openBracket = "["
    case closeBracket = "]"
    case comma = ","
    case semicolon = ";"
    case colon = ":"
    case dot = "."
    case question = "?"
    case dollar = "$"
    case or = "||"
    case and = "&&"
    case equal = "=="
    case notEqual = "!="
    case lessOrEqual = "<="
    case less = "<"
    case greaterOrEqual = ">="
    case greater = ">"
    case assign = "="
    case not = "!"
    case plus = "+"
    case minus = "-"
    case recursiveStar = "**"
    case times = "*"
    case slash = "/"
    case percent = "%"
  }

  let kind: Kind
  let range: SourceRange

  func `is`(_ sign: Sign) -> Bool { kind == .sign(sign) }
}

/// Words that cannot be names of variables and functions.
enum ReservedWord {
  static let all: Set<String> = [
    "true", "false", "null", "in", "is", "if", "let", "return", "match", "allow", "function", "service", "import",
    "rules_version",
  ]
}
