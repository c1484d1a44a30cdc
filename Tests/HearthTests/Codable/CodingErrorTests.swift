import Foundation
import HearthModel
import Testing

@testable import Hearth

@Suite("Errors of encoding and decoding")
struct CodingErrorTests {
  let fixture: CodingFixture

  init() throws {
    fixture = try CodingFixture()
  }

  private struct One<T: Codable & Equatable>: Codable, Equatable {
    var x: T
  }

  private enum Colour: String, Codable { case red }

  // MARK: - Decoding

  @Test("errors of the standard library's types name the document and the field, too")
  func standardTypes() throws {
    let colour = try fixture.failure(One<[Colour]>.self, ["x": ["red", "blue"]])
    #expect(colour.kind == .dataCorrupted)
    #expect(colour.path == "x/Index 1")
    #expect(
      colour.text == "Cannot initialize Colour from invalid String value blue (field x[1] of document rooms/eros).")
    let id = try fixture.failure(One<UUID>.self, ["x": "no"])
    #expect(id.path == "x")
    #expect(id.text.hasSuffix("(field x of document rooms/eros)."))
    enum Shape: Codable, Equatable { case a(Int), b }
    let shape = try fixture.failure(One<Shape>.self, ["x": ["a": ["_0": 1], "b": [:]]])
    #expect(shape.kind == .typeMismatch)
    #expect(shape.text.hasSuffix("(field x of document rooms/eros)."))
  }

  @Test("a model's own DecodingError keeps its kind, path and cause, and gets the document's name")
  func ownDecodingErrors() throws {
    struct Cause: Error {}
    struct Even: Codable, Equatable {
      var number: Int
      init(from decoder: any Swift.Decoder) throws {
        let container = try decoder.singleValueContainer()
        number = try container.decode(Int.self)
        guard number.isMultiple(of: 2) else {
          throw DecodingError.dataCorrupted(
            .init(codingPath: decoder.codingPath, debugDescription: "\(number) is odd.", underlyingError: Cause()))
        }
      }
    }
    let failure = try fixture.failure(One<Even>.self, ["x": 3])
    #expect(failure.kind == .dataCorrupted)
    #expect(failure.path == "x")
    #expect(failure.text == "3 is odd (field x of document rooms/eros).")
    let error = #expect(throws: DecodingError.self) { try fixture.snapshot(["x": 3]).data(as: One<Even>.self) }
    guard case .dataCorrupted(let context)? = error else { return }
    #expect(context.underlyingError is Cause)
    // Without a document there is nothing to add.
    let bare = #expect(throws: DecodingError.self) { try Firestore.Decoder().decode(One<Even>.self, from: ["x": 3]) }
    #expect(try DecodingFailure(#require(bare)).text == "3 is odd.")
  }

  @Test("a reference that is stored as something else is told apart from other decoders' lack of references")
  func references() throws {
    let text = try fixture.failure(One<DocumentReference>.self, ["x": "rooms/a"]).text
    #expect(text.contains("but found a string instead (field x of document rooms/eros)"))
    let null = try fixture.failure(One<DocumentReference>.self, ["x": .null])
    #expect(null.kind == .valueNotFound)
    #expect(null.text == "Expected DocumentReference value but found null instead (field x of document rooms/eros).")
    struct Maybe: Codable, Equatable { var x: DocumentReference? }
    #expect(try fixture.decode(Maybe.self, ["x": .null]).x == nil)
  }

  @Test("paths go through every kind of container")
  func paths() throws {
    struct Probe: Decodable {
      init(from decoder: any Swift.Decoder) throws {
        let keyed = try decoder.container(keyedBy: StoredKey.self)
        #expect(keyed.codingPath.isEmpty)
        let map = try keyed.nestedContainer(keyedBy: StoredKey.self, forKey: StoredKey("map"))
        #expect(map.codingPath.map(\.stringValue) == ["map"])
        #expect(throws: DecodingError.self) {
          try map.nestedContainer(keyedBy: StoredKey.self, forKey: StoredKey("no"))
        }
        var list = try map.nestedUnkeyedContainer(forKey: StoredKey("list"))
        _ = try list.decode(Int.self)
        let inner = try list.superDecoder()
        #expect(inner.codingPath.map(\.stringValue) == ["map", "list", "Index 1"])
        #expect(inner.codingPath.last?.intValue == 1)
        #expect(list.currentIndex == 2)
        let parent = try keyed.superDecoder()
        #expect(parent.codingPath.map(\.stringValue) == ["super"])
        #expect(try parent.singleValueContainer().decodeNil())
        #expect(throws: DecodingError.self) { try parent.unkeyedContainer() }
        var last = try list.nestedUnkeyedContainer()
        #expect(last.codingPath.map(\.stringValue) == ["map", "list", "Index 2"])
        // An element of another type is not consumed.
        #expect(throws: DecodingError.self) { try last.decode(Bool.self) }
        #expect(try last.decode(String.self) == "end")
        #expect(try last.decodeIfPresent(String.self) == nil)
        let failure = DecodingFailure(try #require(throws: DecodingError.self) { try last.decode(String.self) })
        #expect(failure.path == "map/list/Index 2/Index 1")
        #expect(failure.text.contains("field map.list[2][1]"))
      }
    }
    _ = try fixture.snapshot(["map": ["list": [1, ["a": 1], ["end"]]]]).data(as: Probe.self)
  }

  @Test("a strategy's names stand in errors as the model knows them")
  func convertedNames() throws {
    struct Model: Codable, Equatable {
      struct Inner: Codable, Equatable { var oneTwo: Int }
      var myMap: Inner
    }
    let decoder = Firestore.Decoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    #expect(try fixture.failure(Model.self, ["my_map": ["one_two": "x"]], decoder: decoder).path == "myMap/oneTwo")
    let missing = try fixture.failure(Model.self, ["my_map": ["two": 1]], decoder: decoder)
    #expect(missing.path == "myMap/oneTwo")
    #expect(missing.text == #"There is no field "oneTwo" (field myMap of document rooms/eros)."#)
  }

  @Test(
    "a number that its type cannot hold says the number, the type and the place", arguments: ["Int", "UInt", "Int64"])
  func numbers(type: String) throws {
    let fields: MapValue = ["x": ["a": .double(-0.5)]]
    let text =
      switch type {
      case "Int": try fixture.failure([String: [String: Int]].self, fields).text
      case "UInt": try fixture.failure([String: [String: UInt]].self, fields).text
      default: try fixture.failure([String: [String: Int64]].self, fields).text
      }
    #expect(text == "The number -0.5 is not a value of \(type) (field x.a of document rooms/eros).")
  }

  // MARK: - Encoding

  private func invalid<T: Encodable>(
    _ value: T, encoder: Firestore.Encoder = .init()
  ) throws -> EncodingError.Context {
    let error = #expect(throws: EncodingError.self) { try encoder.encode(value) }
    guard case .invalidValue(_, let context) = try #require(error) else { throw CancellationError() }
    return context
  }

  @Test("a date without a text is an error with its place, for every strategy", arguments: [Double.nan, .infinity])
  func datesWithoutText(seconds: Double) throws {
    let encoder = Firestore.Encoder()
    for strategy in [
      FirebaseDataEncoder.DateEncodingStrategy.timestamp, .iso8601, .formatted(DateFormatter()), .secondsSince1970,
      .millisecondsSince1970, .deferredToDate,
    ] {
      encoder.dateEncodingStrategy = strategy
      let context = try invalid(One(x: [Date(timeIntervalSince1970: seconds)]), encoder: encoder)
      #expect(context.codingPath.map(\.stringValue) == ["x", "Index 0"])
    }
    encoder.dateEncodingStrategy = .secondsSince1970
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "+", negativeInfinity: "-", nan: "?")
    try fixture.expect(
      One(x: Date(timeIntervalSince1970: seconds)), encodesTo: ["x": seconds.isNaN ? "?" : "+"], encoder: encoder)
  }

  @Test("an impossible date in a ServerTimestamp has a path")
  func stampPath() throws {
    struct Stamped: Encodable { @ServerTimestamp var at: Date? }
    let context = try invalid(["a": Stamped(at: .distantFuture.addingTimeInterval(1e12))])
    #expect(context.codingPath.map(\.stringValue) == ["a", "at"])
  }

  @Test("a number that cannot be encoded says where it is")
  func numberPlace() throws {
    let context = try invalid(One(x: ["a": Float.infinity]))
    #expect(context.codingPath.map(\.stringValue) == ["x", "a"])
    #expect(context.debugDescription.hasPrefix("Unable to encode Float inf directly (field x.a)."))
  }

  @Test("a type that encodes two single values, or one next to a container, is an error")
  func twoValues() throws {
    struct Twice: Encodable {
      func encode(to encoder: any Swift.Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(1)
        try container.encode("two")
      }
    }
    struct Beside: Encodable {
      func encode(to encoder: any Swift.Encoder) throws {
        var keyed = encoder.container(keyedBy: StoredKey.self)
        try keyed.encode(1, forKey: StoredKey("a"))
        var container = encoder.singleValueContainer()
        try container.encode(Date())
      }
    }
    #expect(try invalid(["x": Twice()]).codingPath.map(\.stringValue) == ["x"])
    #expect(try invalid(["x": [Beside()]]).codingPath.map(\.stringValue) == ["x", "Index 0"])
  }

  @Test("a custom strategy that encodes nothing gives an empty map, in every place")
  func silentStrategies() throws {
    let encoder = Firestore.Encoder()
    encoder.dateEncodingStrategy = .custom { _, _ in }
    encoder.dataEncodingStrategy = .custom { _, _ in }
    struct Model: Encodable {
      var date = Date()
      var data = Data([1])
      var dates = [Date()]
      var map = ["a": Data()]
    }
    let empty = [String: Any]()
    try fixture.expect(
      Model(), encodesTo: ["date": empty, "data": empty, "dates": [empty], "map": ["a": empty]], encoder: encoder)
  }
}
