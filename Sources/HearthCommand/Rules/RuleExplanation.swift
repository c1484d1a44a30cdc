import HearthModel
import HearthRules

/// A decision with the value of every expression that was evaluated for it.
struct RuleExplanation {
  private let ruleCase: RuleCase
  private let decision: RuleDecision
  private let rules: RuleSet
  private let rulesFile: String

  private static let largestLineCount = 2000
  private static let largestRuleCount = 200
  private static let longestText = 120
  private static let longestValue = 200
  private static let deepestIndentation = 30

  /// - Parameters:
  ///   - ruleCase: The case to decide.
  ///   - rules: The rules that decide.
  ///   - rulesFile: The path of the file of rules.
  init(_ ruleCase: RuleCase, by rules: RuleSet, rulesFile: String) {
    self.ruleCase = ruleCase
    decision = ruleCase.decide(by: rules, isTraced: true)
    self.rules = rules
    self.rulesFile = rulesFile
  }

  private var looked: ArraySlice<RuleTrace.Rule> { (decision.trace?.rules ?? []).prefix(Self.largestRuleCount) }

  /// The lines of a report, with nothing in them that a terminal would obey.
  var lines: [String] {
    var lines = ["\(ruleCase.title): \(decision.isAllowed ? "allowed" : "denied")"]
    if looked.isEmpty { lines.append("No allow is for this method and path.") }
    for rule in looked {
      let place = RulePlaceText(rule, of: rules, for: ruleCase)
      lines += ["", "\(rulesFile):\(place.place): \(place.text)", "  in \(place.match): \(place.result)"]
      for expression in rules.explain(rule) {
        guard lines.count < Self.largestLineCount else { break }
        lines.append(line(expression))
      }
    }
    let isCut = lines.count >= Self.largestLineCount || looked.count < decision.trace?.rules.count ?? 0
    if isCut { lines.append("There is more, which is left out.") }
    return lines.map { Terminal.safe($0) }
  }

  private func line(_ expression: ExplainedExpression) -> String {
    let (line, column) = rules.source.position(of: Int(expression.range.start))
    let indentation = String(repeating: "  ", count: 2 + min(expression.level, Self.deepestIndentation))
    let text = rules.source.excerpt(of: expression.range, limit: Self.longestText)
    return "\(indentation)\(line):\(column) \(text)" + value(expression).map { " = \($0)" }.joined()
  }

  private func value(_ expression: ExplainedExpression) -> [String] {
    switch expression.outcome {
    case .success(let value): [value.text(limit: Self.longestValue)]
    case .failure(let failure): ["failed: \(failure)"]
    case nil: ["not evaluated"]
    }
  }

  var json: JSONText {
    var count = 0
    let rules: [JSONText] = looked.map { rule in
      var expressions: [JSONText] = []
      for expression in self.rules.explain(rule) where count < Self.largestLineCount {
        count += 1
        expressions.append(json(expression))
      }
      return .object(RulePlaceText(rule, of: self.rules, for: ruleCase).json + [("expressions", .array(expressions))])
    }
    return .object([
      ("request", .string(ruleCase.title)), ("decided", .string(decision.isAllowed ? "allow" : "deny")),
      ("rules", .array(rules)),
    ])
  }

  private func json(_ expression: ExplainedExpression) -> JSONText {
    let (line, column) = rules.source.position(of: Int(expression.range.start))
    var members: [(name: String, value: JSONText)] = [
      ("line", .number("\(line)")), ("column", .number("\(column)")), ("level", .number("\(expression.level)")),
      ("text", .string(rules.source.excerpt(of: expression.range, limit: Self.longestText))),
    ]
    switch expression.outcome {
    case .success(let value): members.append(("value", .string(value.text(limit: Self.longestValue))))
    case .failure(let failure): members.append(("failure", .string("\(failure)")))
    case nil: break
    }
    return .object(members)
  }
}
