import HearthModel
import Testing

@Suite("Index files of servers")
struct IndexFileTextTests {
  private static func refusal(_ json: String) -> String? {
    do throws(IndexConfigurationError) {
      _ = try IndexFileText(Array(json.utf8))
      return nil
    } catch {
      return error.description
    }
  }

  private static func oneIndex(_ members: String) -> String {
    #"{"indexes": [{"collectionGroup": "c", "queryScope": "COLLECTION", \#(members)}]}"#
  }

  private static func oneField(_ members: String) -> String {
    oneIndex(#""fields": [{"fieldPath": "a", \#(members)}]"#)
  }

  private static func oneOverride(_ members: String) -> String {
    #"{"indexes": [], "fieldOverrides": [{"collectionGroup": "c", "fieldPath": "a", \#(members)}]}"#
  }

  @Test(
    "a field without one valid configuration is refused with its place, its value and what is allowed",
    arguments: [
      (#""order": "ASC""#, #"fields[0].order is "ASC", but must be ASCENDING or DESCENDING"#),
      (#""order": "ascending""#, #"fields[0].order is "ascending", but must be ASCENDING or DESCENDING"#),
      (#""order": """#, #"fields[0].order is "", but must be ASCENDING or DESCENDING"#),
      (#""order": 1"#, "fields[0].order must be a string, but is a number"),
      (#""arrayConfig": "CONTAIN""#, #"fields[0].arrayConfig is "CONTAIN", but must be CONTAINS"#),
      (#""mode": "ASC""#, #"fields[0].mode is "ASC", but must be ASCENDING, DESCENDING or ARRAY_CONTAINS"#),
      (#""ordr": "ASCENDING""#, #"fields[0] has the unknown member "ordr"; the members are fieldPath, order, "#),
      (
        #""_note": "no order""#,
        "fields[0] has no order: it must have one of the members order, arrayConfig, vectorConfig and searchConfig"
      ),
      (
        #""order": "ASCENDING", "arrayConfig": "CONTAINS""#,
        "fields[0] has order and arrayConfig, but must have only one of the members"
      ),
      (#""vectorConfig": {"dimension": 3, "flta": {}}"#, #"vectorConfig has the unknown member "flta""#),
      (#""vectorConfig": {"dimension": 0}"#, "vectorConfig must be an object with a dimension between 1 and 2048"),
    ])
  func fields(members: String, message: String) {
    let text = Self.refusal(Self.oneField(members))
    #expect(text?.contains("indexes[0].fields[0]") == true && text?.contains(message) == true, "\(text ?? "taken")")
  }

  @Test(
    "what else is wrong in an entry is refused likewise",
    arguments: [
      (oneIndex(#""fields": []"#), "indexes[0].fields is empty"),
      (oneIndex(#""field": []"#), #"indexes[0] has the unknown member "field"; the members are collectionGroup"#),
      (oneIndex(#""density": "FULL""#), #"indexes[0].density is "FULL", but must be SPARSE_ALL, SPARSE_ANY, DENSE"#),
      (oneIndex(#""multikey": "yes""#), "indexes[0].multikey must be true or false, but is a string"),
      (
        #"{"indexes": [{"collectionGroup": "c", "queryScope": "GROUP", "fields": []}]}"#,
        #"indexes[0].queryScope is "GROUP", but must be COLLECTION or COLLECTION_GROUP"#
      ),
      (#"{"indexes": [{"fields": []}]}"#, "indexes[0].collectionGroup is missing, but must be a string"),
      (#"{"indexes": ["c"]}"#, "indexes[0] must be an object, but is a string"),
      (
        oneOverride(#""ttl": true"#), "fieldOverrides[0].indexes is missing, but must be an array; [] exempts the field"
      ),
      (oneOverride(#""ttl": 1, "indexes": []"#), "fieldOverrides[0].ttl must be true or false, but is a number"),
      (
        oneOverride(#""indexes": [{"queryScope": "COLLECTION"}]"#),
        "fieldOverrides[0].indexes[0] has no order: it must have one of the members order and arrayConfig"
      ),
      (oneOverride(#""indexes": [{"order": "UP"}]"#), #"fieldOverrides[0].indexes[0].order is "UP""#),
      ("{\"indexes\": [],\n /* no end", "Line 2, column 2"),
    ])
  func entries(json: String, message: String) {
    let text = Self.refusal(json)
    #expect(text?.contains(message) == true, "\(text ?? "taken")")
  }

  /// A file with comments, such as `firebase init` writes.
  private static let initial = """
    {
      // Example (Standard Edition):
      //
      // "indexes": [
      //   { "fieldPath": "bar", "mode": "DESCENDING" }
      // ]
      /* and one more: "indexes" */
      "indexes": [{"collectionGroup": "a//b", "queryScope": "COLLECTION", "fields": [
        {"fieldPath": "`a\\"/*`", "order": "ASCENDING"}]}],
      "fieldOverrides": []
    }
    """

  @Test("comments are taken, and a text with slashes in it is none")
  func comments() throws {
    let file = try IndexFileText(Array(Self.initial.utf8))
    let entries = try IndexConfiguration(file.json).entries
    #expect(entries.map(\.collectionGroup) == ["a//b"] && entries.first?.fields.map(\.path) == ["`a\"/*`"])
  }

  /// A file as `firebase firestore:indexes` prints it, with every member that it knows.
  private static let exported = #"""
    {
      "indexes": [
        {
          "collectionGroup": "cities", "queryScope": "COLLECTION_GROUP", "apiScope": "ANY_API", "density": "DENSE",
          "multikey": false, "unique": false,
          "fields": [
            {"fieldPath": "tags", "arrayConfig": "CONTAINS"},
            {"fieldPath": "n", "order": "DESCENDING"},
            {"fieldPath": "__name__", "order": "DESCENDING"},
            {"fieldPath": "v", "vectorConfig": {"dimension": 3, "flat": {}}}
          ]
        }
      ],
      "fieldOverrides": [
        {
          "collectionGroup": "cities", "fieldPath": "text", "ttl": true, "indexes": [
            {"order": "ASCENDING", "queryScope": "COLLECTION", "apiScope": "ANY_API", "density": "SPARSE_ALL",
             "multikey": true, "unique": true},
            {"arrayConfig": "CONTAINS"}
          ]
        },
        {"collectionGroup": "cities", "fieldPath": "none", "indexes": []}
      ],
      "$schema": "a comment"
    }
    """#

  @Test("every member that the Firebase CLI knows is taken")
  func allMembers() throws {
    let declared = try DeclaredIndexes(try IndexFileText(Array(Self.exported.utf8)))
    let index = try #require(declared.composites.first)
    #expect(index.scope == .collectionGroup && index.fields.map(\.kind) == [.contains, .descending])
    #expect(index.vector?.dimension == 3 && index.keyDirection == .descending)
    #expect(declared.overrides.map(\.indexes.count) == [2, 0])
  }

  @Test("the first form of the file, with collectionId and mode, means the same as today's")
  func firstForm() throws {
    let old = #"""
      {"indexes": [{"collectionId": "c", "fields": [
        {"fieldPath": "t", "mode": "ARRAY_CONTAINS"}, {"fieldPath": "n", "mode": "DESCENDING"}]}]}
      """#
    let new = #"""
      {"indexes": [{"collectionGroup": "c", "queryScope": "COLLECTION", "fields": [
        {"fieldPath": "t", "arrayConfig": "CONTAINS"}, {"fieldPath": "n", "order": "DESCENDING"}]}]}
      """#
    let (first, today) = (try IndexFileText(Array(old.utf8)), try IndexFileText(Array(new.utf8)))
    #expect(try DeclaredIndexes(first) == DeclaredIndexes(today))
    #expect(try IndexConfiguration(first.json) == IndexConfiguration(today.json))
    #expect(try IndexConfiguration(first.json).definitions().first?.fields.map(\.kind) == [.contains, .descending])
  }

  @Test("an index for searches of texts is taken, reported, and serves no query")
  func search() throws {
    let file = try IndexFileText(Array(Self.oneField(#""searchConfig": {"textSpec": {"indexSpecs": []}}"#).utf8))
    #expect(file.searchIndexes == ["indexes[0]"])
    #expect(try DeclaredIndexes(file).composites.isEmpty)
    #expect(try IndexConfiguration(file.json).definitions(withScopes: true).isEmpty)
  }
}
