/// A value in its wire encoding, read in place: its type and the offsets of its parts, without building them.
///
/// It does not own its bytes and must not leave the `withUnsafeBytes` that it came from. Nested values are checked only when they are
/// reached.
package struct EncodedValue {
  package enum Payload {
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case timestamp(Timestamp)
    case pendingServerTimestamp(localWriteTime: Timestamp, previousValue: WireReader?)
    case string(WireReader)
    case bytes(UnsafeRawBufferPointer)
    case reference(ReferenceNameParts, name: WireReader)
    case geoPoint(GeoPoint)
    case array(WireReader)
    /// A map that is a vector, with the array of its elements.
    case vector(WireReader, elements: WireReader)
    case map(WireReader)
  }

  package let payload: Payload

  /// Reads an encoded `google.firestore.v1.Value`.
  package init(_ bytes: UnsafeRawBufferPointer) throws(WireFormatError) {
    try self.init(WireReader(bytes))
  }

  /// Reads the contents of a `google.firestore.v1.Value`. If there are several members of its oneof, the last one counts.
  package init(_ message: WireReader) throws(WireFormatError) {
    var reader = message
    var payload: Payload?
    while let tag = try reader.readTag("Value") {
      if let member = try Self.readMember(tag, &reader) { payload = member }
    }
    guard let payload else { throw message.error("the value has no type that can be stored", "Value") }
    self.payload = payload
  }

  /// Reads one member of the oneof; nil for an unknown field, which is skipped.
  private static func readMember(_ tag: WireTag, _ reader: inout WireReader) throws(WireFormatError) -> Payload? {
    switch tag.field {
    case ValueField.null:
      try reader.require(.varint, tag, "Value.null_value")
      _ = try reader.readVarint("Value.null_value")
      return .null
    case ValueField.boolean:
      try reader.require(.varint, tag, "Value.boolean_value")
      return .boolean(try reader.readVarint("Value.boolean_value") != 0)
    case ValueField.integer:
      try reader.require(.varint, tag, "Value.integer_value")
      return .integer(Int64(bitPattern: try reader.readVarint("Value.integer_value")))
    case ValueField.double:
      try reader.require(.fixed64, tag, "Value.double_value")
      return .double(Double(bitPattern: try reader.readFixed64("Value.double_value")))
    case ValueField.timestamp:
      try reader.require(.lengthDelimited, tag, "Value.timestamp_value")
      let message = try reader.readMessage("Value.timestamp_value")
      return .timestamp(try WireReader.timestamp(in: message, "Value.timestamp_value"))
    case ValueField.string:
      try reader.require(.lengthDelimited, tag, "Value.string_value")
      return .string(try reader.readMessage("Value.string_value"))
    case ValueField.bytes:
      try reader.require(.lengthDelimited, tag, "Value.bytes_value")
      return .bytes(try reader.readBytes("Value.bytes_value"))
    case ValueField.reference:
      try reader.require(.lengthDelimited, tag, "Value.reference_value")
      return try reference(reader.readMessage("Value.reference_value"))
    case ValueField.geoPoint:
      try reader.require(.lengthDelimited, tag, "Value.geo_point_value")
      return .geoPoint(try geoPoint(reader.readMessage("Value.geo_point_value")))
    case ValueField.array:
      try reader.require(.lengthDelimited, tag, "Value.array_value")
      return .array(try reader.readMessage("Value.array_value"))
    case ValueField.map:
      try reader.require(.lengthDelimited, tag, "Value.map_value")
      return try map(reader.readMessage("Value.map_value"))
    default:
      try reader.skip(tag, "Value")
      return nil
    }
  }

  private static func reference(_ name: WireReader) throws(WireFormatError) -> Payload {
    guard let parts = ReferenceNameParts(name.remainingBytes) else {
      throw name.error(
        "\"\(String(decoding: name.remainingBytes.prefix(200), as: UTF8.self))\" is no document name "
          + "(projects/<project>/databases/<database>/documents/<path>)", "Value.reference_value")
    }
    return .reference(parts, name: name)
  }

  private static func geoPoint(_ message: WireReader) throws(WireFormatError) -> GeoPoint {
    var reader = message
    var point = GeoPoint(latitude: 0, longitude: 0)
    while let tag = try reader.readTag("LatLng") {
      switch tag.field {
      case ValueField.latitude:
        try reader.require(.fixed64, tag, "LatLng.latitude")
        point.latitude = Double(bitPattern: try reader.readFixed64("LatLng.latitude"))
      case ValueField.longitude:
        try reader.require(.fixed64, tag, "LatLng.longitude")
        point.longitude = Double(bitPattern: try reader.readFixed64("LatLng.longitude"))
      default:
        try reader.skip(tag, "LatLng")
      }
    }
    return point
  }

  /// Distinguishes the three kinds of values that are maps on the wire.
  private static func map(_ message: WireReader) throws(WireFormatError) -> Payload {
    let entries = EncodedEntries(message, field: ValueField.mapEntries)
    guard let type = try contents(of: MapValue.typeKey, in: entries, ifMember: ValueField.string) else {
      return .map(message)
    }
    if ByteOrder.areEqual(type.remainingBytes, MapValue.vectorType) {
      guard let elements = try contents(of: MapValue.vectorKey, in: entries, ifMember: ValueField.array) else {
        return .map(message)
      }
      return .vector(message, elements: elements)
    }
    if ByteOrder.areEqual(type.remainingBytes, MapValue.serverTimestampType) {
      guard let time = try contents(of: MapValue.localWriteTimeKey, in: entries, ifMember: ValueField.timestamp) else {
        return .map(message)
      }
      return .pendingServerTimestamp(
        localWriteTime: try WireReader.timestamp(in: time, "Value.timestamp_value"),
        previousValue: try entries.value(forKey: MapValue.previousValueKey))
    }
    return .map(message)
  }

  /// The contents of an entry's value if it is of one length-delimited type; nil if it is of another, or absent.
  ///
  /// Does not make an `EncodedValue` of it: that would read a map under the same key, and so on recursively.
  private static func contents(
    of key: String, in entries: EncodedEntries, ifMember member: Int
  ) throws(WireFormatError) -> WireReader? {
    guard var reader = try entries.value(forKey: key) else { return nil }
    var contents: WireReader?
    while let tag = try reader.readTag("Value") {
      if tag.field == member {
        try reader.require(.lengthDelimited, tag, "Value")
        contents = try reader.readMessage("Value")
      } else {
        if ValueField.isMember(tag.field) { contents = nil }
        try reader.skip(tag, "Value")
      }
    }
    return contents
  }

  var typeClass: TypeClass {
    switch payload {
    case .null: .null
    case .boolean: .boolean
    case .integer, .double: .number
    case .timestamp: .timestamp
    case .pendingServerTimestamp: .pendingServerTimestamp
    case .string: .string
    case .bytes: .bytes
    case .reference: .reference
    case .geoPoint: .geoPoint
    case .array: .array
    case .vector: .vector
    case .map: .map
    }
  }

  /// The class of the value in the total order; see `Value.typeOrder`.
  package var typeOrder: Int { typeClass.rawValue }

  package var isNull: Bool { typeClass == .null }

  /// True if the value is a double that is not a number.
  package var isNaN: Bool {
    if case .double(let number) = payload { number.isNaN } else { false }
  }

  /// Calls `body` with each element of an array until it returns false. Other values, vectors too, have no elements.
  package func forEachElement(_ body: (EncodedValue) throws -> Bool) throws {
    guard case .array(let message) = payload else { return }
    var elements = EncodedElements(message)
    while let element = try elements.next() {
      guard try body(element) else { return }
    }
  }
}

/// Iterates over the elements of an encoded `ArrayValue`.
struct EncodedElements {
  private var reader: WireReader

  init(_ message: WireReader) {
    reader = message
  }

  mutating func next() throws(WireFormatError) -> EncodedValue? {
    guard let message = try nextMessage() else { return nil }
    return try EncodedValue(message)
  }

  mutating func nextMessage() throws(WireFormatError) -> WireReader? {
    while let tag = try reader.readTag("ArrayValue") {
      if tag.field == ValueField.arrayElements {
        try reader.require(.lengthDelimited, tag, "ArrayValue.values")
        return try reader.readMessage("ArrayValue.values")
      }
      try reader.skip(tag, "ArrayValue")
    }
    return nil
  }

  /// The number of values from here on, without reading them.
  func count() throws(WireFormatError) -> Int {
    var reader = reader
    var count = 0
    while let tag = try reader.readTag("ArrayValue") {
      if tag.field == ValueField.arrayElements { count += 1 }
      try reader.skip(tag, "ArrayValue")
    }
    return count
  }
}
