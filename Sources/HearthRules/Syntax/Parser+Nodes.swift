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
    case .index(let base, _), .slice(let base, _, _), .method(let base, _, _):
      max(deepest([base]), deepest(Array(kind.parts.dropFirst())) + 1)
    default: deepest(kind.parts) + 1
    }
  }

  func tooDeep(_ range: SourceRange) -> SyntaxError {
    SyntaxError("the expression is nested more than \(limits.expressionDepth) levels", range)
  }
}
