import Foundation
import InteropSupport
import RulesSupport
import TestSupport
import Testing

/// The language of security rules, about which Google's emulator has to say the same.
@Suite("Security rules of Google's emulator and of ours", .enabled(if: Emulator.isInstalled, Emulator.hint), Emulator())
struct RuleDifferentialTests {
  private static let chunkSize = 50
  private static let seedCount = UInt64(ProcessInfo.processInfo.environment["HEARTH_TEST_HISTORIES"] ?? "") ?? 5

  private static func emulator(_ name: String) async throws -> RuleEmulator {
    let emulator = RuleEmulator(project: "rules-\(name)")
    try await emulator.prepare()
    return emulator
  }

  @Test("the expressions of the corpus have the verdicts that are written there", .timeLimit(.minutes(5)))
  func expressions() async throws {
    let emulator = try await Self.emulator("expressions")
    let corpus = RuleCorpus.expressions
    // Those that are refused are asked alone, since they make a file useless for others.
    var verdicts = try await Self.verdicts(on: corpus.filter { $0.verdict.emulator != "C" }.map(\.text), emulator)
    for example in corpus where example.verdict.emulator == "C" {
      verdicts[example.text] = try await emulator.verdicts(on: [example.text]).first
    }
    #expect(verdicts.count == Set(corpus.map(\.text)).count)
    #expect(verdicts.values.count { $0 == "X" } < 5)
    for example in corpus {
      if let verdict = verdicts[example.text], verdict != "X" {
        #expect(verdict == example.verdict.emulator, "\(example)")
      }
      #expect(RuleSources.verdict(on: example.text) == example.verdict.ours, "\(example)")
    }
  }

  @Test("the files of the corpus have the verdicts that are written there", .timeLimit(.minutes(5)))
  func files() async throws {
    let emulator = try await Self.emulator("files")
    for (examples, isWhole) in [(RuleCorpus.declarations, false), (RuleCorpus.wholeFiles, true)] {
      for example in examples {
        let source = isWhole ? example.text : RuleSources.file(example.text)
        let verdict = try await emulator.verdict(onFile: source)
        #expect(verdict == example.verdict.emulator, "\(example)")
        #expect(RuleSources.verdict(onFile: source) == example.verdict.ours, "\(example)")
      }
    }
  }

  @Test("the queries of the corpus have the verdicts that are written there", .timeLimit(.minutes(5)))
  func queries() async throws {
    let emulator = try await Self.emulator("queries")
    let queries = RuleQueryCorpus.all
    for start in stride(from: 0, to: queries.count, by: Self.chunkSize) {
      let chunk = queries[start..<min(start + Self.chunkSize, queries.count)]
      for (query, verdict) in zip(chunk, try await emulator.verdicts(on: chunk)) {
        #expect(verdict == query.verdict.emulator, "\(query.condition) with \(String(describing: query.filter))")
        #expect(RuleSources.verdict(on: query) == query.verdict.ours, "\(query.condition)")
      }
    }
  }

  /// `HEARTH_TEST_HISTORIES=100` makes a hundred thousand expressions of five.
  @Test("5,000 generated expressions have the same verdicts", .timeLimit(.minutes(60)))
  func generatedExpressions() async throws {
    let emulator = try await Self.emulator("generated")
    var counts: [String: Int] = [:]
    var differences: [String] = []
    for seed in SeededGenerator.seeds(Self.seedCount) {
      var generator = RuleExpressionGenerator(seed: seed)
      let expressions = (0..<1000).map { _ in generator.condition() }
      let own = expressions.map { RuleSources.verdict(on: $0) }
      // Those that we refuse are asked alone: in a file with others, each would cost the emulator several smaller files.
      let pairs = zip(expressions, own)
      var verdicts = try await Self.verdicts(on: pairs.filter { $0.1 != "C" }.map(\.0), emulator)
      for (expression, verdict) in pairs where verdict == "C" {
        verdicts[expression] = try await emulator.verdicts(on: [expression]).first
      }
      for (expression, ours) in pairs {
        let theirs = verdicts[expression] ?? ""
        counts[ours, default: 0] += 1
        if theirs != ours, theirs != "X" {
          differences.append("seed \(seed): emulator \(theirs), ours \(ours): \(expression)")
        }
      }
    }
    #expect(differences.isEmpty, "\(differences.count): \(differences.prefix(20).joined(separator: "\n"))")
    if SeededGenerator.askedSeed == nil {
      // Expressions that mostly fail would show little.
      #expect(
        counts["T", default: 0] > 1000 && counts["F", default: 0] > 1000 && counts["E", default: 0] > 500, "\(counts)")
    }
  }

  private static func verdicts(on expressions: [String], _ emulator: RuleEmulator) async throws -> [String: String] {
    var verdicts: [String: String] = [:]
    for start in stride(from: 0, to: expressions.count, by: chunkSize) {
      let chunk = expressions[start..<min(start + chunkSize, expressions.count)]
      for (expression, verdict) in zip(chunk, try await emulator.verdicts(on: chunk)) { verdicts[expression] = verdict }
    }
    return verdicts
  }
}
