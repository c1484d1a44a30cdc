import Foundation
import HearthModel
import Testing

@testable import Hearth

@Suite("Values at their limits, encoded, stored and decoded")
struct ValueRangeTests {
  let fixture: CodingFixture

  init() throws {
    fixture = try CodingFixture()
  }

  private struct One<T: Codable & Equatable>: Codable, Equatable {
    var x: T
  }

  @Test("integers of every type at both ends")
  func integers() throws {
    func check<I: FixedWidthInteger & Codable>(_ type: I.Type) throws {
      try fixture.roundTrip(One(x: [I.min, I.max, 0, 1]))
    }
    try check(Int.self)
    try check(Int8.self)
    try check(Int16.self)
    try check(Int32.self)
    try check(Int64.self)
    try check(UInt8.self)
    try check(UInt16.self)
    try check(UInt32.self)
    try fixture.roundTrip(One(x: UInt64(Int64.max)))
    #expect(try Firestore.Decoder().decode(One<UInt64>.self, from: ["x": UInt64.max]).x == .max)
  }

  @Test("floating-point numbers at their ends, and decimals with a fraction")
  func floatingPoint() throws {
    try fixture.roundTrip(
      One(x: [Double.greatestFiniteMagnitude, -.greatestFiniteMagnitude, .leastNonzeroMagnitude, -0.0, 0.1]))
    try fixture.roundTrip(One(x: [Float.greatestFiniteMagnitude, .leastNonzeroMagnitude, 0.1]))
    #expect(try fixture.failure(One<Float>.self, ["x": .double(1e39)]).kind == .dataCorrupted)
    for text in ["0.1", "-12345.678", "99999999", "0"] {
      try fixture.roundTrip(One(x: try #require(Decimal(string: text))))
    }
    #expect(try fixture.failure(One<Decimal>.self, ["x": .double(1e300)]).kind == .dataCorrupted)
    #expect(try fixture.failure(One<Decimal>.self, ["x": .double(.infinity)]).kind == .dataCorrupted)
    #expect(try fixture.failure(One<Decimal>.self, ["x": "1.5"]).kind == .typeMismatch)
    #expect(try fixture.failure(One<Decimal>.self, ["x": true]).kind == .typeMismatch)
  }

  @Test(
    "dates from year 1 to 9999, with fractions that count forward",
    arguments: [-62_135_596_800, -1.25, -0.000_001, 0, 0.5, 253_402_300_799] as [Double])
  func dates(seconds: Double) throws {
    try fixture.roundTrip(One(x: [Date(timeIntervalSince1970: seconds)]))
    struct Stamped: Codable, Equatable { @ServerTimestamp var at: Date? }
    try fixture.roundTrip(Stamped(at: Date(timeIntervalSince1970: seconds)))
  }

  @Test("the part of a date below a microsecond is truncated when it is stored, not when it is encoded")
  func nanoseconds() throws {
    let time = Hearth.Timestamp(seconds: -1, nanoseconds: 123_456_789)
    let encoded = try Firestore.Encoder().encode(One(x: time))
    #expect(encoded["x"] as? Hearth.Timestamp == time)
    let mutation = try UserDataReader.set(encoded, key: fixture.reference.key, databaseID: fixture.firestore.databaseID)
    guard case .set(let fields) = mutation.operation else {
      Issue.record("no set: \(mutation)")
      return
    }
    #expect(
      try fixture.snapshot(encoded: fields).data(as: One<Hearth.Timestamp>.self).x
        == Hearth.Timestamp(seconds: -1, nanoseconds: 123_456_000))
  }

  @Test("texts, identifiers and addresses")
  func texts() throws {
    try fixture.roundTrip(One(x: ["", "\u{0}", "e\u{301}", "👩‍👩‍👧", String(repeating: "a", count: 100_000)]))
    try fixture.roundTrip(One(x: UUID()))
    for text in ["https://example.com/ä?q=1#f", "mailto:a@example.com", "relative/path", "file:///tmp/x"] {
      if let url = URL(string: text) { try fixture.roundTrip(One(x: url)) }
    }
    let base = try #require(URL(string: "https://example.com/a/"))
    let relative = try #require(URL(string: "b", relativeTo: base))
    #expect(try Firestore.Encoder().encode(One(x: relative))["x"] as? String == "https://example.com/a/b")
  }

  @Test("large arrays, maps and data", .heavyWork)
  func large() throws {
    try fixture.roundTrip(One(x: Array(0..<20_000)))
    try fixture.roundTrip(One(x: (0..<20_000).map { "text \($0)" }))
    try fixture.roundTrip(One(x: Dictionary(uniqueKeysWithValues: (0..<5_000).map { ("k\($0)", Double($0)) })))
    try fixture.roundTrip(One(x: Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })))
    try fixture.roundTrip(One(x: Set(0..<1_000)))
  }

  @Test("arrays of basic types have the errors of single values", arguments: [Value.null, "x", true, .bytes([1])])
  func elements(wrong: Value) throws {
    let fields: MapValue = ["x": [1, wrong, 2]]
    let integers = try fixture.failure(One<[Int]>.self, fields)
    #expect(integers.path == "x/Index 1")
    #expect(integers.kind == (wrong == .null ? .valueNotFound : .typeMismatch))
    #expect(integers.text.hasSuffix("instead (field x[1] of document rooms/eros)."))
    let doubles = try fixture.failure(One<[Double]>.self, fields)
    #expect(doubles.path == integers.path)
    #expect(doubles.kind == integers.kind)
    let strings = try fixture.failure(One<[String]>.self, ["x": ["a", 5]])
    #expect(strings.path == "x/Index 1")
    #expect(
      try fixture.failure(One<[String]>.self, ["x": "a"]).text.contains(
        "Expected to decode an array but found a string"))
    #expect(try fixture.failure(One<[String]>.self, ["x": .null]).kind == .valueNotFound)
    #expect(try fixture.failure(One<[Int]>.self, ["x": ["a": 1]]).path == "x")
  }

  @Test("dictionaries made of Foundation's own objects are decoded like Swift's")
  func foundationObjects() throws {
    struct Model: Codable, Equatable {
      var text: String
      var list: [Int]
      var map: [String: Bool]
      var data: Data
      var number: Double
    }
    let map = NSMutableDictionary()
    map["a"] = NSNumber(value: true)
    let dictionary: [String: Any] = [
      "text": NSString(string: "t"), "list": NSArray(array: [NSNumber(value: 1), NSNumber(value: 2)]), "map": map,
      "data": NSData(data: Data([1])), "number": NSDecimalNumber(string: "1.5"),
    ]
    #expect(
      try Firestore.Decoder().decode(Model.self, from: dictionary)
        == Model(text: "t", list: [1, 2], map: ["a": true], data: Data([1]), number: 1.5))
    #expect(
      try Firestore.Decoder().decode([String: Bool].self, from: map) == ["a": true])
  }

  @Test("base64 texts with damage, line ends or spaces are errors of the data")
  func base64() throws {
    for text in ["A", "AQI", "AQ I=", "AQI=\n", "ÄÖÜ="] {
      #expect(try fixture.failure(One<Data>.self, ["x": .string(text)]).kind == .dataCorrupted)
    }
    #expect(try fixture.decode(One<Data>.self, ["x": ""]).x == Data())
  }

  @Test(
    "JSON of Firestore's values that is no such value is an error of the data with its path",
    arguments: [
      #"{"latitude": -90.5, "longitude": 0}"#, #"{"latitude": 0, "longitude": 180.1}"#, #"{"latitude": 1}"#,
      #"{"latitude": "1", "longitude": 2}"#, "[1, 2]", "null",
    ])
  func pointsInJSON(json: String) throws {
    let error = #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([[String: Hearth.GeoPoint]].self, from: Data(#"[{"a": \#(json)}]"#.utf8))
    }
    #expect(try DecodingFailure(#require(error)).path.hasPrefix("Index 0/a"))
  }

  @Test("vectors and timestamps in JSON", arguments: [#"{"array": [1, "x"]}"#, #"{"array": {}}"#, "{}"])
  func vectorsInJSON(json: String) throws {
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(VectorValue.self, from: Data(json.utf8)) }
    #expect(try JSONDecoder().decode(VectorValue.self, from: Data(#"{"array": []}"#.utf8)).array.isEmpty)
    let ends = [
      Hearth.Timestamp(seconds: -62_135_596_800, nanoseconds: 0),
      Hearth.Timestamp(seconds: 253_402_300_799, nanoseconds: 999_999_999),
    ]
    #expect(try JSONDecoder().decode([Hearth.Timestamp].self, from: JSONEncoder().encode(ends)) == ends)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(
        Hearth.Timestamp.self, from: Data(#"{"seconds": 253402300800, "nanoseconds": 0}"#.utf8))
    }
  }

  @Test("field values that encoders leave alone are equal to those that programs make")
  func fieldValueEquality() throws {
    struct Change: Encodable {
      var at = FieldValue.serverTimestamp()
      var count = FieldValue.increment(Int64(2))
      var tags = FieldValue.arrayUnion(["a", 1])
      var gone = FieldValue.delete()
    }
    try fixture.expect(
      Change(),
      encodesTo: [
        "at": FieldValue.serverTimestamp(), "count": FieldValue.increment(Int64(2)),
        "tags": FieldValue.arrayUnion(["a", 1]), "gone": FieldValue.delete(),
      ])
    let encoded = try Firestore.Encoder().encode(Change()) as NSDictionary
    #expect(encoded != ["at": FieldValue.delete()] as NSDictionary)
    #expect(encoded["count"] as? FieldValue != FieldValue.increment(Int64(3)))
  }
}
