import Foundation
import TestSupport
import Testing

@testable import HearthRE2

/// Generated patterns and texts, about which Go's package `regexp` has to say the same.
@Suite(
  "Go's regular expressions",
  .enabled(if: Programs.find("go") != nil, "Go is not installed (apt install golang-go)"))
struct GoComparisonTests {
  private struct Question: Encodable {
    var pattern: String
    var whole: String
    var text: Data
    var template: Data
  }

  private struct Answer: Decodable {
    var compiles: Bool
    var ranges: [Int]?
    var whole: Bool
    var replaced: Data?
    var parts: [Data]?
  }

  @Test("20,000 generated pairs of patterns and texts have the same answers in Go", .timeLimit(.minutes(10)))
  func pairsAgree() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-go-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let go = try await goProgram(in: folder)
    var compiled = 0
    var matched = 0
    var differences: [String] = []
    for seed in SeededGenerator.askedSeed.map({ $0...$0 }) ?? 1...20 {
      var generator = PatternGenerator(seed: seed)
      for number in 0..<1000 {
        let pattern = generator.pattern()
        let text = generator.text(for: pattern.text)
        let expression = try? RegularExpression(pattern.text)
        let rewrite = Self.rewrites(groupCount: expression?.groupCount ?? 0)[number % 4]
        let question = Question(
          pattern: pattern.forGo, whole: "\\A(?:\(pattern.closed))\\z", text: Data(text),
          template: Data(Self.goTemplate(rewrite).utf8))
        go.send(String(decoding: try JSONEncoder().encode(question), as: UTF8.self))
        let line = try #require(await go.nextLine(), "Go ended at seed \(seed), pair \(number): \(pattern.text)")
        let answer = try JSONDecoder().decode(Answer.self, from: Data(line.utf8))
        if answer.compiles { compiled += 1 }
        if answer.ranges != nil { matched += 1 }
        if let difference = try Self.difference(expression, text, rewrite, answer) {
          differences.append("seed \(seed), pair \(number): `\(pattern.text)` in \(text): \(difference)")
        }
      }
    }
    go.endInput()
    #expect(differences.isEmpty, "\(differences.count): \(differences.prefix(20).joined(separator: "\n"))")
    if SeededGenerator.askedSeed == nil {
      // Pairs that mostly fail to compile or to match would show little.
      #expect(compiled > 14_000, "\(compiled) patterns compile")
      #expect(matched > 6_000, "\(matched) texts match")
    }
  }

  private func goProgram(in folder: URL) async throws -> LineProcess {
    let go = try #require(Programs.find("go"))
    let source = try #require(Bundle.module.url(forResource: "go_regexp", withExtension: "go"))
    let program = folder.appendingPathComponent("go_regexp")
    let build = try await Programs.runInBackground(
      go, ["build", "-o", program.path, source.path],
      environment: ["GO111MODULE": "off", "GOFLAGS": "", "GOCACHE": folder.appendingPathComponent("cache").path])
    try #require(build.status == 0, "\(build.text)")
    return try LineProcess(program, [], takesInput: true)
  }

  /// - Returns: What Go says otherwise; nil if both agree.
  private static func difference(
    _ expression: RegularExpression?, _ text: [UInt8], _ rewrite: String, _ answer: Answer
  ) throws -> String? {
    guard let expression else { return answer.compiles ? "compiles in Go only" : nil }
    guard answer.compiles else { return "does not compile in Go" }
    let match = expression.firstMatch(in: text)
    let ranges = match?.ranges.flatMap { $0.map { [$0.lowerBound, $0.upperBound] } ?? [-1, -1] }
    if ranges != answer.ranges { return "\(Self.text(ranges)), Go \(Self.text(answer.ranges))" }
    if expression.contains(text) != (match != nil) { return "contains says otherwise than firstMatch" }
    let isWhole = expression.matches(text)
    if isWhole != answer.whole { return "whole: \(isWhole), Go \(answer.whole)" }
    // Strings have no invalid bytes, which Go keeps.
    guard let string = String(validating: text, as: UTF8.self) else { return nil }
    let replaced = try expression.replacingAll(in: string, with: rewrite)
    let wanted = String(decoding: answer.replaced ?? Data(), as: UTF8.self)
    // Strings are equal also if they only look the same.
    guard replaced.utf8.elementsEqual(wanted.utf8) else {
      return "replaced: \(replaced.debugDescription), Go \(wanted.debugDescription)"
    }
    let parts = try expression.split(string).map { Data($0.utf8) }
    return parts == answer.parts ?? [] ? nil : "split: \(parts.map { String(decoding: $0, as: UTF8.self) })"
  }

  private static func text(_ ranges: [Int]?) -> String { ranges.map { "\($0)" } ?? "no match" }

  private static func rewrites(groupCount: Int) -> [String] {
    ["<\\0>", "", "$1\\\\", "\\\(min(groupCount, 9))-\\\(min(groupCount, 1))"]
  }

  /// The rewrite in the syntax of Go's templates.
  private static func goTemplate(_ rewrite: String) -> String {
    var template = ""
    var isEscaped = false
    for character in rewrite {
      switch character {
      case "\\" where !isEscaped: isEscaped = true
      case "$": template += "$$"
      default:
        template += isEscaped && character.isNumber ? "${\(character)}" : String(character)
        isEscaped = false
      }
    }
    return template
  }
}
