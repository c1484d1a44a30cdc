import HearthModel
import HearthRules

/// An `allow` that has decided on a case, as reports show it.
struct RulePlaceText {
  let line: Int
  let column: Int
  /// The match around it.
  let match: String
  /// The `allow`, shortened to one line.
  let text: String
  /// The value of the condition, or the reason why it has none.
  let outcome: Result<RuleValue, RuleFailure>
  /// The innermost expression that failed, with its place; nil if none did.
  private let cause: String?
  /// The likely reason for the failure.
  private let hint: String?

  private static let longestText = 120
  private static let longestValue = 200

  init(_ rule: RuleTrace.Rule, of rules: RuleSet, for ruleCase: RuleCase) {
    (line, column) = rules.source.position(of: Int(rule.range.start))
    match = rule.title
    text = rules.source.excerpt(of: rule.range, limit: Self.longestText)
    outcome = rule.outcome
    let failed = rules.cause(of: rule).map { range in
      (
        place: rules.source.position(of: Int(range.start)),
        text: rules.source.excerpt(of: range, limit: Self.longestText)
      )
    }
    cause = failed.map { "\($0.place.line):\($0.place.column) \($0.text)" }
    if case .failure(let failure) = rule.outcome, let failed {
      hint = ruleCase.hint(failure, at: failed.text)
    } else {
      hint = nil
    }
  }

  /// Such as `9:7`.
  var place: String { "\(line):\(column)" }

  /// True if the request is allowed because of it.
  var isTrue: Bool { if case .success(.bool(true)) = outcome { true } else { false } }

  /// Such as `true`, or `failed: there is no property 'admin', at 9:39 request.auth.token.admin`.
  var result: String {
    switch outcome {
    case .success(let value): value.text(limit: Self.longestValue)
    case .failure(let failure):
      "failed: \(failure)" + (cause.map { ", at \($0)" } ?? "") + (hint.map { " (\($0))" } ?? "")
    }
  }

  var json: [(name: String, value: JSONText)] {
    var members: [(name: String, value: JSONText)] = [
      ("line", .number("\(line)")), ("column", .number("\(column)")), ("match", .string(match)),
      ("text", .string(text)),
    ]
    switch outcome {
    case .success(let value): members.append(("value", .string(value.text(limit: Self.longestValue))))
    case .failure(let failure): members.append(("failure", .string("\(failure)")))
    }
    if let cause { members.append(("failedAt", .string(cause))) }
    if let hint { members.append(("hint", .string(hint))) }
    return members
  }
}
