import HearthModel
import Testing

@Suite("Index configurations")
struct IndexConfigurationTests {
  static let exported = #"""
    {
      "indexes": [
        {
          "collectionGroup": "cities",
          "queryScope": "COLLECTION",
          "density": "SPARSE_ALL",
          "fields": [
            { "fieldPath": "tags", "arrayConfig": "CONTAINS" },
            { "fieldPath": "address.`zip code`", "order": "ASCENDING" },
            { "fieldPath": "population", "order": "DESCENDING" },
            { "fieldPath": "__name__", "order": "DESCENDING" }
          ]
        },
        {
          "collectionGroup": "landmarks",
          "queryScope": "COLLECTION_GROUP",
          "fields": [{ "fieldPath": "name", "order": "ASCENDING" }]
        }
      ],
      "fieldOverrides": [
        { "collectionGroup": "cities", "fieldPath": "text", "ttl": false, "indexes": [{ "order": "ASCENDING" }] }
      ]
    }
    """#

  private static func definitions(_ json: String) throws(IndexConfigurationError) -> [IndexDefinition] {
    try IndexConfiguration(json: Array(json.utf8)).definitions()
  }

  /// The message of a refused text.
  private static func refusal(_ json: String) -> String? {
    refusal(Array(json.utf8))
  }

  private static func refusal(_ json: [UInt8]) -> String? {
    do throws(IndexConfigurationError) {
      _ = try IndexConfiguration(json: json).definitions()
      return nil
    } catch {
      return error.description
    }
  }

  private static func definition(
    _ group: String, _ fields: [([String], IndexDefinition.Kind)]
  ) throws -> IndexDefinition {
    try IndexDefinition(
      collectionGroup: group,
      fields: fields.map { IndexDefinition.Field(path: try FieldPath($0.0), kind: $0.1) })
  }

  /// A configuration of one index in "c" with these fields.
  private static func oneIndex(_ fields: String) -> String {
    #"{"indexes": [{"collectionGroup": "c", "fields": [\#(fields)]}]}"#
  }

  @Test("the CLI's export is read; what does not concern local indexes is read past")
  func export() throws {
    let definitions = try Self.definitions(Self.exported)
    #expect(
      definitions == [
        try Self.definition(
          "cities",
          [
            (["tags"], .contains), (["address", "zip code"], .ascending), (["population"], .descending),
            (["__name__"], .descending),
          ]),
        try Self.definition("landmarks", [(["name"], .ascending)]),
      ])
    #expect(definitions.first?.keyDirection == .descending)
    #expect(definitions.first?.fields.count == 3)
    let withScopes = try IndexConfiguration(json: Array(Self.exported.utf8)).definitions(withScopes: true)
    #expect(withScopes.map(\.scope) == [.collection, .collectionGroup])
    #expect(withScopes.map(\.description).last == "landmarks (group): name ASCENDING")
  }

  @Test("arrays that are missing are empty", arguments: ["{}", #"{"indexes": []}"#, #" {"fieldOverrides":[]} "#])
  func defaults(_ json: String) throws {
    #expect(try Self.definitions(json) == [])
  }

  @Test("an index without fields serves nothing and is left out")
  func withoutFields() throws {
    #expect(try Self.definitions(#"{"indexes": [{"collectionGroup": "c"}]}"#) == [])
    #expect(try Self.definitions(Self.oneIndex(#"{"fieldPath": "__name__", "order": "ASCENDING"}"#)) == [])
  }

  @Test(
    "arrayConfig CONTAINS goes before order, and what is not ascending is descending",
    arguments: [
      (#""order": "ASCENDING""#, IndexDefinition.Kind.ascending), (#""order": "DESCENDING""#, .descending),
      (#""order": "ascending""#, .descending), (#""order": "SIDEWAYS""#, .descending), (#""x": 1"#, .descending),
      (#""arrayConfig": "CONTAINS""#, .contains), (#""order": "ASCENDING", "arrayConfig": "CONTAINS""#, .contains),
      (#""arrayConfig": "contains""#, .descending), (#""arrayConfig": "ANY", "order": "ASCENDING""#, .ascending),
      (#""vectorConfig": {"dimension": 3, "flat": {}}"#, .descending),
    ])
  func kinds(_ members: String, _ kind: IndexDefinition.Kind) throws {
    let definitions = try Self.definitions(Self.oneIndex(#"{"fieldPath": "a", \#(members)}"#))
    #expect(definitions == [try Self.definition("c", [(["a"], kind)])])
  }

  @Test("the document key orders documents with equal fields, and what stands behind it nothing")
  func key() throws {
    let a = #"{"fieldPath": "a", "order": "ASCENDING"}"#
    let b = #"{"fieldPath": "b", "order": "DESCENDING"}"#
    let definitions = try Self.definitions(
      Self.oneIndex(#"\#(a), {"fieldPath": "__name__", "order": "DESCENDING"}, \#(b)"#))
    #expect(definitions.map(\.fields) == [[.init(path: try FieldPath(["a"]), kind: .ascending)]])
    #expect(definitions.map(\.keyDirection) == [.descending])
    #expect(try Self.definitions(Self.oneIndex(a)).map(\.keyDirection) == [.ascending])
    #expect(try Self.definitions(Self.oneIndex("\(a), \(b)")).map(\.keyDirection) == [.descending])
  }

  @Test("indexes that differ in what is read past are one; names that differ in normalisation are two")
  func equalDefinitions() throws {
    let index = { (group: String, scope: String) in
      #"{"collectionGroup": "\#(group)", "queryScope": "\#(scope)", "fields": [{"fieldPath": "a"}]}"#
    }
    let text = [
      index("c", "COLLECTION"), index("c", "COLLECTION_GROUP"), index("caf\u{E9}", ""), index("cafe\u{301}", ""),
    ]
    let definitions = try Self.definitions(#"{"indexes": [\#(text.joined(separator: ","))]}"#)
    #expect(
      definitions.map { Array($0.collectionGroup.utf8) } == ["c", "caf\u{E9}", "cafe\u{301}"].map { Array($0.utf8) })
  }

  @Test("the last of several members of one name counts")
  func repeatedMembers() throws {
    #expect(
      try Self.definitions(#"{"indexes": 5, "indexes": [{"collectionGroup": 1, "collectionGroup": "c"}]}"#) == [])
  }

  @Test(
    "what is not JSON is refused with its position",
    arguments: [
      ("", "Line 1, column 1 (byte 0): the text ends where a value is expected."),
      ("{\n  indexes: [\n", "Line 2, column 3 (byte 4): a string in quotation marks is expected."),
      ("{\"é\": 1,\r\n\"\u{1F600}é\": }", "Line 2, column 7 (byte 21): a value is expected."),
      (#"{"indexes": []} // my indexes"#, "Line 1, column 17 (byte 16): there is more after the value."),
      (#"{"indexes": [],}"#, "Line 1, column 16 (byte 15): a string in quotation marks is expected."),
      (#"{"indexes": [01]}"#, "Line 1, column 15 (byte 14)"), ("nulL", "Line 1, column 4 (byte 3)"),
      ("{\"a\": \"\\x\"}", "an unknown escape stands in a string"), ("{\"a\": \"", "the text ends within a string"),
      ("NaN", "a value is expected"), ("{'indexes': []}", "Line 1, column 2 (byte 1)"),
    ])
  func notJSON(_ json: String, _ problem: String) throws {
    let refusal = try #require(Self.refusal(json))
    #expect(refusal.hasPrefix("Invalid Json format. Line "))
    #expect(refusal.contains(problem), "\(refusal)")
  }

  @Test(
    "what is no configuration is refused with the path of the member",
    arguments: [
      ("[]", "the text must be an object, but is an array."), ("null", "the text must be an object, but is null."),
      (#"{"indexes": {}}"#, "indexes must be an array, but is an object."),
      (#"{"indexes": null}"#, "indexes must be an array, but is null."),
      (#"{"indexes": [1]}"#, "indexes[0] must be an object, but is a number."),
      (#"{"indexes": [{}]}"#, "indexes[0].collectionGroup is missing, but must be a string."),
      (#"{"indexes": [{"collectionGroup": null}]}"#, "indexes[0].collectionGroup must be a string, but is null."),
      (#"{"indexes": [{"collectionGroup": "c"}, {"collectionGroup": true}]}"#, "indexes[1].collectionGroup must be"),
      (#"{"indexes": [{"collectionGroup": ""}]}"#, "indexes[0] is wrong (). The collection group"),
      (#"{"indexes": [{"collectionGroup": "a/b"}]}"#, "indexes[0] is wrong (a/b). The collection group"),
      (#"{"indexes": [{"collectionGroup": "c", "fields": ""}]}"#, "indexes[0].fields must be an array"),
      (oneIndex("[]"), "indexes[0].fields[0] must be an object, but is an array."),
      (oneIndex("{}"), "indexes[0].fields[0].fieldPath is missing, but must be a string."),
      (oneIndex(#"{"fieldPath": "a"}, {"fieldPath": 1}"#), "indexes[0].fields[1].fieldPath must be a string"),
      (oneIndex(#"{"fieldPath": "a", "order": 1}"#), "indexes[0].fields[0].order must be a string, but is a number."),
      (oneIndex(#"{"fieldPath": "a", "arrayConfig": []}"#), "indexes[0].fields[0].arrayConfig must be a string"),
      (oneIndex(#"{"fieldPath": ""}"#), "indexes[0].fields[0].fieldPath is wrong (). Paths must not be empty"),
      (oneIndex(#"{"fieldPath": "a..b"}"#), "indexes[0].fields[0].fieldPath is wrong (a..b). Paths must not be empty"),
      (oneIndex(#"{"fieldPath": "`a"}"#), "indexes[0].fields[0].fieldPath is wrong (`a). Unterminated ` in path"),
      (oneIndex(#"{"fieldPath": "a\\"}"#), "Trailing escape characters not allowed"),
      (oneIndex(#"{"fieldPath": "__name__"}, {"fieldPath": "."}"#), "indexes[0].fields[1].fieldPath is wrong"),
      (
        oneIndex(#"{"fieldPath": "a", "arrayConfig": "CONTAINS"}, {"fieldPath": "b", "arrayConfig": "CONTAINS"}"#),
        "indexes[0] is wrong (c). An index has at most one field with array membership"
      ),
    ])
  func noConfiguration(_ json: String, _ problem: String) throws {
    let refusal = try #require(Self.refusal(json))
    #expect(refusal.hasPrefix("Invalid index configuration: "))
    #expect(refusal.contains(problem), "\(refusal)")
  }

  @Test("a long value does not come back whole")
  func longValues() throws {
    let path = String(repeating: "a.", count: 1_000_000)
    let refusal = try #require(Self.refusal(Self.oneIndex(#"{"fieldPath": "\#(path)"}"#)))
    #expect(refusal.utf8.count < 500)
  }
}

@Suite("Hostile index configurations")
struct HostileIndexConfigurationTests {
  private static func isRefused(_ json: [UInt8]) -> Bool {
    do throws(IndexConfigurationError) {
      _ = try IndexConfiguration(json: json).definitions()
      return false
    } catch {
      return true
    }
  }

  @Test("deep nesting is refused, on the small stack of a task too", arguments: ["[", #"{"a":"#, #"{"indexes":["#])
  func nesting(_ opening: String) async {
    let json = Array(String(repeating: opening, count: 1_000_000).utf8)
    let refused = await Task.detached { Self.isRefused(json) }.value
    #expect(refused)
  }

  @Test("a text longer than the limit is refused without being read")
  func length() {
    let longest = Array(#"{"indexes": []}"#.utf8)
    let blanks = { (count: Int) in longest + [UInt8](repeating: 0x20, count: count - longest.count) }
    #expect(!Self.isRefused(blanks(IndexConfiguration.maximumJSONBytes)))
    #expect(Self.isRefused(blanks(IndexConfiguration.maximumJSONBytes + 1)))
  }

  @Test("bytes that are not UTF-8 are refused", arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5]])
  func badText(_ bytes: [UInt8]) {
    #expect(Self.isRefused(Array(#"{"indexes": [{"collectionGroup": ""#.utf8) + bytes + Array(#""}]}"#.utf8)))
    #expect(Self.isRefused(bytes))
  }

  @Test("every beginning of a configuration but the whole is refused")
  func beginnings() {
    let json = Array(IndexConfigurationTests.exported.utf8)
    for length in 0..<json.count { #expect(Self.isRefused(Array(json.prefix(length))), "\(length) bytes") }
  }

  @Test("mutated configurations are read or refused, and what is read keeps the rules")
  func mutations() throws {
    var generator = SplitMix(state: 0x4845_4152_5448)
    let original = Array(IndexConfigurationTests.exported.utf8)
    let pieces = [
      "\"", "\\", "{", "}", "[", "]", ",", ":", "null", "1e9", "`", ".", "\\u0000", "\\ud800", "__name__", "CONTAINS",
      "\u{FFFD}",
    ].map { Array($0.utf8) }
    for _ in 0..<20_000 {
      var json = original
      for _ in 0...generator.next(below: 3) {
        let place = generator.next(below: json.count)
        switch generator.next(below: 4) {
        case 0: json[place] = UInt8(truncatingIfNeeded: generator.next())
        case 1: json.remove(at: place)
        case 2: json.insert(contentsOf: pieces[generator.next(below: pieces.count)], at: place)
        default:
          let end = min(json.count, place + generator.next(below: 40))
          json.replaceSubrange(place..<end, with: json[generator.next(below: place + 1)...place])
        }
      }
      do throws(IndexConfigurationError) {
        let definitions = try IndexConfiguration(json: json).definitions()
        #expect(Set(definitions).count == definitions.count)
        for definition in definitions {
          #expect(!definition.fields.isEmpty && !definition.fields.contains { $0.path.isDocumentKey })
          #expect(!definition.collectionGroup.isEmpty)
        }
      } catch {
        #expect(error.description.hasPrefix("Invalid"))
      }
    }
  }
}

/// A generator whose numbers follow from its state.
private struct SplitMix {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func next(below bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
