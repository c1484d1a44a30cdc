import HearthPlan
import Testing

@Suite("The cost of queries")
struct QueryExecutionTests {
  @Test(
    "a query deserves an index from 100 looks on, if they are more than 3.4 times its results",
    arguments: [(99, 0, 0, false), (100, 0, 0, true), (40, 60, 0, true), (340, 0, 100, false), (341, 0, 100, true)])
  func deserving(rows: Int, ranges: Int, results: Int, isWorthAnIndex: Bool) {
    var execution = QueryExecution(plan: .scan, rowsRead: rows)
    execution.rangesRead = ranges
    execution.resultCount = results
    #expect(execution.isWorthAnIndex == isWorthAnIndex)
  }

  @Test("steps take the time between two looks at the caller's clock; without one there are none")
  func steps() {
    var time = Duration.zero
    var timer = ExecutionTimer {
      time += .milliseconds(2)
      return time
    }
    timer.finish("first")
    timer.finish("second")
    let steps = ["first", "second"].map { QueryExecution.Step(name: $0, duration: .milliseconds(2)) }
    #expect(timer.steps == steps)
    var silent = ExecutionTimer(nil)
    silent.finish("first")
    #expect(silent.steps.isEmpty)
  }
}
