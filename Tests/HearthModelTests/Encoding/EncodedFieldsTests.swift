import TestSupport
import Testing

@testable import HearthModel

@Suite("Fields in wire encoding")
struct EncodedFieldsTests {
  let map: MapValue = [
    "a": 1, "b": ["c": ["d": "deep"], "e": [1, 2]], "long name of a field": true, "caf\u{E9}": 1.5,
    "v": .vector([1, 2]),
  ]

  @Test("fields go both ways, and validated bytes are kept as they came")
  func roundTrip() throws {
    let fields = EncodedFields(map)
    #expect(try fields.decoded() == map)
    #expect(try EncodedFields(validating: fields.bytes).bytes == fields.bytes)
    #expect(try EncodedFields.empty.decoded().isEmpty)
  }

  @Test("every path finds in place what it finds in the decoded map")
  func paths() throws {
    let fields = EncodedFields(map)
    for names in [
      ["a"], ["b"], ["b", "c"], ["b", "c", "d"], ["b", "c", "x"], ["b", "e"], ["b", "e", "x"], ["a", "x"], ["x"],
      ["cafe\u{301}"], ["caf\u{E9}"], ["long name of a field"], ["long name"], ["v", "value"], ["v"],
    ] {
      let path = try FieldPath(names)
      #expect(try fields.value(at: path) == map[path], "\(path)")
    }
  }

  @Test(
    "names and values around every border of an encoded length are found",
    arguments: [0, 1, 90, 110, 116, 124, 127, 128, 200, 16_370, 16_384, 40_000])
  func lengths(_ count: Int) throws {
    let name = String(repeating: "n", count: max(1, min(count, 1500)))
    let map: MapValue = ["a": 1, name: .string(String(repeating: "x", count: count)), "z": [name: 5]]
    let fields = EncodedFields(map)
    #expect(try EncodedFields(validating: fields.bytes).decoded() == map)
    for names in [["a"], [name], ["z", name], ["z"], [name + "n"]] {
      let path = try FieldPath(names)
      #expect(try fields.value(at: path) == map[path])
    }
  }

  @Test("entries in unusual but legal form are found as well")
  func unusualEntries() throws {
    // Value before key; lengths with needless bytes; an unknown field; a key that is replaced; no key at all.
    let bytes: [UInt8] = [
      0x12, 7, 0x12, 2, 0x10, 1, 0x0A, 1, 0x61,
      0x12, 0x89, 0x00, 0x0A, 0x81, 0x00, 0x62, 0x12, 0x82, 0x00, 0x10, 2,
      0x12, 9, 0x0A, 1, 0x63, 0x12, 2, 0x10, 3, 0x18, 1,
      0x12, 10, 0x0A, 1, 0x61, 0x12, 2, 0x10, 4, 0x0A, 1, 0x64,
      0x12, 4, 0x12, 2, 0x10, 5,
    ]
    let fields = try EncodedFields(validating: bytes)
    let expected: MapValue = ["a": 1, "b": 2, "c": 3, "d": 4, "": 5]
    #expect(try fields.decoded() == expected)
    for name in ["a", "b", "c", "d"] {
      let path = try FieldPath([name])
      #expect(try fields.value(at: path) == expected[path])
    }
  }

  @Test("nothing lies below a pending server timestamp")
  func belowPendingTimestamp() throws {
    let pending = Value.pendingServerTimestamp(localWriteTime: Timestamp(seconds: 1, nanoseconds: 0), previousValue: 1)
    let fields = EncodedFields(["t": pending])
    #expect(try fields.value(at: FieldPath(["t", "__previous_value__"])) == nil)
    #expect(try fields.value(at: FieldPath(["t"])) == pending)
  }

  @Test("the last of several entries of one field counts")
  func duplicates() throws {
    let fields = EncodedFields(
      uncheckedBytes: EncodedFields(["a": 1]).bytes + EncodedFields(["b": 5]).bytes + EncodedFields(["a": 2]).bytes)
    #expect(try fields.decoded() == ["a": 2, "b": 5])
    #expect(try fields.value(at: FieldPath(["a"])) == 2)
  }

  @Test("equality and hash are by values, not by the order of the entries")
  func equality() {
    let a = EncodedFields(["a": 1, "b": 2])
    let b = EncodedFields(uncheckedBytes: EncodedFields(["b": 2]).bytes + EncodedFields(["a": 1]).bytes)
    #expect(a.bytes != b.bytes)
    #expect(a == b)
    #expect(a.hashValue == b.hashValue)
    #expect(a != EncodedFields(["a": 1.0, "b": 2]))
    #expect(EncodedFields(uncheckedBytes: [1]) != a)
    #expect(EncodedFields(uncheckedBytes: [1]) == EncodedFields(uncheckedBytes: [1]))
  }

  @Test(
    "entries in any order, some of them twice, are equal if they decode to equal maps",
    arguments: SeededGenerator.seeds(20))
  func equalityInAnyOrder(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var equalCount = 0
    for _ in 0..<200 {
      // More than are looked up one by one, too.
      let names = (0..<Int.random(in: 1...20, using: &generator)).map { "field\($0)" }
      let values: [Value] = [0, 1, 1.0, "x", .null, [1, 2], ["a": 1]]
      func entries(_ map: MapValue, using generator: inout SeededGenerator) throws -> EncodedFields {
        var parts: [[UInt8]] = []
        for name in names.shuffled(using: &generator) {
          guard let value = map[try FieldPath([name])] else { continue }
          if Int.random(in: 0..<6, using: &generator) == 0, let former = values.randomElement(using: &generator) {
            parts.insert(EncodedFields([name: former]).bytes, at: 0)
          }
          parts.append(EncodedFields([name: value]).bytes)
        }
        return EncodedFields(uncheckedBytes: parts.flatMap { $0 })
      }
      var map: MapValue = [:]
      for name in names { map[name] = values.randomElement(using: &generator) }
      var other = map
      if Bool.random(using: &generator), let name = names.randomElement(using: &generator) {
        other[name] = Bool.random(using: &generator) ? nil : values.randomElement(using: &generator)
      }
      let (left, right) = (try entries(map, using: &generator), try entries(other, using: &generator))
      #expect(try left.decoded() == map && right.decoded() == other)
      #expect((left == right) == (map == other), "\(map) and \(other)")
      #expect((right == left) == (map == other), "\(map) and \(other)")
      equalCount += map == other ? 1 : 0
    }
    #expect((50...180).contains(equalCount))
  }
}

@Suite("Documents in wire encoding")
struct EncodedDocumentTests {
  let fields = EncodedFields(["a": 1, "b": ["c": "x"]])
  let created = Timestamp(seconds: 10, nanoseconds: 1000)
  let updated = Timestamp(seconds: 11, nanoseconds: 0)

  @Test("a document is cut into its parts, the fields as they came")
  func parts() throws {
    let bytes = EncodedDocument.encode(name: "n", fields: fields, createTime: created, updateTime: updated)
    let document = try EncodedDocument(parsing: bytes)
    #expect(document.name == "n")
    #expect(document.fields.bytes == fields.bytes)
    #expect(document.createTime == created)
    #expect(document.updateTime == updated)
    #expect(document.encoded() == bytes)
  }

  @Test("parts that are absent stay absent")
  func absent() throws {
    let document = try EncodedDocument(parsing: [])
    #expect(document == EncodedDocument(name: "", fields: .empty))
    #expect(document.createTime == nil && document.updateTime == nil)
  }

  @Test("fields that are interrupted by other parts and unknown ones are gathered")
  func interrupted() throws {
    let bytes =
      EncodedFields(["a": 1]).bytes + [0x0A, 1, 0x6E, 0xA8, 0x06, 1] + EncodedFields(["b": ["c": "x"]]).bytes
    let document = try EncodedDocument(parsing: bytes)
    #expect(document.name == "n")
    #expect(document.fields.bytes == fields.bytes)
  }

  @Test("malformed parts are errors that name them")
  func malformed() {
    let cases: [([UInt8], String)] = [
      ([0x0A, 5, 1], "Document.name"), ([0x0A, 1, 0xFF], "Document.name"), ([0x08, 1], "Document.name"),
      ([0x1A, 2, 0x10, 0x80], "Document.create_time"), ([0x20, 1], "Document.update_time"), ([0x10, 1], "map entry"),
      ([0x12, 3, 0x0A, 1, 0x61], "Value"), ([0x12, 9, 0], "Document.fields"),
    ]
    for (bytes, field) in cases {
      let error = #expect(throws: WireFormatError.self) { try EncodedDocument(parsing: bytes) }
      #expect(error?.field == field, "\(bytes)")
    }
  }
}
