import HearthModel
import Testing

@testable import HearthServer

@Suite("Limits of writes")
struct WriteLimitsTests {
  private static let database = DatabaseID(projectID: "p")

  private static func nested(_ depth: Int) -> Value {
    (0..<depth).reduce(1.value) { value, _ in .map(["n": value]) }
  }

  static let refused: [(String, MapValue)] = [
    ("is reserved", ["__x__": 1.value]),
    ("a.__y__", ["a": .map(["__y__": 1.value])]),
    (
      "__type__ is reserved",
      ["a": .pendingServerTimestamp(localWriteTime: Timestamp(microseconds: 1), previousValue: nil)]
    ),
    ("The property.name is the empty string.", ["a": .map(["": 1.value])]),
    ("1500", [String(repeating: "n", count: 1501): 1.value]),
    ("Cannot convert an array value in an array value.", ["a": .array([.array([])])]),
    ("nested deeper than 20 levels", ["a": nested(21)]),
    ("out of range", ["a": .geoPoint(GeoPoint(latitude: 91, longitude: 0))]),
    ("out of range", ["a": .geoPoint(GeoPoint(latitude: .nan, longitude: 0))]),
    ("at most 1048487", ["a": .string(String(repeating: "s", count: 1_048_488))]),
    ("must be doubles", ["a": .map(["__type__": .string("__vector__"), "value": .array([1.value])])]),
    ("at most 2048", ["a": .vector(Array(repeating: 0, count: 2049))]),
  ]

  @Test("values that Firestore does not store are refused with the field and the rule", arguments: refused)
  func refuses(rule: String, fields: MapValue) {
    let error = #expect(throws: StatusError.self) {
      try WriteLimits.checked(.set(key("a/b"), fields), database: Self.database)
    }
    #expect(error?.code == .invalidArgument)
    #expect(error?.message.contains("\"projects/p/databases/(default)/documents/a/b\"") == true)
    if rule != "is reserved" { #expect(error?.message.contains(rule) == true, "\(error?.message ?? "")") }
  }

  @Test("what is just within the limits is taken")
  func accepts() throws {
    let fields: MapValue = [
      "deep": Self.nested(20), "vector": .vector([1, 2]), "array": .array([.map(["a": .array([1.value])])]),
      "geo": .geoPoint(GeoPoint(latitude: -90, longitude: 180)), "__": 1.value,
    ]
    _ = try WriteLimits.checked(.set(key("a/__id7__"), fields), database: Self.database)
  }

  private static func arePlain(_ fields: MapValue) -> Bool {
    EncodedFields(fields).arePlain(
      maximumDepth: WriteLimits.maximumDepth, maximumValueBytes: WriteLimits.maximumValueBytes,
      maximumVectorDimensions: WriteLimits.maximumVectorDimensions)
  }

  @Test("usual fields are taken as they are, without building their values")
  func plain() {
    let usual: MapValue = [
      "deep": Self.nested(20), "array": .array([.map(["a": .array([1.value])]), .null]), "bytes": .bytes([0]),
      "text": .string(String(repeating: "s", count: 1_048_487)), "number": .double(.nan), "true": .boolean(true),
      "time": .timestamp(Timestamp(seconds: 1, nanoseconds: 5000)), String(repeating: "é", count: 750): 1.value,
      "geo": .geoPoint(GeoPoint(latitude: -90, longitude: 180)), "__": 1.value, "_a__": 2.value,
      "vector": .vector([1, 2]), "vectors": .array([.vector([])]),
      "reference": .reference(ReferenceValue(database: Self.database, key: key("a/b"))),
    ]
    #expect(Self.arePlain(usual))
    #expect(Self.arePlain([:]))
  }

  @Test("fields that are refused or changed, and some that need a closer look, are not taken as they are")
  func notPlain() {
    for (rule, fields) in Self.refused { #expect(!Self.arePlain(fields), "\(rule)") }
    #expect(!Self.arePlain(["time": .timestamp(Timestamp(seconds: 1, nanoseconds: 5001))]))
    #expect(!Self.arePlain(["a": .array([.map(["time": .timestamp(Timestamp(seconds: 1, nanoseconds: 1))])])]))
    #expect(!Self.arePlain(["bytes": .bytes(Array(repeating: 0, count: 1_048_488))]))
    #expect(!Self.arePlain([String(repeating: "é", count: 750) + "n": 1.value]))
    #expect(!Self.arePlain(["time": .timestamp(Timestamp(seconds: 253_402_300_800, nanoseconds: 0))]))
    #expect(!Self.arePlain(["reference": .reference(ReferenceValue(database: Self.database, key: key("a/__b__")))]))
  }

  @Test(
    "reserved and overlong names of documents are refused",
    arguments: ["a/__b__", "__a__/b", "a/.", "a/..", "a/" + String(repeating: "i", count: 1501)])
  func names(path: String) {
    #expect(throws: StatusError.self) {
      try WriteLimits.checked(.delete(key(path)), database: Self.database)
    }
  }

  @Test("masks and transforms may not name reserved fields or hold nested arrays")
  func masksAndTransforms() {
    #expect(throws: StatusError.self) {
      try WriteLimits.checked(
        .patch(key("a/b"), [:], mask: FieldMask([field("a.`__b__`")])), database: Self.database)
    }
    let transforms = [FieldTransform(path: field("a"), operation: .arrayUnion([.array([])]))]
    #expect(throws: StatusError.self) {
      try WriteLimits.checked(
        Mutation(key: key("a/b"), operation: .patch(.empty, mask: .empty), transforms: transforms),
        database: Self.database)
    }
  }

  @Test("a document may have 1 MiB by the published rules, and not a byte more")
  func documentSize() throws {
    // Name: 4 + 16; document: 32; field: 2 + 1 + string bytes + 1.
    let overhead = 4 + 16 + 32
    func document(_ bytes: Int) -> Document {
      let half = (bytes - overhead) / 2
      let rest = bytes - overhead - half
      let fields: MapValue = [
        "a": .string(String(repeating: "x", count: half - 3)), "b": .string(String(repeating: "x", count: rest - 3)),
      ]
      return .found(key("a/b"), version: .none, fields: EncodedFields(fields))
    }
    try DocumentLimits.check(document(1_048_576), name: "n")
    #expect(throws: StatusError.self) { try DocumentLimits.check(document(1_048_577), name: "n") }
    let zeros = MapValue(["a": .array(Array(repeating: .integer(0), count: 131_073))])
    #expect(throws: StatusError.self) {
      try DocumentLimits.check(.found(key("a/b"), version: .none, fields: EncodedFields(zeros)), name: "n")
    }
  }
}
