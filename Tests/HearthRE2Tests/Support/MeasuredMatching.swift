@testable import HearthRE2

extension RegularExpression {
  /// The cost of a call, in transitions and visits of instructions.
  func steps(_ text: [UInt8], _ body: (Matcher, UTF8Text, inout Matcher.Work) throws -> Void) throws -> Int {
    var work = Matcher.Work()
    try text.withUnsafeBufferPointer { try body(matcher, UTF8Text($0), &work) }
    return work.steps
  }

  /// The costs of each kind of question.
  func allSteps(_ text: [UInt8]) throws -> [String: Int] {
    [
      "contains": try steps(text) { _ = try $0.contains($1, work: &$2) },
      "matches": try steps(text) { _ = try $0.matchesWhole($1, work: &$2) },
      "firstMatch": try steps(text) { _ = try $0.firstMatch(in: $1, from: 0, withGroups: true, work: &$2) },
    ]
  }
}
