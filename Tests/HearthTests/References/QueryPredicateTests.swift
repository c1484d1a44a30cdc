import Foundation
import Testing

@testable import Hearth

@Suite("Query predicates")
struct QueryPredicateTests {
  @Test("each predicate is the method that it is named after")
  func methods() throws {
    let query: Hearth.Query = try TestFirestore().firestore.collection("a")
    let table: [([QueryPredicate], Hearth.Query)] = [
      (
        [.where("f", isEqualTo: 1), .isEqualTo("g", 2)],
        query.whereField("f", isEqualTo: 1).whereField("g", isEqualTo: 2)
      ),
      ([.where("f", isIn: [1])], query.whereField("f", in: [1])),
      ([.whereField("f", isNotIn: [1])], query.whereField("f", notIn: [1])),
      ([.where(field: "f", arrayContains: 1)], query.whereField("f", arrayContains: 1)),
      ([.where("f", arrayContains: 1)], query.whereField("f", arrayContains: 1)),
      ([.whereField("f", arrayContainsAny: [1])], query.whereField("f", arrayContainsAny: [1])),
      ([.where("f", isLessThan: 1)], query.whereField("f", isLessThan: 1)),
      ([.where("f", isGreaterThan: 1)], query.whereField("f", isGreaterThan: 1)),
      ([.where("f", isLessThanOrEqualTo: 1)], query.whereField("f", isLessThanOrEqualTo: 1)),
      ([.whereField("f", isGreaterThanOrEqualTo: 1)], query.whereField("f", isGreaterThanOrEqualTo: 1)),
      ([.order(by: "f"), .order(by: "g", descending: true)], query.order(by: "f").order(by: "g", descending: true)),
      ([.order(by: "f"), .limit(to: 2)], query.order(by: "f").limit(to: 2)),
      ([.order(by: "f"), .limit(toLast: 2)], query.order(by: "f").limit(toLast: 2)),
      ([], query),
    ]
    for (predicates, expected) in table { #expect(query.applying(predicates) == expected) }
  }
}
