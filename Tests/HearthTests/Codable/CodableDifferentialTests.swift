import Foundation
import HearthModel
import Testing

@testable import Hearth

/// Decodes generated values with every basic type, from the stored encoding and from the dictionary: both give the same value,
/// or the same error.
@Suite("Decoding: bytes and dictionaries agree")
struct CodableDifferentialTests {
  /// SplitMix64, so that a seed gives the same values everywhere.
  private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }
  }

  private static let integers: [Int64] = [0, 1, -1, 127, 128, -129, 255, 256, 65_536, 1 << 32, .max, .min]
  private static let doubles: [Double] = [
    0, -0.0, 1, 1.5, -1, 255, 256, 1e10, 0x1p53, 0x1p63, 0x1p64, 1e300, .infinity, -.infinity, .leastNonzeroMagnitude,
  ]
  private static let texts = [
    "", "a", "https://example.com", "AQI=", "2023-11-14T22:13:20Z", "\u{E9}", "e\u{301}", "?",
  ]

  private static func value(_ generator: inout Generator, depth: Int, _ database: DatabaseID) throws -> Value {
    let time = HearthModel.Timestamp(seconds: Int64.random(in: -1000...1000, using: &generator), nanoseconds: 5_000)
    switch Int.random(in: 0..<(depth > 0 ? 14 : 11), using: &generator) {
    case 0: return .null
    case 1: return .boolean(Bool.random(using: &generator))
    case 2, 3: return .integer(integers.randomElement(using: &generator) ?? 0)
    case 4: return .double(doubles.randomElement(using: &generator) ?? 0)
    case 5: return .string(texts.randomElement(using: &generator) ?? "")
    case 6: return .bytes(Array(repeating: 7, count: Int.random(in: 0...3, using: &generator)))
    case 7: return .timestamp(time)
    case 8: return .geoPoint(HearthModel.GeoPoint(latitude: 1, longitude: 2))
    case 9: return .vector([1, 2])
    case 10:
      return Bool.random(using: &generator)
        ? .reference(ReferenceValue(database: database, key: try DocumentKey(parsing: "a/b")))
        : .pendingServerTimestamp(localWriteTime: time, previousValue: Bool.random(using: &generator) ? 7 : nil)
    case 11:
      return .array(
        try (0..<Int.random(in: 0...3, using: &generator)).map { _ in try value(&generator, depth: depth - 1, database)
        })
    default:
      // A dictionary cannot hold both forms of é, so only one of them is a key.
      let keys = ["a", "b", "camelCase", "snake_case", "seconds", "array", ""].shuffled(using: &generator)
      return .map(
        MapValue(
          entries: try keys.prefix(Int.random(in: 0...4, using: &generator)).map {
            ($0, try value(&generator, depth: depth - 1, database))
          }))
    }
  }

  /// Reads whatever it finds, in the order in which it asks.
  private indirect enum Anything: Decodable, Equatable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case double(Double)
    case text(String)
    case data(Data)
    case date(Date)
    case point(Hearth.GeoPoint)
    case vector(VectorValue)
    case reference(DocumentReference)
    case list([Anything])
    case map([String: Anything])

    init(from decoder: any Swift.Decoder) throws {
      let container = try decoder.singleValueContainer()
      func attempt<T: Decodable>(_ type: T.Type) -> T? { try? container.decode(type) }
      if container.decodeNil() {
        self = .null
      } else if let boolean = attempt(Bool.self) {
        self = .boolean(boolean)
      } else if let integer = attempt(Int64.self) {
        self = .integer(integer)
      } else if let unsigned = attempt(UInt64.self) {
        self = .unsigned(unsigned)
      } else if let double = attempt(Double.self) {
        self = .double(double)
      } else if let text = attempt(String.self) {
        self = .text(text)
      } else if let data = attempt(Data.self) {
        self = .data(data)
      } else if let date = attempt(Date.self) {
        self = .date(date)
      } else if let vector = attempt(VectorValue.self) {
        self = .vector(vector)
      } else if let point = attempt(Hearth.GeoPoint.self) {
        self = .point(point)
      } else if let reference = attempt(DocumentReference.self) {
        self = .reference(reference)
      } else if let list = attempt([Anything].self) {
        self = .list(list)
      } else {
        self = .map(try container.decode([String: Anything].self))
      }
    }
  }

  private struct One<T: Decodable & Equatable>: Decodable, Equatable { var a: T }
  private struct Maybe<T: Decodable & Equatable>: Decodable, Equatable { var a: T? }

  private struct Mixed: Decodable, Equatable {
    @DocumentID var id: String?
    var a: Anything?
    var camelCase: [String]?
    var b: [Int]?
  }

  private static func outcome<T: Decodable & Equatable>(_ type: T.Type, _ body: () throws -> T) -> (T?, String) {
    do {
      return (try body(), "")
    } catch {
      return (nil, "\(error)")
    }
  }

  @Test("for all types, values, behaviours and key strategies", arguments: [1, 2, 3, 4] as [UInt64])
  func agree(seed: UInt64) async throws {
    let fixture = try CodingFixture()
    var generator = Generator(state: seed)
    let snake = Firestore.Decoder()
    snake.keyDecodingStrategy = .convertFromSnakeCase
    func compare<T: Decodable & Equatable>(_ type: T.Type, _ fields: MapValue) throws {
      let snapshot = fixture.snapshot(fields)
      for behavior in [ServerTimestampBehavior.none, .estimate, .previous] {
        let dictionary = try #require(snapshot.data(with: behavior))
        for decoder in [Firestore.Decoder(), snake] {
          let bytes = Self.outcome(type) { try snapshot.data(as: type, with: behavior, decoder: decoder) }
          let objects = Self.outcome(type) { try decoder.decode(type, from: dictionary, in: fixture.reference) }
          #expect(bytes.0 == objects.0, "seed \(seed), \(fields), \(type)")
          #expect(bytes.1 == objects.1, "seed \(seed), \(fields), \(type)")
        }
      }
    }
    for _ in 0..<150 {
      // Other tests share this thread.
      await Task.yield()
      let value = try Self.value(&generator, depth: 3, fixture.firestore.databaseID)
      let fields: MapValue = ["a": value]
      try compare(One<Anything>.self, fields)
      try compare(Mixed.self, fields)
      try compare(One<Int>.self, fields)
      try compare(Maybe<Int8>.self, fields)
      try compare(One<UInt64>.self, fields)
      try compare(Maybe<Double>.self, fields)
      try compare(One<Float>.self, fields)
      try compare(One<Decimal>.self, fields)
      try compare(Maybe<Bool>.self, fields)
      try compare(Maybe<String>.self, fields)
      try compare(One<Date>.self, fields)
      try compare(Maybe<Data>.self, fields)
      try compare(One<URL>.self, fields)
      try compare(Maybe<Hearth.Timestamp>.self, fields)
      try compare(One<Hearth.GeoPoint>.self, fields)
      try compare(One<VectorValue>.self, fields)
      try compare(Maybe<DocumentReference>.self, fields)
      try compare(One<[Int]>.self, fields)
      try compare(Maybe<[String?]>.self, fields)
      try compare(One<[String: Anything]>.self, fields)
      if case .map(let map) = value {
        try compare(Mixed.self, map)
        // The order in which a dictionary meets its first error is its own, so only whole successes are compared.
        try compare([String: Anything].self, map)
      }
    }
  }
}
