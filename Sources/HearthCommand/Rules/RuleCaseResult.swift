import Foundation
import HearthData
import HearthModel
import HearthRules

/// A decision on a case.
struct RuleCaseResult {
  let file: String
  let ruleCase: RuleCase
  let isAllowed: Bool
  /// The `allow` that held if the request is allowed, and otherwise all that did not.
  let deciding: [RulePlaceText]
  /// For each of them, the parts that were false; none if the case is as expected.
  private let falseParts: [[String]]

  init(_ ruleCase: RuleCase, in file: String, _ decision: RuleDecision, by rules: RuleSet) {
    self.file = file
    self.ruleCase = ruleCase
    isAllowed = decision.isAllowed
    let looked = (decision.trace?.rules ?? []).map { (rule: $0, text: RulePlaceText($0, of: rules, for: ruleCase)) }
    let chosen =
      decision.isAllowed
      ? looked.suffix(1) : looked.filter { !$0.text.isTrue }.prefix(RuleDecision.largestRefusalCount)
    deciding = chosen.map(\.text)
    let isExpected = ruleCase.expectsAllowed == decision.isAllowed
    falseParts = chosen.map { isExpected || $0.text.isTrue ? [] : RuleFalseParts($0.rule, of: rules).lines }
  }

  var isExpected: Bool { ruleCase.expectsAllowed == isAllowed }

  private static func word(_ isAllowed: Bool?) -> String { isAllowed.map { $0 ? "allow" : "deny" } ?? "" }

  /// The name of the file, without its folder.
  var fileName: String { URL(fileURLWithPath: file).lastPathComponent }

  /// The cells of the columns that ``titles`` names.
  var cells: [String] {
    [
      ruleCase.name, Self.word(ruleCase.expectsAllowed), Self.word(isAllowed), isExpected ? "ok" : "FAILED",
      isExpected ? "" : deciding.first.map { "\($0.place) \($0.text)" } ?? Self.noRule,
    ]
  }

  static let titles = ["CASE", "EXPECTED", "DECIDED", "VERDICT", "DECIDED BY"]

  private static let noRule = "no allow for this method and path"

  /// The rules that have decided, for a case that is not as expected.
  ///
  /// - Parameter rulesFile: The path of the file of rules.
  func details(rulesFile: String) -> [String] {
    let head = "\(file): \"\(ruleCase.name)\": \(ruleCase.title) is \(isAllowed ? "allowed" : "denied"):"
    guard !deciding.isEmpty else { return [head, "  \(Self.noRule)"] }
    return [head]
      + zip(deciding, falseParts).flatMap { rule, parts in
        ["  \(rulesFile):\(rule.place): \(rule.text)", "    in \(rule.match): \(rule.result)"]
          + parts.map { "      " + $0 }
      }
  }

  private static func json(_ falseParts: [String]) -> [(name: String, value: JSONText)] {
    falseParts.isEmpty ? [] : [("falseAt", .array(falseParts.map { .string($0) }))]
  }

  var json: JSONText {
    .object([
      ("file", .string(file)), ("name", .string(ruleCase.name)), ("request", .string(ruleCase.title)),
      ("expected", .string(Self.word(ruleCase.expectsAllowed))), ("decided", .string(Self.word(isAllowed))),
      ("isExpected", .bool(isExpected)),
      ("rules", .array(zip(deciding, falseParts).map { .object($0.json + Self.json($1)) })),
    ])
  }
}
