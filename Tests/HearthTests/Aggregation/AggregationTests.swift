import Foundation
import Testing

@testable import Hearth

@Suite("Aggregations", .timeLimit(.minutes(1)))
struct AggregationTests {
  @Test("count, sum and average of what is in the cache, local writes included")
  func cache() async throws {
    let db = try await TestFirestore.offline()
    let cities = db.collection("cities")
    for (id, population) in [("a", 1), ("b", 2), ("c", 6)] {
      cities.document(id).setData(["population": population], completion: nil)
    }
    cities.document("text").setData(["population": "many"], completion: nil)
    cities.document("none").setData([:], completion: nil)
    #expect(try await cities.count.getAggregation(source: .cache).count == 5)
    let result = try await cities.aggregate([.sum("population"), .average("population")])
      .getAggregation(source: .cache)
    #expect(result.get(.sum("population")) as? Int == 9)
    #expect(result.get(.average("population")) as? Double == 3)
    #expect(try await cities.whereField("population", isGreaterThan: 1).count.getAggregation(source: .cache).count == 2)
  }

  @Test("the sum of nothing is 0, the average of nothing is NSNull")
  func nothing() async throws {
    let db = try await TestFirestore.offline()
    let result = try await db.collection("cities").aggregate([.sum("n"), .average("n"), .count()])
      .getAggregation(source: .cache)
    #expect(result.get(.sum("n")) as? Int == 0)
    #expect(result.get(.average("n")) is NSNull)
    #expect(result.count == 0)
  }

  @Test("sums stay integers as long as they can, and numbers that are not numbers spread")
  func numbers() async throws {
    let db = try await TestFirestore.offline()
    let rows = db.collection("rows")
    rows.document("a").setData(["n": Int64.max], completion: nil)
    rows.document("b").setData(["n": 1], completion: nil)
    let sum = AggregateField.sum("n")
    func total() async throws -> NSNumber? {
      try await rows.aggregate([sum]).getAggregation(source: .cache).get(sum) as? NSNumber
    }
    #expect(try await total()?.doubleValue == 0x1p63)
    rows.document("c").setData(["n": -2], completion: nil)
    #expect(try await total()?.int64Value == .max - 1)
    rows.document("d").setData(["n": Double.nan], completion: nil)
    #expect(try await total()?.doubleValue.isNaN == true)
  }

  @Test("the last documents of a query without an order can be counted, as of one with an order")
  func lastWithoutOrder() async throws {
    let db = try await TestFirestore.offline()
    let rows = db.collection("rows")
    for (id, n) in [("a", 1), ("b", 2), ("c", 4)] { rows.document(id).setData(["n": n], completion: nil) }
    let last = rows.limit(toLast: 2).aggregate([.count(), .sum("n")])
    let message = await Misuse.message { last.getAggregation(source: .cache) { _, _ in } }
    #expect(message == nil)
    try #require(message == nil)
    let result = try await last.getAggregation(source: .cache)
    #expect(result.count == 2)
    #expect(result.get(.sum("n")) as? Int == 6)
    #expect(try await rows.limit(toLast: 9).count.getAggregation(source: .cache).count == 3)
    let error = await thrown { try await last.getAggregation(source: .server) }
    #expect(error?.code == FirestoreErrorCode.unavailable.rawValue)
  }

  @Test("the backend's answer is not to be had while the network is disabled")
  func serverOffline() async throws {
    let db = try await TestFirestore.offline()
    let error = await thrown { try await db.collection("cities").count.getAggregation(source: .server) }
    #expect(error?.domain == FirestoreErrorDomain)
    #expect(error?.code == FirestoreErrorCode.unavailable.rawValue)
  }

  @Test("no aggregation, or more than five, is refused")
  func numberOfAggregations() async throws {
    let db = try await TestFirestore.offline()
    let query = db.collection("cities")
    let six = (1...6).map { AggregateField.sum("f\($0)") }
    for fields in [[], six] {
      let error = await thrown { try await query.aggregate(fields).getAggregation(source: .cache) }
      #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue)
    }
    // The same one six times is one.
    _ = try await query.aggregate(Array(repeating: .count(), count: 6)).getAggregation(source: .cache)
  }

  @Test("a value that was not asked for is a programming error that names it")
  func notRequested() async throws {
    let db = try await TestFirestore.offline()
    let result = try await db.collection("cities").count.getAggregation(source: .cache)
    #expect(throws: ProgrammingError("'avg(bar)' was not requested in the aggregation query.")) {
      try result.value(of: .average("bar"))
    }
  }

  @Test("equality: the same aggregations of the same query, in any order")
  func equality() async throws {
    let db = try await TestFirestore.offline()
    let query = db.collection("cities")
    #expect(AggregateField.sum("a.b") == AggregateField.sum(FieldPath(["a", "b"])))
    #expect(AggregateField.sum("a") != AggregateField.average("a"))
    #expect(query.aggregate([.count(), .sum("a")]) == query.aggregate([.sum("a"), .count(), .count()]))
    #expect(query.aggregate([.count()]) != query.limit(to: 1).aggregate([.count()]))
    let first = try await query.aggregate([.count(), .sum("a")]).getAggregation(source: .cache)
    let second = try await query.aggregate([.sum("a"), .count()]).getAggregation(source: .cache)
    #expect(first == second && first.hash == second.hash)
    query.document("x").setData(["a": 1], completion: nil)
    let other = try await query.aggregate([.count(), .sum("a")]).getAggregation(source: .cache)
    #expect(other != first && other.hash != first.hash)
  }
}
