import Foundation
import HearthModel
import Testing

@testable import Hearth

@Suite("Decoding documents")
struct DecodingTests {
  let fixture: CodingFixture

  init() throws {
    fixture = try CodingFixture()
  }

  private struct One<T: Codable & Equatable>: Codable, Equatable {
    var x: T
  }

  private struct Optionally<T: Codable & Equatable>: Codable, Equatable {
    var x: T?
  }

  private func one<T: Codable & Equatable>(_ value: Value, as: T.Type) throws -> T {
    try fixture.decode(One<T>.self, ["x": value]).x
  }

  private func failure<T: Codable & Equatable>(_ value: Value, as: T.Type) throws -> DecodingFailure {
    try fixture.failure(One<T>.self, ["x": value])
  }

  @Test("every integer type takes any number that it has exactly")
  func integers() throws {
    #expect(try one(5, as: Int.self) == 5)
    #expect(try one(.double(5.0), as: Int.self) == 5)
    #expect(try one(-128, as: Int8.self) == -128)
    #expect(try one(255, as: UInt8.self) == 255)
    #expect(try one(1, as: Int16.self) == 1)
    #expect(try one(1, as: Int32.self) == 1)
    #expect(try one(1, as: UInt16.self) == 1)
    #expect(try one(1, as: UInt32.self) == 1)
    #expect(try one(1, as: UInt.self) == 1)
    #expect(try one(.integer(.max), as: UInt64.self) == UInt64(Int64.max))
    #expect(try one(.double(0x1p63), as: UInt64.self) == 1 << 63)
    #expect(try one(.integer(.min), as: Int64.self) == .min)
    #expect(try one(.double(-0.0), as: Int.self) == 0)
  }

  @Test(
    "a number that the type does not have exactly is an error, never a trap",
    arguments: [
      Value.double(45.55), .double(.nan), .double(.infinity), .double(-.infinity), .double(1e300), .integer(128),
      .integer(-129), .integer(.max), .integer(.min), .double(0x1p63), .double(-0x1p63),
    ])
  func inexactIntegers(value: Value) throws {
    let failure = try failure(value, as: Int8.self)
    #expect(failure.kind == .dataCorrupted)
    #expect(failure.path == "x")
    #expect(failure.text.contains("is not a value of Int8 (field x of document rooms/eros)"))
  }

  @Test("a negative number is no unsigned one")
  func negative() throws {
    #expect(try failure(-1, as: UInt.self).kind == .dataCorrupted)
    #expect(try failure(.double(-1), as: UInt64.self).kind == .dataCorrupted)
    #expect(try failure(.double(0x1p64), as: UInt64.self).kind == .dataCorrupted)
    #expect(try failure(.double(0x1p63), as: Int64.self).kind == .dataCorrupted)
  }

  @Test("floating-point types take integers and special values; what overflows is an error")
  func floatingPoint() throws {
    #expect(try one(3, as: Double.self) == 3)
    #expect(try one(.integer(.max), as: Double.self) == 0x1p63)
    #expect(try one(3, as: Float.self) == 3)
    #expect(try one(.double(0.1), as: Float.self) == Float(0.1))
    #expect(try one(.double(.infinity), as: Float.self) == .infinity)
    #expect(try fixture.snapshot(["x": .double(.nan)]).data(as: One<Double>.self).x.isNaN)
    let failure = try failure(.double(1e300), as: Float.self)
    #expect(failure.kind == .dataCorrupted)
    #expect(failure.text == "The number 1e+300 does not fit in Float (field x of document rooms/eros).")
  }

  @Test("Booleans are no numbers, and numbers no Booleans")
  func booleans() throws {
    #expect(try one(true, as: Bool.self))
    #expect(try failure(true, as: Int.self).kind == .typeMismatch)
    #expect(try failure(true, as: Double.self).kind == .typeMismatch)
    #expect(try failure(1, as: Bool.self).kind == .typeMismatch)
    #expect(try fixture.failure(Optionally<Int>.self, ["x": true]).kind == .typeMismatch)
  }

  @Test("an error names the document, the path, the expected and the found type")
  func texts() throws {
    struct Inner: Codable, Equatable { var tags: [Int] }
    struct Outer: Codable, Equatable { var inner: [String: Inner] }
    let failure = try fixture.failure(Outer.self, ["inner": ["a": ["tags": [1, "two"]]]])
    #expect(failure.kind == .typeMismatch)
    #expect(failure.path == "inner/a/tags/Index 1")
    #expect(
      failure.text
        == "Expected to decode Int but found a string instead (field inner.a.tags[1] of document rooms/eros).")
  }

  @Test("each kind of value has a name in errors")
  func kindNames() throws {
    let reference = ReferenceValue(database: fixture.firestore.databaseID, key: fixture.reference.key)
    let values: [(Value, String)] = [
      (true, "a Boolean"), (1, "an integer"), (1.5, "a double"), (.bytes([1]), "bytes"),
      (.timestamp(HearthModel.Timestamp(seconds: 1, nanoseconds: 0)), "a timestamp"),
      (.geoPoint(HearthModel.GeoPoint(latitude: 1, longitude: 2)), "a geo point"),
      (.reference(reference), "a document reference"), (.vector([1]), "a vector"), ([1], "an array"),
      (["a": 1], "a map"),
    ]
    for (value, name) in values {
      #expect(try failure(value, as: String.self).text.hasPrefix("Expected to decode String but found \(name) instead"))
    }
    #expect(try failure("x", as: [String: Int].self).text.hasPrefix("Expected to decode a map but found a string"))
    #expect(try failure("x", as: [Int].self).text.hasPrefix("Expected to decode an array but found a string"))
  }

  @Test("null and missing are nil for optionals; for others the one is valueNotFound, the other keyNotFound")
  func nulls() throws {
    #expect(try fixture.decode(Optionally<Int>.self, ["x": .null]).x == nil)
    #expect(try fixture.decode(Optionally<Int>.self, [:]).x == nil)
    #expect(try fixture.decode(Optionally<[String]>.self, ["x": .null]).x == nil)
    #expect(try fixture.decode(Optionally<One<Int>>.self, ["x": .null]).x == nil)
    #expect(try one([1, .null], as: [Int?].self) == [1, nil])
    let null = try failure(.null, as: Int.self)
    #expect(null.kind == .valueNotFound)
    #expect(null.text == "Expected Int value but found null instead (field x of document rooms/eros).")
    let missing = try fixture.failure(One<Int>.self, ["y": 1])
    #expect(missing.kind == .keyNotFound)
    #expect(missing.path == "x")
    #expect(missing.text == #"There is no field "x" (document rooms/eros)."#)
    #expect(try failure(.null, as: One<Int>.self).kind == .valueNotFound)
    #expect(try failure(.null, as: [Int].self).kind == .valueNotFound)
  }

  @Test("a document that does not exist is nil for an optional and valueNotFound for others")
  func missingDocument() throws {
    let snapshot = fixture.snapshot(nil)
    #expect(try snapshot.data(as: One<Int>?.self) == nil)
    let error = #expect(throws: DecodingError.self) { try snapshot.data(as: One<Int>.self) }
    let failure = DecodingFailure(try #require(error))
    #expect(failure.kind == .valueNotFound)
    #expect(failure.text.contains("document rooms/eros does not exist"))
    #expect(try Firestore.Decoder().decode(One<Int>?.self, from: NSNull()) == nil)
    #expect(throws: DecodingError.self) { try Firestore.Decoder().decode(One<Int>.self, from: NSNull()) }
    #expect(try fixture.snapshot(["x": 1]).data(as: One<Int>?.self)?.x == 1)
  }

  @Test("timestamps are dates or timestamps, bytes and Base64 texts are data, texts are URLs, numbers decimals")
  func foundationTypes() throws {
    let time = Value.timestamp(HearthModel.Timestamp(seconds: 5, nanoseconds: 500_000_000))
    #expect(try one(time, as: Date.self) == Date(timeIntervalSince1970: 5.5))
    #expect(try one(time, as: Hearth.Timestamp.self) == Hearth.Timestamp(seconds: 5, nanoseconds: 500_000_000))
    #expect(try failure(5, as: Date.self).kind == .typeMismatch)
    #expect(try one(.bytes([1, 2]), as: Data.self) == Data([1, 2]))
    #expect(try one(.bytes([]), as: Data.self) == Data())
    #expect(try one("AQI=", as: Data.self) == Data([1, 2]))
    #expect(try failure("?", as: Data.self).text == "The text is not valid Base64 (field x of document rooms/eros).")
    #expect(try one("https://example.com/a", as: URL.self) == URL(string: "https://example.com/a"))
    #expect(try failure("", as: URL.self).kind == .dataCorrupted)
    #expect(try one(1.5, as: Decimal.self) == Decimal(1.5))
    #expect(try one(.integer(.max), as: Decimal.self) == Decimal(Int64.max))
    #expect(try failure(.double(.nan), as: Decimal.self).kind == .dataCorrupted)
  }

  @Test("Firestore's own types are handed through where exactly they are stored")
  func passthrough() throws {
    let point = Value.geoPoint(HearthModel.GeoPoint(latitude: 1, longitude: 2))
    #expect(try one(point, as: Hearth.GeoPoint.self) == Hearth.GeoPoint(latitude: 1, longitude: 2))
    #expect(try one(.vector([1, 2]), as: VectorValue.self) == VectorValue([1, 2]))
    let reference = Value.reference(
      ReferenceValue(database: fixture.firestore.databaseID, key: fixture.reference.key))
    #expect(try one(reference, as: DocumentReference.self) == fixture.reference)
    #expect(try one([point, point], as: [Hearth.GeoPoint].self).count == 2)
    // Stored as the maps that other encoders make of them.
    #expect(try one(["latitude": 1, "longitude": 2], as: Hearth.GeoPoint.self).latitude == 1)
    #expect(try failure("x", as: Hearth.GeoPoint.self).kind == .typeMismatch)
    #expect(try failure("x", as: DocumentReference.self).text.contains("decodingIsNotSupported"))
    #expect(try failure(.vector([1]), as: [Double].self).kind == .typeMismatch)
    #expect(try failure(.null, as: Hearth.GeoPoint.self).kind == .valueNotFound)
  }

  @Test("references to another database become references of this one")
  func foreignReference() throws {
    let foreign = ReferenceValue(database: DatabaseID(projectID: "other"), key: fixture.reference.key)
    #expect(try one(.reference(foreign), as: DocumentReference.self) == fixture.reference)
  }

  @Test("pending server timestamps are decoded as the behaviour says")
  func serverTimestamps() throws {
    let time = HearthModel.Timestamp(seconds: 9, nanoseconds: 0)
    let fields: MapValue = ["x": .pendingServerTimestamp(localWriteTime: time, previousValue: 7)]
    #expect(try fixture.decode(Optionally<Date>.self, fields).x == nil)
    #expect(try fixture.decode(Optionally<Date>.self, fields, with: .estimate).x == Date(timeIntervalSince1970: 9))
    #expect(try fixture.decode(One<Int>.self, fields, with: .previous).x == 7)
    let fresh: MapValue = ["x": .pendingServerTimestamp(localWriteTime: time, previousValue: nil)]
    #expect(try fixture.decode(Optionally<Int>.self, fresh, with: .previous).x == nil)
  }

  @Test("keys are told apart by their bytes, also in large maps and whatever their order")
  func keys() throws {
    struct Names: Codable, Equatable {
      enum CodingKeys: String, CodingKey {
        case composed = "\u{E9}"
        case decomposed = "e\u{301}"
      }
      var composed: Int
      var decomposed: Int?
    }
    #expect(try fixture.snapshot(["\u{E9}": 1]).data(as: Names.self) == Names(composed: 1, decomposed: nil))
    #expect(
      try fixture.snapshot(["\u{E9}": 1, "e\u{301}": 2]).data(as: Names.self) == Names(composed: 1, decomposed: 2))
    let large = MapValue(entries: (0..<2_000).map { ("key\($0)", .integer(Int64($0))) })
    let decoded = try fixture.decode([String: Int].self, large)
    #expect(decoded.count == 2_000)
    #expect(decoded.allSatisfy { $0.key == "key\($0.value)" })
  }

  @Test("of several stored entries with one name the last one counts, as everywhere")
  func repeatedEntries() throws {
    let bytes = EncodedFields(["x": 1, "y": 5]).bytes + EncodedFields(["x": 2]).bytes
    let snapshot = fixture.snapshot(encoded: EncodedFields(uncheckedBytes: bytes))
    #expect(try snapshot.data(as: [String: Int].self) == ["x": 2, "y": 5])
  }

  @Test("damaged bytes are errors that name the document")
  func damage() throws {
    let whole = EncodedFields(["x": ["deep": ["text", 1.5, 7, true]], "y": "text"]).bytes
    struct Deep: Codable, Equatable {
      struct Inner: Codable, Equatable { var deep: [String] }
      var x: Inner
      var y: String
    }
    for length in 1..<whole.count {
      let snapshot = fixture.snapshot(encoded: EncodedFields(uncheckedBytes: Array(whole[..<length])))
      #expect(throws: (any Error).self) { try snapshot.data(as: Deep.self) }
    }
    for position in whole.indices {
      for bit in 0..<8 {
        var damaged = whole
        damaged[position] ^= 1 << bit
        // It may give a value or an error, but no trap.
        _ = try? fixture.snapshot(encoded: EncodedFields(uncheckedBytes: damaged)).data(as: Deep.self)
        _ = try? fixture.snapshot(encoded: EncodedFields(uncheckedBytes: damaged)).data(as: [String: Int?].self)
      }
    }
    let error = #expect(throws: DecodingError.self) {
      try fixture.snapshot(encoded: EncodedFields(uncheckedBytes: Array(whole.dropLast(3)))).data(as: Deep.self)
    }
    let failure = DecodingFailure(try #require(error))
    #expect(failure.kind == .dataCorrupted)
    #expect(failure.text.contains("rooms/eros"))
  }

  @Test("a name that is no text is an error, not a missing entry of a dictionary")
  func damagedName() throws {
    var bytes = EncodedFields(["abc": 1, "b": 2]).bytes
    let position = try #require(bytes.firstIndex(of: UInt8(ascii: "a")))
    bytes[position] = 0xFF
    let error = #expect(throws: DecodingError.self) {
      try fixture.snapshot(encoded: EncodedFields(uncheckedBytes: bytes)).data(as: [String: Int].self)
    }
    let failure = DecodingFailure(try #require(error))
    #expect(failure.kind == .dataCorrupted)
    #expect(failure.text.contains("not valid UTF-8") && failure.text.contains("rooms/eros"))
  }

  private indirect enum Nest: Codable, Equatable {
    case end
    case level(Nest)

    init(from decoder: any Swift.Decoder) throws {
      var container = try decoder.unkeyedContainer()
      self = container.isAtEnd ? .end : .level(try container.decode(Nest.self))
    }

    func encode(to encoder: any Swift.Encoder) throws {
      var container = encoder.unkeyedContainer()
      if case .level(let inner) = self { try container.encode(inner) }
    }
  }

  @Test("nesting is bounded, both ways", .heavyWork)
  func depth() throws {
    func nested(_ levels: Int) -> Value { (0..<levels).reduce([]) { value, _ in [value] } }
    #expect(throws: Never.self) { try fixture.snapshot(["x": nested(90)]).data(as: One<Nest>.self) }
    let error = #expect(throws: DecodingError.self) {
      try Firestore.Decoder().decode(
        One<Nest>.self, from: ["x": (0..<1_000).reduce([Any]()) { value, _ in [value] }])
    }
    #expect(try DecodingFailure(#require(error)).text.contains("nested more than 100 levels deep"))
    let deep = (0..<1_000).reduce(Nest.end) { value, _ in .level(value) }
    #expect(throws: EncodingError.self) { try Firestore.Encoder().encode(One(x: deep)) }
  }

  @Test("dictionaries that programs make themselves may hold Swift values instead of Foundation's")
  func swiftValues() throws {
    struct Model: Codable, Equatable {
      var a: Int
      var b: Bool
      var c: Double
      var d: [Int]
      var e: [String: String]
      var f: String?
      var g: UInt64
    }
    let dictionary: [String: Any] = [
      "a": Int8(4), "b": true, "c": Float(1.5), "d": [1, 2], "e": ["x": "y"], "f": String?.none as Any, "g": UInt64.max,
    ]
    #expect(
      try Firestore.Decoder().decode(Model.self, from: dictionary)
        == Model(a: 4, b: true, c: 1.5, d: [1, 2], e: ["x": "y"], f: nil, g: .max))
    struct Odd: Decodable { var a: Int }
    let error = #expect(throws: DecodingError.self) {
      try Firestore.Decoder().decode(Odd.self, from: ["a": FieldValue.delete()])
    }
    #expect(try DecodingFailure(#require(error)).text.contains("found a value of type FieldValue instead (field a)."))
    #expect(throws: DecodingError.self) { try Firestore.Decoder().decode(Odd.self, from: "text") }
  }

  @Test("containers, superclasses and enums with payloads work as with other decoders")
  func containers() throws {
    struct Manual: Decodable {
      var names: [String] = []
      var sum = 0
      var keys: [String] = []
      enum Keys: String, CodingKey { case list, map, other }

      init(from decoder: any Swift.Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        #expect(container.contains(.list))
        #expect(!container.contains(.other))
        #expect(try container.decodeNil(forKey: .list) == false)
        keys = container.allKeys.map(\.stringValue)
        var list = try container.nestedUnkeyedContainer(forKey: .list)
        #expect(list.count == 3)
        names.append(try list.decode(String.self))
        #expect(try list.decodeNil())
        let nested = try list.nestedContainer(keyedBy: Keys.self)
        sum = try nested.decode(Int.self, forKey: .map)
        #expect(list.isAtEnd)
        #expect(throws: DecodingError.self) { try list.decode(Int.self) }
        #expect(list.codingPath.map(\.stringValue) == ["list"])
        sum += try container.nestedContainer(keyedBy: Keys.self, forKey: .map).decode(Int.self, forKey: .other)
      }
    }
    let manual = try fixture.snapshot(["list": ["a", .null, ["map": 4]], "map": ["other": 5], "zzz": 1])
      .data(as: Manual.self)
    #expect(manual.names == ["a"])
    #expect(manual.sum == 9)
    #expect(manual.keys == ["list", "map"])
  }

  @Test("userInfo reaches the types, and one decoder serves many documents")
  func userInfo() throws {
    struct Scaled: Decodable {
      var x: Int
      init(from decoder: any Swift.Decoder) throws {
        let factor = try #require(decoder.userInfo[CodingUserInfoKey(rawValue: "factor")!] as? Int)
        x = try decoder.singleValueContainer().decode([String: Int].self)["x", default: 0] * factor
      }
    }
    let decoder = Firestore.Decoder()
    decoder.userInfo[CodingUserInfoKey(rawValue: "factor")!] = 3
    for x in 1...3 {
      #expect(try fixture.snapshot(["x": .integer(Int64(x))]).data(as: Scaled.self, decoder: decoder).x == 3 * x)
    }
    #expect(decoder.userInfo.count == 1)
  }

  @Test("errors of types pass unchanged")
  func ownErrors() throws {
    struct Own: Error {}
    struct Failing: Decodable { init(from decoder: any Swift.Decoder) throws { throw Own() } }
    #expect(throws: Own.self) { try fixture.snapshot([:]).data(as: Failing.self) }
  }

  @Test("many threads decode the same snapshot with the same decoder at once")
  func threads() async throws {
    struct Model: Codable, Equatable, Sendable {
      @DocumentID var id: String?
      var list: [Int]
      var map: [String: String]
      var when: Date
    }
    let snapshot = fixture.snapshot([
      "list": .array((0..<50).map { .integer($0) }), "map": ["a": "b", "c": "d"],
      "when": .timestamp(HearthModel.Timestamp(seconds: 7, nanoseconds: 0)),
    ])
    let expected = try snapshot.data(as: Model.self)
    #expect(expected.id == "eros")
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for round in 0..<500 {
            if round.isMultiple(of: 50) { await Task.yield() }
            if try snapshot.data(as: Model.self) != expected { return false }
          }
          return true
        }
      }
      for try await isSame in group { #expect(isSame) }
    }
  }

  @Test("a container may outlive the run and the snapshot")
  func escapingContainer() throws {
    final class Box { var container: KeyedDecodingContainer<StoredKey>? }
    struct Escaping: Decodable {
      init(from decoder: any Swift.Decoder) throws {
        let box = try #require(decoder.userInfo[CodingUserInfoKey(rawValue: "box")!] as? Box)
        box.container = try decoder.container(keyedBy: StoredKey.self)
      }
    }
    let box = Box()
    let decoder = Firestore.Decoder()
    decoder.userInfo[CodingUserInfoKey(rawValue: "box")!] = box
    _ = try fixture.snapshot(["x": "a text that is too long to be stored in place"]).data(
      as: Escaping.self, decoder: decoder)
    #expect(
      try box.container?.decode(String.self, forKey: StoredKey("x")) == "a text that is too long to be stored in place")
  }
}
