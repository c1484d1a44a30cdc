internal import ArgumentParser
internal import HearthRules
internal import HearthServer

/// `hearth rules check`: says what is wrong in files of rules. The status is 1 if a server would refuse one of them, or with `--strict` if
/// there is anything to say.
struct RulesCheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Say what is wrong in files of security rules.",
    discussion: """
      Mistakes are printed with file, line and column: the first one of syntax, or all others with the warnings. `hearth serve \
      --rules` refuses a file with errors. What a warning \
      names is accepted, and has no effect, or fails when a request needs it: the request is then denied.

      The exit status is 1 if there are errors, or with --strict also if there are warnings, and otherwise 0.

      Example: hearth rules check firestore.rules
      """)

  @Argument(
    help: ArgumentHelp("The files, such as firestore.rules.", valueName: "file"),
    completion: .file(extensions: ["rules"]))
  var files: [String]

  @Flag(help: "Fail also if there are only warnings.")
  var strict = false

  func run() throws {
    var hasErrors = false
    for file in files {
      let issues: [RuleIssue]
      do {
        let text = try RulesFile.text(path: file)
        do {
          issues = try RuleSet(text).warnings
        } catch {
          issues = error.issues
        }
      } catch {
        Terminal.writeError("hearth rules check: \(Terminal.safe("\(error)"))")
        hasErrors = true
        continue
      }
      for issue in issues { Terminal.write(Terminal.safeLines("\(file):\(issue)")) }
      if issues.isEmpty { Terminal.write(Terminal.safe("\(file): no mistakes")) }
      hasErrors = hasErrors || issues.contains { strict || $0.severity == .error }
    }
    if hasErrors { throw ExitCode.failure }
  }
}
