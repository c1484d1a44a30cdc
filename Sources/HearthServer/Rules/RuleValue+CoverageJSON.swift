internal import Foundation
internal import HearthModel
internal import HearthRules

extension RuleValue {
  /// The value as the emulator's reports of coverage show it.
  var coverageJSON: JSONText {
    func typed(_ name: String, _ value: JSONText) -> JSONText { .object([(name, value)]) }
    func list(_ values: [RuleValue]) -> JSONText {
      values.isEmpty ? .object([]) : .object([("values", .array(values.map(\.coverageJSON)))])
    }
    switch self {
    case .null: return typed("nullValue", .null)
    case .bool(let flag): return typed("boolValue", .bool(flag))
    case .int(let number): return typed("intValue", .string("\(number)"))
    case .float(let number): return typed("floatValue", Self.json(number))
    case .string(let text): return typed("stringValue", .string(text))
    case .bytes(let bytes): return typed("bytesValue", .string(Data(bytes).base64EncodedString()))
    case .timestamp(let time): return typed("timestampValue", .string(time.text))
    case .duration(let duration): return typed("durationValue", .string(duration.text))
    case .latlng(let place):
      return typed(
        "latlngValue",
        .object([("latitude", Self.json(place.latitude)), ("longitude", Self.json(place.longitude))]))
    case .vector(let numbers): return typed("listValue", list(numbers.map { .float($0) }))
    case .list(let items): return typed("listValue", list(items.items))
    case .set(let set): return typed("setValue", list(set.items))
    case .map(let map):
      return typed("mapValue", Self.json(map.sortedKeys.map { name in (name, map[name]?.coverageJSON ?? .null) }))
    case .partialMap(let map): return typed("mapValue", Self.json(map.fields.map { ($0.name, $0.value.coverageJSON) }))
    case .path(let path):
      return typed(
        "pathValue", .object([("segments", .array(path.names.map { .object([("simple", .string($0))]) }))]))
    case .mapDifference(let difference):
      let statuses = difference.namedStatuses.map { (name: $0.name, value: JSONText.string($0.status.uppercased())) }
      return typed("mapDiffValue", .object([("keyStatuses", .object(statuses))]))
    case .constraint(let constraint):
      let conditions = constraint.bounds.map { bound in
        JSONText.object([("comparator", .string(bound.comparator)), ("value", bound.value.coverageJSON)])
      }
      return typed(
        "constraintValue",
        .object(conditions.isEmpty ? [] : [("simpleConstraints", .array(conditions))]))
    }
  }

  private static func json(_ fields: [(name: String, value: JSONText)]) -> JSONText {
    fields.isEmpty ? .object([]) : .object([("fields", .object(fields))])
  }

  /// Texts stand for numbers that JSON does not have.
  private static func json(_ number: Double) -> JSONText {
    guard number.isFinite else { return .string(number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity") }
    return .number("\(number)")
  }
}
