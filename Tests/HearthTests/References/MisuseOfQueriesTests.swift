import Foundation
import HearthModel
import Testing

@testable import Hearth

extension MisuseTests {
  @Test("queries that are no queries")
  func queries() async throws {
    let empty = "Invalid Query. A non-empty array is required for "
    let id = Hearth.FieldPath.documentID()
    let after = "Invalid query. You must not specify "
    let unordered = "limit(toLast:) queries require specifying at least one OrderBy() clause."
    try await expect([
      Rule(empty + "'in' filters.", { _ = $0.collection("a").whereField("b", in: []) }),
      Rule(empty + "'notIn' filters.", { _ = $0.collection("a").whereField("b", notIn: []) }),
      Rule(empty + "'arrayContainsAny' filters.", { _ = $0.collection("a").whereField("b", arrayContainsAny: []) }),
      Rule(
        "Invalid Query. You cannot use more than one 'notIn' filter.",
        { _ = $0.collection("a").whereField("b", notIn: [1]).whereField("c", notIn: [1]) }
      ),
      Rule(
        "Invalid Query. You cannot use more than one 'notEqual' filter.",
        { _ = $0.collection("a").whereField("b", isNotEqualTo: 1).whereField("c", isNotEqualTo: 1) }
      ),
      Rule(
        "Invalid Query. You cannot use 'notIn' filters with 'in' filters.",
        { _ = $0.collection("a").whereField("b", in: [1]).whereField("c", notIn: [1]) }
      ),
      Rule(
        "Invalid Query. You cannot use 'notEqual' filters with 'notIn' filters.",
        { _ = $0.collection("a").whereField("b", notIn: [1]).whereField("c", isNotEqualTo: 1) }
      ),
      Rule(
        "Invalid Query. You cannot use 'arrayContainsAny' filters with 'notIn' filters.",
        {
          _ = $0.collection("a").whereField("b", notIn: [1])
            .whereFilter(.orFilter([.whereField("c", arrayContainsAny: [1]), .whereField("d", isEqualTo: 1)]))
        }
      ),
      Rule(
        "Invalid query. When querying by document ID you must provide a valid document ID, but it was an empty string.",
        { _ = $0.collection("a").whereField(id, isEqualTo: "") }
      ),
      Rule(
        "Invalid query. When querying a collection by document ID you must provide a plain document ID, but 'a/b' "
          + "contains a '/' character.",
        { _ = $0.collection("a").whereField(id, in: ["x", "a/b"]) }
      ),
      Rule(
        "Invalid query. When querying a collection group by document ID, the value provided must result in a valid "
          + "document path, but 'x' is not because it has an odd number of segments.",
        { _ = $0.collectionGroup("a").whereField(id, isEqualTo: "x") }
      ),
      Rule(
        "Invalid query. When querying by document ID you must provide a valid string or DocumentReference, but it was "
          + "of type: Int64",
        { _ = $0.collection("a").whereField(id, isEqualTo: 1) }
      ),
      Rule(
        "Invalid query. When querying by document ID you must provide a valid string or DocumentReference, but it was "
          + "of type: NSNull",
        { _ = $0.collection("a").whereField(id, notIn: [NSNull()]) }
      ),
      Rule(
        "Invalid query. When querying by document ID you must provide a valid document ID, but it was an empty string.",
        { _ = $0.collection("a").whereField(id, in: [""]) }
      ),
      Rule(
        "Invalid query. You can't perform arrayContains queries on document ID since document IDs are not arrays.",
        { _ = $0.collection("a").whereField(id, arrayContains: "x") }
      ),
      Rule(
        "Invalid query. You can't perform arrayContainsAny queries on document ID since document IDs are not arrays.",
        { _ = $0.collection("a").whereField(id, arrayContainsAny: ["x"]) }
      ),
      Rule(
        after + "a starting point before specifying the order by.",
        { _ = $0.collection("a").order(by: "b").start(at: [1]).order(by: "c") }
      ),
      Rule(
        after + "a starting point before specifying the order by.",
        { _ = $0.collection("a").order(by: "b").start(after: [1]).order(by: "c", descending: true) }
      ),
      Rule(
        after + "an ending point before specifying the order by.",
        { _ = $0.collection("a").order(by: "b").end(at: [1]).order(by: id) }
      ),
      Rule(
        after + "an ending point before specifying the order by.",
        { _ = $0.collection("a").order(by: "b").end(before: [1]).order(by: "c") }
      ),
      Rule(
        "Invalid query. You are trying to start or end a query using more values than were specified in the order by.",
        { _ = $0.collection("a").order(by: "b").start(after: [1, 2]) }
      ),
      Rule(
        "Invalid query. Expected a string for the document ID.",
        { _ = $0.collection("a").order(by: id).end(before: [1]) }
      ),
      Rule(
        "Invalid query. When querying a collection and ordering by document ID, you must pass a plain document ID, but "
          + "'x/y' contains a slash.",
        { _ = $0.collection("a").order(by: id).end(at: ["x/y"]) }
      ),
      Rule(
        "Invalid query. When querying a collection group and ordering by document ID, you must pass a value that "
          + "results in a valid document path, but 'x' is not because it contains an odd number of segments.",
        { _ = $0.collectionGroup("a").order(by: id).start(at: ["x"]) }
      ),
      Rule(
        "Invalid Query. Query limit (0) is invalid. Limit must be positive.", { _ = $0.collection("a").limit(to: 0) }),
      Rule(
        "Invalid Query. Query limit (-1) is invalid. Limit must be positive.",
        { _ = $0.collection("a").limit(toLast: -1) }
      ),
      Rule(
        "Invalid Query. Query limit (\(Int.min)) is invalid. Limit must be positive.",
        { _ = $0.collection("a").limit(to: Int.min) }
      ),
      Rule(
        unordered, { $0.collection("a").limit(toLast: 1).getDocuments { _, _ in } }
      ),
      Rule(unordered, { $0.collection("a").limit(toLast: 1).getDocuments(source: .cache) { _, _ in } }),
      Rule(unordered, { $0.collection("a").limit(to: 1).limit(toLast: 1).addSnapshotListener { _, _ in } }),
      Rule(unordered, { _ = $0.collection("a").limit(toLast: 1).snapshots.makeAsyncIterator() }),
    ])
  }
}
