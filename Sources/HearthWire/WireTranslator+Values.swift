package import HearthModel
package import SwiftProtobuf

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

// MARK: - Values as bytes

extension WireTranslator {
  /// The bytes of the `Value` message for `value`, whose map keys differ where their bytes do.
  package func encodeBytes(_ value: Value) -> Data {
    Data(value.encoded())
  }

  /// The bytes of the `ArrayValue` message for `values`.
  func encodeArrayBytes(_ values: [Value]) -> Data {
    Data(Value.encodedArray(values))
  }

  /// The value in the bytes of a `Value` message.
  ///
  /// - Parameter field: The field that holds the bytes, for the error.
  /// - Throws: a ``WireError`` when the bytes are malformed, no kind is set, a time or a point on the globe is out of range, a
  ///   reference is not a document's name, or maps and arrays are nested more than 100 levels deep.
  package func decode(valueBytes bytes: Data, at field: @autoclosure () -> String) throws(WireError) -> Value {
    try at(field()) {
      let value = try Value(encoded: [UInt8](bytes))
      try checkRanges(value)
      return value
    }
  }

  /// The values in the bytes of an `ArrayValue` message.
  func decode(arrayBytes bytes: Data, at field: @autoclosure () -> String) throws(WireError) -> [Value] {
    try at(field()) {
      let values = try Value.decodedArray([UInt8](bytes))
      for (index, value) in values.enumerated() {
        try at("values[\(index)]") { try checkRanges(value) }
      }
      return values
    }
  }

  private func checkRanges(_ value: Value) throws(WireError) {
    switch value {
    case .timestamp(let time):
      try checkRange(seconds: time.seconds, at: "timestamp_value")
    case .geoPoint(let point):
      try checkRange(point)
    case .array(let elements):
      for element in elements { try checkRanges(element) }
    case .map(let map):
      for entry in map.entries { try checkRanges(entry.value) }
    case .null, .boolean, .integer, .double, .pendingServerTimestamp, .string, .bytes, .reference:
      break
    }
  }
}

// MARK: - Values as messages

// Numbers, nulls and times: operands of numeric transforms, results of transforms and of aggregations.
extension WireTranslator {
  /// The message for `value`.
  ///
  /// A pending server timestamp exists on one device only; should one get here, its message is the map that
  /// the cache stores, which a backend refuses because of the reserved field names.
  package func encode(_ value: Value) -> Google_Firestore_V1_Value {
    var message = Google_Firestore_V1_Value()
    switch value {
    case .null:
      message.nullValue = .nullValue
    case .boolean(let value):
      message.booleanValue = value
    case .integer(let value):
      message.integerValue = value
    case .double(let value):
      message.doubleValue = value
    case .timestamp(let value):
      message.timestampValue = encode(value)
    case .pendingServerTimestamp(let localWriteTime, let previousValue):
      message.mapValue = encode(pendingServerTimestamp: localWriteTime, previousValue: previousValue)
    case .string(let value):
      message.stringValue = value
    case .bytes(let value):
      message.bytesValue = Data(value)
    case .reference(let value):
      message.referenceValue = value.name
    case .geoPoint(let value):
      message.geoPointValue.latitude = value.latitude
      message.geoPointValue.longitude = value.longitude
    case .array(let elements):
      message.arrayValue.values = elements.map { encode($0) }
    case .map(let map):
      message.mapValue = encode(map)
    }
    return message
  }

  /// The message for a map.
  func encode(_ map: MapValue) -> Google_Firestore_V1_MapValue {
    var message = Google_Firestore_V1_MapValue()
    for entry in map.entries {
      message.fields[entry.key] = encode(entry.value)
    }
    return message
  }

  private func encode(
    pendingServerTimestamp localWriteTime: Timestamp, previousValue: Value?
  ) -> Google_Firestore_V1_MapValue {
    var message = Google_Firestore_V1_MapValue()
    message.fields["__type__"] = encode(.string("server_timestamp"))
    message.fields["__local_write_time__"] = encode(.timestamp(localWriteTime))
    if let previousValue {
      message.fields["__previous_value__"] = encode(previousValue)
    }
    return message
  }

  /// The value of `message`.
  ///
  /// - Parameter field: The field that holds the message, for the error.
  /// - Throws: a ``WireError`` when no kind is set, a time or a point on the globe is out of range, a
  ///   reference is not a document's name, or the kind is one that only pipelines know.
  package func decode(_ message: Google_Firestore_V1_Value, at field: String) throws(WireError) -> Value {
    try HearthWire.at(field) { try decode(message) }
  }

  /// The values of a repeated field.
  func decode(_ messages: [Google_Firestore_V1_Value], at field: String) throws(WireError) -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(messages.count)
    for (index, message) in messages.enumerated() {
      values.append(try HearthWire.at("\(field)[\(index)]") { try decode(message) })
    }
    return values
  }

  private func decode(_ message: Google_Firestore_V1_Value) throws(WireError) -> Value {
    switch message.valueType {
    case .nullValue:
      return .null
    case .booleanValue(let value):
      return .boolean(value)
    case .integerValue(let value):
      return .integer(value)
    case .doubleValue(let value):
      return .double(value)
    case .timestampValue(let value):
      return .timestamp(try decode(value, at: "timestamp_value"))
    case .stringValue(let value):
      return .string(value)
    case .bytesValue(let value):
      return .bytes([UInt8](value))
    case .referenceValue(let name):
      return .reference(try at("reference_value") { try ReferenceValue(name: name) })
    case .geoPointValue(let value):
      return .geoPoint(try decode(value))
    case .arrayValue(let array):
      return .array(try decode(array.values, at: "array_value.values"))
    case .mapValue(let map):
      return try decode(map)
    case .fieldReferenceValue, .variableReferenceValue, .functionValue, .pipelineValue:
      throw WireError(field: "", message: "this kind of value is allowed in pipelines only")
    case nil:
      throw WireError(field: "", message: "no kind of value is set (a null is written as null_value)")
    }
  }

  private func decode(_ message: Google_Type_LatLng) throws(WireError) -> GeoPoint {
    let point = GeoPoint(latitude: message.latitude, longitude: message.longitude)
    try checkRange(point)
    return point
  }

  private func checkRange(_ point: GeoPoint) throws(WireError) {
    guard (-90...90).contains(point.latitude) else {
      throw WireError(
        field: "geo_point_value.latitude", message: "\(point.latitude) is out of range (-90 to 90 degrees)")
    }
    guard (-180...180).contains(point.longitude) else {
      throw WireError(
        field: "geo_point_value.longitude", message: "\(point.longitude) is out of range (-180 to 180 degrees)")
    }
  }

  private func decode(_ message: Google_Firestore_V1_MapValue) throws(WireError) -> Value {
    var fields: [String: Value] = [:]
    fields.reserveCapacity(message.fields.count)
    for (key, value) in message.fields {
      fields[key] = try at("map_value.fields[\"\(key)\"]") { try decode(value) }
    }
    return MapValue(fields).encodedValue
  }
}

// MARK: - Times

extension WireTranslator {
  /// The message for a point in time.
  func encode(_ time: Timestamp) -> Google_Protobuf_Timestamp {
    Google_Protobuf_Timestamp(seconds: time.seconds, nanos: time.nanoseconds)
  }

  /// The message for a version, which is the commit time that made it.
  package func encode(_ version: SnapshotVersion) -> Google_Protobuf_Timestamp {
    encode(version.timestamp)
  }

  /// The point in time of `message`, between 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999999Z
  /// (the range of `google.protobuf.Timestamp`).
  package func decode(_ message: Google_Protobuf_Timestamp, at field: String) throws(WireError) -> Timestamp {
    try checkRange(seconds: message.seconds, at: field)
    guard (0...999_999_999).contains(message.nanos) else {
      throw WireError(field: "\(field).nanos", message: "\(message.nanos) is out of range (0 to 999999999)")
    }
    return Timestamp(seconds: message.seconds, nanoseconds: message.nanos)
  }

  /// Checks a point in time against the range of ``decode(_:at:)-(Google_Protobuf_Timestamp,_)``.
  func checkRange(seconds: Int64, at field: String) throws(WireError) {
    guard Timestamp.validSeconds.contains(seconds) else {
      throw WireError(
        field: "\(field).seconds",
        message: "\(seconds) is out of range (years 0001 to 9999: -62135596800 to 253402300799)")
    }
  }

  /// The version of `message`, whose range is that of ``decode(_:at:)-(Google_Protobuf_Timestamp,_)``.
  func decodeVersion(
    _ message: Google_Protobuf_Timestamp, at field: String
  ) throws(WireError) -> SnapshotVersion {
    SnapshotVersion(try decode(message, at: field))
  }
}
