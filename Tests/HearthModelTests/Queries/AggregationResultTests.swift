import Testing

@testable import HearthModel

@Suite("Results of aggregations")
struct AggregationResultTests {
  @Test("sums and averages add orders by their fields, in the order of paths, behind those of the query")
  func orders() throws {
    func field(_ name: String) throws -> FieldPath { try FieldPath([name]) }
    let aggregations = [
      Aggregation(alias: "1", operation: .sum(try field("z"))), Aggregation(alias: "2", operation: .count(upTo: nil)),
      Aggregation(alias: "3", operation: .average(try field("a"))),
      Aggregation(alias: "4", operation: .sum(try field("m"))),
      Aggregation(alias: "5", operation: .sum(try field("a"))),
    ]
    var query = Query(path: ResourcePath(["c"]))
    #expect(
      Aggregation.query(query, for: aggregations).orders.map(\.path.canonicalString) == ["a", "m", "z", "__name__"])
    query.explicitOrders = [OrderBy(path: try field("m"), direction: .descending)]
    let ordered = Aggregation.query(query, for: aggregations).orders
    #expect(ordered.map(\.path.canonicalString) == ["m", "a", "z", "__name__"])
    #expect(ordered.allSatisfy { $0.direction == .descending })
  }

  @Test("a count is an integer, sums and averages are numbers or null, and nothing else is a result")
  func kinds() throws {
    let path = try FieldPath(["n"])
    let count = Aggregation(alias: "a", operation: .count(upTo: nil))
    let sum = Aggregation(alias: "a", operation: .sum(path))
    let average = Aggregation(alias: "a", operation: .average(path))
    let table: [(Value, isCount: Bool, isNumber: Bool)] = [
      (.integer(1), true, true), (.double(1), false, true), (.null, false, true), (.string("1"), false, false),
      (.boolean(true), false, false), ([1], false, false), (["integerValue": 1], false, false),
    ]
    for (value, isCount, isNumber) in table {
      #expect(count.canResult(in: value) == isCount, "\(value)")
      #expect(sum.canResult(in: value) == isNumber, "\(value)")
      #expect(average.canResult(in: value) == isNumber, "\(value)")
    }
  }
}
