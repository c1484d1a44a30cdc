import ArgumentParser
import Foundation
import HearthData
import HearthModel
import HearthRules
import HearthServer

/// `hearth rules test`: decides on the cases of files, and compares the decisions with those that are expected.
struct RulesTestCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test",
    abstract: "Decide on cases, and compare with what is expected.",
    discussion: """
      hearth rules test firestore.rules cases.json

      A file of cases has requests with the documents around them, and what is expected:

        {"documents": {"users/ada": {"role": "admin"}},
         "cases": [{"name": "admins read notes",
                    "request": {"method": "get", "path": "notes/1",
                                "auth": {"uid": "ada"}},
                    "expect": "allow"}]}

      docs/rules.md describes the form; values are written as `hearth data --help` shows. The exit status is 0 if all cases are \
      decided as expected, 64 for a mistake in the options, and otherwise 1.
      """)

  @Argument(
    help: ArgumentHelp("The file of rules, such as firestore.rules.", valueName: "rules"),
    completion: .file(extensions: ["rules"]))
  var rules: String

  @Argument(
    help: ArgumentHelp("The files of cases, such as cases.json.", valueName: "cases"),
    completion: .file(extensions: ["json"]))
  var cases: [String]

  @Flag(help: "Also print how often each expression of the rules was true, false, or failed.")
  var coverage = false

  @Option(
    help: ArgumentHelp(
      "Write what the expressions were to this file, as the JSON of the emulator's :ruleCoverage.", valueName: "file"),
    completion: .file())
  var coverageFile: String?

  @OptionGroup var report: RuleReportOptions

  func validate() throws {
    guard RuleFileKind(path: rules) == .cases else { return }
    guard let file = cases.first(where: { RuleFileKind(path: $0) == .rules }) else {
      throw ValidationError(
        "\(rules) has JSON, and no security rules. The first file is that of the rules: hearth rules test firestore.rules \(ShellWord.bare(rules))"
      )
    }
    let others = cases.filter { $0 != file }.map { " " + ShellWord.bare($0) }.joined()
    throw ValidationError(
      "\(rules) has JSON, and \(file) has security rules: they are swapped. Write hearth rules test \(ShellWord.bare(file)) "
        + "\(ShellWord.bare(rules))\(others)")
  }

  func run() throws {
    let rules = try RulesCommand.rules(path: self.rules)
    var results: [RuleCaseResult] = []
    var counted = rules.emptyCoverage
    do {
      let now = ServerClock.system.now()
      for file in try cases.map({ try RuleCaseFile(path: $0, now: now) }) {
        for one in file.cases {
          guard one.expectsAllowed != nil else {
            throw RuleCaseError(
              description: "\(file.name):\(one.line): case \"\(one.name)\": \"expect\" is missing: allow or deny.")
          }
          let decision = one.decide(by: rules, isTraced: true)
          if let trace = decision.trace { counted.add(trace) }
          results.append(RuleCaseResult(one, in: file.name, decision, by: rules))
        }
      }
      try show(results, rules, counted)
    } catch {
      throw RulesCommand.failure(error, of: "test")
    }
    if !results.allSatisfy(\.isExpected) { throw ExitCode.failure }
  }

  private func show(_ results: [RuleCaseResult], _ rules: RuleSet, _ counted: RuleCoverage) throws {
    let output = StandardOutput()
    let coverageReport = RuleCoverageReport(
      rules, fileName: URL(fileURLWithPath: self.rules).lastPathComponent, counted)
    if report.isJSON {
      for result in results { try output.writeLine(result.json.compact) }
      if coverage { try output.writeLine(JSONText.object([("coverage", coverageReport.json)]).compact) }
    } else {
      var lines = table(results)
      for result in results where !result.isExpected {
        lines += [""] + result.details(rulesFile: self.rules).map { Terminal.safe($0) }
      }
      if coverage { lines += [""] + RuleCoverageTable(counted, of: rules).lines(width: Terminal.width) }
      for line in lines { try output.writeLine(line) }
    }
    guard let coverageFile else { return }
    do {
      try Data((coverageReport.json.indented + "\n").utf8).write(to: URL(fileURLWithPath: coverageFile))
    } catch {
      throw DataError.file("\"\(coverageFile)\"", cannotBe: "written", error)
    }
  }

  private func table(_ results: [RuleCaseResult]) -> [String] {
    let hasFiles = cases.count > 1
    var layout = TableLayout((hasFiles ? ["FILE"] : []) + RuleCaseResult.titles)
    for result in results { layout.add((hasFiles ? [result.fileName] : []) + result.cells) }
    var lines = layout.lines(width: Terminal.width)
    lines[0] = Terminal.styled(lines[0], .bold)
    let failed = results.count { !$0.isExpected }
    let summary = ProgressText.count(results.count, "case") + (failed > 0 ? ", \(failed) failed" : ", all as expected")
    return lines + [Terminal.styled(summary, failed > 0 ? .red : .green)]
  }
}

extension RulesCommand {
  /// Prints an error of a subcommand.
  ///
  /// - Returns: The exit status.
  static func failure(_ error: any Error, of subcommand: String) -> any Error {
    if let error = error as? DataError, error.isBrokenPipe { return ExitCode.failure }
    Terminal.writeError("hearth rules \(subcommand): \(Terminal.safe("\(error)"))")
    return ExitCode.failure
  }
}
