/// Reads a rules file, in one pass and without recursion, up to its first defect.
struct Parser {
  let source: SourceText
  let limits: RuleLimits
  var lexer: Lexer
  /// The token that is read next.
  var token = Token(kind: .end, range: SourceRange(0, 0))
  var tree = SyntaxTree()
  /// The blocks around the present place, from the file on.
  var openBlocks: [Int] = []

  init(_ source: SourceText, limits: RuleLimits) {
    self.source = source
    self.limits = limits
    lexer = Lexer(source)
  }

  mutating func readFile() throws(SyntaxError) {
    try advance()
    try readVersion()
    openBlocks = [addBlock(.file, parent: nil, range: SourceRange(0, 0))]
    while token.kind != .end {
      switch word {
      case "service": try readService()
      case "function": try readFunction()
      case "import": throw SyntaxError("'import' is not supported: copy the functions into this file", token.range)
      default: throw unexpected("'service' or 'function'")
      }
      try readBlockContents()
    }
    guard tree.blocks[0].count > 0 else {
      guard isBlank else { throw unexpected("'service'") }
      throw SyntaxError(
        "the file is empty: rules begin with rules_version = '2'; service cloud.firestore {", token.range)
    }
  }

  private mutating func readVersion() throws(SyntaxError) {
    guard word == "rules_version" else { return }
    try advance()
    try expect(.assign)
    guard token.kind == .string else { throw unexpected("'1' or '2' in quotes") }
    switch text(of: token).dropFirst().dropLast() {
    case "1": tree.version = 1
    case "2": tree.version = 2
    default: throw SyntaxError("there is no rules version \(text(of: token)), only '1' and '2'", token.range)
    }
    try advance()
    if token.is(.semicolon) { try advance() }
  }

  // MARK: - Blocks

  /// Reads until all services and matches that are open have ended.
  private mutating func readBlockContents() throws(SyntaxError) {
    while openBlocks.count > 1, let block = openBlocks.last {
      if token.is(.closeBrace) {
        guard tree.blocks[block].count > 0 else {
          throw SyntaxError("a service or match needs a declaration in it", token.range)
        }
        openBlocks.removeLast()
        try advance()
        continue
      }
      switch word {
      case "match": try readMatch()
      case "function": try readFunction()
      case "allow" where openBlocks.count > 2: try readPermission()
      default:
        throw unexpected(openBlocks.count > 2 ? "'match', 'allow', 'function' or '}'" : "'match', 'function' or '}'")
      }
    }
  }

  private mutating func addBlock(_ kind: SyntaxTree.Block.Kind, parent: Int?, range: SourceRange) -> Int {
    tree.blocks.append(SyntaxTree.Block(kind: kind, parent: parent, range: range))
    if let parent { tree.blocks[parent].count += 1 }
    return tree.blocks.count - 1
  }

  private mutating func readService() throws(SyntaxError) {
    try advance()
    var name = try readName("the name of a service")
    while token.is(.dot) {
      try advance()
      let part = try readName("the name of a service")
      name = SyntaxTree.Name(text: "\(name.text).\(part.text)", range: name.range.through(part.range))
    }
    try expect(.openBrace)
    openBlocks.append(addBlock(.service(name.text), parent: 0, range: name.range))
  }

  private mutating func readMatch() throws(SyntaxError) {
    // The file, the service and the outermost match are around those that count.
    guard openBlocks.count <= limits.matchDepth + 2 else {
      throw SyntaxError("matches are nested more than \(limits.matchDepth) levels", token.range)
    }
    let start = token.range
    try advance()
    guard token.is(.slash) else { throw unexpected("a path") }
    var parts: [SyntaxTree.PathPart] = []
    var variables: [SyntaxTree.Name] = []
    var end = token.range
    while token.is(.slash) {
      lexer.move(to: Int(token.range.end))
      if let name = lexer.readSegmentName() {
        parts.append(.text(name))
        end = SourceRange(Int(token.range.start), lexer.offset)
        try advance()
      } else {
        try advance()
        let variable = try readPathVariable()
        parts.append(variable.part)
        variables.append(variable.name)
        end = variable.end
      }
    }
    try expect(.openBrace)
    let block = addBlock(.match(parts), parent: openBlocks.last, range: start.through(end))
    tree.blocks[block].variables = variables
    openBlocks.append(block)
  }

  /// Reads `{name}`, `{name=*}` or `{name=**}`.
  /// - Returns: The segment, the name, and the place of the closing brace.
  mutating func readPathVariable() throws(SyntaxError) -> (
    part: SyntaxTree.PathPart, name: SyntaxTree.Name, end: SourceRange
  ) {
    guard token.is(.openBrace) else { throw unexpected("the segment of a path") }
    try advance()
    let name = try readName("the name of a variable")
    var part = SyntaxTree.PathPart.variable(name.text)
    if token.is(.assign) {
      try advance()
      if token.is(.recursiveStar) {
        part = .recursive(name.text)
      } else if !token.is(.times) {
        throw unexpected("'**'")
      }
      try advance()
    }
    let end = token.range
    try expect(.closeBrace)
    return (part, name, end)
  }

  // MARK: - Declarations

  private mutating func readFunction() throws(SyntaxError) {
    try advance()
    let name = try readName("the name of a function")
    try expect(.openParenthesis)
    var parameters: [SyntaxTree.Name] = []
    while !token.is(.closeParenthesis) {
      if !parameters.isEmpty { try expect(.comma) }
      parameters.append(try readName("the name of a parameter"))
    }
    try advance()
    try expect(.openBrace)
    var bindings: [SyntaxTree.Binding] = []
    while word == "let" {
      let start = token.range
      try advance()
      let name = try readName("the name of a variable")
      try expect(.assign)
      bindings.append(SyntaxTree.Binding(name: name, value: try readExpression(), start: start))
      try expect(.semicolon)
    }
    guard word == "return" else { throw unexpected("'let' or 'return'") }
    try advance()
    let result = try readExpression()
    if token.is(.semicolon) { try advance() }
    try expect(.closeBrace)
    let block = openBlocks.last ?? 0
    tree.blocks[block].functions.append(tree.functions.count)
    tree.blocks[block].count += 1
    tree.functions.append(
      SyntaxTree.Function(name: name, block: block, parameters: parameters, bindings: bindings, result: result))
  }

  private mutating func readPermission() throws(SyntaxError) {
    let start = token.range
    try advance()
    var methods = [try readName("a method")]
    while token.is(.comma) {
      try advance()
      methods.append(try readName("a method"))
    }
    var condition: SyntaxTree.NodeID?
    if token.is(.colon) {
      try advance()
      guard word == "if" else { throw unexpected("'if'") }
      try advance()
      condition = try readExpression()
    }
    let end = condition.map { tree.nodes[$0].range } ?? methods[methods.count - 1].range
    if token.is(.semicolon) {
      try advance()
    } else if !token.is(.closeBrace), word != "allow" {
      throw unexpected("';'")
    }
    let block = openBlocks.last ?? 0
    tree.blocks[block].count += 1
    tree.permissions.append(
      SyntaxTree.Permission(
        methods: methods, block: block, condition: condition, range: start.through(end)))
  }

  /// True if there is nothing but white space and comments in the file.
  private var isBlank: Bool {
    var start = Lexer(source)
    return (try? start.next().kind) == .end
  }

  // MARK: - Tokens

  mutating func advance() throws(SyntaxError) { token = try lexer.next() }

  mutating func expect(_ sign: Token.Sign) throws(SyntaxError) {
    guard token.is(sign) else { throw unexpected("'\(sign.rawValue)'") }
    try advance()
  }

  /// The next token if it is a word.
  var word: String? { token.kind == .identifier ? text(of: token) : nil }

  func text(of token: Token) -> String { source.text(of: token.range) }

  mutating func readName(_ what: String) throws(SyntaxError) -> SyntaxTree.Name {
    guard let word, !ReservedWord.all.contains(word) else { throw unexpected(what) }
    let range = token.range
    try advance()
    return SyntaxTree.Name(text: word, range: range)
  }

  func unexpected(_ wanted: String) -> SyntaxError {
    guard token.kind == .end else {
      let text = text(of: token)
      let hint = Self.hints[text].map { "; write \($0)" } ?? ""
      return SyntaxError("\(text.quotedBriefly) stands where \(wanted) is expected\(hint)", token.range)
    }
    let open = openBlocks.last.flatMap { $0 == 0 ? nil : tree.blocks[$0].range }
    let place = open.map { "; the '{' of line \(source.position(of: Int($0.start)).line) is not closed" } ?? ""
    return SyntaxError("the end of the file stands where \(wanted) is expected\(place)", token.range)
  }

  /// The words and signs of other languages, and those that are meant.
  private static let hints = [
    "=": "==", "and": "&&", "AND": "&&", "or": "||", "OR": "||", "not": "!", "NOT": "!", "equals": "==", "eq": "==",
  ]
}
