/// An expression of a rule that was evaluated, as a line of an explanation.
package struct ExplainedExpression: Sendable {
  package let range: SourceRange
  /// The number of expressions of the explanation that it is a part of.
  package let level: Int
  /// The value, or the reason why there is none; nil if it was not evaluated, because another part decided.
  package let outcome: Result<RuleValue, RuleFailure>?
}

/// Arranges the values of a trace by the expressions that they are parts of.
struct TraceTree {
  private let program: Program
  private let entries: [RuleTrace.Entry]
  /// For each entry, those of its parts and of what its call of a function has evaluated.
  private var parts: [[Int]] = []
  /// Entries that are part of no other one.
  private var roots: [Int] = []

  init(_ entries: [RuleTrace.Entry], of program: Program) {
    self.program = program
    self.entries = entries
    parts.reserveCapacity(entries.count)
    for (index, entry) in entries.enumerated() {
      // Parts are complete before the whole, so they are the last ones that are not part of anything yet.
      let first = roots.lastIndex { !isPart(entries[$0], of: entry) }.map { $0 + 1 } ?? 0
      parts.append(Array(roots[first...]))
      roots.removeSubrange(first...)
      roots.append(index)
    }
  }

  private func isPart(_ part: RuleTrace.Entry, of whole: RuleTrace.Entry) -> Bool {
    if part.callDepth != whole.callDepth { return part.callDepth > whole.callDepth }
    let (inner, outer) = (program.expressions[Int(part.node)].range, program.expressions[Int(whole.node)].range)
    return inner != outer && inner.start >= outer.start && inner.end <= outer.end
  }

  private enum Item {
    case entry(Int)
    case unreached(Int32)
  }

  /// The expressions, each before its parts. What is left to do stands in an array, the next at the end.
  var lines: [ExplainedExpression] {
    var unreached: [Int32: [Int32]] = [:]
    for (node, expression) in program.expressions.enumerated() where expression.isReported {
      if let whole = expression.whole { unreached[whole, default: []].append(Int32(clamping: node)) }
    }
    var lines: [ExplainedExpression] = []
    var pending = roots.reversed().map { (item: Item.entry($0), level: 0) }
    while let (item, level) = pending.popLast() {
      switch item {
      case .unreached(let node):
        lines.append(
          ExplainedExpression(range: program.expressions[Int(node)].range, level: level, outcome: nil))
      case .entry(let index):
        let expression = program.expressions[Int(entries[index].node)]
        guard expression.isReported else { continue }
        lines.append(ExplainedExpression(range: expression.range, level: level, outcome: entries[index].outcome))
        let items = items(below: index, unreached[entries[index].node] ?? [])
        pending += items.reversed().map { ($0, level + 1) }
      }
    }
    return lines
  }

  /// The parts of an entry in the order of the file, and behind them what its call has evaluated.
  private func items(below index: Int, _ nodes: [Int32]) -> [Item] {
    let depth = entries[index].callDepth
    let (own, called) = (
      parts[index].filter { entries[$0].callDepth == depth }, parts[index].filter { entries[$0].callDepth > depth }
    )
    let reached = Set(own.map { entries[$0].node })
    let ownItems = own.map { (node: entries[$0].node, item: Item.entry($0)) }
    let others = nodes.filter { !reached.contains($0) }.map { (node: $0, item: Item.unreached($0)) }
    let sorted = (ownItems + others).sorted {
      program.expressions[Int($0.node)].range.start < program.expressions[Int($1.node)].range.start
    }
    return sorted.map(\.item) + called.map { .entry($0) }
  }
}
