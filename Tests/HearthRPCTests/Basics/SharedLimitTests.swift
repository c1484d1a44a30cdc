import TestSupport
import Testing

@testable import HearthRPC

@Suite("Limits that holders share")
struct SharedLimitTests {
  @Test("one holder gets half, a second one half of what it leaves, and so on until nothing is left")
  func halves() {
    var limit = SharedLimit<Int>(100)
    let taken = (0..<10).map { holder in (0..<200).count { _ in limit.take(for: holder) } }
    #expect(taken == [50, 25, 13, 6, 3, 2, 1, 0, 0, 0])
    #expect(limit.count == 100)
  }

  @Test("holders that ask in turn get equal parts, and leave one to others", arguments: 1...12)
  func turns(holders: Int) {
    var limit = SharedLimit<Int>(1000)
    var taken = Array(repeating: 0, count: holders)
    for _ in 0..<1000 { for holder in 0..<holders where limit.take(for: holder) { taken[holder] += 1 } }
    let fair = 1000 / (holders + 1)
    #expect(taken.allSatisfy { (fair...fair + 1).contains($0) })
    let isTaken = limit.take(for: -1)
    #expect(isTaken)
  }

  @Test("a limit of one serves one after the other")
  func one() {
    var limit = SharedLimit<Int>(1)
    let taken = [1, 1, 2].map { limit.take(for: $0) }
    limit.giveBack(of: 1)
    let takenAfterwards = limit.take(for: 2)
    #expect(taken == [true, false, false] && takenAfterwards)
  }

  @Test(
    "whatever is taken and given back, a holder has at most what it left free, and one without any gets one while there is room"
  )
  func generated() {
    for seed in SeededGenerator.seeds(200) {
      var random = SeededGenerator(seed: seed)
      let most = 1 + random.below(40)
      var limit = SharedLimit<Int>(most)
      var held = Array(repeating: 0, count: 1 + random.below(6))
      for _ in 0..<300 {
        let holder = random.below(held.count)
        if random.chance(60) {
          let free = most - held.reduce(0, +)
          let isTaken = limit.take(for: holder)
          #expect(isTaken == (free > 0 && held[holder] < free), "seed \(seed)")
          if isTaken { held[holder] += 1 }
        } else if held[holder] > 0 {
          limit.giveBack(of: holder)
          held[holder] -= 1
        }
        #expect(limit.count == held.reduce(0, +) && limit.holderCount == held.count { $0 > 0 }, "seed \(seed)")
      }
    }
  }
}
