import RulesSupport
import TestSupport

/// Files to begin with: the corpora, and choices at random.
enum RuleSeeds {
  /// One case of a corpus in so many is taken.
  private static let stride = 4
  private static let choiceCount = 40
  private static let generatedCount = 60

  static func make() -> [[UInt8]] {
    var random = SeededGenerator(seed: 1)
    func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(random.below(256)) } }
    let texts = files.map { [RuleFuzz.Kind.text.rawValue] + Array($0.utf8) + [0xFF] + bytes(choiceCount) }
    let generated = (0..<generatedCount).map { [RuleFuzz.Kind.generated.rawValue] + bytes(10 * $0) }
    return texts + generated
  }

  private static var files: [String] {
    let declarations = some(RuleCorpus.declarations).map { RuleSources.file($0.text) }
    let expressions = some(RuleCorpus.expressions).map {
      RuleSources.file(" match /c/{id} { allow read, write: if \($0.text); }")
    }
    let conditions = RuleQueryCorpus.conditions.split(separator: "\n").map {
      RuleSources.file(" match /q/{id} { allow list: if \($0); }")
    }
    return RuleCorpus.wholeFiles.map(\.text) + declarations + expressions + conditions
  }

  private static func some(_ cases: [RuleCase]) -> [RuleCase] {
    cases.indices.filter { $0.isMultiple(of: stride) }.map { cases[$0] }
  }
}
