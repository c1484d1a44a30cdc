import HearthModel
import TestSupport
import Testing

/// Production's rules for the indexes of queries (Firestore documentation, "Index types in Cloud Firestore").
@Suite("Indexes that production demands")
struct IndexNeedTests {
  private func field(_ path: String) throws -> FieldPath { try FieldPath(parsingServerFormat: path) }

  private func query(_ filters: [(String, FieldFilter.Operator)], orders: [String] = [], group: Bool = false) throws
    -> Query
  {
    var query =
      group ? Query(path: ResourcePath([]), collectionGroup: "c") : Query(path: try ResourcePath(parsing: "c"))
    for (path, op) in filters {
      let isList = [.in, .notIn, .arrayContainsAny].contains(op)
      query = query.with(filter: .field(try field(path), op, isList ? .array([.integer(1)]) : .integer(1)))
    }
    for order in orders {
      let isDescending = order.hasPrefix("-")
      query = query.with(
        order: OrderBy(
          path: try field(isDescending ? String(order.dropFirst()) : order),
          direction: isDescending ? .descending : .ascending))
    }
    return query
  }

  private func declared(_ indexes: [String], scope: String = "COLLECTION", overrides: String = "") throws
    -> DeclaredIndexes
  {
    let entries = indexes.map { index in
      let fields = index.split(separator: ",").map { part -> String in
        if part.hasPrefix("@") { return "{\"fieldPath\": \"\(part.dropFirst())\", \"arrayConfig\": \"CONTAINS\"}" }
        let isDescending = part.hasPrefix("-")
        return "{\"fieldPath\": \"\(isDescending ? part.dropFirst() : part)\", \"order\": "
          + "\"\(isDescending ? "DESCENDING" : "ASCENDING")\"}"
      }
      return
        "{\"collectionGroup\": \"c\", \"queryScope\": \"\(scope)\", \"fields\": [\(fields.joined(separator: ", "))]}"
    }
    let json = "{\"indexes\": [\(entries.joined(separator: ", "))], \"fieldOverrides\": [\(overrides)]}"
    return try DeclaredIndexes(try IndexFileText(Array(json.utf8)))
  }

  private func isAnswered(_ query: Query, by indexes: DeclaredIndexes) -> Bool {
    query.indexNeeds().allSatisfy { indexes.answer($0) }
  }

  @Test("queries of a single field, and any number of equalities, need no declared index")
  func automatic() throws {
    let none = DeclaredIndexes()
    #expect(isAnswered(try query([]), by: none))
    #expect(isAnswered(try query([("a", .equal), ("b", .equal), ("t", .arrayContains)]), by: none))
    #expect(isAnswered(try query([("a", .greaterThan)]), by: none))
    #expect(isAnswered(try query([("a", .greaterThan)], orders: ["-a"]), by: none))
    #expect(isAnswered(try query([], orders: ["a"]), by: none))
    #expect(isAnswered(try query([("a", .in)], orders: ["__name__"]), by: none))
  }

  @Test(
    "other queries need one with the compared fields, in any order, before the sorted ones",
    arguments: [
      ([("a", FieldFilter.Operator.equal), ("b", .greaterThan)], [String](), ["a,b"]),
      ([("a", .equal)], ["-b"], ["a,-b"]),
      ([("a", .equal), ("b", .equal)], ["c"], ["b,a,c"]),
      ([("t", .arrayContains)], ["a"], ["@t,a"]),
      ([("a", .greaterThan), ("b", .lessThan)], [], ["a,b"]),
      ([], ["a", "-b"], ["a,-b"]),
      ([("a", .equal), ("b", .equal)], ["-c"], ["a,-c", "b,-c"]),
    ])
  func composite(filters: [(String, FieldFilter.Operator)], orders: [String], indexes: [String]) throws {
    let query = try query(filters, orders: orders)
    #expect(!isAnswered(query, by: DeclaredIndexes()))
    #expect(isAnswered(query, by: try declared(indexes)))
    #expect(!isAnswered(query, by: try declared(indexes, scope: "COLLECTION_GROUP")))
    for index in indexes where indexes.count > 1 { #expect(!isAnswered(query, by: try declared([index]))) }
    // Each suggestion answers its need.
    let suggestions = query.indexNeeds().map(\.suggestion)
    #expect(suggestions.count == 1 && suggestions[0].collectionGroup == "c" && suggestions[0].scope == .collection)
  }

  @Test("an index is not read backwards: an order and its reverse need one each")
  func directions() throws {
    let index = try declared(["a,b"])
    #expect(isAnswered(try query([], orders: ["a", "b"]), by: index))
    #expect(!isAnswered(try query([], orders: ["-a", "-b"]), by: index))
    #expect(isAnswered(try query([], orders: ["-a", "-b"]), by: try declared(["-a,-b"])))
    #expect(!isAnswered(try query([], orders: ["a", "-b"]), by: index))
    #expect(!isAnswered(try query([], orders: ["b", "a"]), by: index))
  }

  @Test("collection groups have no automatic indexes; exemptions take them away from collections")
  func scopesAndExemptions() throws {
    let group = try query([("a", .equal)], group: true)
    #expect(!isAnswered(group, by: DeclaredIndexes()))
    let inGroup =
      #"{"collectionGroup": "c", "fieldPath": "a", "indexes": [{"order": "ASCENDING", "queryScope": "COLLECTION_GROUP"}]}"#
    #expect(isAnswered(group, by: try declared([], overrides: inGroup)))
    let exempted = try declared([], overrides: #"{"collectionGroup": "c", "fieldPath": "a", "indexes": []}"#)
    #expect(!isAnswered(try query([("a", .equal)]), by: exempted))
    #expect(!isAnswered(try query([("a.b", .equal)]), by: exempted), "of a map and all in it")
    #expect(isAnswered(try query([("b", .equal)]), by: exempted))
  }

  @Test("each alternative of a disjunction has a need of its own")
  func disjunctions() throws {
    let alternatives = try [("a", FieldFilter.Operator.equal), ("b", .equal)].map { path, op in
      Filter.field(try field(path), op, .integer(1))
    }
    var query = try query([], orders: ["n"])
    query.filters = [.composite(CompositeFilter(op: .or, filters: alternatives))]
    #expect(query.indexNeeds().count == 2)
    #expect(!isAnswered(query, by: try declared(["a,n"])))
    #expect(isAnswered(query, by: try declared(["a,n", "b,n"])))
  }
}
