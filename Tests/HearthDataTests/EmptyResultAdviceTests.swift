import HearthModel
import Testing

@testable import HearthData

@Suite("The reason why conditions match nothing")
struct EmptyResultAdviceTests {
  private let database = DatabaseID(projectID: "demo")

  private func advice(_ condition: String, _ fields: MapValue...) throws -> String? {
    var words = DataQuery(collection: "c")
    words.conditions = [condition]
    return try advice(words, fields)
  }

  private func advice(_ words: DataQuery, _ fields: [MapValue]) throws -> String? {
    let documents = try fields.enumerated().map { index, fields in
      Document.found(
        try DocumentKey(parsing: "c/\(index)"), version: SnapshotVersion(microseconds: 1), fields: EncodedFields(fields)
      )
    }
    return EmptyResultAdvice(documents, in: database).text(for: words)
  }

  private let time = Value.timestamp(Timestamp(seconds: 0, nanoseconds: 0))

  @Test(
    "a text that is a time in some form becomes a timestamp",
    arguments: [
      ("2026-11-01", "2026-11-01T00:00:00Z"), ("2026-11-01 12:30", "2026-11-01T12:30:00Z"),
      ("2026-11-01T12:30:05", "2026-11-01T12:30:05Z"), ("2026-11-01T12:30:05+01:00", "2026-11-01T11:30:05Z"),
      // An example of the field stands for what is no time.
      ("yesterday", "1970-01-01T00:00:00Z"), ("1762000000", "1970-01-01T00:00:00Z"),
    ])
  func times(text: String, expected: String) throws {
    let advice = try #require(try advice("t > \(text)", ["t": time]))
    #expect(advice.contains("'t > {\"$timestamp\": \"\(expected)\"}'"), "\(advice)")
  }

  @Test(
    "every type is converted to the field's, or shown",
    arguments: [
      ("x == 1", Value.string("a"), #"'x == "1"'"#), ("x == true", .string("a"), #"'x == "true"'"#),
      ("x == \"1.5\"", .integer(3), "'x == 1.5'"), ("x == 1", .boolean(true), "'x == true'"),
      ("x == maybe", .boolean(true), "as in 'x == true'"),
      ("x == SF", .geoPoint(GeoPoint(latitude: 1, longitude: 2)), "$geopoint"),
      ("x in [\"1\", \"2\"]", .integer(3), "'x in [1, 2]'"), ("x in [1, \"2\"]", .string("a"), nil),
      ("x == a", .null, "Its x is null"), ("x == null", .integer(1), nil), ("x != a", .integer(1), nil),
      ("x == 1", .double(2.5), nil), ("x array-contains a", .string("b"), "and no array. Write 'x == \"a\"'"),
      ("x array-contains-any [1]", .string("b"), "and no array. Write 'x in [\"1\"]'"),
      ("x array-contains 1", .array(["b"]), "'x array-contains \"1\"'"), ("x array-contains 1", .array([]), nil),
      ("x in [1]", .array([2]), "'x array-contains-any [1]'"), ("x == [1]", .array([2]), nil),
      (#"x array-contains ["a"]"#, .array(["b"]), #"write 'x array-contains "a"'."#),
      (#"x array-contains ["a", "b"]"#, .array(["c"]), #"write 'x array-contains-any ["a", "b"]'."#),
      ("x array-contains [1]", .array(["c"]), #"write 'x array-contains "1"'."#),
      ("x.y == 1", .vector([1, 2]), "x is a vector, which conditions compare as a whole."),
    ] as [(String, Value, String?)])
  func types(condition: String, value: Value, expected: String?) throws {
    let advice = try advice(condition, ["x": value])
    if let expected {
      #expect(advice?.contains(expected) == true, "\(advice ?? "none")")
    } else {
      #expect(advice == nil, "\(advice ?? "none")")
    }
  }

  @Test("a field with a dot in its name is shown in backquotes, and as such where a path was written")
  func dots() throws {
    let fields: MapValue = ["a.b": 1, "c": 2]
    #expect(
      try advice("a.b == 1", fields)
        == "The document has no field a.b, but a field `a.b`, with a dot in its name. Write '`a.b` == 1'.")
    #expect(try advice("colour == 1", fields) == "The document has no field colour; the fields are `a.b`, c.")
    #expect(try advice("x.b == 1", fields)?.contains("with a dot") == false)
  }

  @Test(
    "a text that no document has is answered with one that some have",
    arguments: [
      ("x == ca", #"Did you mean "CA"? Write 'x == "CA"'."#), ("x == zebra", #"Their x is, for example, "NY"."#),
      ("x == CA", nil), ("x != ca", nil), ("x > ca", nil),
    ] as [(String, String?)])
  func texts(condition: String, expected: String?) throws {
    #expect(try advice(condition, ["x": "NY"], ["x": "CA"]) == expected)
  }

  @Test(
    "documents that lack the field of a condition that finds only those with it are counted",
    arguments: [
      ("x == null", "1 of the 3 documents has no field x, and a condition with == null finds only documents that have"),
      (
        "x != 1",
        "1 of the 3 documents has no field x, and a condition with != finds only documents that have the field."
      ),
      ("x != null", "and a condition with != finds"), ("x not-in [1, 2]", "and a condition with not-in finds"),
      ("x > 5", nil), ("x == 5", nil), ("y != 1", nil),
      (
        "z == null",
        "Did you mean x? Write 'x == null'. A condition with == null finds only documents that have the field."
      ),
    ] as [(String, String?)])
  func lacking(condition: String, expected: String?) throws {
    let advice = try advice(condition, ["x": 1, "y": 1], ["y": 1], ["x": 2, "y": 1])
    if let expected {
      #expect(advice?.contains(expected) == true, "\(advice ?? "none")")
    } else {
      #expect(advice == nil, "\(advice ?? "none")")
    }
  }

  @Test("only documents that meet everything else are counted as lacking a field of a condition, an order or a sum")
  func lackingBesides() throws {
    let fields: [MapValue] = [["n": 1], ["n": 1, "x": 2], ["n": 2], ["n": 3, "x": 1]]
    func advice(_ change: (inout DataQuery) -> Void) throws -> String? {
      var words = DataQuery(collection: "c")
      change(&words)
      return try self.advice(words, fields)
    }
    #expect(
      try advice { $0.conditions = ["n == 1", "x != 2"] }
        == "1 document that meets the other conditions has no field x, and a condition with != finds only documents that have the field."
    )
    #expect(try advice { $0.conditions = ["n == 3", "x != 1"] } == nil)
    #expect(
      try advice { ($0.conditions, $0.orders) = (["n == 2"], ["x:desc"]) }
        == "1 document that meets the conditions has no field x, and an order finds only documents that have its field."
    )
    #expect(
      try advice { ($0.conditions, $0.aggregatedFields) = (["n == 2"], ["x"]) }?.contains("or an average counts only")
        == true)
    #expect(try advice { ($0.conditions, $0.orders) = (["n == 9"], ["x"]) } == nil)
  }

  @Test("a field of a map is named with the map, and a mistyped map is found")
  func maps() throws {
    let fields: MapValue = ["geo": ["lat": 1], "name": "a"]
    for (condition, expected) in [
      ("geo.lon > 1", "The document has no field geo.lon; the fields of geo are lat."),
      ("goe.lat > 1", "The document has no field goe. Did you mean geo? Write 'geo.lat > 1'."),
      ("place.lat > 1", "The document has no field place; the fields are geo, name."),
      ("name.first == x", "The document has no field name.first: name is no map with fields."),
      ("geo.lat.x == 1", "The document has no field geo.lat.x: geo.lat is no map with fields."),
    ] {
      #expect(try advice(condition, fields) == expected)
    }
  }

  @Test("an id that counts, or has one character, is near to none but in capitals")
  func ids() {
    #expect(NearestID.of("sf", in: ["LA", "SF"]) == "SF" && NearestID.of("NYC", in: ["LA", "NY"]) == "NY")
    #expect(NearestID.of("san-fransisco", in: ["san-diego", "san-francisco"]) == "san-francisco")
    #expect(NearestID.of("order-7", in: ["order-8", "order-70"]) == nil && NearestID.of("101", in: ["102"]) == nil)
    #expect(NearestID.of("a", in: ["b", "ab"]) == nil && NearestID.of("a", in: ["b", "A"]) == "A")
    #expect(NearestID.of("SF1", in: ["sf1", "SF2"]) == "sf1")
  }

  @Test("one document of the right type is enough for no advice, and several types are all named")
  func mixed() throws {
    #expect(try advice("x == 1", ["x": 2], ["x": "a"]) == nil)
    let advice = try #require(try advice("x == 1", ["x": true], ["x": "a"], [:]))
    #expect(advice.contains("Their x is a Boolean or a text, such as true"), "\(advice)")
    #expect(try self.advice("colour == 1", ["x": 2]) == "The document has no field colour; the fields are x.")
    #expect(try self.advice("__name__ == z", ["x": 2]) == nil && (try self.advice("x == 1")) == nil)
  }
}
