import HearthModel
import Testing

@testable import HearthSync

@Suite("Batches that may be at the backend")
struct UncertainBatchesTests {
  @Test("are forgotten when they or later ones are answered, however often their stream broke")
  func answered() {
    var uncertain = UncertainBatches()
    uncertain.begin(through: 0, of: nil)
    for id in BatchID(1)...1_000 {
      uncertain.insert([id, id + 1])
      if id.isMultiple(of: 3) { uncertain.settle(id) }
      uncertain.answered(through: id)
      #expect(uncertain.contains(id + 1))
    }
    #expect(uncertain.count == 1)
  }

  @Test("of a former process stay uncertain until the last of them is answered")
  func inherited() {
    var uncertain = UncertainBatches()
    uncertain.begin(through: 3, of: nil)
    uncertain.insert([4])
    uncertain.answered(through: 2)
    #expect(uncertain.contains(3) && uncertain.contains(4))
    uncertain.answered(through: 4)
    #expect(!uncertain.contains(5))
  }
}
