import HearthModel
import Testing

@testable import HearthSync

@Suite("Targets that are asked for one by one, while one is not answered")
struct StarvedTargetTests {
  /// A client with two targets that are asked for one by one, because three streams have ended.
  private func client() throws -> TestClient {
    let client = try TestClient(durable: true)
    client.listen(collection("first"))
    client.listen(collection("second"))
    for _ in 0..<3 {
      try client.breakWatchStream(.internal)
      if client.timers[.listenStreamConnectionBackoff] != nil { try client.fire(.listenStreamConnectionBackoff) }
    }
    #expect(client.watched.count == 1)
    return client
  }

  @Test("the other one is asked for after a while, and gets its result")
  func silentTarget() throws {
    let client = try client()
    for target in client.watched.keys { try client.acknowledge(target) }
    let silent = try #require(client.watched.keys.first)
    for number in 1...4 as ClosedRange<Int64> where client.watched.count == 1 {
      try client.snapshot(number)
      try client.fire(.onlineStateTimeout)
    }
    let other = try #require(client.watched.keys.first { $0 != silent })
    try client.fill(other, [found("second/a", 5)], at: 10)
    #expect(client.watched.count == 2)
  }

  @Test("neither is given up for ends of streams on which both were unanswered")
  func unknownSuspect() throws {
    var search = FaultyTargetSearch()
    let trouble = StatusError(code: .internal, message: "")
    for _ in 0..<3 { _ = search.ended(trouble, unanswered: [1, 2], hasAnswered: false) }
    for _ in 0..<10 {
      let first = search.opened([1, 2, 3])
      #expect(first.count == 1)
      #expect(search.timePassed() == nil, "it was asked for just now")
      let second = search.timePassed()
      #expect(second != nil && second != first.first)
      #expect(search.ended(trouble, unanswered: Set(first + [second ?? 0]), hasAnswered: true) == nil)
    }
    // Alone among those that are unanswered, it is the suspect.
    var givenUp: TargetID?
    for _ in 0..<12 where givenUp == nil {
      let first = search.opened([1, 2, 3])
      _ = search.timePassed()
      _ = search.timePassed()
      givenUp = search.ended(trouble, unanswered: Set(first), hasAnswered: true)
    }
    #expect(givenUp != nil)
  }
}
