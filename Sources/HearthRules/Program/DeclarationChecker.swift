/// Checks what is declared in a file: names that occur twice, limits, and the variables of matches.
struct DeclarationChecker {
  let tree: SyntaxTree
  let limits: RuleLimits
  var issues: IssueList

  mutating func check() {
    checkServices()
    for (index, block) in tree.blocks.enumerated() {
      if case .match = block.kind { checkMatch(index) }
      checkNames(
        block.functions.map { tree.functions[$0].name }, "function", in: tree.title(of: index, in: issues.source))
    }
    for function in tree.functions { check(function) }
    for permission in tree.permissions {
      checkPath(of: permission)
      for method in permission.methods where RuleMethod.named(method.text) == nil {
        let title = tree.title(of: permission.block, in: issues.source)
        issues.add(
          .warning,
          "there is no method \(method.text.quotedBriefly), only get, list, read, create, update, delete and write",
          at: method.range, in: title)
      }
    }
  }

  private mutating func checkServices() {
    var names: [SyntaxTree.Name] = []
    for block in tree.blocks {
      guard case .service(let name) = block.kind else { continue }
      names.append(SyntaxTree.Name(text: name, range: block.range))
      if name != Compiler.service {
        issues.add(
          .warning, "service \(name.quotedBriefly) is ignored: only \(Compiler.service) is used", at: block.range,
          in: nil)
      }
    }
    checkNames(names, "service", in: nil)
  }

  private mutating func checkNames(_ names: [SyntaxTree.Name], _ kind: String, in rule: String?) {
    var seen: Set<String> = []
    for name in names where !seen.insert(name.text).inserted {
      issues.add(.error, "\(kind) \(name.text.quotedBriefly) is declared twice", at: name.range, in: rule)
    }
  }

  private mutating func checkMatch(_ index: Int) {
    let block = tree.blocks[index]
    let title = tree.title(of: index, in: issues.source)
    checkNames(block.variables, "variable", in: title)
    checkNamespaces(block.variables, in: title)
    let chain = tree.chain(from: index)
    let parts = chain.flatMap { tree.blocks[$0].pathParts }
    if chain.reduce(0, { $0 + tree.blocks[$1].variables.count }) > limits.pathVariables {
      issues.add(.error, "a path has more than \(limits.pathVariables) variables", at: block.range, in: title)
    }
    if parts.count > limits.pathSegments {
      issues.add(.error, "a path has more than \(limits.pathSegments) segments", at: block.range, in: title)
    }
    let recursive = parts.indices.filter { index in
      if case .recursive = parts[index] { true } else { false }
    }
    // Reported once, where the second one is declared or where something follows the first.
    let own = block.pathParts
    let ownRecursive = own.contains { part in
      if case .recursive = part { true } else { false }
    }
    if recursive.count > 1, ownRecursive {
      issues.add(.error, "a path has more than one recursive wildcard", at: block.range, in: title)
    } else if tree.version < 2, ownRecursive, recursive.first != parts.count - 1 {
      issues.add(
        .error,
        "in rules version 1, a recursive wildcard is the last segment of its path; write rules_version = '2' first",
        at: block.range, in: title)
    }
  }

  /// Warns about a permission whose path is that of no document.
  private mutating func checkPath(of permission: SyntaxTree.Permission) {
    let chain = tree.chain(from: permission.block)
    guard chain.count > 1, case .service(Compiler.service) = tree.blocks[chain[1]].kind else { return }
    let parts = chain.flatMap { tree.blocks[$0].pathParts }
    let recursive = parts.firstIndex { part in
      if case .recursive = part { true } else { false }
    }
    let root: [String?] = ["databases", nil, "documents"]
    let isBelowRoot = zip(root, parts.prefix(recursive ?? parts.count)).allSatisfy { name, part in
      if let name, case .text(let text) = part { text == name } else { true }
    }
    let message: String
    if tree.isBehindSuffix(permission) {
      message =
        "no document has this path: it continues that of a match with segments behind a recursive wildcard; write both as one path"
    } else if !isBelowRoot || recursive == nil && parts.count <= root.count {
      message = "no document has this path; those of documents begin with /databases/{database}/documents"
    } else if recursive == nil, (parts.count - root.count) % 2 == 1 {
      message = "no document has this path, which is that of a collection; add a segment such as {document}"
    } else {
      return
    }
    issues.add(
      .warning, message, at: permission.range, in: tree.title(of: permission.block, in: issues.source))
  }

  private mutating func check(_ function: SyntaxTree.Function) {
    let title = "function \(function.name.text)"
    checkNames(function.parameters + function.bindings.map(\.name), "variable", in: title)
    checkNamespaces(function.parameters + function.bindings.map(\.name), in: title)
    if function.parameters.count > limits.functionArguments {
      issues.add(
        .error, "a function has more than \(limits.functionArguments) parameters", at: function.name.range, in: title)
    }
    if function.bindings.count > limits.letBindings {
      issues.add(
        .error, "a function has more than \(limits.letBindings) variables", at: function.name.range, in: title)
    }
    if tree.version < 2, let first = function.bindings.first {
      issues.add(
        .error, "rules version 1 has no 'let'; write rules_version = '2' first", at: first.name.range, in: title)
    }
  }

  private mutating func checkNamespaces(_ names: [SyntaxTree.Name], in rule: String?) {
    for name in names where Builtin.namespaces.contains(name.text) {
      issues.add(
        .error, "\(name.text.quotedBriefly) cannot be the name of a variable: it stands for functions of the language",
        at: name.range, in: rule)
    }
  }
}

extension SyntaxTree {
  /// The blocks from the file to a block.
  func chain(from block: Int) -> [Int] {
    var chain: [Int] = []
    var next: Int? = block
    while let block = next {
      chain.append(block)
      next = blocks[block].parent
    }
    return chain.reversed()
  }

  /// The function of a name that is visible in a block: that of the innermost block around.
  func function(_ name: String, in block: Int) -> Int? {
    for block in chain(from: block).reversed() {
      if let function = blocks[block].functions.first(where: { functions[$0].name.text == name }) { return function }
    }
    return nil
  }
}

extension SyntaxTree.Block {
  var pathParts: [SyntaxTree.PathPart] {
    if case .match(let parts) = kind { parts } else { [] }
  }
}
