import Foundation
import HearthModel
import Testing

@testable import Hearth

@Suite("Reading user data")
struct UserDataReaderTests {
  let database = DatabaseID(projectID: "demo-hearth")
  let firestore: Firestore
  let key: DocumentKey

  init() throws {
    firestore = try TestFirestore().firestore
    key = try DocumentKey(parsing: "cities/SF")
  }

  func set(_ data: [String: Any]) throws -> MapValue {
    let mutation = try UserDataReader.set(data, key: key, databaseID: database)
    guard case .set(let fields) = mutation.operation else { throw ProgrammingError("not a set") }
    return try fields.decoded()
  }

  func patch(_ mutation: Mutation) throws -> (fields: MapValue, mask: [String]) {
    guard case .patch(let fields, let mask) = mutation.operation else { throw ProgrammingError("not a patch") }
    return (try fields.decoded(), mask.paths.map(\.canonicalString))
  }

  @Test("every number type, Booleans and Foundation objects become the right kind of value")
  func scalars() throws {
    let table: [(Any, Value)] = [
      (1, .integer(1)), (Int8(-2), .integer(-2)), (UInt8(3), .integer(3)), (Int16(4), .integer(4)),
      (UInt32(5), .integer(5)), (Int64.max, .integer(.max)), (UInt64(7), .integer(7)), (UInt(8), .integer(8)),
      (1.5, .double(1.5)), (Float(0.5), .double(0.5)), (Double.nan, .double(.nan)), (-0.0, .double(-0.0)),
      (true, .boolean(true)), (false, .boolean(false)),
      (NSNumber(value: 1), .integer(1)), (NSNumber(value: 0), .integer(0)), (NSNumber(value: true), .boolean(true)),
      (NSNumber(value: false), .boolean(false)), (NSNumber(value: 1.0), .double(1)),
      (NSNumber(value: Float(0.25)), .double(0.25)), (NSNumber(value: Int8(1)), .integer(1)),
      (NSNumber(value: Int8(100)), .integer(100)), (NSNumber(value: Int8.min), .integer(-128)),
      (NSNumber(value: UInt64(9)), .integer(9)), (NSNumber(value: Int64.min), .integer(.min)),
      ("text", .string("text")), (NSString("text"), .string("text")), ("xtext".dropFirst(), .string("text")),
      ("", .string("")), (Data(), .bytes([])), (Data([1, 255]), .bytes([1, 255])),
      (NSData(data: Data([7])), .bytes([7])),
      (NSNull(), .null), (Int?.none as Any, .null), (Int?.some(3) as Any, .integer(3)),
      (Int??.some(.some(4)) as Any, .integer(4)), (String??.some(.none) as Any, .null),
      (Hearth.GeoPoint(latitude: 1, longitude: -2), .geoPoint(HearthModel.GeoPoint(latitude: 1, longitude: -2))),
      (FieldValue.vector([1.0, 2.0]), .vector([1, 2])), (FieldValue.vector([Float(3)]), .vector([3])),
    ]
    for (input, expected) in table {
      let value = try set(["x": input])["x"]
      #expect(value == expected, "\(input) of type \(type(of: input))")
    }
  }

  @Test("arrays and dictionaries are read to any depth that the wire allows")
  func containers() throws {
    let value = try set([
      "list": [1, "a", NSNull(), ["k": [true]]] as [Any], "typed": [1, 2], "optionals": [1, nil] as [Int?],
      "map": ["a": ["b": 1]], "empty": [String: Any](), "objects": NSArray(array: [1, "x"]),
      "dictionary": NSDictionary(dictionary: ["k": 2]), "bytes": [UInt8(1)], "nothing": [Any](),
    ])
    #expect(
      value
        == [
          "list": [1, "a", .null, ["k": [true]]], "typed": [1, 2], "optionals": [1, .null], "map": ["a": ["b": 1]],
          "empty": [:], "objects": [1, "x"], "dictionary": ["k": 2], "bytes": [1], "nothing": [],
        ])
  }

  @Test("numbers, dates and containers of Foundation and of type-erased boxes are read as on Apple platforms")
  func foundation() throws {
    let json = #"{"a": true, "b": 1, "c": 1.5, "d": null, "e": [1, {"x": false}], "f": 9007199254740993, "g": -0.0}"#
    let parsed = try JSONSerialization.jsonObject(with: Data(json.utf8))
    #expect(
      try set(try #require(parsed as? [String: Any]))
        == [
          "a": true, "b": 1, "c": 1.5, "d": .null, "e": [1, ["x": false]], "f": 9_007_199_254_740_993, "g": -0.0,
        ])
    let table: [(Any, Value)] = [
      (Decimal(string: "12.25") as Any, .double(12.25)), (Decimal(3), .double(3)), (Decimal.nan, .double(.nan)),
      (NSDecimalNumber(string: "0.5"), .double(0.5)), (CGFloat(1.5), .double(1.5)),
      (Float.infinity, .double(.infinity)),
      (AnyHashable(1), .integer(1)), (AnyHashable(true), .boolean(true)), (AnyHashable(1.0), .double(1)),
      (AnyHashable("x"), .string("x")), (AnyHashable(NSNumber(value: 1)), .integer(1)),
      (AnyHashable(NSNumber(value: false)), .boolean(false)), (AnyHashable([1, 2]), [1, 2]),
      (AnyHashable(Int?.none), .null),
      (NSDate(timeIntervalSince1970: 1), .timestamp(.init(seconds: 1, nanoseconds: 0))),
      (NSMutableArray(array: [1, NSNull()]), [1, .null]), (NSMutableDictionary(dictionary: ["k": "v"]), ["k": "v"]),
      (NSMutableString(string: "s"), .string("s")), (NSMutableData(data: Data([1])), .bytes([1])),
      (["k": 1] as [AnyHashable: Any], ["k": 1]), (["k": AnyHashable(NSNumber(value: 1))], ["k": 1]),
      ([AnyHashable(1), AnyHashable("a")], [1, "a"]), (["a", "b"][...].first as Any, "a"),
      (["k": Int?.none] as [String: Int?], ["k": .null]), ([nil, 1] as [Any?], [.null, 1]),
    ]
    for (input, expected) in table {
      #expect(try set(["x": input])["x"] == expected, "\(input) of type \(type(of: input))")
    }
  }

  @Test(
    "what is written at the greatest legal depth can be read back, one level more is an error of the write", .heavyWork)
  func depth() throws {
    func nested(_ levels: Int, _ leaf: Any = 1) -> [String: Any] {
      (1..<levels).reduce(["leaf": leaf]) { inner, _ in ["a": inner] }
    }
    func refusal(_ mutation: Mutation) -> NSError? { OutgoingWriteLimits.refusal(of: [mutation], databaseID: database) }
    let most = UserDataReader.maximumDepth
    let leaves: [(Any, levels: Int)] = [
      (1, 0), ([1], 1), ([[String: Any]()], 1), (["k": 1], 1), (FieldValue.delete(), 0),
      (FieldValue.serverTimestamp(), 0), (FieldValue.arrayUnion([1]), 1), (FieldValue.arrayRemove([["k": 1]]), 2),
      (FieldValue.vector([1.0]), 2), ([String: Any](), 0),
    ]
    for (leaf, levels) in leaves {
      var writes: [(Int) throws -> Mutation] = [
        { try UserDataReader.merge(nested($0, leaf), key: key, databaseID: database) }
      ]
      // A deletion below a field that is replaced as a whole is no data.
      if leaf as? FieldValue != FieldValue.delete() {
        writes.append {
          try UserDataReader.merge(
            nested($0, leaf), fields: [$0 > 1 ? "a" : "leaf"], key: key, databaseID: database)
        }
      }
      for write in writes {
        #expect(refusal(try write(most - levels)) == nil, "\(leaf)")
        #expect(refusal(try write(most - levels + 1))?.code == 3, "\(leaf)")
        #expect(refusal(try write(most * 5))?.code == 3, "\(leaf)")
      }
    }
    let path = Array(repeating: "a", count: most).joined(separator: ".")
    #expect(refusal(try UserDataReader.update([path: 1], key: key, databaseID: database)) == nil)
    for value: Any in [1, FieldValue.delete(), FieldValue.serverTimestamp()] {
      #expect(
        refusal(try UserDataReader.update([path + ".b": value], key: key, databaseID: database))?.code == 3, "\(value)")
    }
    #expect(refusal(try UserDataReader.set(nested(most), key: key, databaseID: database)) == nil)
    #expect(refusal(try UserDataReader.set(nested(1000), key: key, databaseID: database))?.code == 3)
    let outside = nested(most + 1).merging(["b": 1]) { $1 }
    #expect(refusal(try UserDataReader.merge(outside, fields: ["b"], key: key, databaseID: database)) == nil)
    #expect(throws: ProgrammingError.self) { try UserDataReader.parseArgument(nested(most + 1)) }
    #expect(try UserDataReader.parseArgument(nested(most)) != .null)
  }

  @Test("times are truncated to microseconds, also before 1970")
  func times() throws {
    let value = try set([
      "timestamp": Hearth.Timestamp(seconds: 5, nanoseconds: 123_456_999), "date": Date(timeIntervalSince1970: -1.5),
    ])
    #expect(value["timestamp"] == .timestamp(HearthModel.Timestamp(seconds: 5, nanoseconds: 123_456_000)))
    #expect(value["date"] == .timestamp(HearthModel.Timestamp(seconds: -2, nanoseconds: 500_000_000)))
  }

  @Test("references are values of this database only")
  func references() throws {
    let other = try TestFirestore(projectID: "other-project").firestore
    #expect(
      try set(["r": firestore.document("a/b")])["r"]
        == .reference(ReferenceValue(database: database, key: DocumentKey(parsing: "a/b"))))
    for data: [String: Any] in [
      ["r": other.document("a/b")], ["r": FieldValue.arrayUnion([other.document("a/b")])],
      ["r": FieldValue.arrayRemove([["k": other.document("a/b")]])],
    ] {
      let text = message { () throws(ProgrammingError) in
        _ = try UserDataReader.set(data, key: key, databaseID: database)
      }
      #expect(
        text == """
          Document Reference is for database other-project/(default) but should be for database demo-hearth/(default) \
          (found in field r)
          """)
    }
  }

  @Test("broken rules are named with the field")
  func brokenRules() throws {
    let table: [([String: Any], String)] = [
      (["a": ["b": [[1]]]], "Nested arrays are not supported (found in field a.b)"),
      (["a": [["b": [[1]]]]], "Nested arrays are not supported (found in field a)"),
      (["a": [URL(fileURLWithPath: "/")]], "Unsupported type: URL (found in field a)"),
      (["a": ["b": UInt64.max]], "NSNumber (18446744073709551615) is too large (found in field a.b)"),
      (["a": NSNumber(value: UInt64.max)], "NSNumber (18446744073709551615) is too large (found in field a)"),
      (["a": ["b": ObjectIdentifier(Firestore.self)]], "Unsupported type: ObjectIdentifier (found in field a.b)"),
      (["a": URL(fileURLWithPath: "/")], "Unsupported type: URL (found in field a)"),
      (["": 1], "Invalid data. Document fields must not be empty (found in field ``)"),
      (["a": ["": 1]], "Invalid data. Document fields must not be empty (found in field a.``)"),
      (["a": [["": 1]]], "Invalid data. Document fields must not be empty (found in field a)"),
      (["__a__": 1], "Invalid data. Document fields cannot begin and end with \"__\" (found in field __a__)"),
      (["a": ["__": 1]], "Invalid data. Document fields cannot begin and end with \"__\" (found in field a.__)"),
      (
        ["a": [["__b__": 1]]],
        "Invalid data. Document fields cannot begin and end with \"__\" (found in field a)"
      ),
      (
        ["a": FieldValue.delete()],
        "FieldValue.delete() can only be used with updateData() and setData() with merge:true (found in field a)"
      ),
      (
        ["a": [FieldValue.serverTimestamp()]],
        "FieldValue.serverTimestamp() is not currently supported inside arrays (found in field a)"
      ),
      (
        ["a": [["b": FieldValue.delete()]]],
        "FieldValue.delete() is not currently supported inside arrays (found in field a)"
      ),
      (
        ["a": Date(timeIntervalSince1970: 1e12)],
        "Date out of range for a timestamp: 1000000000000.0 s since 1970 (years 1 to 9999 are valid)."
      ),
      (["a": [1: 2]], "Unsupported type: Dictionary<Int, Int> (found in field a)"),
    ]
    for (data, expected) in table {
      let text = message { () throws(ProgrammingError) in
        _ = try UserDataReader.set(data, key: key, databaseID: database)
      }
      #expect(text == expected)
    }
  }

  @Test("a set carries its transforms next to the fields")
  func transforms() throws {
    let mutation = try UserDataReader.set(
      [
        "a": 1, "time": FieldValue.serverTimestamp(), "map": ["n": FieldValue.increment(Int64(2)), "k": 3],
        "tags": FieldValue.arrayUnion(["x", 1.5]),
      ], key: key, databaseID: database)
    #expect(mutation.precondition == .none)
    #expect(mutation.transforms.map(\.path.canonicalString) == ["map.n", "tags", "time"])
    #expect(mutation.transforms.map(\.operation) == [.increment(2), .arrayUnion(["x", 1.5]), .serverTimestamp])
    guard case .set(let fields) = mutation.operation else { return #expect(Bool(false)) }
    #expect(try fields.decoded() == ["a": 1, "map": ["k": 3]])
  }

  @Test("a merge's mask holds every leaf, deletions included, and no transforms")
  func merge() throws {
    let mutation = try UserDataReader.merge(
      [
        "a": 1, "m": ["x": [1], "e": [String: Any](), "gone": FieldValue.delete(), "t": FieldValue.serverTimestamp()],
      ], key: key, databaseID: database)
    let (fields, mask) = try patch(mutation)
    #expect(mask == ["a", "m.e", "m.gone", "m.x"])
    #expect(fields == ["a": 1, "m": ["x": [1], "e": [:]]])
    #expect(mutation.precondition == .none)
    #expect(mutation.transforms.map(\.path.canonicalString) == ["m.t"])
    #expect(try patch(UserDataReader.merge([:], key: key, databaseID: database)).mask == [])
  }

  @Test("merge fields pick from data and transforms, whole subtrees included")
  func mergeFields() throws {
    let data: [String: Any] = [
      "a": 1, "m": ["x": 1, "y": 2], "t": FieldValue.serverTimestamp(), "d": FieldValue.delete(),
    ]
    func merge(_ fields: [Any]) throws -> Mutation {
      try UserDataReader.merge(data, fields: fields, key: key, databaseID: database)
    }
    let picked = try merge(["m", Hearth.FieldPath(["t"]), "m"])
    #expect(try patch(picked).fields == ["m": ["x": 1, "y": 2]])
    #expect(try patch(picked).mask == ["m"])
    #expect(picked.transforms.map(\.path.canonicalString) == ["t"])
    #expect(try patch(merge(["m.x"])).fields == ["m": ["x": 1]])
    #expect(try merge(["m.x"]).transforms == [])
    #expect(try patch(merge(["d"])).fields == [:])
    #expect(try patch(merge([])).mask == [])
    #expect(
      throws: ProgrammingError(
        "Field 'q' is specified in your field mask but missing from your input data.")
    ) { try merge(["q"]) }
    #expect(throws: ProgrammingError.self) { try merge([1]) }
    #expect(throws: ProgrammingError.self) { try merge(["m.x.deeper"]) }
  }

  @Test("a map that transforms alone make is not sent with them, one that deletions leave empty is")
  func emptiedMaps() throws {
    let data: [String: Any] = [
      "time": ["at": FieldValue.serverTimestamp()], "gone": ["x": ["y": FieldValue.delete()]], "empty": [String: Any](),
      "both": ["t": FieldValue.increment(Int64(1)), "d": FieldValue.delete()],
    ]
    let named = try patch(
      UserDataReader.merge(data, fields: ["time", "gone", "empty", "both"], key: key, databaseID: database))
    #expect(named.mask == ["both", "empty", "gone", "time"])
    #expect(named.fields == ["gone": ["x": [:]], "empty": [:]])
    let merged = try patch(UserDataReader.merge(data, key: key, databaseID: database))
    #expect(merged.mask == ["both.d", "empty", "gone.x.y"])
    #expect(merged.fields == ["empty": [:]])
  }

  @Test("merge fields do not name what is only transformed, so that an increment goes on from the stored number")
  func transformedMergeFields() throws {
    let mutation = try UserDataReader.merge(
      ["n": FieldValue.increment(Int64(2)), "a": 1], fields: ["n", "a"], key: key, databaseID: database)
    #expect(try patch(mutation).mask == ["a"])
    var document = Document.found(key, version: SnapshotVersion(microseconds: 1), fields: EncodedFields(["n": 40]))
    _ = try mutation.applyToLocalView(
      &document, previousMask: nil, localWriteTime: HearthModel.Timestamp(seconds: 1, nanoseconds: 0))
    #expect(try document.fields.decoded() == ["n": 42, "a": 1])
  }

  @Test("an update splits string keys at dots, takes field paths as they are, and needs the document")
  func update() throws {
    let mutation = try UserDataReader.update(
      [
        "a.b": 1, "m": ["k": 2], Hearth.FieldPath(["x.y"]): 3, "gone": FieldValue.delete(),
        "n": FieldValue.increment(1.5), "deep.t": ["s": FieldValue.serverTimestamp()],
      ], key: key, databaseID: database)
    let (fields, mask) = try patch(mutation)
    #expect(mask == ["a.b", "deep.t", "gone", "m", "`x.y`"])
    #expect(fields == ["a": ["b": 1], "m": ["k": 2], "x.y": 3])
    #expect(mutation.precondition == .exists(true))
    #expect(mutation.transforms.map(\.path.canonicalString) == ["deep.t.s", "n"])
  }

  @Test("broken rules of updates are named with the field")
  func brokenUpdates() throws {
    let table: [([AnyHashable: Any], String)] = [
      (["a": ["b": FieldValue.delete()]], "FieldValue.delete() can only appear at the top level"),
      (["a..b": 1], ""), ([".a": 1], ""), (["a[0]": 1], ""), (["": 1], ""),
      (["__a__": 1], "Invalid data. Document fields cannot begin and end with \"__\" (found in field __a__)"),
      (["a.__b__": 1], "Invalid data. Document fields cannot begin and end with \"__\" (found in field a.__b__)"),
      ([1: 1], "Dictionary keys in updateData: must be Strings or FieldPaths, but one is Int."),
    ]
    for (data, expected) in table {
      let text = message { () throws(ProgrammingError) in
        _ = try UserDataReader.update(data, key: key, databaseID: database)
      }
      #expect(try #require(text).hasPrefix(expected))
    }
  }

  @Test("elements of array transforms must be plain values")
  func elements() {
    for elements: [Any] in [[FieldValue.serverTimestamp()], [["a": FieldValue.delete()]], [[1]]] {
      #expect(throws: ProgrammingError.self) {
        try UserDataReader.parseElements(elements)
      }
    }
  }
}
