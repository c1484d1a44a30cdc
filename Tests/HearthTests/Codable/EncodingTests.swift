import Foundation
import HearthModel
import Testing

@testable import Hearth

@Suite("Encoding documents")
struct EncodingTests {
  let fixture: CodingFixture

  init() throws {
    fixture = try CodingFixture()
  }

  private struct One<T: Codable & Equatable>: Codable, Equatable {
    var x: T
  }

  @Test("values become Foundation objects and Firestore's own types stay")
  func mapping() throws {
    struct Model: Encodable {
      var bool = true
      var int = 1
      var small = Int8(2)
      var unsigned = UInt64.max
      var float = Float(1.5)
      var double = 2.5
      var string = "x"
      var data = Data([1])
      var empty = Data()
      var date = Date(timeIntervalSince1970: 1.25)
      var url = URL(string: "https://example.com")!
      var decimal = Decimal(string: "1.5")!
      var point = Hearth.GeoPoint(latitude: 1, longitude: 2)
      var time = Hearth.Timestamp(seconds: 1, nanoseconds: 2)
      var reference: DocumentReference
      var marker = FieldValue.serverTimestamp()
      var vector = VectorValue([1])
      var none: Int?
      var list: [Int?] = [1, nil]
      var map = ["a": ["b": 1]]
      var ints = [7: "seven"]
    }
    try fixture.expect(
      Model(reference: fixture.reference),
      encodesTo: [
        "bool": NSNumber(value: true), "int": 1, "small": 2, "unsigned": NSNumber(value: UInt64.max), "float": 1.5,
        "double": 2.5, "string": "x", "data": Data([1]), "empty": Data(),
        "date": Hearth.Timestamp(seconds: 1, nanoseconds: 250_000_000), "url": "https://example.com",
        "decimal": NSDecimalNumber(string: "1.5"), "point": Hearth.GeoPoint(latitude: 1, longitude: 2),
        "time": Hearth.Timestamp(seconds: 1, nanoseconds: 2), "reference": fixture.reference,
        "marker": FieldValue.serverTimestamp(), "vector": VectorValue([1]), "list": [1, NSNull()],
        "map": ["a": ["b": 1]], "ints": ["7": "seven"],
      ])
    let encoded = try Firestore.Encoder().encode(["flag": true, "other": false])
    #expect((encoded["flag"] as? NSNumber)?.isBoolean == true)
  }

  @Test("the top level has to be a map")
  func topLevel() throws {
    func expectRefusal<T: Encodable>(_ value: T) throws {
      let error = #expect(throws: EncodingError.self) { try Firestore.Encoder().encode(value) }
      guard case .invalidValue(_, let context)? = error else { return }
      #expect(context.debugDescription == "Top-level \(T.self) is not allowed.")
    }
    try expectRefusal(1)
    try expectRefusal("x")
    try expectRefusal([1])
    try expectRefusal(Date())
    try expectRefusal(FieldValue.delete())
    try expectRefusal(fixture.reference)
    try expectRefusal(Hearth.GeoPoint(latitude: 1, longitude: 2))
    try expectRefusal(Int?.none)
    struct Nothing: Codable, Equatable {}
    try fixture.expect(Nothing(), encodesTo: [:])
    try fixture.roundTrip(Nothing())
    struct Silent: Encodable { func encode(to encoder: any Swift.Encoder) throws {} }
    let error = #expect(throws: EncodingError.self) { try Firestore.Encoder().encode(Silent()) }
    guard case .invalidValue(_, let context)? = error else { return }
    #expect(context.debugDescription == "Top-level Silent did not encode any values.")
    try fixture.expect(["a": Silent()], encodesTo: ["a": [String: Any]()])
  }

  @Test("a type that asks for containers of two kinds is an error")
  func twoContainers() throws {
    struct Confused: Encodable {
      func encode(to encoder: any Swift.Encoder) throws {
        var container = encoder.container(keyedBy: StoredKey.self)
        try container.encode(1, forKey: StoredKey("a"))
        var list = encoder.unkeyedContainer()
        try list.encode(1)
      }
    }
    #expect(throws: EncodingError.self) { try Firestore.Encoder().encode(["x": Confused()]) }
  }

  @Test("NaN and infinities are errors, or texts if the strategy says so")
  func nonConforming() throws {
    for value in [Double.nan, .infinity, -.infinity] {
      let error = #expect(throws: EncodingError.self) { try Firestore.Encoder().encode(["a": [value]]) }
      guard case .invalidValue(_, let context)? = error else { return }
      #expect(context.codingPath.map(\.stringValue) == ["a", "Index 0"])
      #expect(throws: EncodingError.self) { try Firestore.Encoder().encode(["a": Float(value)]) }
    }
    let encoder = Firestore.Encoder()
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "+", negativeInfinity: "-", nan: "?")
    try fixture.expect(
      ["a": Double.infinity, "b": -.infinity, "c": .nan, "d": 1], encodesTo: ["a": "+", "b": "-", "c": "?", "d": 1],
      encoder: encoder)
    let decoder = Firestore.Decoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "+", negativeInfinity: "-", nan: "?")
    #expect(try fixture.decode(One<Double>.self, ["x": "+"], decoder: decoder).x == .infinity)
    #expect(try fixture.decode(One<Float>.self, ["x": "-"], decoder: decoder).x == -.infinity)
    #expect(try fixture.snapshot(["x": "?"]).data(as: One<Double>.self, decoder: decoder).x.isNaN)
    #expect(try fixture.failure(One<Double>.self, ["x": "other"], decoder: decoder).kind == .typeMismatch)
    #expect(try fixture.failure(One<Double>.self, ["x": "+"]).kind == .typeMismatch)
  }

  @Test("dates and data follow their strategies, both ways")
  func strategies() throws {
    let date = Date(timeIntervalSince1970: 1_700_000_000)
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "UTC")
    formatter.dateFormat = "yyyy/MM/dd HH:mm:ss"
    let dates: [(FirebaseDataEncoder.DateEncodingStrategy, FirebaseDataDecoder.DateDecodingStrategy, Any)] = [
      (.timestamp, .timestamp, Hearth.Timestamp(seconds: 1_700_000_000, nanoseconds: 0)),
      (.deferredToDate, .deferredToDate, date.timeIntervalSinceReferenceDate),
      (.secondsSince1970, .secondsSince1970, 1_700_000_000),
      (.millisecondsSince1970, .millisecondsSince1970, 1_700_000_000_000),
      (.iso8601, .iso8601, "2023-11-14T22:13:20Z"),
      (.formatted(formatter), .formatted(formatter), "2023/11/14 22:13:20"),
      (
        .custom { date, encoder in
          var container = encoder.singleValueContainer()
          try container.encode("at \(Int(date.timeIntervalSince1970))")
        },
        .custom { decoder in
          let text = try decoder.singleValueContainer().decode(String.self)
          return Date(timeIntervalSince1970: Double(text.dropFirst(3)) ?? 0)
        }, "at 1700000000"
      ),
    ]
    for (encoding, decoding, expected) in dates {
      let encoder = Firestore.Encoder()
      encoder.dateEncodingStrategy = encoding
      let decoder = Firestore.Decoder()
      decoder.dateDecodingStrategy = decoding
      try fixture.expect(One(x: date), encodesTo: ["x": expected], encoder: encoder)
      try fixture.roundTrip(One(x: [date]), encoder: encoder, decoder: decoder)
    }
    let data = Data([1, 2, 255])
    let kinds: [(FirebaseDataEncoder.DataEncodingStrategy, FirebaseDataDecoder.DataDecodingStrategy, Any)] = [
      (.blob, .blob, data), (.base64, .base64, "AQL/"), (.base64, .blob, "AQL/"),
      (.deferredToData, .deferredToData, [1, 2, 255]),
      (
        .custom { data, encoder in try data.count.encode(to: encoder) },
        .custom { decoder in
          guard try Int(from: decoder) == 3 else { return Data() }
          return Data([1, 2, 255])
        }, 3
      ),
    ]
    for (encoding, decoding, expected) in kinds {
      let encoder = Firestore.Encoder()
      encoder.dataEncodingStrategy = encoding
      let decoder = Firestore.Decoder()
      decoder.dataDecodingStrategy = decoding
      try fixture.expect(One(x: data), encodesTo: ["x": expected], encoder: encoder)
      try fixture.roundTrip(One(x: data), encoder: encoder, decoder: decoder)
    }
    let silent = Firestore.Encoder()
    silent.dateEncodingStrategy = .custom { _, _ in }
    try fixture.expect(One(x: date), encodesTo: ["x": [String: Any]()], encoder: silent)
    let decoder = Firestore.Decoder()
    decoder.dateDecodingStrategy = .iso8601
    #expect(try fixture.failure(One<Date>.self, ["x": "soon"], decoder: decoder).kind == .dataCorrupted)
  }

  @Test("a date that no timestamp can hold is an error", arguments: [Double.nan, .infinity, -1e12, 1e12])
  func impossibleDates(seconds: Double) throws {
    let date = Date(timeIntervalSince1970: seconds)
    #expect(throws: EncodingError.self) { try Firestore.Encoder().encode(One(x: date)) }
    struct Stamped: Encodable { @ServerTimestamp var at: Date? }
    #expect(throws: EncodingError.self) { try Firestore.Encoder().encode(Stamped(at: date)) }
  }

  @Test("snake case changes the names of properties, not the keys of dictionaries")
  func snakeCase() throws {
    struct Inner: Codable, Equatable { var innerValue: Int }
    struct Model: Codable, Equatable {
      var myUrlProperty: String
      var _leading: Int
      var counts: [String: Int]
      var nested: [String: Inner]
    }
    let encoder = Firestore.Encoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    let decoder = Firestore.Decoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let model = Model(
      myUrlProperty: "x", _leading: 1, counts: ["camelKey": 1, "snake_key": 2], nested: ["oneTwo": Inner(innerValue: 3)]
    )
    try fixture.expect(
      model,
      encodesTo: [
        "my_url_property": "x", "_leading": 1, "counts": ["camelKey": 1, "snake_key": 2],
        "nested": ["oneTwo": ["inner_value": 3]],
      ], encoder: encoder)
    try fixture.roundTrip(model, encoder: encoder, decoder: decoder)
    struct Duplicate: Codable, Equatable { var oneTwo: Int }
    #expect(try fixture.decode(Duplicate.self, ["oneTwo": 1, "one_two": 2], decoder: decoder).oneTwo == 1)
  }

  @Test(
    "snake case is Foundation's",
    arguments: [
      ("myURLProperty", "my_url_property"), ("simple", "simple"), ("oneTwo", "one_two"), ("", ""), ("URL", "u_rl"),
      ("myURL", "my_url"), ("_leadingTwo_", "_leading_two_"), ("a1B", "a1_b"), ("HTTPServer", "h_ttp_server"),
    ])
  func snakeCaseNames(camel: String, snake: String) throws {
    #expect(SnakeCase.encode(camel) == snake)
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    struct Keyed: Encodable {
      var name: String
      func encode(to encoder: any Swift.Encoder) throws {
        var container = encoder.container(keyedBy: StoredKey.self)
        try container.encode(1, forKey: StoredKey(name))
      }
    }
    #expect(String(decoding: try encoder.encode(Keyed(name: camel)), as: UTF8.self) == "{\"\(snake)\":1}")
  }

  @Test(
    "camel case is Foundation's",
    arguments: ["my_url_property", "_a_b_", "__", "", "plain", "ONE_TWO", "a__b", "_x", "x_", "alreadyCamel", "a_B_c"])
  func camelCaseNames(snake: String) throws {
    struct Keys: Decodable {
      var name: String?
      init(from decoder: any Swift.Decoder) throws {
        name = try decoder.container(keyedBy: StoredKey.self).allKeys.first?.stringValue
      }
    }
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let expected = try decoder.decode(Keys.self, from: Data("{\"\(snake)\":1}".utf8)).name
    #expect(SnakeCase.decode(snake) == expected)
  }

  @Test("a custom strategy for keys gets the whole path")
  func customKeys() throws {
    struct Inner: Codable, Equatable { var b: Int }
    struct Model: Codable, Equatable { var a: Inner }
    let encoder = Firestore.Encoder()
    encoder.keyEncodingStrategy = .custom { path in StoredKey(path.map(\.stringValue).joined(separator: "-")) }
    try fixture.expect(Model(a: Inner(b: 1)), encodesTo: ["a": ["a-b": 1]], encoder: encoder)
    let decoder = Firestore.Decoder()
    decoder.keyDecodingStrategy = .custom { path in
      StoredKey(path.last?.stringValue.split(separator: "-").last.map(String.init) ?? "")
    }
    try fixture.roundTrip(Model(a: Inner(b: 1)), encoder: encoder, decoder: decoder)
  }

  private class Base: Codable {
    var name: String
    init(name: String) { self.name = name }
  }

  private final class Derived: Base, Equatable {
    var count: Int
    enum CodingKeys: String, CodingKey { case count }

    init(name: String, count: Int) {
      self.count = count
      super.init(name: name)
    }

    required init(from decoder: any Swift.Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      count = try container.decode(Int.self, forKey: .count)
      try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Swift.Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(count, forKey: .count)
      try super.encode(to: container.superEncoder())
    }

    static func == (a: Derived, b: Derived) -> Bool { a.name == b.name && a.count == b.count }
  }

  @Test("classes put their superclass under \"super\"")
  func classes() throws {
    let value = Derived(name: "n", count: 2)
    try fixture.expect(value, encodesTo: ["count": 2, "super": ["name": "n"]])
    try fixture.roundTrip(value)
  }

  private enum Shape: Codable, Equatable {
    case num(Int)
    case pair(a: String, b: Bool)
    case none
  }

  private enum Colour: String, Codable { case red, green }

  @Test("enums: raw values, and the synthesised form of payloads")
  func enums() throws {
    try fixture.expect(Shape.num(4), encodesTo: ["num": ["_0": 4]])
    for shape in [Shape.num(4), .pair(a: "x", b: true), .none] { try fixture.roundTrip(shape) }
    try fixture.expect(One(x: [Colour.red]), encodesTo: ["x": ["red"]])
    try fixture.roundTrip(One(x: Colour.green))
    #expect(try fixture.failure(One<Colour>.self, ["x": "blue"]).kind == .dataCorrupted)
  }

  @Test("nested containers and super encoders write to their place, whenever they are used")
  func lateWrites() throws {
    struct Late: Encodable {
      func encode(to encoder: any Swift.Encoder) throws {
        var container = encoder.container(keyedBy: StoredKey.self)
        var list = container.nestedUnkeyedContainer(forKey: StoredKey("list"))
        let parent = container.superEncoder(forKey: StoredKey("parent"))
        var map = container.nestedContainer(keyedBy: StoredKey.self, forKey: StoredKey("map"))
        try container.encodeNil(forKey: StoredKey("nil"))
        try list.encode("a")
        try list.encodeNil()
        var inner = list.nestedContainer(keyedBy: StoredKey.self)
        var innerList = list.nestedUnkeyedContainer()
        try list.superEncoder().singleValueContainer0("s")
        try inner.encode(1, forKey: StoredKey("b"))
        try innerList.encode(2)
        try map.encode(true, forKey: StoredKey("c"))
        try ["d": 3].encode(to: parent)
        #expect(list.count == 5)
        #expect(inner.codingPath.map(\.stringValue) == ["late", "list", "Index 2"])
      }
    }
    try fixture.expect(
      ["late": Late()],
      encodesTo: [
        "late": [
          "list": ["a", NSNull(), ["b": 1], [2], "s"], "parent": ["d": 3], "map": ["c": true], "nil": NSNull(),
        ]
      ])
  }

  @Test("types find userInfo, and their own errors pass unchanged")
  func userInfo() throws {
    struct Own: Error, Equatable { var text: String }
    struct Failing: Encodable {
      func encode(to encoder: any Swift.Encoder) throws {
        throw Own(text: encoder.userInfo[CodingUserInfoKey(rawValue: "k")!] as? String ?? "")
      }
    }
    let encoder = Firestore.Encoder()
    encoder.userInfo[CodingUserInfoKey(rawValue: "k")!] = "v"
    #expect(throws: Own(text: "v")) { try encoder.encode(["a": Failing()]) }
  }

  @Test("FirebaseDataEncoder and FirebaseDataDecoder have Foundation's defaults and hand nothing through")
  func dataCoders() throws {
    struct Model: Codable, Equatable {
      var date = Date(timeIntervalSinceReferenceDate: 5)
      var data = Data([1])
      var time = Hearth.Timestamp(seconds: 1, nanoseconds: 2)
    }
    let encoded = try FirebaseDataEncoder().encode(Model())
    let expected: [String: Any] = ["date": 5, "data": "AQ==", "time": ["seconds": 1, "nanoseconds": 2]]
    #expect(try #require(encoded as? [String: Any]) as NSDictionary == expected as NSDictionary)
    #expect(try FirebaseDataDecoder().decode(Model.self, from: encoded) == Model())
    #expect(try FirebaseDataEncoder().encode([1, 2]) as? [Int] == [1, 2])
    #expect(try FirebaseDataDecoder().decode([Int].self, from: [1, 2]) == [1, 2])
    let encoder = FirebaseDataEncoder()
    encoder.passthroughTypeResolver = FirestorePassthroughTypes.self
    let decoder = FirebaseDataDecoder()
    decoder.passthroughTypeResolver = FirestorePassthroughTypes.self
    let passed = try encoder.encode(["t": Hearth.Timestamp(seconds: 1, nanoseconds: 2)])
    #expect((passed as? [String: Any])?["t"] as? Hearth.Timestamp == Hearth.Timestamp(seconds: 1, nanoseconds: 2))
    #expect(
      try decoder.decode([String: Hearth.Timestamp].self, from: passed) == [
        "t": Hearth.Timestamp(seconds: 1, nanoseconds: 2)
      ])
  }
}

extension Swift.Encoder {
  fileprivate func singleValueContainer0(_ text: String) throws {
    var container = singleValueContainer()
    try container.encode(text)
  }
}
