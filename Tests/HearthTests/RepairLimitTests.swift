import Testing

@testable import Hearth

@Suite("How often a damaged cache is opened anew")
struct RepairLimitTests {
  private let start = ContinuousClock.now

  @Test("damage again and again ends it")
  func often() {
    var limit = RepairLimit()
    let allowed = (0..<30).prefix { limit.allowsRepair(at: start + .seconds($0)) }
    #expect(allowed.count == 19)
  }

  @Test("damage once in a while does not, however long the process runs")
  func rarely() {
    var limit = RepairLimit()
    #expect((0..<1000).allSatisfy { limit.allowsRepair(at: start + .seconds($0 * 300)) })
  }
}
