package import TestSupport

/// Draws whole files: functions, matches within each other, and conditions that also look at documents, at requests and at queries.
///
/// Names and paths are those of ``RuleRequestGenerator``. Some of the files are refused.
package struct RuleFileGenerator<Choices: ChoiceSource> {
  private var expressions: RuleExpressionGenerator<Choices>
  /// False for a file whose conditions ask the same of a query as of a document (``RuleProperties/looksAtRequest(_:)``).
  private var looksAtRequest = true

  package init(choices: Choices) { expressions = RuleExpressionGenerator(choices: choices) }

  /// The choices that were not made yet.
  package var choices: Choices {
    get { expressions.choices }
    set { expressions.choices = newValue }
  }

  package mutating func file() -> String {
    looksAtRequest = choices.chance(50)
    let version = choices.chance(85) ? "rules_version = '2';\n" : ""
    let functions = (0..<choices.below(3)).map { function("f\($0)") }
    let matches = (0...choices.below(3)).map { _ in match(depth: 2) }
    return version + "service cloud.firestore {\n match /databases/{database}/documents {\n"
      + (functions + matches).joined(separator: "\n") + "\n }\n}\n"
  }

  // MARK: - Declarations

  private mutating func function(_ name: String) -> String {
    let parameters = (0..<choices.below(3)).map { "p\($0)" }
    let bindings = (0..<choices.below(3)).map { "let v\($0) = \(condition(depth: 1)); " }
    let results = parameters + bindings.indices.map { "v\($0)" }
    let last = results.isEmpty || choices.chance(50) ? condition(depth: 1) : choices.element(results)
    return "function \(name)(\(parameters.joined(separator: ", "))) { \(bindings.joined())return \(last); }"
  }

  private mutating func match(depth: Int) -> String {
    let path = choices.element([
      "/c/{id}", "/q/{id}", "/{all=**}", "/c/{id}/d/{sub}", "/{collection}/{id}", "/{above=**}/q/{id}", "/d/one",
      "/c/x/{rest=**}", "/{a}/{b}/{c}/{d}",
    ])
    var body = (0...choices.below(3)).map { _ in allow() }
    if depth > 0, choices.chance(20) { body.append(match(depth: depth - 1)) }
    if choices.chance(10) { body.append(function("f0")) }
    return " match \(path) { \(body.joined(separator: " ")) }"
  }

  private mutating func allow() -> String {
    let methods = choices.element([
      "read", "get", "list", "read, write", "write", "create", "update", "delete", "get, list, update",
    ])
    return choices.chance(5) ? "allow \(methods);" : "allow \(methods): if \(condition(depth: 2));"
  }

  // MARK: - Conditions

  private mutating func condition(depth: Int) -> String {
    guard depth > 0, choices.chance(35) else { return simpleCondition() }
    let next = depth - 1
    switch choices.below(6) {
    case 0, 1: return "(\(condition(depth: next)) && \(condition(depth: next)))"
    case 2, 3: return "(\(condition(depth: next)) || \(condition(depth: next)))"
    case 4: return "!(\(condition(depth: next)))"
    default: return "(\(condition(depth: next)) ? \(condition(depth: next)) : \(condition(depth: next)))"
    }
  }

  private mutating func simpleCondition() -> String {
    switch choices.below(10) {
    case 0, 1: return choices.element(looksAtRequest ? RuleCorpus.readable : RuleCorpus.withoutRequest)
    case 2, 3: return choices.element(RuleQueryCorpus.conditionTexts)
    case 4: return looksAtRequest ? expressions.condition() : "true"
    case 5: return "f\(choices.below(2))(\((0..<choices.below(3)).map { _ in value() }.joined(separator: ", ")))"
    case 6, 7: return look()
    default: return fields()
    }
  }

  /// A condition about other documents.
  private mutating func look() -> String {
    let path =
      "/databases/$(\(choices.element(["database", "database", "database", "'x'"])))/documents/\(choices.element(["c", "d", "u"]))/"
      + choices.element(["one", "x", "$(id)", "$(request.auth.uid)", "$(resource.data.r)", "$(resource.data.s)"])
    let after = choices.chance(20) ? "After" : ""
    return choices.chance(50)
      ? "exists\(after)(\(path))" : comparison(of: "get\(after)(\(path)).data.\(field())")
  }

  /// A condition about the fields of the document of the request.
  private mutating func fields() -> String {
    let document = looksAtRequest && choices.chance(30) ? "request.resource.data" : "resource.data"
    switch choices.below(looksAtRequest ? 6 : 5) {
    case 0: return "'\(field())' in \(document)"
    case 1: return "\(document).keys().\(choices.element(["hasAll", "hasAny", "hasOnly"]))(['a', '\(field())'])"
    case 2: return comparison(of: "\(document).get('\(field())', \(value()))")
    case 3, 4: return comparison(of: "\(document).\(field())")
    default: return "request.resource.data.diff(resource.data).affectedKeys().hasOnly(['a', '\(field())'])"
    }
  }

  private mutating func field() -> String { choices.element(RuleRequestNames.fields) }

  private mutating func comparison(of left: String) -> String {
    if choices.chance(15) {
      return "\(left) is \(choices.element(["bool", "int", "number", "string", "list", "map", "constraint", "path"]))"
    }
    return "\(left) \(choices.element(["==", "==", "!=", "<", "<=", ">", ">=", "in"])) \(value())"
  }

  private mutating func value() -> String {
    choices.element([
      "1", "2", "1.0", "'x'", "null", "true", "[1, 2]", "{'k': 2}", "request.auth.uid", "resource.data.a", "id",
      "request.time", "resource.data", "b'a'",
    ])
  }
}

extension RuleCorpus {
  /// The expressions that no file is refused for.
  fileprivate static let readable = expressions.filter { $0.verdict.ours != "C" }.map(\.text)
  fileprivate static let withoutRequest = readable.filter { !RuleProperties.looksAtRequest($0) }
}

extension RuleQueryCorpus {
  fileprivate static let conditionTexts = conditions.split(separator: "\n").map(String.init)
}
