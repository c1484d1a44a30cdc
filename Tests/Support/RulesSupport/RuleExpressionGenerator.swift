package import TestSupport

/// Draws expressions of the rules language. Most are well typed; now and then a part has another type.
package struct RuleExpressionGenerator<Choices: ChoiceSource> {
  /// Also makes the choices of what is generated around the expressions.
  package var choices: Choices

  package init(choices: Choices) { self.choices = choices }

  private enum Kind: CaseIterable {
    case bool, int, float, string, bytes, list, set, map, path, duration, timestamp, latlng, null
  }

  package mutating func condition() -> String { expression(.bool, depth: 1 + choices.below(4)) }

  // MARK: - Types

  private mutating func expression(_ kind: Kind, depth: Int) -> String {
    if choices.chance(4) { return expression(choices.element(Kind.allCases), depth: depth) }
    if depth > 0, choices.chance(6) {
      let condition = expression(.bool, depth: depth - 1)
      return "(\(condition) ? \(expression(kind, depth: depth - 1)) : \(expression(kind, depth: depth - 1)))"
    }
    if depth > 0, choices.chance(4) {
      return "[\(expression(kind, depth: depth - 1)), 1][\(choices.element(["0", "0", "1"]))]"
    }
    if depth > 0, choices.chance(4) {
      return "{'k': \(expression(kind, depth: depth - 1))}.\(choices.element(["k", "k", "z"]))"
    }
    switch kind {
    case .bool: return bool(depth)
    case .int: return int(depth)
    case .float: return float(depth)
    case .string: return string(depth)
    case .bytes: return bytes(depth)
    case .list: return list(depth)
    case .set: return set(depth)
    case .map: return map(depth)
    case .path: return path(depth)
    case .duration: return duration(depth)
    case .timestamp: return timestamp(depth)
    case .latlng: return choices.element(["latlng.value(1.5,-2.5)", "latlng.value(0,0)", "latlng.value(91,0)"])
    case .null: return "null"
    }
  }

  private mutating func bool(_ depth: Int) -> String {
    guard depth > 0 else {
      return choices.element([
        "true", "false", "true", "request.auth != null", "resource == null", "'role' in request.auth.token",
      ])
    }
    let next = depth - 1
    switch choices.below(16) {
    case 0...2: return "(\(bool(next)) \(choices.element(["&&", "||"])) \(expression(.bool, depth: next)))"
    case 3: return "!\(expression(.bool, depth: next))"
    case 4...6:
      let kind = choices.element([Kind.int, .float, .string, .bytes, .duration, .timestamp])
      return
        "(\(expression(kind, depth: next)) \(choices.element(["<", "<=", ">", ">="])) \(expression(number(kind), depth: next)))"
    case 7...9:
      let kind = choices.element(Kind.allCases)
      return
        "(\(expression(kind, depth: next)) \(choices.element(["==", "!="])) \(expression(number(kind), depth: next)))"
    case 10:
      return
        "(\(expression(choices.element(Kind.allCases), depth: next)) in \(expression(choices.element([.list, .list, .set]), depth: next)))"
    case 11: return "(\(expression(.string, depth: next)) in \(expression(.map, depth: next)))"
    case 12:
      let type = choices.element([
        "bool", "int", "float", "number", "string", "bytes", "list", "map", "path", "duration", "timestamp", "latlng",
      ])
      return "(\(expression(choices.element(Kind.allCases.filter { $0 != .set }), depth: next)) is \(type))"
    case 13:
      return
        "\(expression(.list, depth: next)).\(choices.element(["hasAll", "hasAny", "hasOnly"]))(\(expression(.list, depth: next)))"
    case 14:
      let argument = expression(choices.element([.set, .list]), depth: next)
      return "\(expression(.set, depth: next)).\(choices.element(["hasAll", "hasAny", "hasOnly"]))(\(argument))"
    default: return "\(expression(.string, depth: next)).matches(\(pattern()))"
    }
  }

  /// Numbers are compared with numbers of either type.
  private mutating func number(_ kind: Kind) -> Kind {
    kind == .int || kind == .float ? choices.element([.int, .float]) : kind
  }

  private mutating func pattern() -> String {
    choices.element([
      "'a.*'", "'[a-z]+'", "''", "'.'", "'(a|ab)c?'", "'x|y'", "'(?i)A'", "'\\\\d+'", "'^a'", "'a$'", "'('",
    ])
  }

  private mutating func int(_ depth: Int) -> String {
    guard depth > 0 else {
      return choices.element(["0", "1", "2", "3", "-1", "7", "1000", "9223372036854775807", "request.auth.token.n"])
    }
    let next = depth - 1
    switch choices.below(12) {
    case 0...3:
      return
        "(\(expression(.int, depth: next)) \(choices.element(["+", "-", "*", "/ ", "%"])) \(expression(.int, depth: next)))"
    case 4: return "(-\(expression(.int, depth: next)))"
    case 5: return "\(expression(choices.element([.string, .list, .set, .map, .bytes]), depth: next)).size()"
    case 6: return "int(\(expression(choices.element([.int, .float, .string]), depth: next)))"
    case 7:
      return "math.\(choices.element(["abs", "round"]))(\(expression(choices.element([.int, .float]), depth: next)))"
    case 8:
      let method = choices.element([
        "year", "month", "day", "hours", "minutes", "seconds", "nanos", "dayOfWeek", "dayOfYear", "toMillis",
      ])
      return "\(expression(.timestamp, depth: next)).\(method)()"
    case 9: return "\(expression(.duration, depth: next)).\(choices.element(["seconds", "nanos"]))()"
    case 10:
      return "\(expression(.map, depth: next)).get(\(expression(.string, depth: 0)), \(expression(.int, depth: next)))"
    default: return "\(expression(.list, depth: next))[\(expression(.int, depth: 0))]"
    }
  }

  private mutating func float(_ depth: Int) -> String {
    guard depth > 0 else {
      return choices.element(["0.0", "1.0", "-1.5", "2.5", "1000000.25", "float('NaN')", "float('Infinity')", "-0.0"])
    }
    let next = depth - 1
    switch choices.below(6) {
    case 0, 1:
      return
        "(\(expression(.float, depth: next)) \(choices.element(["+", "-", "*", "/ ", "%"])) \(expression(choices.element([.int, .float]), depth: next)))"
    case 2: return "float(\(expression(choices.element([.int, .float]), depth: next)))"
    case 3:
      return
        "math.\(choices.element(["ceil", "floor", "sqrt", "abs"]))(\(expression(choices.element([.int, .float]), depth: next)))"
    case 4: return "(-\(expression(.float, depth: next)))"
    default: return "\(expression(.latlng, depth: next)).\(choices.element(["latitude", "longitude"]))()"
    }
  }

  private mutating func string(_ depth: Int) -> String {
    guard depth > 0 else {
      return choices.element([
        "''", "'a'", "'b'", "'abc'", "'Ab c'", "' x '", "'12'", "'é€'", "'k'", "'z'", "request.auth.uid",
        "request.method", "id",
      ])
    }
    let next = depth - 1
    switch choices.below(10) {
    case 0, 1: return "(\(expression(.string, depth: next)) + \(expression(.string, depth: next)))"
    case 2, 3: return "\(expression(.string, depth: next)).\(choices.element(["lower", "upper", "trim"]))()"
    case 4: return "string(\(expression(choices.element([.int, .float, .bool, .null, .string, .path]), depth: next)))"
    case 5:
      return
        "\(expression(.string, depth: next)).replace(\(pattern()), \(choices.element(["''", "'-'", "'xx'", "'$0'"])))"
    case 6: return "\(expression(.list, depth: next)).join(\(expression(.string, depth: 0)))"
    case 7: return "\(expression(.bytes, depth: next)).\(choices.element(["toBase64", "toHexString"]))()"
    case 8: return "\(expression(.string, depth: next))[\(choices.element(["0", "1", "0:1", "1:2", ":2", "1:", ":"]))]"
    default: return "\(expression(.path, depth: next))[\(choices.element(["0", "1", "2", "'k'", "'a'"]))]"
    }
  }

  private mutating func bytes(_ depth: Int) -> String {
    guard depth > 0 else { return choices.element(["b''", "b'a'", "b'\\x00\\xff'", "b'abc'"]) }
    if choices.chance(30) {
      return
        "hashing.\(choices.element(["crc32", "crc32c", "md5", "sha256"]))(\(expression(choices.element([.string, .bytes]), depth: depth - 1)))"
    }
    return "\(expression(.string, depth: depth - 1)).toUtf8()"
  }

  private mutating func item(_ depth: Int) -> String {
    expression(choices.element([.int, .int, .float, .string, .string, .bool, .null, .list, .map, .path]), depth: depth)
  }

  private mutating func list(_ depth: Int) -> String {
    guard depth > 0 else {
      return choices.element([
        "[]", "[1]", "[1, 2]", "[1, 1.0]", "['a', 'b']", "['k', 1, null]", "[[1], [2]]", "[3, 2, 1, 2]",
      ])
    }
    let next = depth - 1
    switch choices.below(8) {
    case 0...2: return "[\((0..<choices.below(4)).map { _ in item(next) }.joined(separator: ", "))]"
    case 3:
      return
        "\(expression(.list, depth: next)).\(choices.element(["concat", "removeAll"]))(\(expression(.list, depth: next)))"
    case 4:
      return "\(expression(.list, depth: next))[\(choices.element(["0:1", "1:2", ":1", "1:", "0:3", ":", "null:1"]))]"
    case 5: return "\(expression(.map, depth: next)).keys()"
    case 6: return "\(expression(.string, depth: next)).split(\(choices.element(["','", "' '", "'[b-z]'", "'a'"])))"
    default: return "\(expression(.map, depth: next)).get('l', [])"
    }
  }

  private mutating func set(_ depth: Int) -> String {
    guard depth > 0 else {
      return choices.element(["[].toSet()", "[1, 2].toSet()", "['a'].toSet()", "[1, 1.0, 'a'].toSet()"])
    }
    let next = depth - 1
    switch choices.below(5) {
    case 0, 1: return "\(expression(.list, depth: next)).toSet()"
    case 2, 3:
      return
        "\(expression(.set, depth: next)).\(choices.element(["union", "intersection", "difference"]))(\(expression(.set, depth: next)))"
    default:
      let keys = choices.element(["addedKeys", "removedKeys", "changedKeys", "affectedKeys", "unchangedKeys"])
      return "\(expression(.map, depth: next)).diff(\(expression(.map, depth: next))).\(keys)()"
    }
  }

  private mutating func map(_ depth: Int) -> String {
    guard depth > 0 else {
      return choices.element([
        "{}", "{'a': 1}", "{'a': 1.0, 'b': 2}", "{'k': 'a', 'l': [1]}", "request.auth.token", "{'m': {'k': 2}}",
      ])
    }
    let next = depth - 1
    let keys = ["a", "b", "k", "l", "m"].filter { _ in choices.chance(35) }
    return "{\(keys.map { "'\($0)': \(item(next))" }.joined(separator: ", "))}"
  }

  private mutating func path(_ depth: Int) -> String {
    guard depth > 0 else {
      return choices.element(["/a/b", "/a", "/databases/(default)/documents/d/one", "request.path", "path('a/b')"])
    }
    let next = depth - 1
    switch choices.below(7) {
    case 0: return "/a/$(\(expression(choices.element([.string, .int, .path]), depth: next)))"
    case 1: return "path(\(expression(.string, depth: next)))"
    case 2:
      let template = choices.element([
        "(/a/{k}/c)", "path('/a/{k}')", "path('{k}/{l}')", "(/x/{k=**}/y)",
        "(/{a}/$(\(expression(.path, depth: next))))",
      ])
      return "\(template).bind(\(expression(.map, depth: next)))"
    case 3: return choices.element(["(/a/{k}/c)", "path('{k}/{l}')", "(/x/{k=**}/y)", "path('/a/{k}/{k}')"])
    case 4, 5:
      return "\(expression(.path, depth: next))[\(choices.element(["0:1", "1:2", ":1", "1:", ":", "0:3", "2:"]))]"
    default: return "/x/$(\(expression(.string, depth: next)))/y"
    }
  }

  private mutating func duration(_ depth: Int) -> String {
    guard depth > 0 else {
      return choices.element([
        "duration.value(1,'s')", "duration.value(-90,'m')", "duration.value(2,'w')", "duration.value(1500,'ms')",
        "duration.value(7,'ns')",
      ])
    }
    let next = depth - 1
    switch choices.below(6) {
    case 0, 1:
      return
        "(\(expression(.duration, depth: next)) \(choices.element(["+", "-"])) \(expression(.duration, depth: next)))"
    case 2: return "(\(expression(.timestamp, depth: next)) - \(expression(.timestamp, depth: next)))"
    case 3: return "duration.abs(\(expression(.duration, depth: next)))"
    case 4: return "\(expression(.timestamp, depth: next)).time()"
    default:
      let number = expression(.int, depth: next)
      return "duration.value(\(number), \(choices.element(["'s'", "'h'", "'d'", "'ms'", "'x'"])))"
    }
  }

  private mutating func timestamp(_ depth: Int) -> String {
    guard depth > 0 else {
      return choices.element([
        "timestamp.value(0)", "timestamp.date(2020,2,29)", "timestamp.value(-1500)", "timestamp.date(9999,12,31)",
        "timestamp.date(1,1,1)", "timestamp.value('2021-03-04T05:06:07.89Z')",
      ])
    }
    let next = depth - 1
    switch choices.below(5) {
    case 0, 1:
      return
        "(\(expression(.timestamp, depth: next)) \(choices.element(["+", "-"])) \(expression(.duration, depth: next)))"
    case 2: return "timestamp.value(\(expression(.int, depth: next)))"
    case 3: return "\(expression(.timestamp, depth: next)).date()"
    default: return "timestamp.date(\(expression(.int, depth: 0)), \(1 + choices.below(12)), \(1 + choices.below(31)))"
    }
  }
}

extension RuleExpressionGenerator<SeededGenerator> {
  package init(seed: UInt64) { self.init(choices: SeededGenerator(seed: seed)) }
}
