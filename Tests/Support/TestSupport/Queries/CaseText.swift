package import HearthModel

/// Writes cases so that a person can read them and type them in again: every character outside of ASCII and every bit of
/// an unusual number is visible.
package enum CaseText {
  package static func text(_ value: Value) -> String {
    switch value {
    case .null: return "null"
    case .boolean(let isTrue): return "\(isTrue)"
    case .integer(let number): return "\(number)"
    case .double(let number):
      if number.isNaN { return "NaN(0x\(String(number.bitPattern, radix: 16)))" }
      return "\(number)" + (number.magnitude >= 0x1p53 && number.isFinite ? "(double)" : "")
    case .timestamp(let time): return "time(\(time.seconds), \(time.nanoseconds))"
    case .pendingServerTimestamp(let time, let previous):
      let before = previous.map { ", previous: \(text($0))" } ?? ""
      return "pending(\(time.seconds), \(time.nanoseconds)\(before))"
    case .string(let string):
      if string.utf8.count > 500, let first = string.first {
        return "\(quoted(String(first))) … \(string.utf8.count) bytes"
      }
      return quoted(string)
    case .bytes(let bytes):
      return "bytes[" + bytes.map { String($0, radix: 16) }.joined(separator: " ") + "]"
    case .reference(let reference): return "reference(\(quoted(reference.name)))"
    case .geoPoint(let point): return "geo(\(point.latitude), \(point.longitude))"
    case .array(let elements): return "[" + elements.map(text).joined(separator: ", ") + "]"
    case .map(let map): return text(map)
    }
  }

  package static func text(_ map: MapValue) -> String {
    "{" + map.entries.map { "\(quoted($0.key)): \(text($0.value))" }.joined(separator: ", ") + "}"
  }

  package static func quoted(_ string: String) -> String {
    "\"" + string.unicodeScalars.map { $0.escaped(asASCII: true) }.joined() + "\""
  }

  package static func text(_ key: DocumentKey) -> String { quoted(key.canonicalString) }

  package static func text(_ filter: Filter) -> String {
    switch filter {
    case .field(let filter): return "\(plain(filter.path)) \(symbol(filter.op)) \(text(filter.value))"
    case .composite(let composite):
      return (composite.op == .and ? "and(" : "or(") + composite.filters.map(text).joined(separator: ", ") + ")"
    }
  }

  package static func text(_ query: Query) -> String {
    var parts: [String] = []
    if let group = query.collectionGroup {
      parts.append(
        "group \(quoted(group))" + (query.path.isEmpty ? "" : " below \(quoted(query.path.canonicalString))"))
    } else {
      parts.append("path \(quoted(query.path.canonicalString))")
    }
    parts += query.filters.map { "where \(text($0))" }
    parts += query.explicitOrders.map {
      "order by \(plain($0.path)) \($0.direction == .ascending ? "ascending" : "descending")"
    }
    if let bound = query.startAt { parts.append("start \(bound.isInclusive ? "at" : "after") \(text(bound))") }
    if let bound = query.endAt { parts.append("end \(bound.isInclusive ? "at" : "before") \(text(bound))") }
    if let limit = query.limit { parts.append("limit to \(query.limitType == .first ? "first" : "last") \(limit)") }
    return parts.joined(separator: " · ")
  }

  package static func text(_ mutation: Mutation) -> String {
    var parts: [String]
    switch mutation.operation {
    case .set(let fields): parts = ["set \(text(mutation.key)) \(text(fields))"]
    case .patch(let fields, let mask):
      let paths = mask.paths.map(plain).joined(separator: ", ")
      parts = ["patch \(text(mutation.key)) \(text(fields)) mask [\(paths)]"]
    case .delete: parts = ["delete \(text(mutation.key))"]
    case .verify: parts = ["verify \(text(mutation.key))"]
    }
    parts += mutation.transforms.map { "\(plain($0.path)) becomes \($0.operation)" }
    if mutation.precondition != .none { parts.append("if \(mutation.precondition)") }
    return parts.joined(separator: ", ")
  }

  package static func text(_ fields: EncodedFields) -> String {
    (try? fields.decoded()).map(text) ?? "unreadable fields \(fields.bytes)"
  }

  private static func text(_ bound: Bound) -> String { "(" + bound.position.map(text).joined(separator: ", ") + ")" }

  private static func plain(_ path: FieldPath) -> String {
    path.canonicalString.unicodeScalars.map { $0.escaped(asASCII: true) }.joined()
  }

  private static func symbol(_ op: FieldFilter.Operator) -> String {
    switch op {
    case .lessThan: "<"
    case .lessThanOrEqual: "<="
    case .equal: "=="
    case .notEqual: "!="
    case .greaterThan: ">"
    case .greaterThanOrEqual: ">="
    case .arrayContains: "contains"
    case .arrayContainsAny: "contains any"
    case .in: "in"
    case .notIn: "not in"
    }
  }
}
