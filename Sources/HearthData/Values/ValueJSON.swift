internal import Foundation
package import HearthModel
internal import SwiftProtobuf

/// Reads values from the JSON of docs/data-format.md.
package struct ValueJSON: Sendable {
  /// The first character of the names of types.
  static let typeMark = UInt8(ascii: "$")

  /// A value that is not in the form, with its place below the value that was read.
  package struct Failure: Error, Sendable, CustomStringConvertible {
    package var place: String
    package var message: String

    package var description: String { place.isEmpty ? message : "\(place): \(message)" }

    func below(_ name: String) -> Failure {
      let rest = place.isEmpty || place.hasPrefix("[") ? place : "." + place
      return Failure(place: name + rest, message: message)
    }
  }

  /// The database of references that are paths alone.
  private let database: DatabaseID

  package init(database: DatabaseID) {
    self.database = database
  }

  private func failure(_ message: String) -> Failure { Failure(place: "", message: message) }

  /// Reads an object of fields, whose names are not types.
  package func fields(_ json: JSONText) throws(Failure) -> MapValue {
    guard case .object(let members) = json else { throw failure("an object with the fields is expected") }
    var entries: [(String, Value)] = []
    entries.reserveCapacity(members.count)
    for member in members {
      do {
        entries.append((member.name, try value(member.value)))
      } catch {
        throw error.below(member.name)
      }
    }
    let map = MapValue(entries: entries)
    guard map.count == entries.count else { throw failure("a field stands there twice") }
    return map
  }

  /// Reads the fields of a document.
  ///
  /// - Throws: `Failure`, also for fields that are all in the form of the REST API.
  package func documentFields(_ json: JSONText) throws(Failure) -> MapValue {
    if case .object(let members) = json { try RESTForm.check(members) }
    return try fields(json)
  }

  package func value(_ json: JSONText) throws(Failure) -> Value {
    switch json {
    case .null: return .null
    case .bool(let value): return .boolean(value)
    case .string(let text): return .string(text)
    case .number(let digits): return try number(digits)
    case .array(let elements):
      var values: [Value] = []
      values.reserveCapacity(elements.count)
      for (index, element) in elements.enumerated() {
        do {
          values.append(try value(element))
        } catch {
          throw error.below("[\(index)]")
        }
      }
      return .array(values)
    case .object(let members):
      guard let member = members.first(where: { $0.name.utf8.first == Self.typeMark }) else {
        return .map(try fields(json))
      }
      guard members.count == 1 else {
        throw failure(
          "\"\(member.name)\" names a type, so it has to stand alone; a map with such a key is written as {\"$map\": {…}}"
        )
      }
      do {
        return try typed(member.name, member.value)
      } catch {
        throw error.below(member.name)
      }
    }
  }

  /// A number without point and exponent is an integer.
  private func number(_ digits: String) throws(Failure) -> Value {
    guard digits.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") })
    else {
      if let integer = Int64(digits) { return .integer(integer) }
      throw failure("\(digits) does not fit an integer of 64 bits; write \(digits).0 for a double")
    }
    return .double(try finite(digits))
  }

  private func finite(_ digits: String) throws(Failure) -> Double {
    guard let number = Double(digits), number.isFinite else {
      throw failure("\(digits) is too large for a double; {\"$double\": \"Infinity\"} is the infinite one")
    }
    return number
  }

  // MARK: - Types

  private static let types = [
    "$timestamp", "$bytes", "$reference", "$geopoint", "$double", "$integer", "$vector", "$map",
  ]

  private func typed(_ name: String, _ content: JSONText) throws(Failure) -> Value {
    switch name {
    case "$timestamp": return .timestamp(try timestamp(content))
    case "$bytes":
      let text = try string(content)
      guard let data = Data(base64Encoded: text) else { throw failure("this is not base 64 (RFC 4648, with padding)") }
      return .bytes([UInt8](data))
    case "$reference": return .reference(try reference(try string(content)))
    case "$geopoint":
      let form = TypedForm.geoPoint(content).map { ": write {\"$geopoint\": \($0)}" } ?? ""
      guard case .array(let elements) = content, elements.count == 2 else {
        throw failure("[latitude, longitude] is expected, within ±90 and ±180 degrees\(form)")
      }
      let numbers = try doubles(content)
      guard numbers.count == 2, (-90...90).contains(numbers[0]), (-180...180).contains(numbers[1]) else {
        throw failure("[latitude, longitude] is expected, within ±90 and ±180 degrees")
      }
      return .geoPoint(GeoPoint(latitude: numbers[0], longitude: numbers[1]))
    case "$double": return .double(try double(content))
    case "$integer":
      guard case .string(let text) = content, let integer = Int64(text) else {
        throw failure("an integer of 64 bits as text is expected, such as \"42\"")
      }
      return .integer(integer)
    case "$vector": return .vector(try doubles(content))
    case "$map": return .map(try fields(content))
    case let change where WriteJSON.changes.contains(change):
      throw failure(
        "a change takes the place of a whole field, in `hearth data set` and `hearth data update`: it stands in no array, and imports take "
          + "values only, such as {\"$timestamp\": \"2026-01-31T12:00:00Z\"}")
    default:
      let meant =
        NearestWord.of(name, in: Self.types + WriteJSON.changes).map {
          WriteJSON.changes.contains($0) ? "; the nearest is the change \($0)" : "; the nearest is \($0)"
        } ?? ""
      throw failure("there is no such type: use \(Self.types.joined(separator: ", "))\(meant)")
    }
  }

  private func string(_ json: JSONText) throws(Failure) -> String {
    guard case .string(let text) = json else { throw failure("a text is expected") }
    return text
  }

  private func double(_ json: JSONText) throws(Failure) -> Double {
    switch json {
    case .number(let digits): return try finite(digits)
    case .string(let name):
      guard let number = Self.number(named: name) else { fallthrough }
      return number
    default: throw failure("a number, \"NaN\", \"Infinity\" or \"-Infinity\" is expected")
    }
  }

  /// The name of a number that JSON has no digits for. A NaN of other than the usual bits names them.
  static func name(of number: Double) -> String {
    guard number.isNaN else { return number < 0 ? "-Infinity" : "Infinity" }
    return number.bitPattern == Double.nan.bitPattern ? "NaN" : "NaN(\(String(number.bitPattern, radix: 16)))"
  }

  private static func number(named name: String) -> Double? {
    switch name {
    case "NaN": return .nan
    case "Infinity": return .infinity
    case "-Infinity": return -.infinity
    default:
      guard name.hasPrefix("NaN("), name.hasSuffix(")"), let bits = UInt64(name.dropFirst(4).dropLast(), radix: 16)
      else { return nil }
      let number = Double(bitPattern: bits)
      return number.isNaN ? number : nil
    }
  }

  private func doubles(_ json: JSONText) throws(Failure) -> [Double] {
    guard case .array(let elements) = json else { throw failure("an array of numbers is expected") }
    var numbers: [Double] = []
    numbers.reserveCapacity(elements.count)
    for (index, element) in elements.enumerated() {
      do {
        numbers.append(try double(element))
      } catch {
        throw error.below("[\(index)]")
      }
    }
    return numbers
  }

  private func timestamp(_ json: JSONText) throws(Failure) -> Timestamp {
    if case .string(let text) = json, let time = Self.time(text) { return time }
    let found = if case .string(let text) = json { "\"\(text.prefix(40))\" is not" } else { "a text is expected," }
    let form =
      TypedForm.time(json).map { "write {\"$timestamp\": \"\($0.rfc3339)\"}" }
      ?? "such as {\"$timestamp\": \"2026-03-01T12:30:00.5Z\"}"
    throw failure("\(found) a time between the years 1 and 9999: \(form)")
  }

  /// A time as in RFC 3339; nil for anything else.
  package static func time(_ text: String) -> Timestamp? {
    // The message's own reader takes exactly this form; a quotation mark or a backslash would end the JSON around it.
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }),
      let message = try? Google_Protobuf_Timestamp(jsonString: "\"\(text)\""),
      Timestamp.validSeconds.contains(message.seconds), (0..<1_000_000_000).contains(message.nanos)
    else { return nil }
    return Timestamp(seconds: message.seconds, nanoseconds: message.nanos)
  }

  /// A path is one of this database, a full name one of any. The number of parts tells them apart: it is even in a path.
  private func reference(_ text: String) throws(Failure) -> ReferenceValue {
    if let key = try? DocumentKey(ResourcePath(canonical: text)) { return ReferenceValue(database: database, key: key) }
    if let reference = try? ReferenceValue(name: text) { return reference }
    throw failure(
      "\"\(text.prefix(80))\" is neither the path of a document, such as cities/SF, nor a name of the form "
        + "projects/…/databases/…/documents/…")
  }
}
