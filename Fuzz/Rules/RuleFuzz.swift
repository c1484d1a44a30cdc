import FuzzSupport
import HearthRules
import RulesSupport
import TestSupport

@main
private enum Main {
  /// Rules as anybody may write them, with requests and queries.
  static func main() throws {
    try FuzzProgram.run(seeds: RuleSeeds.make()) { bytes in
      guard let kind = bytes.first else { return }
      RuleFuzz.run(RuleFuzz.Kind(number: kind), bytes.dropFirst())
    }
  }
}

enum RuleFuzz {
  enum Kind: UInt8, CaseIterable {
    /// The text of a file and, behind the first byte 0xFF, the choices for requests.
    case text
    /// The choices for a file, and then those for requests.
    case generated

    init(number: UInt8) {
      self = Self(rawValue: number % UInt8(Self.allCases.count)) ?? .text
    }
  }

  /// As many requests, and as many queries, are asked for each file.
  private static let requestCount = 2

  /// Rules that build values, and search in them, until a limit ends them take longer without optimization than an input may.
  private static let limits: RuleLimits = {
    var limits = RuleLimits()
    limits.resources.valueWeight = 1 << 14
    limits.resources.work = 1 << 17
    limits.resources.patternSteps = 10_000
    limits.resources.patternProgram = 1_000
    return limits
  }()

  static func run(_ kind: Kind, _ input: ArraySlice<UInt8>) {
    switch kind {
    case .text:
      let parts = input.split(separator: 0xFF, maxSplits: 1, omittingEmptySubsequences: false)
      evaluate(String(decoding: parts[0], as: UTF8.self), ByteChoices(parts.count > 1 ? parts[1] : []))
    case .generated:
      var generator = RuleFileGenerator(choices: ByteChoices(input))
      let source = generator.file()
      evaluate(source, generator.choices)
    }
  }

  private static func evaluate(_ source: String, _ choices: ByteChoices) {
    let rules: RuleSet
    do {
      rules = try RuleSet(source, limits: limits)
    } catch {
      precondition(error.issues.contains { $0.severity == .error }, "refused without an error: \(source)")
      return
    }
    var requests = RuleRequestGenerator(choices: choices)
    let documents = requests.documents()
    do {
      for _ in 0..<requestCount {
        try RuleProperties.check(rules, requests.request(), documents)
        try RuleProperties.check(rules, requests.query(), auth: requests.auth(), documents)
        let (query, document) = requests.queryWithDocument()
        try RuleProperties.checkSoundness(
          rules, source: source, query, returning: document, auth: requests.auth(), documents)
      }
    } catch {
      fatalError("\(error)\n\(source)")
    }
  }
}
