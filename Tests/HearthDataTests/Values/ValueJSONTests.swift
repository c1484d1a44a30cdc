import HearthModel
import TestSupport
import Testing

@testable import HearthData

@Suite("The JSON of values")
struct ValueJSONTests {
  private let database = DatabaseID(projectID: "demo", database: "(default)")

  private func written(_ value: Value) -> String {
    var writer = ValueJSONWriter(database: database)
    writer.write(value)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  private func read(_ text: String) throws -> Value {
    try ValueJSON(database: database).value(JSONTextReader.read(Array(text.utf8)[...]))
  }

  @Test("every value is read as it was written, to the byte")
  func roundTrip() async throws {
    for value in ValueZoo.all + ValueZoo.grown(count: 500, seed: 7) where value.isValid {
      await Task.yield()
      let text = written(value)
      #expect(try read(text).encoded() == value.encoded(), "\(text)")
    }
  }

  @Test("a document's line is read as it was written")
  func lines() throws {
    let key = try DocumentKey(parsing: "cities/San \"Francisco\"\n\u{85}/shops/ä")
    for (index, value) in ValueZoo.grown(count: 200, seed: 8).filter(\.isValid).enumerated() {
      let fields: MapValue = ["$value": value, "n": .integer(Int64(index))]
      let document = Document.found(
        key, version: SnapshotVersion(microseconds: 5), createTime: SnapshotVersion(microseconds: 4),
        fields: EncodedFields(fields))
      var writer = ValueJSONWriter(database: database)
      try DocumentLine.write(document, to: &writer)
      let line = writer.bytes[...]
      #expect(!line.contains(0x0A) && !line.contains { $0 < 0x20 || $0 == 0x7F })
      let parsed = try DocumentLine(parsing: line, database: database)
      #expect(parsed.key == key)
      #expect(EncodedFields(parsed.fields).bytes == EncodedFields(fields).bytes)
      #expect(DocumentLine.path(in: line) == key.canonicalString)
    }
  }

  @Test(
    "values have the forms of the documentation",
    arguments: [
      (Value.integer(3), "3"), (.double(3), "3.0"), (.double(-0.0), "-0.0"), (.double(.nan), #"{"$double":"NaN"}"#),
      (.double(Double(bitPattern: 0x7FF0_0000_0000_0001)), #"{"$double":"NaN(7ff0000000000001)"}"#),
      (.double(-.infinity), #"{"$double":"-Infinity"}"#), (.double(1e100), "1e+100"),
      (.timestamp(Timestamp(seconds: 0, nanoseconds: 500_000_000)), #"{"$timestamp":"1970-01-01T00:00:00.5Z"}"#),
      (.bytes([0, 1, 255]), #"{"$bytes":"AAH/"}"#),
      (.geoPoint(GeoPoint(latitude: 1.5, longitude: -2)), #"{"$geopoint":[1.5,-2.0]}"#),
      (.vector([1, .infinity]), #"{"$vector":[1.0,"Infinity"]}"#),
      (.map(["$x": 1]), #"{"$map":{"$x":1}}"#), (.map(["a": ["$map": [:]]]), #"{"a":{"$map":{"$map":{}}}}"#),
      (.string("\u{1B}[31m\u{9B}\""), #""\u001b[31m\u009b\"""#),
    ])
  func forms(value: Value, text: String) throws {
    #expect(written(value) == text)
    #expect(try read(text) == value)
  }

  @Test("a value within other JSON has the same form")
  func withinJSON() {
    let value: Value = ["t": .timestamp(Timestamp(seconds: 1, nanoseconds: 0)), "d": 3.0, "i": 3]
    #expect(
      value.dataJSON(in: database).compact == #"{"d":3.0,"i":3,"t":{"$timestamp":"1970-01-01T00:00:01Z"}}"#)
  }

  @Test("references of the database are paths, others are full names")
  func references() throws {
    let key = try DocumentKey(parsing: "projects/p/databases/d/documents/x")
    let own = Value.reference(ReferenceValue(database: database, key: key))
    let other = Value.reference(
      ReferenceValue(database: DatabaseID(projectID: "other"), key: try DocumentKey(parsing: "a/b")))
    #expect(written(own) == #"{"$reference":"projects/p/databases/d/documents/x"}"#)
    #expect(written(other) == #"{"$reference":"projects/other/databases/(default)/documents/a/b"}"#)
    for value in [own, other] { #expect(try read(written(value)) == value) }
  }

  @Test(
    "other spellings are read, too",
    arguments: [
      (#"{"$double": 3}"#, Value.double(3)), (#"{"$integer": "9223372036854775807"}"#, .integer(.max)),
      (#"{"$vector": [1, 2.5]}"#, .vector([1, 2.5])), ("1E2", .double(100)),
      (
        #"{"$timestamp": "1970-01-01T01:00:00.000000001+01:00"}"#,
        .timestamp(Timestamp(seconds: 0, nanoseconds: 1))
      ),
      (#"{"$geopoint": [1, "-0"]}"#, .null),
    ])
  func spellings(text: String, value: Value) throws {
    guard value != .null else {
      #expect(throws: ValueJSON.Failure.self) { try read(text) }
      return
    }
    #expect(try read(text) == value)
  }

  @Test(
    "what is not of the form is refused with its place",
    arguments: [
      (#"{"a": [1, {"$bytes": "?"}]}"#, "a[1].$bytes"), (#"{"$what": 1}"#, "no such type"),
      (#"{"$bytes": "", "b": 1}"#, "stand alone"), ("99999999999999999999", "64 bits"), ("1e999", "too large"),
      (#"{"$geopoint": [91, 0]}"#, "degrees"), (#"{"$geopoint": [1]}"#, "degrees"),
      (#"{"$timestamp": "yesterday"}"#, "not a time"), (#"{"$timestamp": "0000-01-01T00:00:00Z"}"#, "not a time"),
      (#"{"$timestamp": 5}"#, "a text"), (#"{"$reference": "cities"}"#, "neither"), (#"{"a": 1, "a": 2}"#, "twice"),
      (#"{"$double": "many"}"#, "NaN"), (#"{"$double": "NaN(1)"}"#, "NaN"), (#"{"$vector": [1, true]}"#, "[1]"),
      (#"{"$map": [1]}"#, "object"),
    ])
  func refused(text: String, reason: String) throws {
    let error = #expect(throws: ValueJSON.Failure.self) { try read(text) }
    #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
  }

  @Test(
    "a line that is no document is refused",
    arguments: [
      ("", "ends"), ("{", "quotation marks is expected, but the line ends there"), ("[]", "object"),
      (#"{"path": "a/b"}"#, "fields"),
      (#"{"path": "a", "fields": {}}"#, "even number"), (#"{"path": 1, "fields": {}}"#, "path"),
      (#"{"path": "a/b", "fields": {}, "feilds": {}}"#, "feilds"), (#"{"path": "a/b", "fields": []}"#, "object"),
      (#"{"path": "a//b", "fields": {}}"#, "path of a document"), (#"{"path": "a/b", "fields": {}} x"#, "more after"),
    ])
  func refusedLines(line: String, reason: String) {
    let error = #expect(throws: DocumentLine.Failure.self) {
      try DocumentLine(parsing: Array(line.utf8)[...], database: database)
    }
    #expect(error?.message.contains(reason) == true, "\(String(describing: error))")
  }

  @Test("any bytes are either read or refused")
  func anyBytes() throws {
    var generator = SeededGenerator(seed: SeededGenerator.askedSeed ?? 11)
    let line = Array(#"{"path":"cities/SF","fields":{"a":{"$bytes":"AAE="},"b":[1,2.5,{"$map":{"$x":null}}]}}"#.utf8)
    for _ in 0..<3000 {
      var bytes = line
      for _ in 0..<(1 + generator.below(3)) { bytes[generator.below(bytes.count)] = UInt8(generator.below(256)) }
      let cut = bytes.prefix(generator.chance(30) ? generator.below(bytes.count) : bytes.count)
      _ = DocumentLine.path(in: cut)
      _ = try? DocumentLine(parsing: cut, database: database)
    }
  }
}
