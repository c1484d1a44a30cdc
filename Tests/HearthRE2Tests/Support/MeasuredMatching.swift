@testable import HearthRE2

extension RegularExpression {
  /// The cost of a call, in transitions and visits of instructions.
  func steps(_ text: [UInt8], _ body: (Matcher, UTF8Text, inout Matcher.Work) -> Void) -> Int {
    var work = Matcher.Work()
    text.withUnsafeBufferPointer { body(matcher, UTF8Text($0), &work) }
    return work.steps
  }

  /// The costs of each kind of question.
  func allSteps(_ text: [UInt8]) -> [String: Int] {
    [
      "contains": steps(text) { _ = $0.contains($1, work: &$2) },
      "matches": steps(text) { _ = $0.matchesWhole($1, work: &$2) },
      "firstMatch": steps(text) { _ = $0.firstMatch(in: $1, from: 0, withGroups: true, work: &$2) },
    ]
  }
}
