internal import HearthRE2

/// Makes a `Program` from a syntax tree: resolves names, and emits steps.
struct Compiler {
  /// The one service that is compiled.
  static let service = "cloud.firestore"

  let tree: SyntaxTree
  let limits: RuleLimits
  var issues: IssueList
  var program = Program()
  private var graph: CallGraph
  /// By bytes: texts that show the same characters are different names and patterns.
  var nameIndexes: [ExactText: Int32] = [:]
  var patternIndexes: [ExactText: Int32] = [:]
  /// The function that is being compiled; nil in a condition.
  private var function: Int?
  /// The block whose names are visible.
  private(set) var block = 0
  /// Parameters and bindings, by their place in the frame.
  private var locals: [String: Int32] = [:]
  /// The name of the present place in messages.
  private(set) var title: String?
  let firstNodes: [Int: Int]

  init(_ tree: SyntaxTree, limits: RuleLimits, issues: IssueList) {
    self.tree = tree
    self.limits = limits
    self.issues = issues
    graph = CallGraph(functionCount: tree.functions.count)
    firstNodes = Self.firstNodes(of: tree)
  }

  mutating func compile() {
    program.version = tree.version
    listExpressions()
    program.functions = tree.functions.map {
      Program.Function(parameterCount: $0.parameters.count, start: 0)
    }
    for index in tree.functions.indices { compileFunction(index) }
    for permission in tree.permissions { compile(permission) }
    checkCalls()
    combineSteps()
    if program.byteCount > limits.compiledBytes {
      issues.add(
        .error, "the compiled rules have \(program.byteCount) bytes; \(limits.compiledBytes) are allowed",
        at: SourceRange(0, 0), in: nil)
    }
  }

  private mutating func compileFunction(_ index: Int) {
    let declaration = tree.functions[index]
    function = index
    block = declaration.block
    title = "function \(declaration.name.text)"
    locals = [:]
    program.functions[index].start = Int32(clamping: program.steps.count)
    var known: [String: TypeChecker.Known] = [:]
    for (place, parameter) in declaration.parameters.enumerated() {
      locals[parameter.text] = Int32(clamping: place)
      known[parameter.text] = .unknown
    }
    for (place, binding) in declaration.bindings.enumerated() {
      emit(.bound, binding.value)
      compileExpression(binding.value)
      known[binding.name.text] = checkTypes(binding.value, known)
      locals[binding.name.text] = Int32(clamping: declaration.parameters.count + place)
    }
    compileExpression(declaration.result)
    checkTypes(declaration.result, known)
    emit(.exit, declaration.result, cost: 0)
    let chain = tree.chain(from: declaration.block)
    if chain.count > 1, case .service(let name) = tree.blocks[chain[1]].kind, name != Self.service { return }
    let bindings = declaration.bindings.map {
      Program.Declaration.Binding(value: Int32(clamping: $0.value), start: $0.start)
    }
    program.declarations.append(
      Program.Declaration(bindings: bindings, result: Int32(clamping: declaration.result)))
  }

  private mutating func compile(_ permission: SyntaxTree.Permission) {
    let chain = tree.chain(from: permission.block)
    guard chain.count > 1, case .service(Self.service) = tree.blocks[chain[1]].kind else { return }
    function = nil
    block = permission.block
    locals = [:]
    title = tree.title(of: permission.block, in: issues.source)
    let start = permission.condition.map { condition in
      let start = Int32(clamping: program.steps.count)
      compileExpression(condition)
      checkCondition(condition)
      emit(.stop, condition, cost: 0)
      program.declarations.append(Program.Declaration(bindings: [], result: Int32(clamping: condition)))
      return start
    }
    guard !tree.isBehindSuffix(permission) else { return }
    let methods = permission.methods.reduce(into: Set<RuleMethod>()) { $0.formUnion(RuleMethod.named($1.text) ?? []) }
    let made = Program.Permission(
      pattern: chain.flatMap { tree.blocks[$0].pathParts.map(Program.PatternPart.init) }, start: start,
      range: permission.range, title: title ?? "")
    for method in methods { program.permissions[method].append(made) }
  }

  private mutating func listExpressions() {
    program.expressions = tree.nodes.indices.map { node in
      let isLiteral = if case .literal = tree.nodes[node].kind { true } else { false }
      return Program.Expression(range: tree.nodes[node].range, isReported: !isLiteral && !isNamespace(node))
    }
    for node in tree.nodes.indices {
      for part in tree.nodes[node].kind.parts {
        program.expressions[part].whole = Int32(clamping: node)
        program.expressions[part].isMinor = isMinor(part, in: node)
      }
    }
  }

  private func isMinor(_ part: Int, in whole: Int) -> Bool {
    switch (tree.nodes[part].kind, tree.nodes[whole].kind) {
    case (.variable, .binary(.and, _, _)), (.variable, .binary(.or, _, _)), (.variable, .not),
      (.variable, .conditional):
      false
    case (.variable, _), (.member, .member): true
    default: false
    }
  }

  private mutating func checkCalls() {
    switch graph.firstDefect(deepest: limits.callDepth) {
    case .cycle(let functions):
      let names = (functions + functions.prefix(1)).map { tree.functions[$0].name.text }
      issues.add(
        .error, "functions call each other in a cycle: \(names.joined(separator: " -> ").quotedBriefly)",
        at: tree.functions[functions[0]].name.range, in: nil)
    case .tooDeep(let function):
      issues.add(
        .error, "calls of functions are nested more than \(limits.callDepth) levels",
        at: tree.functions[function].name.range, in: nil)
    case nil: break
    }
  }

  // MARK: - Steps

  mutating func emit(_ instruction: Program.Instruction, _ node: Int, cost: UInt16 = 1) {
    program.steps.append(Program.Step(instruction: instruction, node: Int32(clamping: node), cost: cost))
  }

  /// Emits the failure of an operand.
  private mutating func emitFailure(_ failure: RuleFailure, _ node: Int) {
    program.failures.append(failure)
    emit(.fail(Int32(clamping: program.failures.count - 1)), node)
  }

  /// Emits the failure of a call whose operands are on the stack.
  private mutating func emitRefusal(_ failure: RuleFailure, count: Int, _ node: Int) {
    program.failures.append(failure)
    emit(.refuse(failure: Int32(clamping: program.failures.count - 1), count: Int32(clamping: count)), node)
  }

  mutating func warn(_ message: String, _ node: Int) {
    issues.add(.warning, message, at: tree.nodes[node].range, in: title)
  }

  /// Warns about a member or a method, at its name.
  private mutating func warn(_ message: String, behind base: Int, _ node: Int) {
    issues.add(
      .warning, message, at: tree.nameRange(behind: base, issues.source) ?? tree.nodes[node].range, in: title)
  }

  // MARK: - Names

  /// The variables of the matches around, from the outermost one.
  private var captures: [String] { tree.chain(from: block).flatMap { tree.blocks[$0].variables.map(\.text) } }

  /// Warns about a member that `request` or `resource` never has.
  mutating func checkMember(_ name: String, of base: Int, _ node: Int) {
    var (path, next) = ([String](), base)
    while path.count < KnownMembers.longestPath, case .member(let outer, let name) = tree.nodes[next].kind {
      path.insert(name, at: 0)
      next = outer
    }
    guard case .variable(let root) = tree.nodes[next].kind, let known = KnownMembers.of([root] + path),
      !known.contains(name), locals[root] == nil, !captures.contains(root)
    else { return }
    let list = known.dropLast().joined(separator: ", ") + " and " + (known.last ?? "")
    warn(
      "\(([root] + path).joined(separator: ".")) has no member \(name.quotedBriefly), only \(list)", behind: base, node)
  }

  /// Emits the value of a variable: a local one, one of a match, `request` or `resource`.
  mutating func emitVariable(_ name: String, _ node: Int) {
    if let place = locals[name] { return emit(.local(place), node) }
    let captures = captures
    // The innermost match wins.
    if let place = captures.lastIndex(of: name) { return emit(.capture(Int32(clamping: place)), node) }
    switch name {
    case "request": emit(.request(tellsTime: true), node)
    case "resource": emit(.resource, node)
    default:
      if Builtin.namespaces.contains(name) {
        issues.add(
          .error, "\(name.quotedBriefly) is not a variable: it stands only in front of the names of functions",
          at: tree.nodes[node].range, in: title)
      } else {
        warn("there is no variable \(name.quotedBriefly)", node)
      }
      emitFailure(.noValue(name.quotedBriefly), node)
    }
  }

  /// True if a name stands for functions such as `math.abs`, and not for a variable.
  func isNamespace(_ node: Int) -> Bool {
    guard case .variable(let name) = tree.nodes[node].kind else { return false }
    return Builtin.namespaces.contains(name)
  }

  /// Emits a call, with its arguments on the stack. A function of the rules hides one of the language.
  mutating func emitCall(_ name: String, count: Int, _ node: Int) {
    if let callee = tree.function(name, in: block) {
      let expected = tree.functions[callee].parameters.count
      guard expected == count else {
        warnOfArguments(name, count, expected: "\(expected)", at: tree.nodes[node].range)
        return emitRefusal(.wrongArgumentCount(name, count: count), count: count, node)
      }
      if let function { graph.add(from: function, to: callee) }
      return emit(.call(function: Int32(clamping: callee)), node)
    }
    guard let builtin = Builtin(rawValue: name) else {
      warn("there is no function \(name.quotedBriefly)", node)
      return emitRefusal(.unknownFunction(name), count: count, node)
    }
    if !builtin.takes(count) {
      warnOfArguments(
        name, count, expected: builtin.argumentCount.map(String.init) ?? "1 or more", at: tree.nodes[node].range)
    }
    emit(.builtin(builtin, count: Int32(clamping: count)), node)
  }

  private mutating func warnOfArguments(_ name: String, _ count: Int, expected: String, at range: SourceRange) {
    let found = count == 0 ? "without arguments" : count == 1 ? "with 1 argument" : "with \(count) arguments"
    issues.add(
      .warning, "function \(name.quotedBriefly) is called \(found) instead of \(expected == "0" ? "none" : expected)",
      at: range, in: title)
  }

  mutating func emitMethod(_ name: String, of base: Int, _ arguments: [Int], _ node: Int) {
    guard let method = Method(rawValue: name) else {
      warn("there is no function \(name.quotedBriefly)", behind: base, node)
      return emitRefusal(.unknownFunction(name), count: arguments.count + 1, node)
    }
    guard method.argumentCount == arguments.count else {
      warnOfArguments(
        name, arguments.count, expected: "\(method.argumentCount)",
        at: tree.nameRange(behind: base, issues.source) ?? tree.nodes[node].range)
      return emitRefusal(.wrongArgumentCount(name, count: arguments.count), count: arguments.count + 1, node)
    }
    var pattern: Int32 = -1
    if method.hasPattern, let first = arguments.first, case .literal(.string(let text)) = tree.nodes[first].kind {
      pattern = self.pattern(text, first, method)
    }
    emit(.method(method, pattern: pattern), node)
  }

  /// Compiles a regular expression that stands in the rules. As in production, only `matches` is refused if it is none.
  private mutating func pattern(_ text: String, _ node: Int, _ method: Method) -> Int32 {
    if let index = patternIndexes[ExactText(text)] { return index }
    do {
      program.patterns.append(try RegularExpression(text, programLimit: limits.resources.patternProgram))
    } catch {
      issues.add(method == .matches ? .error : .warning, "\(error)", at: tree.nodes[node].range, in: title)
      return -1
    }
    let index = Int32(clamping: program.patterns.count - 1)
    patternIndexes[ExactText(text)] = index
    return index
  }

  mutating func index(of name: String) -> Int32 {
    let name = ExactText(name)
    if let index = nameIndexes[name] { return index }
    program.names.append(name)
    let index = Int32(clamping: program.names.count - 1)
    nameIndexes[name] = index
    return index
  }
}

extension Program.PatternPart {
  fileprivate init(_ part: SyntaxTree.PathPart) {
    switch part {
    case .text(let text): self = .text(text)
    case .variable, .expression: self = .variable
    case .recursive: self = .recursive
    }
  }
}
