import HearthRules

/// The parts of a condition that made it false: comparisons and the like, and not what joins them.
struct RuleFalseParts {
  private let rules: RuleSet
  private let expressions: [ExplainedExpression]

  private static let largestCount = 5
  private static let longestText = 120
  private static let longestValue = 80

  init(_ rule: RuleTrace.Rule, of rules: RuleSet) {
    self.rules = rules
    expressions = rules.explain(rule)
  }

  /// Such as `7:65 request.query.limit <= 10 is false: request.query.limit = 20`.
  var lines: [String] {
    var leaves: [Int] = []
    var pending = Array(expressions.indices.filter { expressions[$0].level == 0 && isNotTrue($0) }.reversed())
    while let index = pending.popLast(), leaves.count < Self.largestCount {
      let parts = parts(of: index).filter(isNotTrue)
      if !parts.isEmpty, joinsParts(index) {
        pending += parts.reversed()
      } else if isFalse(index) {
        leaves.append(index)
      }
    }
    return leaves.map(line)
  }

  private func isFalse(_ index: Int) -> Bool {
    if case .success(.bool(false))? = expressions[index].outcome { true } else { false }
  }

  /// True for what is false, and for what has failed: a part of that may be false.
  private func isNotTrue(_ index: Int) -> Bool {
    if case .failure? = expressions[index].outcome { true } else { isFalse(index) }
  }

  /// The parts of an expression and what its call of a function has evaluated, one level below it.
  private func parts(of index: Int) -> [Int] {
    let level = expressions[index].level
    let below = expressions[(index + 1)...].prefix { $0.level > level }
    return below.indices.filter { expressions[$0].level == level + 1 }
  }

  private func isWithin(_ part: Int, _ whole: Int) -> Bool {
    let (inner, outer) = (expressions[part].range, expressions[whole].range)
    return inner.start >= outer.start && inner.end <= outer.end
  }

  /// True if an expression is false because parts of it are: for `&&`, `||`, a choice by `?`, parentheses, and the call of a function.
  private func joinsParts(_ index: Int) -> Bool {
    let parts = parts(of: index)
    let own = parts.filter { isWithin($0, index) }.sorted { expressions[$0].range.start < expressions[$1].range.start }
    if parts.count > own.count, !own.contains(where: isNotTrue) { return true }
    let range = expressions[index].range
    var (between, end) = ([UInt8](), Int(range.start))
    for part in own {
      let inner = expressions[part].range
      if end < Int(inner.start) { between += bytes(end, Int(inner.start)) }
      end = max(end, Int(inner.end))
    }
    between += bytes(end, Int(range.end))
    let text = String(decoding: between, as: UTF8.self)
    return ["&&", "||", "?"].contains(where: text.contains) || text.allSatisfy { "() \t\r\n".contains($0) }
  }

  private func bytes(_ start: Int, _ end: Int) -> ArraySlice<UInt8> {
    let all = rules.source.bytes
    return all[min(max(0, start), all.count)..<min(max(start, end, 0), all.count)]
  }

  private func line(_ index: Int) -> String {
    let (line, column) = rules.source.position(of: Int(expressions[index].range.start))
    let values = parts(of: index).filter { isWithin($0, index) }.prefix(Self.largestCount).compactMap {
      part -> String? in
      guard case .success(let value)? = expressions[part].outcome else { return nil }
      return "\(text(part)) = \(value.text(limit: Self.longestValue))"
    }
    return "\(line):\(column) \(text(index)) is false" + (values.isEmpty ? "" : ": " + values.joined(separator: ", "))
  }

  private func text(_ index: Int) -> String {
    rules.source.excerpt(of: expressions[index].range, limit: Self.longestText)
  }
}
