extension Parser {
  /// Adds a node that ends with the present token.
  mutating func end(_ kind: SyntaxTree.Kind, from start: SourceRange) throws(SyntaxError) -> NodeID {
    let range = start.through(token.range)
    try advance()
    return try add(kind, range)
  }

  mutating func add(_ kind: SyntaxTree.Kind, _ range: SourceRange) throws(SyntaxError) -> NodeID {
    let depth = depth(of: kind)
    guard depth <= limits.expressionDepth else { throw tooDeep(range) }
    tree.nodes.append(SyntaxTree.Node(kind: kind, range: range, depth: depth))
    return tree.nodes.count - 1
  }

  private func depth(of kind: SyntaxTree.Kind) -> Int {
    func deepest(_ parts: [NodeID]) -> Int { parts.reduce(0) { max($0, tree.nodes[$1].depth) } }
    return switch kind {
    case .literal, .variable: 1
    case .member(let base, _): max(2, deepest([base]))
    case .index(let base, let index): max(deepest([base]), deepest([index]) + 1)
    case .slice(let base, let from, let to): max(deepest([base]), deepest([from, to].compactMap(\.self)) + 1)
    case .call(_, let arguments): deepest(arguments) + 1
    case .method(let base, _, let arguments): max(deepest([base]), deepest(arguments) + 1)
    case .not(let part), .negated(let part), .typeTest(let part, _): deepest([part]) + 1
    case .binary(_, let left, let right): deepest([left, right]) + 1
    case .conditional(let condition, let first, let second): deepest([condition, first, second]) + 1
    case .list(let items): deepest(items) + 1
    case .map(let entries): deepest(entries.flatMap { [$0.key, $0.value] }) + 1
    case .path(let parts):
      deepest(
        parts.compactMap { part in
          if case .expression(let node) = part { node } else { nil }
        }) + 1
    }
  }

  func tooDeep(_ range: SourceRange) -> SyntaxError {
    SyntaxError("the expression is nested more than \(limits.expressionDepth) levels", range)
  }
}
