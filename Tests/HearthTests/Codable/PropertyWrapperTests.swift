import Foundation
import HearthModel
import Testing

@testable import Hearth

@Suite("Property wrappers")
struct PropertyWrapperTests {
  let fixture: CodingFixture

  init() throws {
    fixture = try CodingFixture()
  }

  // MARK: - DocumentID

  private struct Identified: Codable, Equatable {
    @DocumentID var id: String?
    var name: String
  }

  @Test("DocumentID is filled from the reference and never written")
  func documentID() throws {
    #expect(try fixture.decode(Identified.self, ["name": "n"]).id == "eros")
    var value = Identified(name: "n")
    #expect(value.id == nil)
    value.id = "other"
    try fixture.expect(value, encodesTo: ["name": "n"])
  }

  @Test(
    "a field of the same name is ignored, whatever it holds",
    arguments: [Value.string("x"), .integer(1), .null, ["a": 1]])
  func conflict(value: Value) throws {
    #expect(try fixture.decode(Identified.self, ["id": value, "name": "n"]).id == "eros")
  }

  private struct Name: DocumentIDWrappable, Codable, Equatable {
    var path: String
    static func wrap(_ documentReference: DocumentReference) throws -> Name { Name(path: documentReference.path) }
  }

  @Test("DocumentID takes references and types of users, also in structs inside the document")
  func otherIDs() throws {
    struct Inner: Codable, Equatable { @DocumentID var id: String? }
    struct Model: Codable, Equatable {
      @DocumentID var reference: DocumentReference?
      @DocumentID var name: Name?
      var inner: Inner
      var list: [Inner]
    }
    let model = try fixture.decode(Model.self, ["inner": [:], "list": [[:], [:]]])
    #expect(model.reference == fixture.reference)
    #expect(model.name?.path == "rooms/eros")
    #expect(model.inner.id == "eros")
    #expect(model.list.map(\.id) == ["eros", "eros"])
    try fixture.expect(model, encodesTo: ["inner": [String: Any](), "list": [[String: Any](), [:]]])
  }

  @Test("DocumentID can be decoded by hand")
  func byHand() throws {
    struct Model: Decodable {
      var id: String?
      enum Keys: String, CodingKey { case id }
      init(from decoder: any Swift.Decoder) throws {
        id = try decoder.container(keyedBy: Keys.self).decode(DocumentID<String>.self, forKey: .id).wrappedValue
      }
    }
    #expect(try fixture.snapshot([:]).data(as: Model.self).id == "eros")
  }

  @Test("DocumentID needs Firestore's coders and a reference")
  func unsupported() throws {
    #expect(throws: FirestoreDecodingError.self) {
      try Firestore.Decoder().decode(Identified.self, from: ["name": "n"])
    }
    #expect(throws: FirestoreDecodingError.self) {
      try JSONDecoder().decode(Identified.self, from: Data(#"{"id": "x", "name": "n"}"#.utf8))
    }
    #expect(throws: FirestoreEncodingError.self) { try JSONEncoder().encode(Identified(name: "n")) }
    #expect(throws: FirestoreEncodingError.self) {
      try Firestore.Encoder().encode(["a": [DocumentID(wrappedValue: "x")]])
    }
  }

  // MARK: - ServerTimestamp

  private struct Stamped: Codable, Equatable {
    @ServerTimestamp var at: Date?
  }

  @Test("a ServerTimestamp that is nil asks for the backend's time, another one is stored")
  func serverTimestamp() throws {
    try fixture.expect(Stamped(at: nil), encodesTo: ["at": FieldValue.serverTimestamp()])
    let date = Date(timeIntervalSince1970: 3)
    try fixture.expect(Stamped(at: date), encodesTo: ["at": Hearth.Timestamp(seconds: 3, nanoseconds: 0)])
    try fixture.roundTrip(Stamped(at: date))
    #expect(try fixture.decode(Stamped.self, ["at": .null]).at == nil)
    #expect(try fixture.failure(Stamped.self, [:]).kind == .keyNotFound)
    #expect(try fixture.failure(Stamped.self, ["at": 3]).kind == .typeMismatch)
  }

  @Test("a pending ServerTimestamp is nil, the estimate or the previous value")
  func pending() throws {
    let time = HearthModel.Timestamp(seconds: 9, nanoseconds: 1_000)
    let before = HearthModel.Timestamp(seconds: 1, nanoseconds: 0)
    let fields: MapValue = ["at": .pendingServerTimestamp(localWriteTime: time, previousValue: .timestamp(before))]
    struct Model: Codable, Equatable { @ServerTimestamp var at: Hearth.Timestamp? }
    #expect(try fixture.decode(Model.self, fields).at == nil)
    #expect(
      try fixture.decode(Model.self, fields, with: .estimate).at == Hearth.Timestamp(seconds: 9, nanoseconds: 1_000))
    #expect(try fixture.decode(Model.self, fields, with: .previous).at == Hearth.Timestamp(seconds: 1, nanoseconds: 0))
  }

  private struct Year: ServerTimestampWrappable, Codable, Equatable {
    struct Unknown: Error {}
    var text: String
    static func wrap(_ timestamp: Hearth.Timestamp) throws -> Year {
      guard timestamp.seconds > 0 else { throw Unknown() }
      return Year(text: "\(timestamp.seconds)")
    }
    static func unwrap(_ value: Year) throws -> Hearth.Timestamp {
      guard let seconds = Int64(value.text) else { throw Unknown() }
      return Hearth.Timestamp(seconds: seconds, nanoseconds: 0)
    }
  }

  @Test("ServerTimestamp takes types of users, whose errors pass")
  func ownStamp() throws {
    struct Model: Codable, Equatable { @ServerTimestamp var at: Year? }
    try fixture.roundTrip(Model(at: Year(text: "12")))
    #expect(throws: Year.Unknown.self) { try Firestore.Encoder().encode(Model(at: Year(text: "x"))) }
    #expect(throws: Year.Unknown.self) {
      try fixture.snapshot(["at": .timestamp(HearthModel.Timestamp(seconds: 0, nanoseconds: 0))]).data(as: Model.self)
    }
  }

  // MARK: - ExplicitNull

  @Test("ExplicitNull writes null where other optionals are left out")
  func explicitNull() throws {
    struct Model: Codable, Equatable {
      @ExplicitNull var a: String?
      var b: String?
    }
    try fixture.expect(Model(a: nil, b: nil), encodesTo: ["a": NSNull()])
    try fixture.expect(Model(a: "x", b: "y"), encodesTo: ["a": "x", "b": "y"])
    try fixture.roundTrip(Model(a: nil, b: nil))
    try fixture.roundTrip(Model(a: "x", b: nil))
    #expect(try fixture.failure(Model.self, [:]).kind == .keyNotFound)
    struct OnlyEncodable: Encodable { @ExplicitNull var date: Date? }
    try fixture.expect(OnlyEncodable(date: nil), encodesTo: ["date": NSNull()])
  }

  // MARK: - Conformances

  @Test("the wrappers are Equatable, Hashable and Sendable where their values are")
  func conformances() {
    func check<T: Hashable & Sendable>(_ a: T, _ b: T) -> Bool { a == b && a.hashValue == b.hashValue }
    #expect(check(ServerTimestamp(wrappedValue: Date?.none), ServerTimestamp(wrappedValue: nil)))
    #expect(check(ExplicitNull(wrappedValue: 1), ExplicitNull(wrappedValue: 1)))
    #expect(check(DocumentID(wrappedValue: String?.none), DocumentID(wrappedValue: nil)))
  }

  // MARK: - Values with other coders

  @Test("Timestamp, GeoPoint and VectorValue have the official JSON forms")
  func json() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    func text(_ value: some Encodable) throws -> String { String(decoding: try encoder.encode(value), as: UTF8.self) }
    let time = Hearth.Timestamp(seconds: 5, nanoseconds: 6)
    #expect(try text(time) == #"{"nanoseconds":6,"seconds":5}"#)
    #expect(try JSONDecoder().decode(Hearth.Timestamp.self, from: encoder.encode(time)) == time)
    let point = Hearth.GeoPoint(latitude: 1.5, longitude: -2.5)
    #expect(try text(point) == #"{"latitude":1.5,"longitude":-2.5}"#)
    #expect(try JSONDecoder().decode(Hearth.GeoPoint.self, from: encoder.encode(point)) == point)
    let vector = VectorValue([1.5, 2.5])
    #expect(try text(vector) == #"{"array":[1.5,2.5]}"#)
    #expect(try JSONDecoder().decode(VectorValue.self, from: encoder.encode(vector)) == vector)
  }

  @Test(
    "values out of range are errors of the data",
    arguments: [
      #"{"seconds": 1e12, "nanoseconds": 0}"#, #"{"seconds": 0, "nanoseconds": -1}"#,
      #"{"seconds": 0, "nanoseconds": 1000000000}"#,
    ])
  func outOfRange(json: String) throws {
    let error = #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([Hearth.Timestamp].self, from: Data("[\(json)]".utf8))
    }
    let failure = DecodingFailure(try #require(error))
    #expect(failure.kind == .dataCorrupted)
    #expect(failure.path == "Index 0")
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Hearth.GeoPoint.self, from: Data(#"{"latitude": 91, "longitude": 0}"#.utf8))
    }
  }

  @Test("references and field values are not for other coders")
  func notForOthers() throws {
    #expect(throws: FirestoreEncodingError.self) { try JSONEncoder().encode(fixture.reference) }
    #expect(throws: FirestoreDecodingError.self) {
      try JSONDecoder().decode(DocumentReference.self, from: Data(#""a/b""#.utf8))
    }
    #expect(throws: FirestoreEncodingError.self) { try JSONEncoder().encode(FieldValue.delete()) }
  }
}
