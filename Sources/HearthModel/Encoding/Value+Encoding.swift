/// Field numbers of `google.firestore.v1.Value` and the messages in it.
enum ValueField {
  static let boolean = 1
  static let integer = 2
  static let double = 3
  static let reference = 5
  static let map = 6
  static let geoPoint = 8
  static let array = 9
  static let timestamp = 10
  static let null = 11
  static let string = 17
  static let bytes = 18

  /// Returns whether a field is one of the types of a value. If a message has several, the last one counts.
  static func isMember(_ field: Int) -> Bool {
    switch field {
    case boolean, integer, double, reference, map, geoPoint, array, timestamp, null, string, bytes: true
    default: false
    }
  }

  static let latitude = 1
  static let longitude = 2
  static let arrayElements = 1
  static let mapEntries = 1
  static let documentFields = 2
  static let entryKey = 1
  static let entryValue = 2
}

extension Value {
  /// The encoding as `google.firestore.v1.Value`: the same bytes for equal values, maps in the order of their keys.
  package func encoded() -> [UInt8] {
    var writer = WireWriter()
    write(to: &writer)
    return writer.bytes
  }

  /// Decodes a `google.firestore.v1.Value`.
  package init(encoded bytes: [UInt8]) throws(WireFormatError) {
    self = try bytes.withReader { reader throws(WireFormatError) in try EncodedValue(reader).decoded() }
  }

  /// The encoding of values as `google.firestore.v1.ArrayValue`.
  package static func encodedArray(_ values: [Value]) -> [UInt8] {
    var writer = WireWriter()
    writeElements(values, to: &writer)
    return writer.bytes
  }

  private static func writeElements(_ values: [Value], to writer: inout WireWriter) {
    for value in values {
      writer.writeMessage(field: ValueField.arrayElements) { value.write(to: &$0) }
    }
  }

  /// Decodes the values of a `google.firestore.v1.ArrayValue`.
  package static func decodedArray(_ bytes: [UInt8]) throws(WireFormatError) -> [Value] {
    try bytes.withReader { reader throws(WireFormatError) in
      var elements = EncodedElements(reader)
      var values: [Value] = []
      while let element = try elements.next() { values.append(try element.decoded()) }
      return values
    }
  }

  func write(to writer: inout WireWriter) {
    // Members of a oneof are written even where they have the default value: their presence is the type.
    switch self {
    case .null: writer.writeVarint(0, field: ValueField.null)
    case .boolean(let value): writer.writeVarint(value ? 1 : 0, field: ValueField.boolean)
    case .integer(let number): writer.writeVarint(number, field: ValueField.integer)
    case .double(let number): writer.writeDouble(number, field: ValueField.double)
    case .timestamp(let timestamp): writer.writeTimestamp(timestamp, field: ValueField.timestamp)
    case .pendingServerTimestamp(let localWriteTime, let previousValue):
      var map: MapValue = [
        MapValue.typeKey: .string(MapValue.serverTimestampType), MapValue.localWriteTimeKey: .timestamp(localWriteTime),
      ]
      map[MapValue.previousValueKey] = previousValue
      map.write(to: &writer)
    case .string(let string): writer.writeString(string, field: ValueField.string)
    case .bytes(let bytes): writer.writeBytes(bytes, field: ValueField.bytes)
    case .reference(let reference): writer.writeString(reference.name, field: ValueField.reference)
    case .geoPoint(let point):
      writer.writeMessage(field: ValueField.geoPoint) { writer in
        writer.writeDouble(point.latitude, field: ValueField.latitude)
        writer.writeDouble(point.longitude, field: ValueField.longitude)
      }
    case .array(let elements):
      writer.writeMessage(field: ValueField.array) { Value.writeElements(elements, to: &$0) }
    case .map(let map): map.write(to: &writer)
    }
  }
}

extension MapValue {
  fileprivate func write(to writer: inout WireWriter) {
    writer.writeMessage(field: ValueField.map) { writeEntries(field: ValueField.mapEntries, to: &$0) }
  }

  func writeEntries(field: Int, to writer: inout WireWriter) {
    for entry in entries {
      writer.writeMessage(field: field) { writer in
        writer.writeString(entry.key, field: ValueField.entryKey)
        writer.writeMessage(field: ValueField.entryValue) { entry.value.write(to: &$0) }
      }
    }
  }
}

extension [UInt8] {
  /// Runs `body` with a reader of these bytes, which must not leave it.
  func withReader<R>(_ body: (WireReader) throws(WireFormatError) -> R) throws(WireFormatError) -> R {
    try withUnsafeBufferPointer { buffer throws(WireFormatError) in
      try body(WireReader(UnsafeRawBufferPointer(buffer)))
    }
  }
}
