import Foundation
import HearthModel
import HearthWire
import SwiftProtobuf
import Testing

private let translator = WireTranslator(database: database)

/// The error of `body`, which must throw one.
func wireError(_ body: () throws -> Void) throws -> WireError {
  try #require(throws: WireError.self) { try body() }
}

@Suite("Values on the wire")
struct ValueTranslationTests {
  @Test("every value comes back as it was, also through bytes")
  func roundTrip() throws {
    var generator = Generator(seed: Generator.seed)
    for _ in 0..<2000 {
      let value = generator.value()
      let message = try Google_Firestore_V1_Value(
        serializedBytes: translator.encode(value).serializedBytes() as [UInt8])
      #expect(try translator.decode(message, at: "v") == value, "seed \(Generator.seed)")
    }
  }

  @Test("messages and the model's own encoding mean the same")
  func sameAsModelEncoding() throws {
    var generator = Generator(seed: Generator.seed)
    for _ in 0..<500 {
      let value = generator.value()
      let message = try Google_Firestore_V1_Value(serializedBytes: value.encoded())
      #expect(try translator.decode(message, at: "v") == value, "seed \(Generator.seed)")
      let bytes: [UInt8] = try translator.encode(value).serializedBytes()
      #expect(try Value(encoded: bytes) == value, "seed \(Generator.seed)")
    }
  }

  @Test("a pending server timestamp keeps its time and its previous value")
  func pendingServerTimestamp() throws {
    let time = Timestamp(seconds: 5, nanoseconds: 6)
    for previous in [nil, Value.integer(4)] {
      let value = Value.pendingServerTimestamp(localWriteTime: time, previousValue: previous)
      #expect(try translator.decode(translator.encode(value), at: "v") == value)
    }
  }

  @Test("a value without a kind is refused, with its place")
  func unsetValue() throws {
    var message = Google_Firestore_V1_Value()
    #expect(try wireError { _ = try translator.decode(message, at: "v") }.field == "v")

    message.arrayValue.values = [translator.encode(Value.null), Google_Firestore_V1_Value()]
    #expect(try wireError { _ = try translator.decode(message, at: "v") }.field == "v.array_value.values[1]")

    var outer = Google_Firestore_V1_Value()
    outer.mapValue.fields["a"] = message
    let error = try wireError { _ = try translator.decode(outer, at: "v") }
    #expect(error.field == "v.map_value.fields[\"a\"].array_value.values[1]")
    #expect(error.description.hasPrefix("v.map_value.fields[\"a\"].array_value.values[1]: no kind of value is set"))
  }

  @Test(
    "times out of range are refused",
    arguments: [
      (Int64.min, Int32(0), "v.timestamp_value.seconds"), (-62_135_596_801, 0, "v.timestamp_value.seconds"),
      (253_402_300_800, 0, "v.timestamp_value.seconds"), (Int64.max, 0, "v.timestamp_value.seconds"),
      (0, -1, "v.timestamp_value.nanos"), (0, 1_000_000_000, "v.timestamp_value.nanos"),
      (0, Int32.max, "v.timestamp_value.nanos"),
    ])
  func timeRange(seconds: Int64, nanos: Int32, field: String) throws {
    var message = Google_Firestore_V1_Value()
    message.timestampValue = Google_Protobuf_Timestamp(seconds: seconds, nanos: nanos)
    #expect(try wireError { _ = try translator.decode(message, at: "v") }.field == field)
  }

  @Test("points that are not on the globe are refused", arguments: [(91.0, 0.0), (0, -181), (.nan, 0), (0, .infinity)])
  func geoRange(latitude: Double, longitude: Double) throws {
    var message = Google_Firestore_V1_Value()
    message.geoPointValue.latitude = latitude
    message.geoPointValue.longitude = longitude
    #expect(try wireError { _ = try translator.decode(message, at: "v") }.field.hasPrefix("v.geo_point_value."))
  }

  @Test(
    "references that name no document are refused",
    arguments: [
      "", "cities/SF", "projects/p/databases/d/documents", "projects/p/databases/d/documents/cities",
      "projects/p/databases/d/documents/cities//x", "projects//databases/d/documents/cities/SF",
    ])
  func badReference(name: String) throws {
    var message = Google_Firestore_V1_Value()
    message.referenceValue = name
    #expect(try wireError { _ = try translator.decode(message, at: "v") }.field == "v.reference_value")
  }

  @Test("values that only pipelines know are refused")
  func pipelineValue() throws {
    var message = Google_Firestore_V1_Value()
    message.fieldReferenceValue = "a"
    #expect(try wireError { _ = try translator.decode(message, at: "v") }.message.contains("pipelines"))
  }

  @Test("a status with code 0 is no error, and a code that does not exist is unknown")
  func status() {
    #expect(translator.decode(Google_Rpc_Status()) == nil)
    let error = StatusError(code: .notFound, message: "gone")
    #expect(translator.decode(translator.encode(error)) == error)
    var strange = Google_Rpc_Status()
    strange.code = 99
    #expect(translator.decode(strange)?.code == .unknown)
    strange.code = .min
    #expect(translator.decode(strange)?.code == .unknown)
  }
}
