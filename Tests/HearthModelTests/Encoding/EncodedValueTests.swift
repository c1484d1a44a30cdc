import TestSupport
import Testing

@testable import HearthModel

@Suite("Values in wire encoding")
struct EncodedValueTests {
  @Test("encoding and decoding gives the same value")
  func roundTrip() throws {
    for value in ValueZoo.all + ValueZoo.grown(count: 500, seed: 3) {
      let bytes = value.encoded()
      #expect(try Value(encoded: bytes) == value)
      #expect(try Value(encoded: bytes).encoded() == bytes)
    }
  }

  static let known: [(Value, [UInt8])] = [
    (Value.null, [0x58, 0]), (false, [0x08, 0]), (true, [0x08, 1]), (0, [0x10, 0]), (300, [0x10, 0xAC, 0x02]),
    (-1, [0x10, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]),
    (1.0, [0x19, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F]), ("", [0x8A, 0x01, 0]), ("hi", [0x8A, 0x01, 2, 0x68, 0x69]),
    (.bytes([1]), [0x92, 0x01, 1, 1]), (.timestamp(Timestamp(seconds: 0, nanoseconds: 0)), [0x52, 0]),
    (.timestamp(Timestamp(seconds: 1, nanoseconds: 2)), [0x52, 4, 0x08, 1, 0x10, 2]),
    (
      .geoPoint(GeoPoint(latitude: 1, longitude: 0)),
      [0x42, 18, 0x09, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F, 0x11, 0, 0, 0, 0, 0, 0, 0, 0]
    ),
    ([], [0x4A, 0]), ([true], [0x4A, 4, 0x0A, 2, 0x08, 1]), ([:], [0x32, 0]),
    (["a": true], [0x32, 9, 0x0A, 7, 0x0A, 1, 0x61, 0x12, 2, 0x08, 1]),
  ]

  @Test("the encoding is that of google.firestore.v1.Value", arguments: known)
  func knownBytes(_ value: Value, _ bytes: [UInt8]) throws {
    #expect(value.encoded() == bytes)
  }

  @Test("long contents get lengths of several bytes", arguments: [100, 127, 128, 16_383, 16_384, 2_200_000])
  func longContents(_ count: Int) throws {
    let value: Value = [
      "outer": [.string(String(repeating: "x", count: count)), .bytes(Array(repeating: 7, count: count))]
    ]
    #expect(try Value(encoded: value.encoded()) == value)
  }

  @Test("comparing in place gives what comparing values gives, for every pair")
  func compareInPlace() throws {
    let values = ValueZoo.all + ValueZoo.grown(count: 60, seed: 5)
    let encodings = values.map { $0.encoded() }
    for (a, encodedA) in zip(values, encodings) {
      for (b, encodedB) in zip(values, encodings) {
        let expected = Value.compare(a, b)
        let orders = try withEncoded(encodedA) { x in
          (try x.compare(to: b), try withEncoded(encodedB) { y in try x.compare(to: y) }, x.typeOrder)
        }
        if orders != (expected, expected, a.typeOrder) { Issue.record("\(a) against \(b): \(orders)") }
      }
    }
  }

  @Test("map entries out of order and twice are compared as what they decode to")
  func unsortedMaps() throws {
    var writer = WireWriter()
    writer.writeMessage(field: ValueField.map) { writer in
      for (key, value) in [("b", Value.integer(9)), ("a", 1), ("b", 2)] {
        writer.writeMessage(field: ValueField.mapEntries) { writer in
          writer.writeString(key, field: ValueField.entryKey)
          writer.writeBytes(value.encoded(), field: ValueField.entryValue)
        }
      }
    }
    let bytes = writer.bytes
    let value: Value = ["a": 1, "b": 2]
    #expect(try Value(encoded: bytes) == value)
    #expect(try withEncoded(bytes) { try $0.compare(to: value) } == .same)
    #expect(try withEncoded(bytes) { x in try withEncoded(value.encoded()) { try x.compare(to: $0) } } == .same)
    #expect(try withEncoded(bytes) { try $0.compare(to: ["a": 1, "b": 3]) } == .ascending)
  }

  @Test("of several members of the oneof the last one counts, unknown fields are passed over")
  func oneof() throws {
    var bytes = Value.string("first").encoded() + Value.integer(7).encoded()
    bytes += [0xA2, 0x06, 2, 1, 2, 0xA8, 0x06, 5, 0xA5, 0x06, 1, 2, 3, 4, 0xA1, 0x06, 1, 2, 3, 4, 5, 6, 7, 8]
    #expect(try Value(encoded: bytes) == 7)
  }

  @Test("a pending server timestamp is a marked map on the wire; a marked map without its time is just a map")
  func pendingServerTimestamp() throws {
    let time = Timestamp(seconds: 9, nanoseconds: 8)
    let pending = Value.pendingServerTimestamp(localWriteTime: time, previousValue: "old")
    let map: Value = [
      "__type__": "server_timestamp", "__local_write_time__": .timestamp(time), "__previous_value__": "old",
    ]
    #expect(pending.encoded() == map.encoded())
    #expect(try Value(encoded: map.encoded()) == pending)
    let incomplete: Value = ["__type__": "server_timestamp", "__local_write_time__": 5]
    #expect(try Value(encoded: incomplete.encoded()) == incomplete)
  }

  @Test("elements are read in place until the caller has enough")
  func elements() throws {
    var seen: [Value] = []
    try withEncoded(Value.array([1, "b", true]).encoded()) { array in
      try array.forEachElement { element in
        seen.append(try element.decoded())
        return seen.count < 2
      }
    }
    #expect(seen == [1, "b"])
    try withEncoded(Value.vector([1]).encoded()) { try $0.forEachElement { _ in fatalError("a vector is no array") } }
  }

  private func withEncoded<R>(_ bytes: [UInt8], _ body: (EncodedValue) throws -> R) throws -> R {
    try bytes.withUnsafeBytes { try body(EncodedValue($0)) }
  }
}

@Suite("Malformed values")
struct MalformedValueTests {
  static let cases: [([UInt8], String)] = [
    ([], "Value"), ([0x10], "Value.integer_value"), ([0x10, 0xFF], "Value.integer_value"),
    ([0x10] + Array(repeating: 0xFF, count: 10), "Value.integer_value"),
    ([0x10] + Array(repeating: 0x80, count: 10) + [0], "Value.integer_value"),
    ([0x10] + Array(repeating: 0xFF, count: 9) + [0x02], "Value.integer_value"),
    ([0x19, 1, 2], "Value.double_value"), ([0x11, 0, 0, 0, 0, 0, 0, 0, 0], "Value.integer_value"),
    ([0x8A, 0x01, 5, 0x61], "Value.string_value"),
    ([0x8A, 0x01] + Array(repeating: 0xFF, count: 9) + [1], "Value.string_value"),
    ([0x8A, 0x01, 2, 0xC3, 0x28], "Value.string_value"), ([0x8A, 0x01, 3, 0xED, 0xA0, 0x80], "Value.string_value"),
    ([0x0B, 0x0C], "Value"), ([0x0E], "Value"), ([0x0F], "Value"), ([0x00, 0x00], "Value"),
    ([0x52, 2, 0x10, 0xFF], "Value.timestamp_value"),
    ([0x52, 6, 0x10, 0x80, 0x94, 0xEB, 0xDC, 0x03], "Value.timestamp_value"),
    ([0x2A, 3, 0x61, 0x2F, 0x62], "Value.reference_value"), ([0x42, 2, 0x08, 1], "LatLng.latitude"),
    ([0x4A, 2, 0x0A, 0], "Value"), ([0x4A, 2, 0x08, 1], "ArrayValue.values"), ([0x32, 2, 0x08, 1], "map entry"),
    ([0x32, 5, 0x0A, 3, 0x0A, 1, 0x61], "Value"), ([0xA2, 0x01, 0], "Value"), ([0x25, 0, 0], "Value"),
  ]

  @Test("malformed bytes give an error that names the field", arguments: cases)
  func malformed(_ bytes: [UInt8], _ field: String) {
    let error = #expect(throws: WireFormatError.self) { try Value(encoded: bytes) }
    #expect(error?.field == field)
    #expect((error?.offset ?? -1) >= 0 && (error?.offset ?? 0) <= bytes.count)
    let entry: [UInt8] = [0x0A, 1, 0x61, 0x12, UInt8(bytes.count)] + bytes
    #expect(throws: WireFormatError.self) {
      try EncodedFields(validating: [0x12, UInt8(entry.count)] + entry)
    }
  }

  @Test("100 levels of nesting are read, 101 are refused, 200,000 do not exhaust the stack")
  func depth() throws {
    func nested(_ levels: Int) -> [UInt8] {
      var reversed: [UInt8] = Array(Value.null.encoded().reversed())
      for _ in 0..<levels {
        for tag: UInt8 in [0x0A, 0x4A] {
          var length = WireWriter()
          length.writeVarint(UInt64(reversed.count))
          reversed += length.bytes.reversed() + [tag]
        }
      }
      return reversed.reversed()
    }
    #expect(throws: Never.self) { try Value(encoded: nested(100)) }
    for levels in [101, 200_000] {
      let bytes = nested(levels)
      #expect(throws: WireFormatError.self) { try Value(encoded: bytes) }
      #expect(throws: WireFormatError.self) {
        try bytes.withUnsafeBytes { raw in
          let value = try EncodedValue(raw)
          return try value.compare(to: value)
        }
      }
    }
  }

  @Test("a map whose type is a map whose type is a map … does not exhaust the stack")
  func nestedTypes() {
    var reversed: [UInt8] = Array(Value.null.encoded().reversed())
    func wrap(_ tag: UInt8) {
      var length = WireWriter()
      length.writeVarint(UInt64(reversed.count))
      reversed += length.bytes.reversed() + [tag]
    }
    for _ in 0..<100_000 {
      wrap(0x12)
      reversed += Array([0x0A, 8] + Array("__type__".utf8)).reversed()
      wrap(0x0A)
      wrap(0x32)
    }
    let bytes = Array(reversed.reversed())
    #expect(throws: WireFormatError.self) { try Value(encoded: bytes) }
    #expect(throws: WireFormatError.self) {
      try bytes.withUnsafeBytes { raw in
        let value = try EncodedValue(raw)
        return try value.compare(to: value)
      }
    }
  }

  @Test("the UTF-8 check agrees with the standard library's")
  func utf8() {
    var generator = SeededGenerator(seed: 21)
    let interesting: [UInt8] = [
      0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF,
      0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
    ]
    for _ in 0..<60_000 {
      let count = Int.random(in: 0...6, using: &generator)
      var bytes = (0..<count).map { _ in interesting.randomElement(using: &generator) ?? 0 }
      // The check takes 32 or 8 bytes at a time where all are ASCII.
      let (before, after) = (Int.random(in: 0...40, using: &generator), Int.random(in: 0...40, using: &generator))
      if Bool.random(using: &generator) { bytes = Array(repeating: 0x61, count: before) + bytes }
      if Bool.random(using: &generator) { bytes += Array(repeating: 0x61, count: after) }
      if bytes.withUnsafeBytes({ isValidUTF8($0) }) != (String(validating: bytes, as: UTF8.self) != nil) {
        Issue.record("\(bytes)")
      }
    }
  }

  @Test(
    "mutated encodings give an error or a value, and all ways of reading agree", arguments: [1, 2, 3, 4] as [UInt64])
  func fuzz(_ seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let seeds = (ValueZoo.all + ValueZoo.grown(count: 200, seed: seed)).map {
      EncodedFields(["f": $0, "g": ["h": $0]])
    }
    var survivors = 0
    for _ in 0..<6_000 {
      var bytes = seeds.randomElement(using: &generator)?.bytes ?? []
      for _ in 0..<Int.random(in: 1...3, using: &generator) { mutate(&bytes, &generator) }
      let fields = EncodedFields(uncheckedBytes: bytes)
      let decoded = try? fields.decoded()
      let validated = try? EncodedFields(validating: bytes)
      #expect((decoded == nil) == (validated == nil), "seed \(seed): \(bytes)")
      compareWithItself(fields, decoded, seed)
      if let decoded {
        survivors += 1
        #expect((try? EncodedFields(decoded).decoded()) == decoded)
      }
      _ = try? EncodedDocument(parsing: bytes)
    }
    #expect(survivors > 100)
  }

  private func compareWithItself(_ fields: EncodedFields, _ decoded: MapValue?, _ seed: UInt64) {
    for path in [["f"], ["g", "h"], ["g"]].compactMap({ try? FieldPath($0) }) {
      let inPlace = try? fields.withView { view throws(WireFormatError) in
        try view.value(at: path).map { value throws(WireFormatError) in
          if let other = decoded?[path] {
            #expect(try value.compare(to: other) == .same, "seed \(seed): \(fields.bytes)")
          }
          #expect(try value.compare(to: value) == .same)
          return try value.decoded()
        }
      }
      if let decoded { #expect(inPlace == decoded[path], "seed \(seed): \(fields.bytes)") }
    }
  }

  private func mutate(_ bytes: inout [UInt8], _ generator: inout SeededGenerator) {
    guard let position = bytes.indices.randomElement(using: &generator) else { return }
    switch Int.random(in: 0..<5, using: &generator) {
    case 0: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
    case 1: bytes[position] = UInt8.random(in: 0...255, using: &generator)
    case 2: bytes.remove(at: position)
    case 3: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: position)
    default: bytes.removeSubrange(position...)
    }
  }
}
