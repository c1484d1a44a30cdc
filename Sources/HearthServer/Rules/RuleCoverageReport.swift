package import HearthModel
package import HearthRules

/// A file of rules with the number of times that each expression of it had which value.
package struct RuleCoverageReport: Sendable {
  private let rules: RuleSet
  private let fileName: String
  private let expressions: [RuleCoverage.Expression]

  /// - Parameters:
  ///   - fileName: The name of the file of rules, as readers of the report see it.
  ///   - coverage: The coverage of the rules.
  package init(_ rules: RuleSet, fileName: String, _ coverage: RuleCoverage) {
    self.rules = rules
    self.fileName = fileName
    expressions = coverage.report
  }

  // MARK: - JSON

  /// The JSON of Google's emulator.
  ///
  /// Values that were not kept are one value `{"omittedValue": true}`, which the emulator does not have.
  package var json: JSONText {
    let file: JSONText = .object([
      ("content", .string(String(decoding: rules.source.bytes, as: UTF8.self))), ("name", .string(fileName)),
    ])
    return .object([("rules", .object([("files", .array([file]))])), ("report", .array(reports))])
  }

  /// The expressions that are part of no other one, each with its parts in it.
  private var reports: [JSONText] {
    let places = RulePlaces(rules.source)
    // Behind the reports of each level are those of the level below it, which its next expression takes.
    var levels: [[JSONText]] = [[]]
    for expression in expressions.reversed() {
      while levels.count <= expression.level + 1 { levels.append([]) }
      let parts = levels[expression.level + 1]
      levels[expression.level + 1] = []
      levels[expression.level].append(Self.json(of: expression, places.json(of: expression.range), parts.reversed()))
    }
    return levels[0].reversed()
  }

  private static func json(
    of expression: RuleCoverage.Expression, _ position: JSONText, _ parts: [JSONText]
  ) -> JSONText {
    var values: [JSONText] = []
    func add(_ value: JSONText, _ count: Int) {
      if count > 0 { values.append(.object([("value", value), ("count", .number("\(count)"))])) }
    }
    let tally = expression.tally
    add(.object([("boolValue", .bool(true))]), tally.isTrue)
    add(.object([("boolValue", .bool(false))]), tally.isFalse)
    for (value, count) in tally.values { add(value.coverageJSON, count) }
    for (reason, count) in tally.failures {
      let failure: [(String, JSONText)] = [("sourcePosition", position), ("causeMessage", .string(reason))]
      add(.object([("undefined", .object(failure))]), count)
    }
    add(.object([("undefined", .object([("sourcePosition", position)]))]), tally.otherFailures)
    add(.object([("omittedValue", .bool(true))]), tally.otherValues)
    add(.object([]), expression.skipped)
    var members: [(name: String, value: JSONText)] = [("sourcePosition", position)]
    if !values.isEmpty { members.append(("values", .array(values))) }
    if !parts.isEmpty { members.append(("children", .array(parts))) }
    return .object(members)
  }

  // MARK: - A page

  /// A page that shows the rules, with colours for what was evaluated and the counts under the pointer.
  package var html: String {
    var page = Self.pageStart
    let bytes = rules.source.bytes
    var ends: [Int] = []
    var position = 0
    func write(to end: Int) {
      page += Self.escaped(String(decoding: bytes[position..<max(position, end)], as: UTF8.self))
      position = max(position, end)
    }
    for expression in expressions where !expression.isMinor && expression.level < RuleCoverage.deepestLevel {
      while let end = ends.last, end <= expression.range.start {
        write(to: end)
        page += "</span>"
        ends.removeLast()
      }
      write(to: Int(expression.range.start))
      let tally = expression.tally
      let kind = tally.total == 0 ? "none" : tally.failureCount > 0 ? "failed" : "evaluated"
      page += "<span class=\"\(kind)\" title=\"\(Self.escaped(expression.summary))\">"
      ends.append(Int(expression.range.end))
    }
    while let end = ends.popLast() {
      write(to: end)
      page += "</span>"
    }
    write(to: bytes.count)
    return page + "</pre>\n"
  }

  private static let pageStart = """
    <!DOCTYPE html>
    <meta charset="utf-8">
    <title>Coverage of security rules</title>
    <style>
    pre { line-height: 1.7; }
    span { border-bottom: 2px solid; }
    span:hover { background-color: rgba(128, 128, 128, 0.15); }
    .evaluated { border-color: #2a8a3e; }
    .failed { border-color: #d08a00; }
    .none { border-color: #d02030; }
    </style>
    <p>Green: evaluated. Yellow: failed at least once. Red: never evaluated. Point at an expression for its values.</p>
    <pre>

    """

  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}

extension RuleCoverage.Expression {
  /// The counts as words, such as `true 2, false 1, not reached 3`.
  package var summary: String {
    let counts = [
      ("true", tally.isTrue), ("false", tally.isFalse), ("other values", tally.valueCount),
      ("failed", tally.failureCount), ("not reached", skipped),
    ]
    let words = counts.filter { $0.1 > 0 }.map { "\($0.0) \($0.1)" }
    return tally.total == 0 ? "never evaluated" : words.joined(separator: ", ")
  }
}
