import HearthData
import HearthRules

/// The values that expressions of rules had, as a table.
struct RuleCoverageTable {
  private let rules: RuleSet
  private let expressions: [RuleCoverage.Expression]

  private static let deepestIndentation = 8
  private static let longestText = 100

  init(_ coverage: RuleCoverage, of rules: RuleSet) {
    self.rules = rules
    expressions = coverage.report.filter { !$0.isMinor }
  }

  func lines(width: Int) -> [String] {
    var layout = TableLayout(["PLACE", "TRUE", "FALSE", "OTHER", "FAILED", "SKIPPED"], right: [1, 2, 3, 4, 5])
    var texts = ["EXPRESSION"]
    // The levels of the expressions around the present one.
    var levels: [Int] = []
    // The parts of an expression that was never evaluated are left out.
    var hidden = Int.max
    for expression in expressions {
      guard expression.level <= hidden else { continue }
      hidden = expression.tally.total == 0 ? expression.level : .max
      while let last = levels.last, last >= expression.level { levels.removeLast() }
      layout.add(cells(expression))
      texts.append(
        String(repeating: "  ", count: min(levels.count, Self.deepestIndentation))
          + rules.source.excerpt(of: expression.range, limit: Self.longestText))
      levels.append(expression.level)
    }
    let numbers = layout.lines(width: width)
    let numbersWidth = numbers.reduce(0) { max($0, CellWidth.of($1)) }
    var lines = zip(numbers, texts).map { numbers, text in
      let padding = String(repeating: " ", count: numbersWidth - CellWidth.of(numbers))
      return CellWidth.cut("\(numbers)\(padding)  \(Terminal.safe(text))", to: width)
    }
    lines[0] = Terminal.styled(lines[0], .bold)
    let evaluated = expressions.count { $0.tally.total > 0 }
    let left = expressions.count - (lines.count - 1)
    let hint = left > 0 ? " Of those that never were, the parts are not shown." : ""
    return lines + ["\(evaluated) of \(ProgressText.count(expressions.count, "expression")) evaluated.\(hint)"]
  }

  private func cells(_ expression: RuleCoverage.Expression) -> [String] {
    let (line, column) = rules.source.position(of: Int(expression.range.start))
    let tally = expression.tally
    let place = "\(line):\(column)"
    guard tally.total > 0 else { return [place, "", "", "", "", "never"] }
    return [place]
      + [tally.isTrue, tally.isFalse, tally.valueCount, tally.failureCount, expression.skipped].map {
        $0 == 0 ? "" : "\($0)"
      }
  }
}
