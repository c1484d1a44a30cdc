/// A path, such as `/databases/(default)/documents/users/alice`. A path with variables is a template, whose variables `bind` fills.
package struct RulePath: Sendable {
  enum Segment: Sendable, Hashable {
    case text(String)
    case variable(String, value: String?)
    /// A variable for any number of segments.
    case recursive(String, value: [String]?)
  }

  let segments: [Segment]

  init(segments: [Segment]) { self.segments = segments }

  package init(_ names: [String]) { segments = names.map { .text($0) } }

  /// Reads `/a/b` or `a/b`, where a segment may be `{name}` or `{name=**}`.
  init(parsing text: String) throws(RuleFailure) {
    var rest = Substring(text)
    if rest.first == "/" { rest.removeFirst() }
    guard !rest.isEmpty else { throw .invalid("the empty path") }
    var segments: [Segment] = []
    for part in rest.split(separator: "/", omittingEmptySubsequences: false) {
      guard let segment = Segment(part) else {
        throw .invalid("path \(text.quotedBriefly): \(String(part).quotedBriefly) is no segment")
      }
      segments.append(segment)
    }
    self.segments = segments
  }

  /// The names of the path. A variable without a value is the empty name.
  package var names: [String] {
    segments.flatMap { segment in
      switch segment {
      case .text(let text): [text]
      case .variable(_, let value): [value ?? ""]
      case .recursive(_, let value): value ?? [""]
      }
    }
  }

  package var text: String { "/" + names.joined(separator: "/") }
  var weight: Int { names.reduce(1) { $0 + $1.utf8.count } }

  func segment(at index: Int64) throws(RuleFailure) -> RuleValue {
    guard index >= 0, index < segments.count else { throw .outOfBounds(index, count: segments.count) }
    switch segments[Int(index)] {
    case .text(let text): return .string(text)
    case .variable(let name, let value):
      guard let value else { throw .invalid("path: variable \(name) has no value") }
      return .string(value)
    case .recursive(let name, let value):
      guard let value else { throw .invalid("path: variable \(name) has no value") }
      return .path(RulePath(value))
    }
  }

  func value(of name: String) throws(RuleFailure) -> RuleValue {
    for (index, segment) in segments.enumerated() {
      switch segment {
      case .variable(name, _), .recursive(name, _): return try self.segment(at: Int64(index))
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
      switch segment {
      case .text: bound.append(segment)
      case .variable(let name, _):
        guard let value = values[name] else { continue }
        unused.remove(ExactText(name))
        bound.append(.variable(name, value: try value.converted()))
      case .recursive(let name, _):
        guard let value = values[name] else { continue }
        unused.remove(ExactText(name))
        guard case .path(let path) = value else { throw .wrongType(value.typeName, expected: "path") }
        bound.append(.recursive(name, value: path.names))
      }
    }
    if let name = unused.min()?.text { throw .invalid("path: it has no variable \(name.quotedBriefly)") }
    return RulePath(segments: bound)
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
