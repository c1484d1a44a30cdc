/// An expression or a file with the verdicts of Google's emulator and of ours.
package struct RuleCase: Sendable, CustomStringConvertible {
  /// Letters of the emulator and of ours: T if a condition holds, F if its negation holds, E if both fail, C if the file is refused. For
  /// files, T or D (denied) for each of several paths.
  package struct Verdict: Sendable {
    package let emulator: String
    package let ours: String

    /// - Parameter text: Such as `T`, or `E>T` where ours differs.
    init(_ text: Substring) {
      let parts = text.split(separator: ">", maxSplits: 1).map(String.init)
      emulator = parts.first ?? ""
      ours = parts.last ?? ""
    }
  }

  package let text: String
  package let verdict: Verdict

  package var description: String { text }

  init(line: Substring) {
    let space = line.firstIndex(of: " ") ?? line.startIndex
    verdict = Verdict(line[..<space])
    text = String(line[space...].dropFirst())
  }
}

/// Expressions and files of the rules language. Each line begins with the verdict. `RuleDifferentialTests` asks the emulator for it again.
package enum RuleCorpus {
  package static let expressions = [operators, paths, pathTemplates, collections, times, requests, values].flatMap(
    cases)
  package static let declarations = cases(bodies)
  package static let wholeFiles = cases(files)

  private static func cases(_ text: String) -> [RuleCase] { text.split(separator: "\n").map(RuleCase.init) }
}
