extension Parser {
  /// An operator that waits for an operand on its right, or a bracket for its end.
  private enum Pending {
    case not(SourceRange)
    case negated(SourceRange)
    case binary(BinaryOperator, NodeID)
    case conditionalThen(NodeID)
    case conditionalElse(NodeID, NodeID)
    case parenthesis(SourceRange)
    case list(SourceRange, firstItem: Int)
    case mapKey(SourceRange, firstItem: Int)
    case mapValue(SourceRange, firstItem: Int)
    case call(SyntaxTree.Name, firstItem: Int)
    case method(NodeID, String, firstItem: Int)
    case index(NodeID)
    case sliceEnd(NodeID, from: NodeID?)
    case pathPart(SourceRange, firstPart: Int)
  }

  /// The operators and brackets that are open around a place in an expression.
  private struct OpenParts {
    var pending: [Pending] = []
    /// The members of lists and maps and the arguments that were read, those of the innermost at the end.
    var items: [NodeID] = []
    /// The segments of paths that were read.
    var pathParts: [SyntaxTree.PathPart] = []

    mutating func takeItems(from first: Int) -> [NodeID] {
      defer { items.removeSubrange(first...) }
      return Array(items[first...])
    }
  }

  typealias NodeID = SyntaxTree.NodeID

  /// Reads an expression up to the first token that does not belong to it. What is open stands in an array.
  mutating func readExpression() throws(SyntaxError) -> NodeID {
    var open = OpenParts()
    while true {
      // Another operand is expected, until there is one.
      guard open.pending.count < limits.expressionDepth else { throw tooDeep(token.range) }
      guard var operand = try readOperand(&open) else { continue }
      // An operand is there: postfixes, the ends of what is open, and operators follow.
      while true {
        guard let whole = try readPostfixes(of: operand, &open) else { break }
        operand = whole
        if let next = try readTypeTest(of: operand, &open) {
          operand = next
        } else if let infix = try readInfixOperator() {
          operand = try reduce(operand, &open, above: infix.precedence)
          open.pending.append(.binary(infix, operand))
          break
        } else if token.is(.question) {
          try advance()
          operand = try reduce(operand, &open, above: 1)
          open.pending.append(.conditionalThen(operand))
          break
        } else {
          operand = try reduce(operand, &open, above: 0)
          guard let last = open.pending.last else { return operand }
          guard let next = try close(last, operand, &open) else { break }
          operand = next
        }
      }
    }
  }

  // MARK: - Operands

  /// Reads an operand, or what waits for one.
  /// - Returns: The operand; nil if something waits.
  private mutating func readOperand(_ open: inout OpenParts) throws(SyntaxError) -> NodeID? {
    let range = token.range
    switch token.kind {
    case .integer, .float, .string, .bytes: return try readLiteral()
    case .identifier: return try readWord()
    case .sign(.not):
      try advance()
      open.pending.append(.not(range))
    case .sign(.minus):
      try advance()
      // The smallest integer cannot be read as a negated integer.
      if token.kind == .integer, text(of: token) == "9223372036854775808" {
        try advance()
        return try add(.literal(.int(.min)), range)
      }
      open.pending.append(.negated(range))
    case .sign(.openParenthesis):
      try advance()
      open.pending.append(.parenthesis(range))
    case .sign(.openBracket):
      try advance()
      if token.is(.closeBracket) { return try end(.list([]), from: range) }
      open.pending.append(.list(range, firstItem: open.items.count))
    case .sign(.openBrace):
      try advance()
      if token.is(.closeBrace) { return try end(.map([]), from: range) }
      open.pending.append(.mapKey(range, firstItem: open.items.count))
    case .sign(.slash): return try readPath(range, firstPart: open.pathParts.count, &open)
    case .sign(.colon):
      // `list[:2]`
      guard case .index(let base)? = open.pending.last else { throw unexpected("an expression") }
      open.pending.removeLast()
      try advance()
      return try beginSlice(of: base, from: nil, &open)
    default: throw unexpected("an expression")
    }
    return nil
  }

  private mutating func readLiteral() throws(SyntaxError) -> NodeID {
    let range = token.range
    let bytes = source.bytes[Int(range.start)..<Int(range.end)]
    let value: RuleValue
    switch token.kind {
    case .integer:
      guard let number = Int64(text(of: token)) else {
        throw SyntaxError("\(text(of: token).quotedBriefly) does not fit into an integer of 64 bits", range)
      }
      value = .int(number)
    case .float:
      // Swift does not take a dot without digits on both sides.
      value = .float(Double("0\(text(of: token))0") ?? .infinity)
    case .bytes: value = .bytes(try Literal.bytes(bytes.dropFirst(), at: range))
    default: value = .string(try Literal.string(bytes, at: range))
    }
    try advance()
    return try add(.literal(value), range)
  }

  private mutating func readWord() throws(SyntaxError) -> NodeID {
    let range = token.range
    switch word {
    case "true", "false":
      let value = word == "true"
      try advance()
      return try add(.literal(.bool(value)), range)
    case "null":
      try advance()
      return try add(.literal(.null), range)
    default:
      let name = try readName("an expression")
      return try add(.variable(name.text), range)
    }
  }

  /// Reads the segments of a path, from a slash on.
  /// - Returns: The path; nil if the expression of a segment has to be read first.
  private mutating func readPath(
    _ start: SourceRange, firstPart: Int, _ open: inout OpenParts
  ) throws(SyntaxError) -> NodeID? {
    var end = token.range
    repeat {
      lexer.move(to: Int(token.range.end))
      if let name = lexer.readSegmentName() {
        open.pathParts.append(.text(name))
        end = SourceRange(lexer.offset, lexer.offset)
        try advance()
      } else if lexer.peek() == UInt8(ascii: "$"), lexer.peek(1) == UInt8(ascii: "(") {
        try advance()
        try advance()
        try advance()
        open.pending.append(.pathPart(start, firstPart: firstPart))
        return nil
      } else {
        guard lexer.peek() == UInt8(ascii: "{") else { throw unexpected("the segment of a path") }
        try advance()
        let variable = try readPathVariable()
        if open.pathParts[firstPart...].contains(where: { $0.variable == variable.name.text }) {
          throw SyntaxError("variable \(variable.name.text.quotedBriefly) is declared twice", variable.name.range)
        }
        open.pathParts.append(variable.part)
        end = variable.end
      }
    } while isPathContinued
    return try endPath(start.through(end), firstPart: firstPart, &open)
  }

  private mutating func endPath(
    _ range: SourceRange, firstPart: Int, _ open: inout OpenParts
  ) throws(SyntaxError) -> NodeID {
    let parts = Array(open.pathParts[firstPart...])
    open.pathParts.removeSubrange(firstPart...)
    return try add(.path(parts), range)
  }

  /// True if the next token is a slash with a segment right behind it. Otherwise it divides.
  private var isPathContinued: Bool {
    guard token.is(.slash) else { return false }
    var ahead = lexer
    ahead.move(to: Int(token.range.end))
    if let byte = ahead.peek(), byte == UInt8(ascii: "$") || byte == UInt8(ascii: "{") { return true }
    return ahead.readSegmentName() != nil
  }

  // MARK: - Postfixes and operators

  /// Reads what follows an operand without a blank operator: a member, or the start of arguments or of an index.
  /// - Returns: The operand that it has become; nil if another operand is expected first.
  private mutating func readPostfixes(of operand: NodeID, _ open: inout OpenParts) throws(SyntaxError) -> NodeID? {
    var operand = operand
    while true {
      let node = tree.nodes[operand]
      switch token.kind {
      case .sign(.openParenthesis):
        // A name in parentheses, whose depth is 2, is not a function.
        guard case .variable(let name) = node.kind, node.depth == 1 else { throw unexpected("an operator") }
        tree.nodes.removeLast()
        let call = Pending.call(SyntaxTree.Name(text: name, range: node.range), firstItem: open.items.count)
        guard let whole = try beginArguments(call, &open) else { return nil }
        operand = whole
      case .sign(.openBracket):
        try advance()
        open.pending.append(.index(operand))
        return nil
      case .sign(.dot):
        try advance()
        guard let word else { throw unexpected("the name of a member") }
        let range = node.range.through(token.range)
        try advance()
        if token.is(.openParenthesis) {
          let call = Pending.method(operand, word, firstItem: open.items.count)
          guard let whole = try beginArguments(call, &open) else { return nil }
          operand = whole
        } else {
          operand = try add(.member(operand, word), range)
        }
      default: return operand
      }
    }
  }

  /// - Returns: The call, if it has no arguments.
  private mutating func beginArguments(_ call: Pending, _ open: inout OpenParts) throws(SyntaxError) -> NodeID? {
    try advance()
    guard token.is(.closeParenthesis) else {
      open.pending.append(call)
      return nil
    }
    return try endCall(call, &open)
  }

  private mutating func endCall(_ call: Pending, _ open: inout OpenParts) throws(SyntaxError) -> NodeID {
    switch call {
    case .call(let name, let first):
      return try end(.call(name.text, open.takeItems(from: first)), from: name.range)
    case .method(let base, let name, let first):
      return try end(.method(base, name, open.takeItems(from: first)), from: tree.nodes[base].range)
    default: preconditionFailure("\(call) is no call")
    }
  }

  /// Reads `is type`.
  private mutating func readTypeTest(of operand: NodeID, _ open: inout OpenParts) throws(SyntaxError) -> NodeID? {
    guard word == "is" else { return nil }
    try advance()
    guard let word, let type = TypeName(rawValue: word) else {
      throw unexpected("one of the types \(TypeName.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    let tested = try reduce(operand, &open, above: BinaryOperator.typeTestPrecedence)
    let range = tree.nodes[tested].range.through(token.range)
    try advance()
    return try add(.typeTest(tested, type), range)
  }

  private mutating func readInfixOperator() throws(SyntaxError) -> BinaryOperator? {
    let infix: BinaryOperator?
    switch token.kind {
    case .identifier: infix = word == "in" ? .in : nil
    case .sign(let sign): infix = BinaryOperator(rawValue: sign.rawValue)
    default: infix = nil
    }
    if infix != nil { try advance() }
    return infix
  }

  /// Applies what waits for its right operand and binds at least as tightly.
  private mutating func reduce(
    _ operand: NodeID, _ open: inout OpenParts, above precedence: Int
  ) throws(SyntaxError) -> NodeID {
    var operand = operand
    while let last = open.pending.last {
      let range = tree.nodes[operand].range
      switch last {
      case .not(let start): operand = try add(.not(operand), start.through(range))
      case .negated(let start): operand = try add(.negated(operand), start.through(range))
      case .binary(let infix, let left) where infix.precedence >= precedence:
        operand = try add(.binary(infix, left, operand), tree.nodes[left].range.through(range))
      case .conditionalElse(let condition, let first) where precedence == 0:
        operand = try add(.conditional(condition, first, operand), tree.nodes[condition].range.through(range))
      default: return operand
      }
      open.pending.removeLast()
    }
    return operand
  }

  // MARK: - Ends

  /// Ends what is open with the present token, or goes on in it.
  /// - Returns: The operand that it has become; nil if another operand is expected.
  private mutating func close(
    _ last: Pending, _ operand: NodeID, _ open: inout OpenParts
  ) throws(SyntaxError) -> NodeID? {
    open.pending.removeLast()
    switch last {
    case .conditionalThen(let condition):
      try expect(.colon)
      open.pending.append(.conditionalElse(condition, operand))
      return nil
    case .parenthesis(let start):
      guard token.is(.closeParenthesis) else { throw unexpected("')'") }
      let range = start.through(token.range)
      try advance()
      let node = tree.nodes[operand]
      guard node.depth < limits.expressionDepth else { throw tooDeep(range) }
      tree.nodes[operand].depth = node.depth + 1
      tree.nodes[operand].range = range
      return operand
    case .list(let start, let first):
      open.items.append(operand)
      if try continues(until: .closeBracket) {
        open.pending.append(last)
        return nil
      }
      return try end(.list(open.takeItems(from: first)), from: start)
    case .mapKey(let start, let first):
      open.items.append(operand)
      try expect(.colon)
      open.pending.append(.mapValue(start, firstItem: first))
      return nil
    case .mapValue(let start, let first):
      open.items.append(operand)
      if try continues(until: .closeBrace) {
        open.pending.append(.mapKey(start, firstItem: first))
        return nil
      }
      let items = open.takeItems(from: first)
      let entries = stride(from: 0, to: items.count, by: 2).map {
        SyntaxTree.MapEntry(key: items[$0], value: items[$0 + 1])
      }
      return try end(.map(entries), from: start)
    case .call, .method:
      open.items.append(operand)
      if try continues(until: .closeParenthesis) {
        open.pending.append(last)
        return nil
      }
      return try endCall(last, &open)
    case .index(let base):
      if token.is(.colon) {
        try advance()
        return try beginSlice(of: base, from: operand, &open)
      }
      guard token.is(.closeBracket) else { throw unexpected("']'") }
      return try end(.index(base, operand), from: tree.nodes[base].range)
    case .sliceEnd(let base, let from):
      guard token.is(.closeBracket) else { throw unexpected("']'") }
      return try end(.slice(base, from: from, to: operand), from: tree.nodes[base].range)
    case .pathPart(let start, let first):
      guard token.is(.closeParenthesis) else { throw unexpected("')'") }
      open.pathParts.append(.expression(operand))
      let end = token.range
      try advance()
      if isPathContinued { return try readPath(start, firstPart: first, &open) }
      return try endPath(start.through(end), firstPart: first, &open)
    case .not, .negated, .binary, .conditionalElse: preconditionFailure("\(last) has an end of its own")
    }
  }

  /// Reads `,` between members or arguments, which may also stand behind the last one.
  private mutating func continues(until sign: Token.Sign) throws(SyntaxError) -> Bool {
    if token.is(.comma) {
      try advance()
      return !token.is(sign)
    }
    guard token.is(sign) else { throw unexpected("',' or '\(sign.rawValue)'") }
    return false
  }

  private mutating func beginSlice(
    of base: NodeID, from: NodeID?, _ open: inout OpenParts
  ) throws(SyntaxError) -> NodeID? {
    if token.is(.closeBracket) { return try end(.slice(base, from: from, to: nil), from: tree.nodes[base].range) }
    open.pending.append(.sliceEnd(base, from: from))
    return nil
  }
}
