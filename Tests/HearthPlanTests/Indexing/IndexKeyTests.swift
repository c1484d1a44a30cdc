import HearthModel
import HearthPlan
import Testing

@Suite("Keys and ranges of indexes")
struct IndexKeyTests {
  private func keys(
    _ kinds: [(String, IndexDefinition.Kind)], _ fields: MapValue, isOfGroup: Bool = false
  ) throws -> [[UInt8]] {
    let definition = try IndexDefinition(
      collectionGroup: "c", scope: isOfGroup ? .collectionGroup : .collection,
      fields: try kinds.map { .init(path: try FieldPath([$0.0]), kind: $0.1) })
    var keys = IndexKeys(StoredIndex(proposed: definition))
    return keys.keys(of: EncodedFields(fields), try DocumentKey(parsing: "u/x/c/d"), identity: [7])
  }

  @Test("a document has one key, or one for each distinct element of its array, or none without a field")
  func count() throws {
    #expect(try keys([("n", .ascending)], ["n": 1]).count == 1)
    #expect(try keys([("n", .ascending), ("m", .ascending)], ["n": 1]).isEmpty)
    let elements = try keys([("t", .contains), ("n", .descending)], ["n": 1, "t": [2, 1, 2, 1.0]])
    #expect(elements.count == 2 && elements[0].lexicographicallyPrecedes(elements[1]))
    #expect(try keys([("t", .contains)], ["t": 1]).isEmpty)
  }

  @Test("what is too long, or too much, is entered without its values")
  func withoutValues() throws {
    let long = Value.string(String(repeating: "a", count: IndexKeys.maximumBytes))
    #expect(try keys([("n", .ascending)], ["n": long]) == [[IndexKeys.withoutValues, 7]])
    #expect(try keys([("t", .contains)], ["t": .array([1, long])]) == [[IndexKeys.withoutValues, 7]])
    let many = Value.array((0...IndexKeys.maximumElements).map { .integer(Int64($0)) })
    #expect(try keys([("t", .contains)], ["t": many]) == [[IndexKeys.withoutValues, 7]])
  }

  @Test("the key of an index of the group ends with the path of the document, that of others with its id")
  func ends() throws {
    var (single, grouped) = (OrderedValueWriter(), OrderedValueWriter())
    try single.append(.integer(1))
    single.append(documentID: "d", descending: false)
    try grouped.append(.integer(1))
    grouped.append(documentKey: try DocumentKey(parsing: "u/x/c/d"), descending: false)
    #expect(try keys([("n", .ascending)], ["n": 1]) == [single.bytes])
    #expect(try keys([("n", .ascending)], ["n": 1], isOfGroup: true) == [grouped.bytes])
  }

  @Test("places sort as numbers")
  func places() {
    let places: [Int64] = [0, 1, 255, 256, 1 << 36, .max]
    let identities = places.map { IndexKeys.identity(of: $0) }
    #expect(zip(identities, identities.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
  }

  @Test("a range keeps what all cuts leave, and begins behind the documents without values")
  func cuts() {
    var range = IndexRange(prefix: [])
    #expect(range.start == [IndexKeys.withoutValues + 1] && range.end == nil && !range.isEmpty)
    #expect(IndexRange.withoutValues == IndexRange(prefix: [IndexKeys.withoutValues]))
    range.cut(from: [5], to: [9])
    range.cut(from: [4], to: [9, 1])
    #expect(range.start == [5] && range.end == [9])
    range.cut(from: [9])
    #expect(range.isEmpty)
  }
}
