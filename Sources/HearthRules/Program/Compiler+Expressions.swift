extension Compiler {
  private enum Work {
    case visit(Int)
    case emit(Program.Instruction, Int, cost: UInt16)
    case call(String, count: Int, Int)
    case method(String, of: Int, [Int], Int)
    case left(BinaryOperator, Int)
    case right(BinaryOperator, Int, left: Int)
    case branch(second: Int, Int)
    /// The first branch of a conditional is emitted, whose step is given.
    case otherwise(second: Int, Int, branch: Int)
    case join(Int, branch: Int, jump: Int)
  }

  /// Emits an expression. What is left to do stands in an array, the next at the end.
  mutating func compileExpression(_ root: Int) {
    var pending: [Work] = [.visit(root)]
    while let work = pending.popLast() {
      switch work {
      case .visit(let node): visit(node, &pending)
      case .emit(let instruction, let node, let cost): emit(instruction, node, cost: cost)
      case .call(let name, let count, let node): emitCall(name, count: count, node)
      case .method(let name, let base, let arguments, let node): emitMethod(name, of: base, arguments, node)
      case .left(let infix, let node):
        guard case .binary(_, _, let right) = tree.nodes[node].kind else { continue }
        let left = program.steps.count
        emit(infix == .and ? .andLeft(end: 0) : .orLeft(end: 0), node)
        pending.append(.right(infix, node, left: left))
        pending.append(.visit(right))
      case .right(let infix, let node, let left):
        emit(infix == .and ? .andRight : .orRight, node)
        let end = Int32(clamping: program.steps.count)
        patch(left, infix == .and ? .andLeft(end: end) : .orLeft(end: end))
      case .branch(let second, let node):
        guard case .conditional(_, let first, _) = tree.nodes[node].kind else { continue }
        let branch = program.steps.count
        emit(.branch(second: 0, end: 0), node, cost: 2)
        pending.append(.otherwise(second: second, node, branch: branch))
        pending.append(.visit(first))
      case .otherwise(let second, let node, let branch):
        let jump = program.steps.count
        emit(.jump(0), node, cost: 0)
        pending.append(.join(node, branch: branch, jump: jump))
        pending.append(.visit(second))
      case .join(let node, let branch, let jump):
        let end = Int32(clamping: program.steps.count)
        emit(.joined, node, cost: 0)
        patch(branch, .branch(second: Int32(clamping: jump + 1), end: end))
        patch(jump, .jump(end))
      }
    }
  }

  private mutating func patch(_ step: Int, _ instruction: Program.Instruction) {
    let old = program.steps[step]
    program.steps[step] = Program.Step(instruction: instruction, node: old.node, cost: old.cost)
  }

  private mutating func visit(_ node: Int, _ pending: inout [Work]) {
    func visitAll(_ nodes: [Int]) { pending += nodes.reversed().map { .visit($0) } }
    switch tree.nodes[node].kind {
    case .literal(let value):
      program.constants.append(value)
      emit(.constant(Int32(clamping: program.constants.count - 1)), node)
    case .variable(let name): emitVariable(name, node)
    case .member(let base, let name):
      checkMember(name, of: base, node)
      pending.append(.emit(.member(index(of: name)), node, cost: 1))
      pending.append(.visit(base))
    case .index(let base, let index):
      pending.append(.emit(.index, node, cost: 1))
      visitAll([base, index])
    case .slice(let base, let from, let to): visitSlice(base, from, to, node, &pending)
    case .call(let name, let arguments):
      pending.append(.call(name, count: arguments.count, node))
      visitAll(arguments)
    case .method(let base, let name, let arguments):
      if isNamespace(base), case .variable(let namespace) = tree.nodes[base].kind {
        pending.append(.call("\(namespace).\(name)", count: arguments.count, node))
        visitAll(arguments)
      } else {
        pending.append(.method(name, of: base, arguments, node))
        visitAll([base] + arguments)
      }
    case .not(let part):
      pending.append(.emit(.not, node, cost: 1))
      pending.append(.visit(part))
    case .negated(let part):
      pending.append(.emit(.negate, node, cost: 1))
      pending.append(.visit(part))
    case .binary(let infix, let left, let right):
      if infix == .and || infix == .or {
        pending.append(.left(infix, node))
        pending.append(.visit(left))
      } else {
        pending.append(.emit(.binary(infix), node, cost: 1))
        visitAll([left, right])
      }
    case .typeTest(let part, let type):
      pending.append(.emit(.typeTest(type), node, cost: 2))
      pending.append(.visit(part))
    case .conditional(let condition, _, let second):
      pending.append(.branch(second: second, node))
      pending.append(.visit(condition))
    case .list(let items):
      pending.append(.emit(.list(Int32(clamping: items.count)), node, cost: 1))
      visitAll(items)
    case .map(let entries):
      pending.append(.emit(.map(Int32(clamping: entries.count)), node, cost: 1))
      visitAll(entries.flatMap { [$0.key, $0.value] })
    case .path(let parts): visitPath(parts, node, &pending)
    }
  }

  /// Stands for the node of a value that does not stand in the file.
  private static let noNode = -1

  /// A bound that is left out is `null`, which counts as if it stood there.
  private mutating func visitSlice(_ base: Int, _ from: Int?, _ to: Int?, _ node: Int, _ pending: inout [Work]) {
    pending.append(.emit(.slice, node, cost: 1))
    program.constants.append(.null)
    let null = Int32(clamping: program.constants.count - 1)
    pending.append(to.map { .visit($0) } ?? .emit(.constant(null), Self.noNode, cost: 1))
    pending.append(from.map { .visit($0) } ?? .emit(.constant(null), Self.noNode, cost: 1))
    pending.append(.visit(base))
  }

  private mutating func visitPath(_ parts: [SyntaxTree.PathPart], _ node: Int, _ pending: inout [Work]) {
    var template: [Program.PathPart] = []
    var expressions: [Int] = []
    // As in production, variables of a path literal count for nothing.
    var cost = 1
    for part in parts {
      switch part {
      case .text(let text):
        template.append(.segment(.text(text)))
        cost += 1
      case .variable(let name): template.append(.segment(.variable(name, value: nil)))
      case .recursive(let name): template.append(.segment(.recursive(name, value: nil)))
      case .expression(let part):
        template.append(.expression)
        expressions.append(part)
      }
    }
    program.paths.append(template)
    pending.append(.emit(.path(Int32(clamping: program.paths.count - 1)), node, cost: UInt16(clamping: cost)))
    pending += expressions.reversed().map { .visit($0) }
  }
}
