import TestSupport
import Testing

@testable import HearthRE2

@Suite("Comparison of automata with threads")
struct MachineComparisonTests {
  @Test("both find the same match from each place of a text", arguments: SeededGenerator.seeds(8))
  func sameMatch(seed: UInt64) throws {
    var generator = PatternGenerator(seed: 1000 + seed)
    for _ in 0..<500 {
      let pattern = generator.pattern().text
      let text = generator.text(for: pattern)
      guard (try? RegularExpression(pattern)) != nil else { continue }
      try compare(pattern, text, seed)
    }
  }

  /// Loops that take nothing, or go through assertions, are where the order of ways is easily lost.
  @Test("both find the same match in loops through assertions", arguments: SeededGenerator.seeds(8))
  func loopsThroughAssertions(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<300 {
      var groups = 0
      let naive = NaiveExpression.generated(&random, depth: 4, groups: &groups, repeatsEmpty: true)
      for _ in 0..<4 {
        try compare(naive.pattern, (0..<random.below(8)).map { _ in random.element(Array("aab-".utf8)) }, seed)
      }
    }
  }

  private func compare(_ pattern: String, _ bytes: [UInt8], _ seed: UInt64) throws {
    let expression = try RegularExpression(pattern)
    let tree = try Parser.parse(pattern, limit: 100_000)
    let program = try #require(Compiler.compile(tree, .forwards, limit: 100_000))
    var threads = ThreadMachine(program, prefilter: nil)
    try bytes.withUnsafeBufferPointer { buffer in
      let text = UTF8Text(buffer)
      var place = 0
      while place < text.count {
        let isPossible = place == 0 || !program.isAnchored
        let request = ThreadMachine.Request(start: place, isAnchored: program.isAnchored)
        let wanted = isPossible ? threads.run(request, in: text).map { $0.slots[0]..<$0.end } : nil
        var work = Matcher.Work()
        let found = try expression.matcher.firstMatch(in: text, from: place, withGroups: false, work: &work)
        #expect(found?[0] == wanted, "`\(pattern)` in \(bytes) from \(place), seed \(seed)")
        place += text.scalar(at: place).width
      }
    }
  }
}
