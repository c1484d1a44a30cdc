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
    let words = withJoinedNumbers(Array(CommandLine.arguments.dropFirst()))
    // The parser shows the general help for `help` with a word that it does not know, and for such a word with --help.
    if words.first == "help" || isUnknownSubcommand(words.first) { endIfMistaken(words) }
    var command: any ParsableCommand
    do {
      command = try await asyncParseAsRoot(words)
    } catch {
      if exitCode(for: error) != .success { endIfMistaken(words) }
      exit(withError: error)
    }
    endIfRepeated(words)
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

  /// Writes `--option -1` as `--option=-1`. The parser takes -1 for another option, and says that the value is missing.
  private static func withJoinedNumbers(_ words: [String]) -> [String] {
    var joined: [String] = []
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == "--" { return joined + [word] + rest }
      if word.hasPrefix("--"), !word.contains("="), let next = rest.first, next.hasPrefix("-"), Double(next) != nil {
        joined.append("\(word)=\(rest.removeFirst())")
      } else {
        joined.append(word)
      }
    }
    return joined
  }

  private static func isUnknownSubcommand(_ word: String?) -> Bool {
    guard let word, !word.hasPrefix("-") else { return false }
    return !configuration.subcommands.contains { $0._commandName == word }
  }

  /// Ends the program if a subcommand or an option is mistyped.
  private static func endIfMistaken(_ words: [String]) {
    end(because: ArgumentMistakes(of: Self.self)?.found(in: words))
  }

  /// Ends the program if an option that has one value is given twice. The parser would take the last value without a word.
  private static func endIfRepeated(_ words: [String]) {
    let options = words.prefix { $0 != "--" }.filter { $0.hasPrefix("-") }.map { $0.prefix { $0 != "=" } }
    // The description of all commands takes a moment.
    guard Set(options).count < options.count else { return }
    end(because: ArgumentMistakes(of: Self.self)?.repeated(in: words))
  }

  private static func end(because mistakes: (sentences: [String], command: String)?) {
    guard let mistakes else { return }
    for sentence in mistakes.sentences { Terminal.writeError("Error: \(Terminal.safe(sentence))") }
    Terminal.writeError("See `\(mistakes.command) --help`.")
    exit(withError: ExitCode.validationFailure)
  }
}
