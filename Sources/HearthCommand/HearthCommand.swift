internal import ArgumentParser

/// The program `hearth`: a server that speaks the Firestore protocol, and the tools around it.
@main struct HearthCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hearth",
    abstract: "A Cloud Firestore compatible server and its tools.",
    version: "hearth \(HearthVersion.text)",
    subcommands: [
      ServeCommand.self, DataCommand.self, CacheCommand.self, RulesCommand.self, TokenCommand.self, DemoCommand.self,
      DemoDeviceCommand.self, DemoWorkerCommand.self,
    ] + storageCommands)

  /// The commands of servers that share a PostgreSQL database.
  private static var storageCommands: [any ParsableCommand.Type] {
    #if PostgreSQL
      [StorageCommand.self]
    #else
      []
    #endif
  }

  static func main() async {
    let words = Array(CommandLine.arguments.dropFirst())
    // The parser shows the general help for `help` with a word that it does not know.
    if words.first == "help" { endIfMistaken(words) }
    var command: any ParsableCommand
    do {
      command = try await asyncParseAsRoot(words)
    } catch {
      if exitCode(for: error) != .success { endIfMistaken(words) }
      exit(withError: error)
    }
    do {
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
    } catch {
      exit(withError: error)
    }
  }

  /// Ends the program if a subcommand or an option is mistyped.
  private static func endIfMistaken(_ words: [String]) {
    guard let mistakes = ArgumentMistakes(of: Self.self)?.found(in: words) else { return }
    for sentence in mistakes.sentences { Terminal.writeError("Error: \(Terminal.safe(sentence))") }
    Terminal.writeError("See `\(mistakes.command) --help`.")
    exit(withError: ExitCode.validationFailure)
  }
}
