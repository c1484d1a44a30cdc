import Foundation
import HearthModel
import HearthWire
import SwiftProtobuf
import Testing

private let translator = WireTranslator(database: database)

/// Values in filters, cursors and array transforms, which travel as bytes: what arrives must be what was sent, to the byte.
@Suite("Values that travel as bytes")
struct ValueBytesTests {
  /// One map with two keys that Swift takes for the same text.
  private static let twins = Value.map(MapValue(entries: [("e\u{301}", .integer(1)), ("é", .integer(2))]))

  private static func nested(_ levels: Int, _ innermost: Value = .integer(1)) -> Value {
    (0..<levels).reduce(innermost) { value, _ in .map(["n": value]) }
  }

  private func overTheWire(_ query: Query) throws -> Query {
    let (parent, message) = translator.structuredQuery(query.target)
    let arrived = try Google_Firestore_V1_StructuredQuery(serializedBytes: message.serializedBytes() as [UInt8])
    return try translator.decode(parent: parent, query: arrived).query
  }

  private func overTheWire(_ mutation: Mutation) throws -> Mutation {
    let message = translator.encode(mutation)
    return try translator.decode(
      write: Google_Firestore_V1_Write(serializedBytes: message.serializedBytes() as [UInt8]))
  }

  private func query(_ value: Value) throws -> Query {
    let path = try FieldPath(["a"])
    return Query(
      path: ResourcePath(["cities"]),
      filters: [.field(path, .equal, value), .field(path, .in, .array([value, .null]))],
      explicitOrders: [OrderBy(path: path, direction: .ascending)],
      startAt: Bound(position: [value], isInclusive: true),
      endAt: Bound(position: [value], isInclusive: false))
  }

  private func mutation(_ value: Value) throws -> Mutation {
    .set(
      try DocumentKey(parsing: "cities/SF"), [:],
      transforms: [
        FieldTransform(path: try FieldPath(["a"]), operation: .arrayUnion([value, .null])),
        FieldTransform(path: try FieldPath(["b"]), operation: .arrayRemove([value])),
      ])
  }

  @Test(
    "keys that differ only in Unicode normalisation, and deep nesting, arrive as they were",
    arguments: [twins, nested(90)])
  func arrivesUnchanged(value: Value) throws {
    let query = try query(value)
    let arrived = try overTheWire(query)
    #expect(
      arrived.filters.flatMap(\.flattened).map { $0.value.encoded() }
        == query.filters.flatMap(\.flattened).map { $0.value.encoded() })
    #expect(arrived.startAt?.position.map { $0.encoded() } == [value.encoded()])
    #expect(arrived.endAt?.position.map { $0.encoded() } == [value.encoded()])
    let mutation = try mutation(value)
    #expect(try overTheWire(mutation) == mutation)
    guard case .arrayUnion(let elements) = try overTheWire(mutation).transforms[0].operation else {
      Issue.record("the first transform is no union")
      return
    }
    #expect(elements.map { $0.encoded() } == [value.encoded(), Value.null.encoded()])
  }

  @Test("values nested beyond 100 levels are refused with their place")
  func tooDeep() throws {
    let filter = try wireError { _ = try overTheWire(try query(Self.nested(101))) }
    #expect(filter.field == "structured_query.where.composite_filter.filters[0].field_filter.value")
    #expect(filter.message.contains("nested more than 100 levels"))
    let transform = try wireError { _ = try overTheWire(try mutation(Self.nested(101))) }
    #expect(transform.field == "Write.update_transforms[0].append_missing_elements")
  }

  @Test(
    "times and points out of range are refused at any depth",
    arguments: [
      (Value.timestamp(Timestamp(seconds: 253_402_300_800, nanoseconds: 0)), "timestamp_value.seconds"),
      (.timestamp(Timestamp(seconds: .min, nanoseconds: 0)), "timestamp_value.seconds"),
      (.geoPoint(GeoPoint(latitude: 91, longitude: 0)), "geo_point_value.latitude"),
      (.geoPoint(GeoPoint(latitude: 0, longitude: .nan)), "geo_point_value.longitude"),
    ])
  func outOfRange(value: Value, field: String) throws {
    for value in [value, Self.nested(3, value), .map(["l": .array([value])])] {
      #expect(try wireError { _ = try overTheWire(try query(value)) }.field.hasSuffix(field))
      #expect(try wireError { _ = try overTheWire(try mutation(value)) }.field.hasSuffix("values[0].\(field)"))
    }
  }

  @Test("bytes that are no value are refused or read, none of them traps")
  func garbage() throws {
    var generator = Generator(seed: Generator.seed)
    for _ in 0..<2000 {
      let bytes = generator.list(upTo: 12) { UInt8.random(in: 0...255, using: &$0) }
      var message = translator.structuredQuery(try query(.null).target).query
      message.startAt.values[0] = Data(bytes)
      // Some bytes are a value by chance.
      _ = try? translator.decode(parent: database.documentsName, query: message)
      var write = translator.encode(try mutation(.null))
      write.updateTransforms[0].appendMissingElements = Data(bytes)
      _ = try? translator.decode(write: write)
    }
  }
}
