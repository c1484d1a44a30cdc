import HearthModel
import Testing

@testable import HearthWire

@Suite("Bundles as they are written")
struct BundleReaderTests {
  static let root = "projects/p/databases/(default)/documents"
  static let metadata =
    #"{"metadata":{"id":"b","createTime":"2026-01-31T08:30:00.123456789Z","version":1,"totalDocuments":1,"totalBytes":"12"}}"#

  private func sized(_ element: String) -> String { "\(element.utf8.count)\(element)" }

  private func elements(_ text: some Collection<UInt8>, piece: Int = .max) throws -> [BundleElement] {
    var reader = BundleReader(databaseID: DatabaseID(projectID: "p"))
    var elements: [BundleElement] = []
    var rest = Array(text)[...]
    while !rest.isEmpty {
      reader.append(rest.prefix(piece))
      rest = rest.dropFirst(piece)
      while let sized = try reader.next() { elements.append(sized.element) }
    }
    try reader.finish()
    return elements
  }

  private func document(_ fields: String) throws -> MapValue {
    let text = sized(
      #"{"document":{"name":"\#(Self.root)/c/d","updateTime":"1970-01-01T00:00:01Z","fields":\#(fields)}}"#)
    guard case .document(let document)? = try elements(text.utf8).first else { return [:] }
    return try document.fields.decoded()
  }

  private func query(_ bundled: String) throws -> Query? {
    let text = sized(#"{"namedQuery":{"name":"q","readTime":{"seconds":"3","nanos":4},"bundledQuery":\#(bundled)}}"#)
    guard case .namedQuery(let named)? = try elements(text.utf8).first else { return nil }
    #expect(named.name == "q")
    #expect(named.readTime == SnapshotVersion(Timestamp(seconds: 3, nanoseconds: 4)))
    return named.query
  }

  @Test("elements are the same in whatever pieces they come", arguments: [1, 2, 3, 7, 64, 10_000])
  func pieces(_ piece: Int) throws {
    let text =
      sized(Self.metadata)
      + sized(
        #"{"documentMetadata":{"name":"\#(Self.root)/c/caf\u00e9","readTime":"1970-01-01T00:00:02Z","exists":true,"queries":["q"]}}"#
      )
      + sized(#"{"document":{"name":"\#(Self.root)/c/café","updateTime":"1970-01-01T00:00:01.5Z","fields":{}}}"#)
    let key = try DocumentKey(parsing: "c/caf\u{E9}")
    #expect(
      try elements(text.utf8, piece: piece) == [
        .metadata(
          BundleMetadata(
            id: "b", createTime: SnapshotVersion(Timestamp(seconds: 1_769_848_200, nanoseconds: 123_456_789)),
            version: 1, totalDocuments: 1, totalBytes: 12)),
        .documentMetadata(
          BundledDocumentMetadata(
            key: key, readTime: SnapshotVersion(microseconds: 2_000_000), exists: true, queries: ["q"])),
        .document(
          .found(key, version: SnapshotVersion(microseconds: 1_500_000), fields: EncodedFields(MapValue()))),
      ])
  }

  @Test("values of every type are read")
  func values() throws {
    let fields = try document(
      #"""
      {"null":{"nullValue":null},"bool":{"booleanValue":true},"int":{"integerValue":"-9223372036854775808"},
       "small":{"integerValue":7},"double":{"doubleValue":-0.5e1},"nan":{"doubleValue":"NaN"},
       "inf":{"doubleValue":"-Infinity"},"time":{"timestampValue":"1969-12-31T23:59:59.000000001+00:00"},
       "text":{"stringValue":"\u00e9\ud83d\udd25\n\"/"},"bytes":{"bytesValue":"AP+A"},"web":{"bytesValue":"AP-A"},
       "ref":{"referenceValue":"projects/other/databases/d/documents/a/b"},
       "geo":{"geoPointValue":{"latitude":1.5}},"list":{"arrayValue":{"values":[{"integerValue":1},{"mapValue":{}}]}},
       "none":{"arrayValue":{}},"cafe\u0301":{"integerValue":1},"caf\u00e9":{"integerValue":2},
       "map":{"mapValue":{"fields":{"a":{"mapValue":{"fields":{}}}}}}}
      """#)
    let expected: MapValue = [
      "null": .null, "bool": true, "int": .integer(.min), "small": 7, "double": .double(-5), "nan": .double(.nan),
      "inf": .double(-.infinity), "time": .timestamp(Timestamp(seconds: -1, nanoseconds: 1)),
      "text": "\u{E9}\u{1F525}\n\"/", "bytes": .bytes([0, 255, 128]), "web": .bytes([0, 255, 128]),
      "ref": .reference(
        ReferenceValue(
          database: DatabaseID(projectID: "other", database: "d"), key: try DocumentKey(parsing: "a/b"))),
      "geo": .geoPoint(GeoPoint(latitude: 1.5, longitude: 0)), "list": [1, [:]], "none": [], "cafe\u{301}": 1,
      "caf\u{E9}": 2, "map": ["a": [:]],
    ]
    #expect(fields == expected)
  }

  @Test("queries are read with filters, orders, cursors and a limit from either end")
  func queries() throws {
    let first = try query(
      #"""
      {"parent":"\#(Self.root)/rooms/1","limitType":"LAST","structuredQuery":{"from":[{"collectionId":"seats"}],
       "where":{"compositeFilter":{"op":"AND","filters":[
         {"fieldFilter":{"field":{"fieldPath":"a.b"},"op":"GREATER_THAN","value":{"integerValue":"1"}}},
         {"unaryFilter":{"field":{"fieldPath":"`c d`"},"op":"IS_NOT_NULL"}}]}},
       "orderBy":[{"field":{"fieldPath":"a.b"},"direction":"DESCENDING"}],
       "startAt":{"values":[{"integerValue":"9"}],"before":true},"limit":{"value":3}}}
      """#)
    let path = try FieldPath(["a", "b"])
    var expected = Query(path: try ResourcePath(parsing: "rooms/1/seats"))
      .with(filter: .field(path, .greaterThan, 1))
      .with(filter: .field(try FieldPath(["c d"]), .notEqual, .null))
      .with(order: OrderBy(path: path, direction: .descending)).with(limit: 3, type: .last)
    expected.startAt = Bound(position: [9], isInclusive: true)
    #expect(first == expected)
    let group = try query(
      #"{"parent":"\#(Self.root)","structuredQuery":{"from":[{"collectionId":"seats","allDescendants":true}],"limit":2}}"#
    )
    #expect(group == Query(path: ResourcePath(), collectionGroup: "seats").with(limit: 2, type: .first))
  }

  @Test(
    "lengths that are none are refused with the byte",
    arguments: [
      ("x", "byte 120"), ("{}", "length is missing"), ("99999999999{", "length is more"), (" 2{}", "byte 32"),
    ])
  func malformedLength(_ text: String, _ reason: String) {
    let error = #expect(throws: BundleError.self) { try elements(text.utf8) }
    #expect(error?.description.hasPrefix("Bundle element 1, at byte 0: ") == true)
    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
  }

  @Test(
    "elements that are none are refused with place and reason",
    arguments: [
      ("{]", "it is not JSON"), ("{}", "none of metadata"), (#"{} {}"#, "more after the value"),
      (#"{"a":nul}"#, "\"null\" is expected at byte 8"), ("{\"a\":\"\u{1}\"}", "control character"),
      (#"{"a":"\ud83d\u0041"}"#, "surrogate"), (#"{"a":"\x"}"#, "unknown escape"), (#"{"a":01}"#, "\"}\" is expected"),
      (#"{"metadata":{"id":1}}"#, "metadata.id: a string is expected"),
      (#"{"metadata":{"id":"b","createTime":"today"}}"#, "metadata.createTime: \"today\" is not a time"),
      (
        #"{"document":{"fields":{"a":{"arrayValue":{"values":[{},{}]}}}}}"#,
        "document.fields.a.arrayValue.values[0]: a value has one member"
      ),
    ])
  func malformedElement(_ element: String, _ reason: String) {
    let error = #expect(throws: BundleError.self) { try elements((sized(Self.metadata) + sized(element)).utf8) }
    #expect(error?.description.hasPrefix("Bundle element 2, at byte \(sized(Self.metadata).utf8.count): ") == true)
    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
  }

  @Test("a document of another database, a senseless time, place or number and a query that cannot be run are refused")
  func refused() {
    let cases = [
      #"{"document":{"name":"projects/q/databases/(default)/documents/c/d","updateTime":"1970-01-01T00:00:01Z"}}"#,
      #"{"documentMetadata":{"name":"\#(Self.root)/c","readTime":"1970-01-01T00:00:01Z","exists":true}}"#,
      #"{"documentMetadata":{"name":"\#(Self.root)/c/d","readTime":"1970-02-30T00:00:01Z","exists":true}}"#,
      #"{"document":{"name":"\#(Self.root)/c/d","updateTime":"1970-01-01T00:00:01Z","fields":{"a":{"integerValue":"9223372036854775808"}}}}"#,
      #"{"document":{"name":"\#(Self.root)/c/d","updateTime":"1970-01-01T00:00:01Z","fields":{"a":{"geoPointValue":{"latitude":91}}}}}"#,
      #"{"document":{"name":"\#(Self.root)/c/d","updateTime":"1970-01-01T00:00:01Z","fields":{"a":{}}}}"#,
      #"{"document":{"name":"\#(Self.root)/c/d","updateTime":"1970-01-01T00:00:01Z","fields":{"a":{"stringValue":"a","nullValue":null}}}}"#,
      #"{"metadata":{"id":"b","createTime":"1970-01-01T00:00:01Z","version":1,"totalDocuments":-1}}"#,
      #"{"namedQuery":{"name":"q","readTime":"1970-01-01T00:00:01Z","bundledQuery":{"parent":"\#(Self.root)","structuredQuery":{"from":[]}}}}"#,
      #"{"namedQuery":{"name":"q","readTime":"1970-01-01T00:00:01Z","bundledQuery":{"parent":"\#(Self.root)","structuredQuery":{"from":[{"collectionId":"c"}],"where":{"fieldFilter":{"field":{"fieldPath":"a"},"op":"IN","value":{"integerValue":1}}}}}}}"#,
      #"{"namedQuery":{"name":"q","readTime":"1970-01-01T00:00:01Z","bundledQuery":{"parent":"\#(Self.root)","structuredQuery":{"from":[{"collectionId":"c"}],"startAt":{"values":[{"integerValue":1},{"integerValue":1},{"integerValue":1}]}}}}}"#,
    ]
    for text in cases {
      #expect(throws: BundleError.self, "\(text)") { try elements(sized(text).utf8) }
    }
  }

  @Test("deep nesting is an error, and takes no more than its length")
  func nesting() {
    let depth = 100_000
    let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    // A bundle's element begins with a brace.
    #expect(throws: BundleError.self) { try elements(sized(#"{"metadata":"# + text + "}").utf8) }
    let maps = String(repeating: #"{"mapValue":{"fields":{"a":"#, count: 5000)
    #expect(throws: BundleError.self) { try elements(sized(#"{"document":"# + maps).utf8) }
  }

  @Test("more values than an element may have are an error as soon as they are counted")
  func countedValues() throws {
    func read(_ values: String) throws -> BundleElement? {
      var reader = BundleReader(databaseID: DatabaseID(projectID: "p"), maximumValueCount: 10)
      reader.append(sized(#"{"a":[\#(values)],"namedQuery":null}"#).utf8)
      return try reader.next()?.element
    }
    // The object, the array and null are three.
    let many = #expect(throws: BundleError.self) { try read("0,1,2,{},[],5,6,7,8,9,") }
    #expect(
      many?.description.hasSuffix("it is not JSON: there are more than 10 values at byte 24") == true,
      "\(many?.description ?? "")")
    let few = #expect(throws: BundleError.self) { try read("0,1,2,{},[],5,6") }
    #expect(few?.description.contains("none of metadata") == true)
  }

  @Test("a long name above many values takes no more than its length")
  func longName() throws {
    // Together 200 GB if the name were kept with each of the values.
    let name = String(repeating: "n", count: 1 << 20)
    let values = String(repeating: #"{"nullValue":null},"#, count: 200_000) + #"{"nullValue":null}"#
    let fields = try document(#"{"\#(name)":{"arrayValue":{"values":[\#(values)]}}}"#)
    #expect(fields == MapValue(entries: [(name, .array(Array(repeating: .null, count: 200_001)))]))
  }

  @Test("a bundle that ends within an element is incomplete")
  func truncated() {
    let text = Array(sized(Self.metadata).utf8)
    for length in [1, 3, 10, text.count - 1] {
      #expect(throws: BundleError.self) { try elements(text.prefix(length)) }
    }
  }

  @Test("any change of a valid bundle gives elements or an error")
  func fuzz() throws {
    let valid = Array(
      (sized(Self.metadata)
        + sized(
          #"{"namedQuery":{"name":"q","readTime":"1970-01-01T00:00:01Z","bundledQuery":{"parent":"\#(Self.root)","structuredQuery":{"from":[{"collectionId":"c"}],"where":{"fieldFilter":{"field":{"fieldPath":"a"},"op":"EQUAL","value":{"doubleValue":1.5}}},"orderBy":[{"field":{"fieldPath":"__name__"}}],"endAt":{"values":[{"referenceValue":"\#(Self.root)/c/d"}]}}}}}"#
        )
        + sized(
          #"{"document":{"name":"\#(Self.root)/c/d","updateTime":"1970-01-01T00:00:01Z","fields":{"a":{"bytesValue":"AP+A"},"b":{"mapValue":{"fields":{"c":{"timestampValue":"1970-01-01T00:00:01Z"}}}}}}}"#
        ))
        .utf8)
    #expect(try elements(valid).count == 3)
    var generator = Generator(seed: 1)
    var accepted = 0
    for _ in 0..<4000 {
      var text = valid
      for _ in 0...Int.random(in: 0..<3, using: &generator) {
        let place = Int.random(in: 0..<text.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: text[place] = UInt8.random(in: 0...255, using: &generator)
        case 1: text.remove(at: place)
        case 2: text.insert(UInt8.random(in: 0x20...0x7E, using: &generator), at: place)
        default: text.swapAt(place, Int.random(in: 0..<text.count, using: &generator))
        }
      }
      do {
        _ = try elements(text, piece: 97)
        accepted += 1
      } catch is BundleError {}
    }
    #expect(accepted < 4000)
  }
}
