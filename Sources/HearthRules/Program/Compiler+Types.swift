extension Compiler {
  /// The first node of each expression: they stand one behind the other, in the order of the file.
  static func firstNodes(of tree: SyntaxTree) -> [Int: Int] {
    let functions = tree.functions.flatMap { $0.bindings.map(\.value) + [$0.result] }
    var first = 0
    var nodes: [Int: Int] = [:]
    for root in (functions + tree.permissions.compactMap(\.condition)).sorted() {
      nodes[root] = first
      first = root + 1
    }
    return nodes
  }

  /// Warns about parts of an expression whose types do not fit.
  ///
  /// - Parameter locals: The types of parameters and bindings.
  /// - Returns: The types of its value.
  @discardableResult
  mutating func checkTypes(_ root: Int, _ locals: [String: TypeChecker.Known]) -> TypeChecker.Known {
    guard let first = firstNodes[root] else { return .unknown }
    let names = TypeChecker.Names(
      variables: captureTypes.merging(locals) { $1 },
      isFunction: { [tree, block] in tree.function($0, in: block) != nil })
    let checker = TypeChecker(tree, source: issues.source, first: first, root: root, names)
    for finding in checker.findings { issues.add(.warning, finding.message, at: finding.range, in: title) }
    return checker.result
  }

  mutating func checkCondition(_ root: Int) {
    let types = checkTypes(root, [:]).types
    guard !types.canBe(.bool) else { return }
    warn("the condition is of type \(types.text()), and not bool: it never holds", root)
  }

  /// The types of the variables of the matches around. The innermost one of a name counts.
  private var captureTypes: [String: TypeChecker.Known] {
    var known: [String: TypeChecker.Known] = [:]
    for part in tree.chain(from: block).flatMap({ tree.blocks[$0].pathParts }) {
      switch part {
      case .variable(let name): known[name] = TypeChecker.Known(types: .string)
      case .recursive(let name): known[name] = TypeChecker.Known(types: .path)
      case .text, .expression: continue
      }
    }
    return known
  }
}
