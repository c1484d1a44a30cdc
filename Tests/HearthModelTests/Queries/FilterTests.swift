import HearthModel
import Testing

@Suite("Filters")
struct FilterTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var op: FieldFilter.Operator
    var operand: Value
    /// The value of the field `f`, nil for a document without it.
    var stored: Value?
    var matches: Bool
    var testDescription: String {
      "\(stored.map(String.init(describing:)) ?? "no field") \(op) \(operand) is \(matches)"
    }

    init(_ stored: Value?, _ op: FieldFilter.Operator, _ operand: Value, _ matches: Bool) {
      self.op = op
      self.operand = operand
      self.stored = stored
      self.matches = matches
    }
  }

  private static let pending = Value.pendingServerTimestamp(
    localWriteTime: Timestamp(seconds: 1, nanoseconds: 0), previousValue: nil)
  private static func list(_ values: Value...) -> Value { .array(values) }

  static let rows: [Row] = [
    // equal
    Row(.integer(1), .equal, .integer(1), true), Row(.integer(1), .equal, .double(1), true),
    Row(.string("1"), .equal, .integer(1), false), Row(nil, .equal, .integer(1), false),
    Row(.null, .equal, .null, true), Row(nil, .equal, .null, false), Row(.boolean(false), .equal, .null, false),
    Row(.double(.nan), .equal, .double(.nan), true), Row(.integer(0), .equal, .double(-0.0), true),
    Row(.double(9_007_199_254_740_992), .equal, .integer(9_007_199_254_740_993), false),
    Row(.string("\u{e9}"), .equal, .string("e\u{301}"), false),
    Row(.map(["a": .integer(1)]), .equal, .map(["a": .double(1)]), true),
    Row(list(.integer(1)), .equal, list(.double(1)), true), Row(.vector([1]), .equal, .array([.double(1)]), false),
    Row(.vector([1]), .equal, .vector([1]), true),
    // not equal
    Row(.integer(2), .notEqual, .integer(1), true), Row(.double(1), .notEqual, .integer(1), false),
    Row(.string("1"), .notEqual, .integer(1), true), Row(.null, .notEqual, .integer(1), false),
    Row(nil, .notEqual, .integer(1), false), Row(.integer(1), .notEqual, .null, true),
    Row(.null, .notEqual, .null, false), Row(nil, .notEqual, .null, false),
    Row(.double(.nan), .notEqual, .double(.nan), false), Row(.integer(1), .notEqual, .double(.nan), true),
    Row(.double(.nan), .notEqual, .integer(1), true),
    // ranges
    Row(.integer(4), .lessThan, .integer(5), true), Row(.double(5), .lessThan, .integer(5), false),
    Row(.double(5), .lessThanOrEqual, .integer(5), true), Row(.integer(6), .lessThanOrEqual, .integer(5), false),
    Row(.integer(6), .greaterThan, .integer(5), true), Row(.integer(5), .greaterThan, .integer(5), false),
    Row(.integer(5), .greaterThanOrEqual, .double(5), true), Row(.integer(4), .greaterThanOrEqual, .double(5), false),
    Row(.string("x"), .greaterThan, .integer(5), false), Row(.null, .lessThan, .integer(5), false),
    Row(.boolean(true), .lessThan, .integer(5), false), Row(nil, .lessThan, .integer(5), false),
    Row(.string("b"), .greaterThanOrEqual, .string("a"), true), Row(pending, .greaterThan, .string("a"), false),
    Row(.array([.integer(2)]), .greaterThan, .array([.integer(1)]), true),
    Row(.map(["a": .integer(2)]), .greaterThan, .map(["a": .integer(1)]), true),
    // NaN and null are in no range
    Row(.double(.nan), .lessThan, .integer(5), false), Row(.double(.nan), .lessThanOrEqual, .double(5), false),
    Row(.double(.nan), .lessThanOrEqual, .double(.infinity), false),
    Row(.double(.nan), .greaterThanOrEqual, .double(.nan), false), Row(.integer(1), .greaterThan, .double(.nan), false),
    Row(.integer(1), .greaterThanOrEqual, .double(.nan), false),
    Row(.double(.nan), .lessThanOrEqual, .double(.nan), false),
    Row(.null, .lessThanOrEqual, .null, false), Row(.null, .greaterThanOrEqual, .null, false),
    Row(list(.double(.nan)), .lessThanOrEqual, list(.double(.nan)), true),
    // arrays
    Row(list(.integer(1), .integer(2)), .arrayContains, .integer(2), true),
    Row(list(.integer(1)), .arrayContains, .double(1), true),
    Row(list(.integer(1)), .arrayContains, .integer(2), false), Row(.integer(2), .arrayContains, .integer(2), false),
    Row(.vector([2]), .arrayContains, .double(2), false), Row(nil, .arrayContains, .integer(2), false),
    Row(list(.double(.nan)), .arrayContains, .double(.nan), false),
    Row(list(.null), .arrayContains, .null, false), Row(.array([]), .arrayContains, .null, false),
    Row(list(list(.double(.nan))), .arrayContains, list(.double(.nan)), true),
    Row(list(.null, .double(.nan)), .arrayContainsAny, list(.null, .double(.nan)), false),
    Row(list(.null, .integer(1)), .arrayContainsAny, list(.null, .integer(1)), true),
    Row(list(.map(["a": .integer(1)])), .arrayContains, .map(["a": .integer(1)]), true),
    Row(.map(["a": .integer(1)]), .arrayContains, .integer(1), false),
    Row(list(.integer(1)), .arrayContainsAny, list(.integer(2), .double(1)), true),
    Row(list(.integer(1)), .arrayContainsAny, list(.integer(2), .string("1")), false),
    Row(.integer(1), .arrayContainsAny, list(.integer(1)), false),
    Row(nil, .arrayContainsAny, list(.integer(1)), false),
    // in
    Row(.integer(1), .in, list(.string("1"), .double(1)), true), Row(.integer(1), .in, list(.integer(2)), false),
    Row(.null, .in, list(.null), false), Row(.integer(1), .in, list(.null, .integer(1)), true),
    Row(nil, .in, list(.integer(1)), false), Row(.double(.nan), .in, list(.double(.nan)), false),
    Row(.integer(1), .in, list(.double(.nan), .integer(1)), true),
    Row(list(.integer(1)), .in, list(.integer(1)), false), Row(list(.integer(1)), .in, list(list(.integer(1))), true),
    // not in
    Row(.integer(1), .notIn, list(.integer(2)), true), Row(.integer(1), .notIn, list(.double(1)), false),
    Row(.string("1"), .notIn, list(.integer(1)), true), Row(.null, .notIn, list(.integer(1)), false),
    Row(nil, .notIn, list(.integer(1)), false), Row(.integer(1), .notIn, list(.integer(2), .null), false),
    Row(.double(.nan), .notIn, list(.double(.nan)), false), Row(.double(.nan), .notIn, list(.integer(1)), true),
    Row(list(.integer(1)), .notIn, list(.integer(1)), true),
  ]

  @Test("each operator on stored values", arguments: rows)
  func fieldFilter(row: Row) {
    var fields: MapValue = ["other": .integer(7)]
    fields["f"] = row.stored
    // The order by the field, implicit with inequalities, must not be what decides: ask the filter itself.
    let filter = FieldFilter(path: field("f"), op: row.op, value: row.operand)
    let matches = EncodedFields(fields).withUnsafeBytes { bytes in
      (try? filter.matches(key: key("c/a"), fields: EncodedFieldsView(bytes))) ?? false
    }
    #expect(matches == row.matches)
    #expect(Query(path: path("c"), filters: [.field(filter)]).matches(found("c/a", fields)) == row.matches)
  }

  struct KeyRow: Sendable {
    var op: FieldFilter.Operator
    var operand: Value
    var ids: [String]
  }

  static let keyRows: [KeyRow] = [
    KeyRow(op: .equal, operand: reference("c/a"), ids: ["a"]),
    KeyRow(op: .notEqual, operand: reference("c/a"), ids: ["__id7__", "__id12__", "b"]),
    KeyRow(op: .lessThan, operand: reference("c/a"), ids: ["__id7__", "__id12__"]),
    KeyRow(op: .lessThanOrEqual, operand: reference("c/__id12__"), ids: ["__id7__", "__id12__"]),
    KeyRow(op: .greaterThan, operand: reference("c/__id7__"), ids: ["__id12__", "a", "b"]),
    KeyRow(op: .greaterThanOrEqual, operand: reference("c/a"), ids: ["a", "b"]),
    KeyRow(op: .in, operand: .array([reference("c/b"), reference("c/nowhere")]), ids: ["b"]),
    KeyRow(op: .notIn, operand: .array([reference("c/b"), reference("c/a")]), ids: ["__id7__", "__id12__"]),
    KeyRow(op: .arrayContains, operand: reference("c/a"), ids: []),
    KeyRow(op: .equal, operand: .string("a"), ids: []),
    KeyRow(op: .notEqual, operand: .string("a"), ids: []),
    KeyRow(op: .in, operand: reference("c/a"), ids: []),
  ]

  @Test("filters on the document key follow the order of keys", arguments: keyRows)
  func keyFilter(row: KeyRow) {
    let query = Query(path: path("c")).with(filter: .field(.documentKey, row.op, row.operand))
    let matching = ["__id7__", "__id12__", "a", "b"].filter { query.matches(found("c/\($0)", [:])) }
    #expect(matching == row.ids)
  }

  @Test("combinations of conditions")
  func composite() {
    let a = Filter.field(field("a"), .equal, .integer(1))
    let b = Filter.field(field("b"), .equal, .integer(1))
    let both: MapValue = ["a": .integer(1), "b": .integer(1)]
    let one: MapValue = ["a": .integer(1), "b": .integer(2)]
    func matches(_ filter: Filter, _ fields: MapValue) -> Bool {
      Query(path: path("c"), filters: [filter]).matches(found("c/x", fields))
    }
    #expect(matches(.and([a, b]), both) && !matches(.and([a, b]), one))
    #expect(matches(.or([a, b]), one) && !matches(.or([a, b]), [:]))
    #expect(matches(.and([a, .or([b, a])]), one))
    #expect(!Query(path: path("c"), filters: [a, b]).matches(found("c/x", one)))
    #expect(Filter.and([a, .or([b, a])]).flattened.map(\.path) == ["a", "b", "a"].map(field))
  }

  @Test("a disjunction with an inequality drops documents without its field")
  func orWithInequality() {
    let query = Query(path: path("c")).with(
      filter: .or([.field(field("a"), .greaterThan, .integer(1)), .field(field("b"), .equal, .integer(1))]))
    #expect(!query.matches(found("c/x", ["b": .integer(1)])))
    #expect(query.matches(found("c/x", ["a": .integer(0), "b": .integer(1)])))
  }
}
