import TestSupport
import Testing

@testable import HearthModel

@Suite("Order prefixes")
struct OrderPrefixTests {
  private static let collection = Query(path: try! ResourcePath(parsing: "c"))

  private func found(_ path: String, _ value: Value? = nil) -> Document {
    let fields: MapValue = value.map { ["f": $0] } ?? [:]
    return .found(key(path), version: SnapshotVersion(microseconds: 1), fields: EncodedFields(fields))
  }

  /// Returns true if the numbers never contradict the order of the query, and differ for some documents.
  private func agrees(_ query: Query, _ documents: [Document]) -> Bool {
    var differences = 0
    let prefixed = documents.map { ($0, query.orderPrefix(of: $0)) }
    for (a, x) in prefixed {
      for (b, y) in prefixed where x < y {
        differences += 1
        if query.compare(a, b) != .ascending { return false }
      }
    }
    return differences > 0
  }

  @Test("for every pair of values the numbers agree with the order, in both directions", arguments: [true, false])
  func values(ascending: Bool) {
    let query = Self.collection.with(order: OrderBy(path: field("f"), direction: ascending ? .ascending : .descending))
    let documents = ValueZoo.all.map { found("c/d", $0) } + [found("c/d")]
    #expect(agrees(query, documents))
  }

  @Test("for every pair of ids the numbers agree with the order, in both directions", arguments: [true, false])
  func keys(ascending: Bool) {
    let query = Self.collection.with(
      order: OrderBy(path: .documentKey, direction: ascending ? .ascending : .descending))
    let ids = [
      "__id-9223372036854775808__", "__id-7__", "__id0__", "__id255__", "__id256__", "__id9223372036854775807__",
      "__id__", "__idx__", "_", "-", "0", "a", "a\u{0}", "aa", "abcdefg", "abcdefgh", "abcdefgi", "ä", "𝄞",
      "\u{10FFFF}",
    ]
    #expect(agrees(query, ids.map { found("c/\($0)") }))
  }

  @Test("of a collection group nothing is said, because the paths above the ids come first")
  func group() throws {
    let query = Query(path: ResourcePath(), collectionGroup: "c")
    #expect(query.orderPrefix(of: found("c/b")) == query.orderPrefix(of: found("a/b/c/a")))
  }
}
