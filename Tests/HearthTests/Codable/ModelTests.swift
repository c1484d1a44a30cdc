import Foundation
import HearthModel
import Testing

@testable import Hearth

/// Models as programs write them: wrappers in classes, in enums and in types of their own, and what happens to them over time.
@Suite("Models")
struct ModelTests {
  let fixture: CodingFixture

  init() throws {
    fixture = try CodingFixture()
  }

  // MARK: - Wrappers in other types

  private class Base: Codable {
    @DocumentID var id: String?
    @ServerTimestamp var changed: Date?
    @ExplicitNull var note: String?

    init(changed: Date?, note: String?) {
      self.changed = changed
      self.note = note
    }
  }

  private final class Derived: Base {
    var count: Int
    enum CodingKeys: String, CodingKey { case count }

    init(count: Int) {
      self.count = count
      super.init(changed: nil, note: nil)
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
  }

  private final class Flat: Base {
    var count: Int
    enum CodingKeys: String, CodingKey { case count }

    init(count: Int) {
      self.count = count
      super.init(changed: nil, note: "n")
    }

    required init(from decoder: any Swift.Decoder) throws {
      count = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .count)
      try super.init(from: decoder)
    }

    override func encode(to encoder: any Swift.Encoder) throws {
      try super.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(count, forKey: .count)
    }
  }

  @Test("wrappers work in a superclass, below \"super\" and in the same map")
  func classes() throws {
    try fixture.expect(
      Derived(count: 2), encodesTo: ["count": 2, "super": ["changed": FieldValue.serverTimestamp(), "note": NSNull()]])
    let derived = try fixture.snapshot(["count": 3, "super": ["changed": .null, "note": "x", "id": 7]])
      .data(as: Derived.self)
    #expect(derived.count == 3)
    #expect(derived.note == "x")
    #expect(derived.id == "eros")
    try fixture.expect(
      Flat(count: 2), encodesTo: ["count": 2, "changed": FieldValue.serverTimestamp(), "note": "n"])
    let flat = try fixture.snapshot(["count": 3, "changed": .null, "note": .null]).data(as: Flat.self)
    #expect(flat.count == 3)
    #expect(flat.id == "eros")
    let error = #expect(throws: DecodingError.self) {
      try fixture.snapshot(["count": 3, "super": ["changed": 1, "note": "x"]]).data(as: Derived.self)
    }
    #expect(try DecodingFailure(#require(error)).path == "super/changed")
    let missing = #expect(throws: DecodingError.self) { try fixture.snapshot(["count": 3]).data(as: Derived.self) }
    #expect(try DecodingFailure(#require(missing)).kind == .valueNotFound)
  }

  private struct Envelope<Content: Codable & Equatable>: Codable, Equatable {
    @DocumentID var id: String?
    @ExplicitNull var content: Content?
    var others: [Content]
  }

  private enum Event: Codable, Equatable {
    case opened(at: ServerTimestamp<Date>)
    case closed(reason: ExplicitNull<String>, by: DocumentID<String>)
    case moved([String: Hearth.GeoPoint])
  }

  @Test("wrappers work in generic types and as payloads of enums")
  func genericsAndEnums() throws {
    try fixture.expect(
      Envelope<Date>(content: nil, others: [Date(timeIntervalSince1970: 1)]),
      encodesTo: ["content": NSNull(), "others": [Hearth.Timestamp(seconds: 1, nanoseconds: 0)]])
    let envelope = try fixture.decode(Envelope<[Int?]>.self, ["content": [1, .null], "others": [[2]]])
    #expect(envelope.content == [1, nil])
    #expect(envelope.id == "eros")
    try fixture.expect(
      ["e": Event.opened(at: ServerTimestamp(wrappedValue: nil))],
      encodesTo: ["e": ["opened": ["at": FieldValue.serverTimestamp()]]])
    try fixture.expect(
      ["e": Event.closed(reason: ExplicitNull(wrappedValue: nil), by: DocumentID(wrappedValue: nil))],
      encodesTo: ["e": ["closed": ["reason": NSNull()]]])
    let events = try fixture.decode(
      [Event].Wrapped.self,
      ["events": [["closed": ["reason": "r"]], ["moved": ["_0": ["a": .geoPoint(.init(latitude: 1, longitude: 2))]]]]])
    #expect(
      events.events == [
        .closed(reason: ExplicitNull(wrappedValue: "r"), by: DocumentID(wrappedValue: "eros")),
        .moved(["a": Hearth.GeoPoint(latitude: 1, longitude: 2)]),
      ])
  }

  private struct Identified: Codable, Equatable {
    @DocumentID var id: String?
  }

  @Test("an enum's payload keeps its form with snake case, and a case without one is an empty map")
  func enumsInSnakeCase() throws {
    enum Shape: Codable, Equatable {
      case roundThing(Int, cornerRadius: Double)
      case nothingAtAll
    }
    let encoder = Firestore.Encoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    let decoder = Firestore.Decoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    try fixture.expect(
      ["x": [Shape.roundThing(1, cornerRadius: 0.5), .nothingAtAll]],
      encodesTo: ["x": [["round_thing": ["_0": 1, "corner_radius": 0.5]], ["nothing_at_all": [String: Any]()]]],
      encoder: encoder)
    try fixture.roundTrip(
      ["x": [Shape.roundThing(1, cornerRadius: 0.5), .nothingAtAll]], encoder: encoder, decoder: decoder)
  }

  @Test(
    "dictionaries keep nil, their names and their wrappers, whatever the key strategy says", arguments: [false, true])
  func dictionaries(snakeCase: Bool) throws {
    struct Model: Codable, Equatable {
      var counts: [String: Int?]
      var stamps: [String: ServerTimestamp<Date>]
      var nested: [[String: [String: Bool]]]
      var maybe: [String: String]?
      var numbered: [Int: String]
    }
    let encoder = Firestore.Encoder()
    let decoder = Firestore.Decoder()
    if snakeCase {
      encoder.keyEncodingStrategy = .convertToSnakeCase
      decoder.keyDecodingStrategy = .convertFromSnakeCase
    }
    let model = Model(
      counts: ["oneTwo": nil, "b": 1], stamps: ["myTime": ServerTimestamp(wrappedValue: nil)],
      nested: [["aB": ["c_d": true]]], maybe: ["x_y": "zZ"], numbered: [7: "seven"])
    try fixture.expect(
      model,
      encodesTo: [
        "counts": ["oneTwo": NSNull(), "b": 1], "stamps": ["myTime": FieldValue.serverTimestamp()],
        "nested": [["aB": ["c_d": true]]], "maybe": ["x_y": "zZ"], "numbered": ["7": "seven"],
      ], encoder: encoder)
    let decoded = try fixture.decode(
      Model.self,
      [
        "counts": ["oneTwo": .null, "b": 1], "stamps": ["myTime": .null], "nested": [["aB": ["c_d": true]]],
        "maybe": ["x_y": "zZ"], "numbered": ["7": "seven"],
      ], decoder: decoder)
    #expect(decoded == model)
    try fixture.expect(
      ["a": ["id": DocumentID<String>(wrappedValue: nil)]], encodesTo: ["a": [String: Any]()], encoder: encoder)
  }

  @Test("DocumentID follows the keys that a model declares")
  func codingKeys() throws {
    struct Renamed: Codable, Equatable {
      @DocumentID var id: String?
      var name: String
      enum CodingKeys: String, CodingKey {
        case id = "documentKey"
        case name = "title"
      }
    }
    struct Left: Codable, Equatable {
      @DocumentID var id: String?
      var name: String
      enum CodingKeys: String, CodingKey { case name }
    }
    #expect(try fixture.decode(Renamed.self, ["title": "t"]).id == "eros")
    try fixture.expect(Renamed(name: "t"), encodesTo: ["title": "t"])
    // A property without a key is not decoded at all, whatever its wrapper.
    #expect(try fixture.decode(Left.self, ["name": "t"]).id == nil)
  }

  @Test("the reference that one document was decoded with is not kept for the next")
  func referenceIsNotKept() throws {
    let decoder = Firestore.Decoder()
    #expect(try decoder.decode(Identified.self, from: [:], in: fixture.reference).id == "eros")
    #expect(throws: FirestoreDecodingError.self) { try decoder.decode(Identified.self, from: [:]) }
    #expect(decoder.userInfo.isEmpty)
    let other = fixture.firestore.document("rooms/other")
    #expect(try decoder.decode(Identified.self, from: [:], in: other).id == "other")
  }

  @Test("a type can pass its decoder on through another one, with the document's reference")
  func forwardedDecoder() throws {
    struct Forwarding: Swift.Decoder {
      var inner: any Swift.Decoder
      var codingPath: [any CodingKey] { inner.codingPath }
      var userInfo: [CodingUserInfoKey: Any] { inner.userInfo }
      func container<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try inner.container(keyedBy: type)
      }
      func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try inner.unkeyedContainer() }
      func singleValueContainer() throws -> any SingleValueDecodingContainer { try inner.singleValueContainer() }
    }
    struct Outer: Decodable {
      var id: DocumentID<String>
      init(from decoder: any Swift.Decoder) throws { id = try DocumentID(from: Forwarding(inner: decoder)) }
    }
    #expect(try fixture.snapshot([:]).data(as: Outer.self).id.wrappedValue == "eros")
  }

  // MARK: - Over time

  @Test("a model that has grown reads old documents, one that has shrunk reads new ones")
  func evolution() throws {
    struct Grown: Codable, Equatable {
      var name: String
      var stars: Int?
      var tags: [String]
      enum CodingKeys: CodingKey { case name, stars, tags }
      init(from decoder: any Swift.Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        stars = try container.decodeIfPresent(Int.self, forKey: .stars)
        tags = try container.decodeIfPresent([String].self, forKey: .tags) ?? []
      }
    }
    let old = try fixture.decode(Grown.self, ["name": "n"])
    #expect(old.stars == nil)
    #expect(old.tags.isEmpty)
    #expect(try fixture.decode(Grown.self, ["name": "n", "tags": .null, "gone": [1, 2]]).tags.isEmpty)
  }

  // MARK: - What Firestore cannot store

  private struct Field<T: Encodable & Sendable>: Encodable, Sendable {
    var x: T
  }

  private func misuse<T: Encodable & Sendable>(_ value: T) async throws -> String {
    let reference = fixture.reference
    return try #require(await Misuse.message { try? reference.setData(from: value) })
  }

  @Test("what encodes and cannot be stored is a programming error of the write, with the field's name")
  func notStorable() async throws {
    #expect(try Firestore.Encoder().encode(Field(x: UInt64.max))["x"] as? UInt64 == .max)
    #expect(try await misuse(Field(x: UInt64.max)).contains("too large (found in field x)"))
    #expect(try Firestore.Encoder().encode(Field(x: [[1], [2]])).count == 1)
    #expect(try await misuse(Field(x: [[1]])).hasPrefix("Nested arrays are not supported"))
    #expect(try await misuse(["__x__": 1]).contains("cannot begin and end with \"__\""))
    #expect(try await misuse(Field(x: [ServerTimestamp<Date>(wrappedValue: nil)])).contains("inside arrays"))
  }

  @Test("a field named for merging that nil leaves out is a programming error, with ExplicitNull it is null")
  func maskedField() async throws {
    struct Plain: Encodable, Sendable {
      var name: String?
      @ExplicitNull var note: String?
    }
    let reference = fixture.reference
    let message = await Misuse.message { try? reference.setData(from: Plain(note: nil), mergeFields: ["name"]) }
    #expect(message?.contains("is specified in your field mask but missing from your input data") == true)
    let mutation = try UserDataReader.merge(
      Firestore.Encoder().encode(Plain(note: nil)), fields: ["note"], key: reference.key,
      databaseID: fixture.firestore.databaseID)
    guard case .patch(let fields, let mask) = mutation.operation else {
      Issue.record("no patch: \(mutation)")
      return
    }
    #expect(try fields.decoded() == ["note": .null])
    #expect("\(mask)".contains("note"))
  }

  // MARK: - Several threads

  @Test("many threads share one decoder with strategies, and one encoder")
  func sharedCoders() async throws {
    struct Model: Codable, Equatable, Sendable {
      @DocumentID var documentKey: String?
      var longName: [String: Int]
      var when: Date
    }
    // Neither is changed while the threads use it, which is all that is asked.
    nonisolated(unsafe) let decoder = Firestore.Decoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    decoder.dateDecodingStrategy = .iso8601
    nonisolated(unsafe) let encoder = Firestore.Encoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    encoder.dateEncodingStrategy = .iso8601
    let snapshots = (0..<4).map { index in
      fixture.snapshot(["long_name": ["aB": .integer(index)], "when": "2023-11-14T22:13:20Z"])
    }
    let expected = try snapshots.map { try $0.data(as: Model.self, decoder: decoder) }
    #expect(expected.map { $0.longName["aB"] } == [0, 1, 2, 3])
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for index in 0..<8 {
        let snapshot = snapshots[index % 4]
        let model = expected[index % 4]
        group.addTask {
          for _ in 0..<200 {
            guard try snapshot.data(as: Model.self, decoder: decoder) == model else { return false }
            guard try encoder.encode(model)["when"] as? String == "2023-11-14T22:13:20Z" else { return false }
          }
          return true
        }
      }
      for try await isSame in group { #expect(isSame) }
    }
  }

  /// A type with keys of its own for each `Inner`.
  private struct Level<Inner>: Decodable {
    var x: Int
    var y: String
  }

  /// Decodes 1,200 different types. Each contains the one before.
  private static func decodeLevels<Inner>(
    _ type: Inner.Type, _ snapshot: DocumentSnapshot, left: Int = 1_200
  ) async throws {
    guard left > 0 else { return }
    if left.isMultiple(of: 50) { await Task.yield() }
    let level = try snapshot.data(as: Level<Inner>.self)
    #expect(level.x == 7 && level.y == "seven")
    try await decodeLevels(Level<Inner>.self, snapshot, left: left - 1)
  }

  @Test("more types than are remembered are decoded, by several threads that meet all of them at once")
  func manyTypes() async throws {
    let snapshot = fixture.snapshot(["x": 7, "y": "seven"])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 { group.addTask { try await Self.decodeLevels(Void.self, snapshot) } }
      try await group.waitForAll()
    }
  }

  // MARK: - Real snapshots

  @Test("a pending server timestamp is decoded as asked for: nil, the estimate, or what was there before")
  func pendingTimestamps() async throws {
    struct Note: Codable, Equatable, Sendable {
      @DocumentID var id: String?
      @ServerTimestamp var changed: Hearth.Timestamp?
    }
    let db = try await TestFirestore.offline()
    let reference = db.document("notes/n")
    let before = Hearth.Timestamp(seconds: 5, nanoseconds: 1_000)
    try reference.setData(from: Note(changed: before))
    let batch = db.batch()
    try batch.setData(from: Note(changed: nil), forDocument: reference, merge: true)
    batch.commit(completion: nil)
    #expect(try await reference.getDocument(as: Note.self).changed == nil)
    let previous = try await reference.getDocument(as: Note.self, with: .previous)
    #expect(previous.changed == before)
    let estimate = try #require(try await reference.getDocument(as: Note.self, with: .estimate).changed)
    #expect(estimate.compare(before) == .orderedDescending)
    let found = try #require(try await db.collection("notes").getDocuments().documents.first)
    #expect(try found.data(as: Note.self, with: .previous) == previous)
    #expect(found.data(with: .previous)["changed"] as? Hearth.Timestamp == before)
    #expect(found.data()["changed"] is NSNull)
  }
}

extension Array where Element: Codable & Equatable {
  fileprivate struct Wrapped: Codable, Equatable {
    var events: [Element]
  }
}
