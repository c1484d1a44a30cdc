/// The path of an HTTP binding, such as `/v1/{parent=projects/*/databases/*/documents}:runQuery` (google/api/http.proto).
package struct PathTemplate: Sendable {
  private enum Segment: Sendable, Hashable {
    case literal(String)
    /// `*`
    case one
    /// `**`
    case any
  }

  struct Variable: Sendable {
    /// The field of the request, such as `document.name`.
    let path: [String]
    /// The segments of the template that it stands for.
    fileprivate let segments: Range<Int>
    /// The same as text, such as `projects/*/databases/*`.
    let pattern: String
  }

  private let segments: [Segment]
  let variables: [Variable]
  /// The word after the colon; empty if there is none.
  let verb: String

  /// - Returns: nil for a text that is not a template, or has `**` twice.
  init?(_ text: String) {
    guard text.first == "/" else { return nil }
    var rest = text.dropFirst()
    var segments: [Segment] = []
    var variables: [Variable] = []
    var verb = ""
    func add(_ text: Substring) {
      for part in text.split(separator: "/") {
        segments.append(part == "**" ? .any : part == "*" ? .one : .literal(String(part)))
      }
    }
    while let character = rest.first {
      switch character {
      case "/": rest = rest.dropFirst()
      case ":":
        verb = String(rest.dropFirst())
        rest = ""
      case "{":
        guard let end = rest.firstIndex(of: "}") else { return nil }
        let parts = rest[rest.index(after: rest.startIndex)..<end].split(separator: "=", maxSplits: 1)
        guard let name = parts.first else { return nil }
        let start = segments.count
        let pattern = parts.count > 1 ? parts[1] : "*"
        add(pattern)
        variables.append(
          Variable(
            path: name.split(separator: ".").map(String.init), segments: start..<segments.count,
            pattern: String(pattern)))
        rest = rest[rest.index(after: end)...]
      default:
        let end = rest.firstIndex { $0 == "/" || $0 == ":" || $0 == "{" } ?? rest.endIndex
        add(rest[..<end])
        rest = rest[end...]
      }
    }
    guard segments.count(where: { $0 == .any }) <= 1 else { return nil }
    self.segments = segments
    self.variables = variables
    self.verb = verb
  }

  package struct Match {
    /// For each variable its value, decoded.
    var values: [String] = []
    /// For each variable the text of its pattern, and the number of segments that its value has.
    package var variables: [(pattern: String, segmentCount: Int)] = []
  }

  /// - Parameter path: The segments after the first slash, as they were sent.
  /// - Returns: nil for another path.
  /// - Throws: `RESTFailure` if it is this one and cannot be decoded.
  func match(_ path: [Substring]) throws(RESTFailure) -> Match? {
    var path = path
    if !verb.isEmpty {
      guard let last = path.popLast(), last.hasSuffix(":" + verb) else { return nil }
      path.append(last.dropLast(verb.count + 1))
    }
    let open = segments.firstIndex(of: .any)
    guard open == nil ? path.count == segments.count : path.count >= segments.count - 1 else { return nil }
    // Where each segment of the template begins in the path.
    let surplus = path.count - segments.count
    func start(_ index: Int) -> Int { index + (open.map { index > $0 ? surplus : 0 } ?? 0) }
    for (index, segment) in segments.enumerated() {
      switch segment {
      case .literal(let text): guard path[start(index)] == text else { return nil }
      case .one: guard !path[start(index)].isEmpty else { return nil }
      case .any: break
      }
    }
    var match = Match()
    for variable in variables {
      let parts = path[start(variable.segments.lowerBound)..<start(variable.segments.upperBound)]
      match.variables.append((variable.pattern, parts.count))
      var decoded: [String] = []
      // "The server side does the reverse decoding, except `%2F` and `%2f` are left unchanged" (google/api/http.proto, of variables that stand
      // for several segments). So an escaped slash is part of an id, and never ends one.
      let keepsSlashes = variable.segments.count > 1
      for part in parts {
        decoded.append(
          try PercentEncoding.decoded(part, keepsSlashes: keepsSlashes, at: variable.path.joined(separator: ".")))
      }
      match.values.append(decoded.joined(separator: "/"))
    }
    return match
  }
}

package enum PercentEncoding {
  /// - Parameters:
  ///   - isQuery: A plus sign is a space.
  ///   - keepsSlashes: An escaped slash stays as it is.
  ///   - field: The field that is decoded, for the error.
  /// - Throws: `RESTFailure` for bytes that are not text, and a percent sign without two digits.
  package static func decoded(
    _ text: Substring, isQuery: Bool = false, keepsSlashes: Bool = false, at field: String
  ) throws(RESTFailure) -> String {
    let bytes = text.utf8
    guard bytes.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") || $0 >= 0x80 }) else {
      return String(text)
    }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let byte = bytes[index]
      index = bytes.index(after: index)
      if byte == UInt8(ascii: "+"), isQuery {
        result.append(0x20)
      } else if byte == UInt8(ascii: "%") {
        let digits = bytes[index...].prefix(2).compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count == 2 else {
          throw .invalid(at: field, "A percent sign must be followed by two hexadecimal digits.")
        }
        let decoded = UInt8(digits[0] << 4 | digits[1])
        if keepsSlashes, decoded == UInt8(ascii: "/") {
          result.append(byte)
          result.append(contentsOf: bytes[index...].prefix(2))
        } else {
          result.append(decoded)
        }
        index = bytes.index(index, offsetBy: 2)
      } else {
        result.append(byte)
      }
    }
    guard let string = String(validating: result, as: UTF8.self) else {
      throw .invalid(at: field, "The percent-encoded bytes are not valid UTF-8.")
    }
    return string
  }
}
