/// A path, such as `/databases/(default)/documents/users/alice`. A path with variables is a template, whose variables `bind` fills.
package struct RulePath: Sendable {
  enum Segment: Sendable {
    case text(String)
    case variable(String, value: String?)
    /// A variable for any number of segments.
    case recursive(String, value: [String]?)
  }

  /// Nearly all paths are names alone.
  private enum Form: Sendable {
    case names([String])
    case template([Segment])
  }

  private let form: Form

  /// - Precondition: No two variables have the same name.
  private init(segments: [Segment]) { form = .template(segments) }

  package init(_ names: [String]) { form = .names(names) }

  var segments: [Segment] {
    switch form {
    case .names(let names): names.map { .text($0) }
    case .template(let segments): segments
    }
  }

  /// Fails if two variables have the same name, as in production.
  init(template: [Segment]) throws(RuleFailure) {
    if let name = template.repeatedVariable { throw .invalid("path: it has variable \(name.quotedBriefly) twice") }
    form = .template(template)
  }

  /// Reads `/a/b` or `a/b`, where a segment may be `{name}` or `{name=**}`.
  init(parsing text: String) throws(RuleFailure) {
    var rest = Substring(text)
    if rest.first == "/" { rest.removeFirst() }
    guard !rest.isEmpty else { throw .invalid("path: it is empty") }
    var segments: [Segment] = []
    for part in rest.split(separator: "/", omittingEmptySubsequences: false) {
      guard let segment = Segment(part) else {
        throw .invalid(
          "path \(text.quotedBriefly): \(String(part).quotedBriefly) is not a segment (a name, {name} or {name=**})")
      }
      segments.append(segment)
    }
    try self.init(template: segments)
  }

  /// The names of the path. A variable without a value is the empty name.
  package var names: [String] {
    switch form {
    case .names(let names): names
    case .template(let segments): segments.flatMap { $0.names ?? [""] }
    }
  }

  package var text: String { "/" + names.joined(separator: "/") }
  var weight: Int {
    switch form {
    case .names(let names): names.reduce(1) { $0 + $1.utf8.count }
    case .template(let segments): segments.reduce(1) { $0 + $1.byteCount }
    }
  }

  /// The operator `==`: the same names. A path with a variable that has no value equals none, not even itself.
  func hasSameNames(as other: RulePath) -> Bool {
    unboundVariable == nil && other.unboundVariable == nil && names.hasSameBytes(as: other.names)
  }

  /// The equality of paths within lists and maps: the same variables with the same values, and the same text around them.
  func isSameTemplate(as other: RulePath) -> Bool {
    segments.count == other.segments.count && zip(segments, other.segments).allSatisfy { $0.isSame(as: $1) }
  }

  private static func noValue(of variable: String) -> RuleFailure {
    .invalid("path: variable \(variable.quotedBriefly) has no value")
  }

  private var unboundVariable: String? {
    guard case .template(let segments) = form else { return nil }
    return segments.lazy.compactMap(\.unboundVariable).first
  }

  /// The segments, where each name stands for itself that a recursive variable has for its value.
  /// - Throws: If a variable of the path, wherever it stands, has no value.
  private func boundSegments() throws(RuleFailure) -> [Segment] {
    if let name = unboundVariable { throw Self.noValue(of: name) }
    guard segments.contains(where: { $0.variable != nil }) else { return segments }
    return segments.flatMap { segment in
      guard case .recursive(_, let names?) = segment else { return [segment] }
      return names.map { .text($0) }
    }
  }

  fileprivate func boundNames() throws(RuleFailure) -> [String] { try boundSegments().flatMap { $0.names ?? [] } }

  func name(at index: Int64) throws(RuleFailure) -> RuleValue {
    if case .names(let names) = form {
      guard index >= 0, index < names.count else { throw .outOfBounds(index, count: names.count) }
      return .string(names[Int(index)])
    }
    let segments = try boundSegments()
    guard index >= 0, index < segments.count else { throw .outOfBounds(index, count: segments.count) }
    return .string(segments[Int(index)].names?.first ?? "")
  }

  /// A part of the path. Variables in it keep their names; of a recursive one, only the value remains.
  func slice(_ range: (Int) throws(RuleFailure) -> Range<Int>) throws(RuleFailure) -> RulePath {
    let segments = try boundSegments()
    return RulePath(segments: Array(segments[try range(segments.count)]))
  }

  func value(of name: String) throws(RuleFailure) -> RuleValue {
    guard case .template(let segments) = form else { throw .missingProperty(name) }
    for segment in segments {
      switch segment {
      case .variable(name, let value?): return .string(value)
      case .recursive(name, let value?): return .path(RulePath(value))
      case .variable(name, nil), .recursive(name, nil): throw Self.noValue(of: name)
      default: continue
      }
    }
    throw .missingProperty(name)
  }

  /// Fills variables. Those that the map does not name are left out of the path.
  func binding(_ values: RuleMap) throws(RuleFailure) -> RulePath {
    var unused = Set(values.fields.keys)
    var bound: [Segment] = []
    for segment in segments {
      guard let name = segment.variable else {
        bound.append(segment)
        continue
      }
      guard let value = values[name] else { continue }
      unused.remove(ExactText(name))
      bound.append(try segment.binding(value))
    }
    if let name = unused.min()?.text { throw .invalid("path: it has no variable \(name.quotedBriefly)") }
    return RulePath(segments: bound)
  }
}

extension RulePath.Segment {
  /// The bytes of its names in the path.
  fileprivate var byteCount: Int {
    switch self {
    case .text(let name), .variable(_, let name?): name.utf8.count
    case .variable(_, nil), .recursive(_, nil): 0
    case .recursive(_, let names?): names.reduce(0) { $0 + $1.utf8.count }
    }
  }

  /// The name of the variable; nil for text.
  var variable: String? {
    switch self {
    case .text: nil
    case .variable(let name, _), .recursive(let name, _): name
    }
  }

  /// Names in the path; nil for a variable without a value.
  fileprivate var names: [String]? {
    switch self {
    case .text(let text): [text]
    case .variable(_, let value): value.map { [$0] }
    case .recursive(_, let value): value
    }
  }

  fileprivate var unboundVariable: String? {
    switch self {
    case .variable(let name, nil), .recursive(let name, nil): name
    default: nil
    }
  }

  fileprivate func isSame(as other: Self) -> Bool {
    switch (self, other) {
    case (.text, .text), (.variable, .variable), (.recursive, .recursive): break
    default: return false
    }
    guard variable == other.variable else { return false }
    guard let names, let others = other.names else { return names == nil && other.names == nil }
    return names.hasSameBytes(as: others)
  }

  /// The variable with a value.
  fileprivate func binding(_ value: RuleValue) throws(RuleFailure) -> Self {
    switch self {
    case .text: return self
    case .variable(let name, nil):
      let text = try value.converted()
      guard !text.isEmpty else { throw .invalid("path: the value of variable \(name.quotedBriefly) is empty") }
      return .variable(name, value: text)
    case .recursive(let name, nil):
      guard case .path(let path) = value else { throw .wrongType(value.typeName, expected: "path") }
      return .recursive(name, value: try path.boundNames())
    case .variable(let name, _), .recursive(let name, _):
      throw .invalid("path: variable \(name.quotedBriefly) has a value already")
    }
  }
}

extension Sequence<RulePath.Segment> {
  /// A name that two variables have.
  var repeatedVariable: String? {
    var seen: Set<String> = []
    return lazy.compactMap(\.variable).first { !seen.insert($0).inserted }
  }
}

extension RulePath.Segment {
  fileprivate init?(_ part: Substring) {
    guard part.utf8.contains(where: { $0 > 0x20 }) else { return nil }
    guard part.first == "{" else {
      guard let name = PercentEncoding.decoded(Array(part.utf8)[...]) else { return nil }
      self = .text(name)
      return
    }
    guard part.last == "}" else { return nil }
    var name = part.dropFirst().dropLast()
    let isRecursive = name.hasSuffix("=**")
    if isRecursive { name = name.dropLast(3) } else if name.hasSuffix("=*") { name = name.dropLast(2) }
    guard let first = name.utf8.first, !first.isDigit, name.utf8.allSatisfy(\.isNamePart) else { return nil }
    self = isRecursive ? .recursive(String(name), value: nil) : .variable(String(name), value: nil)
  }
}

extension UInt8 {
  fileprivate var isNamePart: Bool {
    isDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self)
      || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self)
      || self == UInt8(ascii: "_") || self == UInt8(ascii: "$")
  }
}
