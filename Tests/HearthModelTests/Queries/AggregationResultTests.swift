import Testing

@testable import HearthModel

@Suite("Results of aggregations")
struct AggregationResultTests {
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
