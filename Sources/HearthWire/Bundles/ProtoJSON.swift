internal import Foundation
internal import HearthModel

/// An error in an element, with its place.
struct ProtoJSONError: Error, CustomStringConvertible {
  var path: String
  var message: String

  var description: String { path.isEmpty ? message : "\(path): \(message)" }
}

/// A value of protocol buffers' JSON form, and its place.
struct ProtoJSON {
  /// The path from the element to a value in it.
  ///
  /// It is written out for errors only. If it were stored as text with each value, it would take the length of the enclosing names times
  /// the number of nested values. The author of a small bundle could make that as large as the memory.
  indirect enum Place: CustomStringConvertible {
    case element
    case member(String, of: Place)
    case item(Int, of: Place)

    /// A text such as "document.fields.tags.arrayValue.values[2]"; empty for the element itself.
    var description: String {
      switch self {
      case .element: return ""
      case .member(let name, of: .element): return name
      case .member(let name, let parent): return "\(parent).\(name)"
      case .item(let index, let parent): return "\(parent)[\(index)]"
      }
    }
  }

  let json: JSONText
  let place: Place

  init(_ json: JSONText, at place: Place = .element) {
    self.json = json
    self.place = place
  }

  func failure(_ message: String) -> ProtoJSONError { ProtoJSONError(path: place.description, message: message) }

  subscript(name: String) -> ProtoJSON? {
    json[name].map { ProtoJSON($0, at: .member(name, of: place)) }
  }

  func required(_ name: String) throws(ProtoJSONError) -> ProtoJSON {
    guard let value = self[name] else { throw failure("\"\(name)\" is missing") }
    return value
  }

  func object() throws(ProtoJSONError) -> [(name: String, value: ProtoJSON)] {
    guard case .object(let members) = json else { throw failure("an object is expected") }
    return members.map { ($0.name, ProtoJSON($0.value, at: .member($0.name, of: place))) }
  }

  func array() throws(ProtoJSONError) -> [ProtoJSON] {
    guard case .array(let elements) = json else { throw failure("an array is expected") }
    return elements.enumerated().map { ProtoJSON($1, at: .item($0, of: place)) }
  }

  // MARK: - Scalars

  func string() throws(ProtoJSONError) -> String {
    guard case .string(let string) = json else { throw failure("a string is expected") }
    return string
  }

  func bool() throws(ProtoJSONError) -> Bool {
    guard case .bool(let bool) = json else { throw failure("true or false is expected") }
    return bool
  }

  /// Integers are written as text, because JSON's own numbers do not hold 64 bits everywhere; small ones also as numbers.
  func integer() throws(ProtoJSONError) -> Int64 {
    switch json {
    case .string(let text), .number(let text):
      if let value = Int64(text) { return value }
      if let value = Double(text), let exact = Int64(exactly: value) { return exact }
      throw failure("\"\(text)\" is not a 64-bit integer")
    default: throw failure("an integer is expected")
    }
  }

  /// A count; not negative.
  func count() throws(ProtoJSONError) -> Int {
    let value = try integer()
    guard let count = Int(exactly: value), count >= 0 else { throw failure("\(value) is not a count") }
    return count
  }

  func double() throws(ProtoJSONError) -> Double {
    switch json {
    case .string("NaN"): return .nan
    case .string("Infinity"): return .infinity
    case .string("-Infinity"): return -.infinity
    case .string(let text), .number(let text):
      guard let value = Double(text) else { throw failure("\"\(text)\" is not a number") }
      return value
    default: throw failure("a number is expected")
    }
  }

  func bytes() throws(ProtoJSONError) -> [UInt8] {
    let text = try string()
    // Both alphabets are allowed, with and without padding.
    var base64 = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    while base64.utf8.count % 4 != 0 { base64 += "=" }
    guard let data = Data(base64Encoded: base64) else { throw failure("\"\(text.prefix(40))\" is not base64") }
    return Array(data)
  }

  /// A time as text (RFC 3339), or as an object of seconds and nanoseconds, which some writers of bundles produce.
  func timestamp() throws(ProtoJSONError) -> Timestamp {
    if case .string(let text) = json {
      guard let timestamp = RFC3339.timestamp(text) else { throw failure("\"\(text.prefix(40))\" is not a time") }
      return timestamp
    }
    let seconds = try self["seconds"]?.integer() ?? 0
    let nanoseconds = try self["nanos"]?.integer() ?? 0
    guard case .object = json, Timestamp.validSeconds.contains(seconds), (0..<1_000_000_000).contains(nanoseconds)
    else {
      throw failure("a time between the years 1 and 9999 is expected")
    }
    return Timestamp(seconds: seconds, nanoseconds: Int32(nanoseconds))
  }

  func version() throws(ProtoJSONError) -> SnapshotVersion { SnapshotVersion(try timestamp()) }
}

/// Times as text, such as "2026-01-31T08:30:00.123456789Z".
enum RFC3339 {
  static func timestamp(_ text: String) -> Timestamp? {
    var rest = Array(text.utf8)[...]
    guard let year = number(4, &rest), take("-", &rest), let month = number(2, &rest), take("-", &rest),
      let day = number(2, &rest), take("T", &rest) || take("t", &rest), let hour = number(2, &rest), take(":", &rest),
      let minute = number(2, &rest), take(":", &rest), let second = number(2, &rest),
      let days = days(year, month, day), hour < 24, minute < 60, second < 60,
      let nanoseconds = fraction(&rest), let offset = offset(&rest), rest.isEmpty
    else {
      return nil
    }
    let seconds = days * 86400 + hour * 3600 + minute * 60 + second - offset
    guard Timestamp.validSeconds.contains(seconds) else { return nil }
    return Timestamp(seconds: seconds, nanoseconds: nanoseconds)
  }

  private static func take(_ character: Character, _ rest: inout ArraySlice<UInt8>) -> Bool {
    guard let first = rest.first, first == character.asciiValue else { return false }
    rest.removeFirst()
    return true
  }

  private static func number(_ digits: Int, _ rest: inout ArraySlice<UInt8>) -> Int64? {
    guard rest.count >= digits else { return nil }
    var value: Int64 = 0
    for byte in rest.prefix(digits) {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      value = value * 10 + Int64(byte - UInt8(ascii: "0"))
    }
    rest.removeFirst(digits)
    return value
  }

  /// Up to nine digits.
  private static func fraction(_ rest: inout ArraySlice<UInt8>) -> Int32? {
    guard take(".", &rest) else { return 0 }
    var value: Int32 = 0
    var digits = 0
    while let digit = number(1, &rest) {
      guard digits < 9 else { return nil }
      value = value * 10 + Int32(digit)
      digits += 1
    }
    guard digits > 0 else { return nil }
    for _ in digits..<9 { value *= 10 }
    return value
  }

  /// Seconds east of Greenwich.
  private static func offset(_ rest: inout ArraySlice<UInt8>) -> Int64? {
    if take("Z", &rest) || take("z", &rest) { return 0 }
    let isEast = take("+", &rest)
    guard isEast || take("-", &rest), let hour = number(2, &rest), take(":", &rest), let minute = number(2, &rest),
      hour < 24, minute < 60
    else {
      return nil
    }
    return (hour * 3600 + minute * 60) * (isEast ? 1 : -1)
  }

  /// Days since 1970-01-01 in the Gregorian calendar; nil for a date that does not exist.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64? {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard year >= 1, (1...12).contains(month), day >= 1, day <= lengths[Int(month) - 1] else { return nil }
    let before = year - 1
    let leapDays = before / 4 - before / 100 + before / 400
    let daysBeforeMonth = lengths.prefix(Int(month) - 1).reduce(0, +)
    return before * 365 + leapDays + daysBeforeMonth + day - 1 - 719_162
  }
}
