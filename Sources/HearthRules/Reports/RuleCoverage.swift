/// Counts the values that the expressions of one file had, over many evaluations.
///
/// Its memory is bounded, whatever the evaluations have read: see ``Limits``.
package struct RuleCoverage: Sendable {
  /// The bounds of the values that are kept. The numbers of evaluations are always complete.
  fileprivate enum Limits {
    /// Different values of an expression, and different reasons for which it had none.
    static let values = 15
    /// Bytes and members of a value.
    static let weight = 1 << 10
    /// Bytes and members of a value that is still compared with those that were kept when there are enough of them.
    static let comparedWeight = 64
    /// Lists and maps within each other.
    static let depth = 20
    /// Bytes and members of all values together.
    static let totalWeight = 128 << 10
    /// Characters of a reason.
    static let reason = 200
  }

  /// The values of one expression.
  package struct Tally: Sendable {
    package fileprivate(set) var isTrue = 0
    package fileprivate(set) var isFalse = 0
    /// Values other than true and false, in the order in which they came first.
    package fileprivate(set) var values: [(value: RuleValue, count: Int)] = []
    /// The number of further such values, which were not kept.
    package fileprivate(set) var otherValues = 0
    /// The reasons for which it had no value.
    package fileprivate(set) var failures: [(reason: String, count: Int)] = []
    /// The number of failures whose reasons were not kept.
    package fileprivate(set) var otherFailures = 0

    package init() {}

    package var valueCount: Int { values.reduce(otherValues) { $0 + $1.count } }
    package var failureCount: Int { failures.reduce(otherFailures) { $0 + $1.count } }
    /// The number of evaluations.
    package var total: Int { isTrue + isFalse + valueCount + failureCount }
  }

  private let program: Program
  /// By the place in ``Program/expressions``; empty until something is counted.
  private var tallies: [Tally] = []
  private var keptWeight = 0

  init(_ program: Program) {
    self.program = program
  }

  /// Counts the values of an evaluation of the same rules.
  package mutating func add(_ trace: RuleTrace) {
    if tallies.isEmpty { tallies = Array(repeating: Tally(), count: program.expressions.count) }
    for rule in trace.rules { for entry in rule.entries { count(entry.outcome, at: Int(entry.node)) } }
  }

  private mutating func count(_ outcome: Result<RuleValue, RuleFailure>, at node: Int) {
    guard program.expressions[node].isReported else { return }
    switch outcome {
    case .success(.bool(true)): tallies[node].isTrue += 1
    case .success(.bool(false)): tallies[node].isFalse += 1
    case .success(let value):
      let mayKeep = value.weight <= min(Limits.weight, Limits.totalWeight - keptWeight) && value.depth <= Limits.depth
      if tallies[node].count(value, mayKeep: mayKeep) { keptWeight += value.weight }
    case .failure(let failure): tallies[node].count(failure)
    }
  }

  private func tally(_ node: Int32) -> Tally { tallies.isEmpty ? Tally() : tallies[Int(node)] }

  // MARK: - The report

  /// Levels of expressions in a report. Chains of members and methods can be much longer, and readers of the report may recurse.
  package static let deepestLevel = 100

  /// An expression with what was counted.
  package struct Expression: Sendable {
    /// For a `let`, from there to the end of the function; its value is that of the function.
    package let range: SourceRange
    /// The number of expressions around it, at most ``RuleCoverage/deepestLevel``.
    package let level: Int
    package let tally: Tally
    /// Evaluations of the condition or the function that had no need of it, because another part decided.
    package let skipped: Int
    /// True for a part whose values seldom tell more than those of the whole, such as `request.auth` in `request.auth.uid`.
    package let isMinor: Bool
  }

  /// All conditions and functions in the order of the file, each before its parts. Literals are left out.
  package var report: [Expression] {
    var parts: [Int32: [Int32]] = [:]
    for (node, expression) in program.expressions.enumerated() {
      if let whole = expression.whole { parts[whole, default: []].append(Int32(clamping: node)) }
    }
    var report: [Expression] = []
    let declarations = program.declarations.sorted { start(of: $0) < start(of: $1) }
    for declaration in declarations { add(declaration, parts, to: &report) }
    return report
  }

  private func start(of declaration: Program.Declaration) -> Int32 {
    declaration.bindings.first?.start.start ?? program.expressions[Int(declaration.result)].range.start
  }

  private func add(_ declaration: Program.Declaration, _ parts: [Int32: [Int32]], to report: inout [Expression]) {
    let end = program.expressions[Int(declaration.result)].range
    let result = tally(declaration.result)
    var level = 0
    for binding in declaration.bindings {
      report.append(
        Expression(range: binding.start.through(end), level: level, tally: result, skipped: 0, isMinor: false))
      level += 1
      add(binding.value, level, evaluations: result.total, parts, to: &report)
    }
    add(declaration.result, level, evaluations: result.total, parts, to: &report)
  }

  /// Adds an expression and its parts. What is left to do stands in an array, the next at the end.
  private func add(
    _ root: Int32, _ level: Int, evaluations: Int, _ parts: [Int32: [Int32]], to report: inout [Expression]
  ) {
    var pending = [(node: root, level: level)]
    while let (node, level) = pending.popLast() {
      let expression = program.expressions[Int(node)]
      if expression.isReported {
        let tally = tally(node)
        report.append(
          Expression(
            range: expression.range, level: min(level, Self.deepestLevel), tally: tally,
            skipped: max(0, evaluations - tally.total),
            isMinor: expression.isMinor))
      }
      for part in (parts[node] ?? []).reversed() {
        pending.append((part, level + (expression.isReported ? 1 : 0)))
      }
    }
  }
}

extension RuleCoverage.Tally {
  /// Counts a value other than true and false.
  ///
  /// - Returns: True if it was kept.
  fileprivate mutating func count(_ value: RuleValue, mayKeep: Bool) -> Bool {
    let isFull = values.count == RuleCoverage.Limits.values
    // Large values, such as `request`, are seldom equal, and comparing them takes the longest.
    if !isFull || value.weight <= RuleCoverage.Limits.comparedWeight,
      let index = values.firstIndex(where: { $0.value.isReportedLike(value) })
    {
      values[index].count += 1
      return false
    }
    guard mayKeep, !isFull else {
      otherValues += 1
      return false
    }
    values.append((value, 1))
    return true
  }

  fileprivate mutating func count(_ failure: RuleFailure) {
    let reason = String(String.UnicodeScalarView(failure.description.unicodeScalars.prefix(RuleCoverage.Limits.reason)))
    if let index = failures.firstIndex(where: { $0.reason == reason }) {
      failures[index].count += 1
    } else if failures.count < RuleCoverage.Limits.values {
      failures.append((reason, 1))
    } else {
      otherFailures += 1
    }
  }
}

extension RuleValue {
  /// True for a value that a report need not show twice.
  fileprivate func isReportedLike(_ other: RuleValue) -> Bool {
    guard weight == other.weight else { return false }
    return switch (self, other) {
    case (.float(let left), .float(let right)): left.bitPattern == right.bitPattern
    case (.constraint, .constraint), (.partialMap, .partialMap), (.mapDifference, .mapDifference):
      text(limit: 200) == other.text(limit: 200)
    default: RuleValue.areSame(self, other, numbersByValue: false)
    }
  }
}
