// Reads the declarations of a Swift file from its tokens, and the names of types that it uses, for scripts/structure.

struct Declaration {
  enum Kind: Hashable {
    case type, extensionOfType, alias, function, initializer, subscripting, property, enumCase
  }

  let kind: Kind
  let name: Substring
  /// The types around it, outermost first; for an extension the path of what it extends, without its last name.
  let scope: [Substring]
  let line: Int
  var modifiers: Set<Substring> = []
  /// The labels of the parameters of a function, an initializer, a subscript or a case; nil without parentheses.
  var labels: [Substring]?
  /// The types behind the colon of a type or an extension.
  var inherited: [Substring] = []
  /// True for a property with a place of its own in memory.
  var isStored = false
  /// True within the body of a function or a property.
  var isLocal = false

  var path: [Substring] { scope + [name] }
  var isPrivate: Bool { modifiers.contains("private") || modifiers.contains("fileprivate") }
  var isStatic: Bool { modifiers.contains("static") || modifiers.contains("class") }
}

/// A comment with the places that its symbol links start from.
struct PlacedComment {
  let comment: Comment
  let scope: [Substring]
  /// The path of the type that it documents.
  var documented: [Substring]?
}

/// A name of a type where it is used.
struct TypeUse: Hashable {
  let name: Substring
  /// The module before the dot, if one is written.
  let module: Substring?
  /// The types and extensions around the use, outermost first.
  let scope: [Substring]
}

struct DeclarationReader {
  static let typeKeywords: Set<Substring> = ["struct", "class", "enum", "actor", "protocol"]
  private static let modifierNames: Set<Substring> = [
    "private", "fileprivate", "internal", "package", "public", "open", "static", "class", "final", "override",
    "mutating",
    "nonmutating", "consuming", "borrowing", "lazy", "weak", "unowned", "nonisolated", "indirect", "convenience",
    "required",
    "set", "unsafe", "dynamic", "isolated",
  ]
  /// Before one of these, `class` is a modifier.
  private static let declarationKeywords = typeKeywords.union(["func", "var", "let", "case", "extension", "typealias"])

  private(set) var declarations: [Declaration] = []
  private(set) var comments: [PlacedComment] = []
  private(set) var uses: Set<TypeUse> = []
  private(set) var imports: Set<Substring> = []
  private(set) var genericParameters: Set<Substring> = []

  private struct Scope {
    enum Content: Equatable { case members(isProtocol: Bool, isEnum: Bool), code }
    let content: Content
    /// The types around it.
    let names: [Substring]
  }

  private let tokens: [Token]
  private var scopes: [Scope] = []
  /// The declaration whose body the next brace at this depth of parentheses starts.
  private var pending: (scope: Scope.Content, names: [Substring], depth: Int)?
  private var parentheses = 0
  private var path: [Substring] = []
  private var commentsBeforeDeclaration: [Int] = []

  init(tokens: [Token], comments waiting: [Comment]) {
    self.tokens = tokens
    var waiting = waiting[...]
    for index in tokens.indices {
      while let comment = waiting.first, comment.next <= index {
        commentsBeforeDeclaration.append(comments.count)
        comments.append(PlacedComment(comment: comment, scope: path))
        waiting.removeFirst()
      }
      read(at: index)
    }
    comments += waiting.map { PlacedComment(comment: $0, scope: []) }
  }

  private func token(_ index: Int) -> Token? { tokens.indices.contains(index) ? tokens[index] : nil }
  private func text(_ index: Int) -> Substring { token(index)?.text ?? "" }

  private var isAmongMembers: Bool { scopes.last.map { $0.content != .code } ?? true }

  private mutating func read(at index: Int) {
    let token = tokens[index]
    if token.isQuoted { return }
    switch token.text {
    case "(", "[": parentheses += 1
    case ")", "]": parentheses -= 1
    case "{": openBrace()
    case "}": closeBrace()
    case "import" where isAmongMembers: readImport(after: index)
    case "extension" where isAmongMembers: declareExtension(after: index)
    case "typealias", "associatedtype": declareAlias(at: index)
    case "func": declareFunction(at: index, kind: .function)
    case "init" where isAmongMembers && parentheses == 0 && text(index - 1) != ".":
      declareFunction(at: index, kind: .initializer)
    case "subscript" where isAmongMembers && parentheses == 0 && text(index - 1) != ".":
      declareFunction(at: index, kind: .subscripting)
    case "var" where isAmongMembers && parentheses == 0, "let" where isAmongMembers && parentheses == 0:
      declareProperties(at: index)
    case "case" where isAmongMembers: declareCases(at: index)
    default:
      if token.isKeyword(in: Self.typeKeywords), isTypeKeyword(at: index) {
        declareType(at: index)
      } else {
        use(at: index)
      }
    }
  }

  /// False for `class` as a modifier or a constraint, and for `.struct` as a member.
  private func isTypeKeyword(at index: Int) -> Bool {
    guard text(index - 1) != ".", let next = token(index + 1), next.isName else { return false }
    return !next.isKeyword(in: Self.declarationKeywords) && !next.isKeyword(in: Self.modifierNames)
  }

  // MARK: - Braces

  private mutating func openBrace() {
    if let pending, pending.depth == parentheses {
      scopes.append(Scope(content: pending.scope, names: path))
      path = pending.names
      self.pending = nil
    } else {
      scopes.append(Scope(content: .code, names: path))
    }
  }

  private mutating func closeBrace() {
    guard let scope = scopes.popLast() else { return }
    path = scope.names
    pending = nil
  }

  // MARK: - Declarations

  private mutating func add(_ declaration: Declaration) {
    var declaration = declaration
    declaration.isLocal = !isAmongMembers
    if declaration.kind == .type || declaration.kind == .extensionOfType {
      for comment in commentsBeforeDeclaration where comments[comment].comment.isDocumentation {
        comments[comment].documented = declaration.path
      }
    }
    commentsBeforeDeclaration.removeAll()
    declarations.append(declaration)
  }

  private func modifiers(before index: Int) -> Set<Substring> {
    var found: Set<Substring> = []
    var index = index - 1
    while let token = token(index), token.isKeyword(in: Self.modifierNames) || token.text == "(" || token.text == ")" {
      if token.text == ")", text(index - 2) != "(" { break }
      // `private(set)` says nothing of reading.
      if token.text == ")" { index -= 3 }
      found.insert(text(index))
      if text(index + 1) == "(" { found.remove(text(index)) }
      index -= 1
    }
    return found
  }

  private mutating func readImport(after index: Int) {
    let isOfDeclaration = token(index + 1)?.isKeyword(in: Self.declarationKeywords) ?? false
    imports.insert(text(isOfDeclaration ? index + 2 : index + 1))
  }

  private mutating func declareType(at index: Int) {
    var declaration = Declaration(kind: .type, name: text(index + 1), scope: path, line: tokens[index].line)
    declaration.modifiers = modifiers(before: index)
    declaration.inherited = inheritedTypes(after: index + 1)
    add(declaration)
    hideGenericParameters(after: index + 1)
    let content = Scope.Content.members(
      isProtocol: tokens[index].text == "protocol", isEnum: tokens[index].text == "enum")
    pending = (content, declaration.path, parentheses)
  }

  private mutating func declareExtension(after index: Int) {
    var names = [text(index + 1)]
    var last = index + 1
    while text(last + 1) == ".", token(last + 2)?.isName ?? false {
      names.append(text(last + 2))
      last += 2
    }
    var declaration = Declaration(
      kind: .extensionOfType, name: names[names.count - 1], scope: Array(names.dropLast()), line: tokens[index].line)
    declaration.inherited = inheritedTypes(after: last)
    add(declaration)
    pending = (.members(isProtocol: false, isEnum: false), names, parentheses)
  }

  /// The names between a colon and the brace or `where`, with what is nested in them.
  private func inheritedTypes(after index: Int) -> [Substring] {
    var found: [Substring] = []
    var index = index + 1
    var isBehindColon = false
    while let token = token(index), !token.isKeyword("{"), !token.isKeyword("where"), !token.isKeyword("}") {
      if isBehindColon, token.isName { found.append(token.text) }
      if token.text == ":" { isBehindColon = true }
      index += 1
    }
    return found
  }

  private mutating func declareAlias(at index: Int) {
    guard token(index + 1)?.isName ?? false else { return }
    var declaration = Declaration(kind: .alias, name: text(index + 1), scope: path, line: tokens[index].line)
    declaration.modifiers = modifiers(before: index)
    add(declaration)
    hideGenericParameters(after: index + 1)
  }

  private mutating func declareFunction(at index: Int, kind: Declaration.Kind) {
    let first = kind == .function ? index + 1 : index
    let isOperator = !(token(first)?.isName ?? true) && !tokens[first].isQuoted
    var name = first
    if isOperator { while let next = token(name + 1), next.text != "(" { name += 1 } }
    let spelling = Substring(tokens[first...name].map(\.text).joined())
    var declaration = Declaration(kind: kind, name: spelling, scope: path, line: tokens[index].line)
    declaration.modifiers = modifiers(before: index)
    declaration.labels = labels(after: name, areOptional: false, isSubscript: kind == .subscripting)
    if isOperator { declaration.labels = declaration.labels?.map { _ in "_" } }
    add(declaration)
    hideGenericParameters(after: name)
    if scopes.last?.content != .members(isProtocol: true, isEnum: false) {
      pending = (.code, path, parentheses)
    }
  }

  /// The labels in the parentheses behind a name and its generic parameters. A subscript's parameters have no labels unless two names are
  /// written; a case's values may have none.
  private func labels(after name: Int, areOptional: Bool, isSubscript: Bool) -> [Substring]? {
    var index = name + 1
    if text(index) == "?" || text(index) == "!" { index += 1 }
    if text(index) == "<" {
      while let token = token(index), token.text != "(" { index += 1 }
    }
    guard text(index) == "(" else { return nil }
    var found: [Substring] = []
    var depth = 0
    var angles = 0
    while let token = token(index) {
      switch token.text {
      case "(", "[", "{": depth += 1
      case ")", "]", "}": depth -= 1
      case "<": angles += 1
      case ">" where text(index - 1) != "-": angles -= 1
      default: break
      }
      if depth == 0 { return found }
      if depth == 1, token.text == "(" || (token.text == "," && angles <= 0) {
        var first = index + 1
        while text(first) == "@" { first += 2 }
        let next = text(first + 1)
        let hasName = self.token(first)?.isName ?? false
        if hasName, next == ":" {
          found.append(isSubscript ? "_" : text(first))
        } else if hasName, text(first + 2) == ":" {
          found.append(text(first))
        } else if areOptional, text(first) != ")" {
          found.append("_")
        }
      }
      index += 1
    }
    return found
  }

  private mutating func declareProperties(at index: Int) {
    var name = index + 1
    let modifiers = modifiers(before: index)
    let isProtocol = scopes.last?.content == .members(isProtocol: true, isEnum: false)
    while let token = token(name), token.isName {
      var declaration = Declaration(kind: .property, name: token.text, scope: path, line: token.line)
      declaration.modifiers = modifiers
      let end = endOfType(after: name)
      declaration.isStored = !isProtocol && isStored(at: end)
      add(declaration)
      if text(end) == "{" { pending = (.code, path, parentheses) }
      guard text(end) == ",", !tokens[end].startsLine else { return }
      name = end + 1
    }
  }

  /// The index of the first token behind the name and the type of a property: `=`, `{`, `,`, or what comes next.
  private func endOfType(after name: Int) -> Int {
    var index = name + 1
    var depth = 0
    var angles = 0
    while let token = token(index) {
      switch token.text {
      case "(", "[": depth += 1
      case ")", "]": depth -= 1
      case "<": angles += 1
      case ">" where text(index - 1) != "-": angles -= 1
      case "=", "{", "}":
        if depth == 0 { return index }
      case ",":
        if depth == 0, angles <= 0 { return index }
      default:
        if depth == 0, token.startsLine, token.text != ":", token.text != "-", token.text != "&", text(index - 1) != "&"
        {
          return index
        }
      }
      index += 1
    }
    return index
  }

  /// True unless braces with accessors follow; observers leave a property stored.
  private func isStored(at end: Int) -> Bool {
    guard text(end) == "{" else { return true }
    return ["willSet", "didSet"].contains(text(end + 1))
  }

  private mutating func declareCases(at index: Int) {
    guard case .members(_, isEnum: true) = scopes.last?.content else { return }
    var name = index + 1
    while let token = token(name), token.isName || token.isQuoted {
      var declaration = Declaration(kind: .enumCase, name: token.text, scope: path, line: token.line)
      declaration.labels = labels(after: name, areOptional: true, isSubscript: false)
      add(declaration)
      var end = name + 1
      var depth = 0
      while let token = self.token(end) {
        if token.text == "(" || token.text == "[" { depth += 1 }
        if token.text == ")" || token.text == "]" { depth -= 1 }
        if depth == 0, token.text == "," || token.startsLine { break }
        if depth < 0 || token.text == "}" { break }
        end += 1
      }
      guard text(end) == "," else { return }
      name = end + 1
    }
  }

  private mutating func hideGenericParameters(after index: Int) {
    guard text(index + 1) == "<" else { return }
    var index = index + 2
    var isName = true
    while let token = token(index), token.text != ">" {
      if isName { genericParameters.insert(token.text) }
      isName = token.text == "," || token.text == "each"
      index += 1
    }
  }

  // MARK: - Uses

  private mutating func use(at index: Int) {
    let name = tokens[index].text
    guard let first = name.utf8.first, (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) else { return }
    let previous = text(index - 1)
    if Self.typeKeywords.contains(previous) || previous == "typealias" || previous == "associatedtype"
      || previous == "import"
    {
      return
    }
    var module: Substring?
    if previous == ".", index > 1 {
      guard text(index - 2).hasPrefix("Hearth") else { return }
      module = text(index - 2)
    }
    uses.insert(TypeUse(name: name, module: module, scope: path))
  }
}
