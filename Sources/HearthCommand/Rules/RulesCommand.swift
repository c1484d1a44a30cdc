import ArgumentParser
import HearthRules
import HearthServer

/// `hearth rules`: tools for files of security rules.
struct RulesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rules", abstract: "Check, test and explain files of security rules.",
    subcommands: [RulesCheckCommand.self, RulesTestCommand.self, RulesExplainCommand.self])

  /// Reads and compiles a file of rules.
  ///
  /// - Throws: The exit status, after the mistakes in the file were printed.
  static func rules(path: String) throws -> RuleSet {
    do {
      let text = try RulesFile.text(path: path)
      do {
        return try RuleSet(text)
      } catch {
        for issue in error.issues { Terminal.writeError(Terminal.safeLines("\(path):\(issue)")) }
      }
    } catch {
      Terminal.writeError("hearth rules: \(Terminal.safe("\(error)"))")
    }
    throw ExitCode.failure
  }
}

/// The form of a report. It is for people, also in the log of a build, unless JSON is asked for.
struct RuleReportOptions: ParsableArguments {
  @Option(help: "table or json.")
  var format = OutputFormat.table

  var isJSON: Bool { format == .json }
}
