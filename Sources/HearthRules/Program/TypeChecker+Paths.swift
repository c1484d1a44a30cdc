extension TypeChecker {
  /// The reason why `get` and its like find no document at a path that stands in the rules; nil if there may be one.
  ///
  /// An expression in a path is one segment, or several if it is a path itself.
  func pathMistake(_ node: Int) -> String? {
    guard case .path(let parts) = tree.nodes[node].kind else { return nil }
    let root: [String?] = ["databases", nil, "documents"]
    for (place, part) in parts.enumerated() {
      switch part {
      case .text(let text):
        guard place < root.count, let name = root[place], name != text else { continue }
        return "no document has this path; those of documents begin with /databases/$(database)/documents"
      case .expression(let expression):
        // Nothing is known of the place of those behind it.
        if types(expression).canBe(.path) { return nil }
      // What such a variable stands for is known where the path is bound.
      case .variable, .recursive: return nil
      }
    }
    if parts.count <= root.count {
      return "no document has this path; those of documents begin with /databases/$(database)/documents"
    }
    guard (parts.count - root.count) % 2 == 1 else { return nil }
    return "no document has this path, which is that of a collection; add a segment such as $(id)"
  }
}

extension SyntaxTree {
  /// The name behind the point that follows a value.
  func nameRange(behind base: NodeID, _ source: SourceText) -> SourceRange? {
    var lexer = Lexer(source)
    lexer.move(to: Int(nodes[base].range.end))
    guard let point = try? lexer.next(), point.is(.dot), let name = try? lexer.next(), name.kind == .identifier else {
      return nil
    }
    return name.range
  }
}
