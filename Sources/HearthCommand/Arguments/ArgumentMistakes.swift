import ArgumentParser
import Foundation
import HearthData

/// Finds mistyped subcommands and options in a command line that was refused, wherever they stand and whatever else is wrong.
struct ArgumentMistakes {
  /// A command as the argument parser describes it (ToolInfoV0).
  private struct Command: Decodable {
    var commandName: String
    var shouldDisplay: Bool
    var subcommands: [Command]?
    var arguments: [Argument]?

    var displayed: [Command] { (subcommands ?? []).filter(\.shouldDisplay) }
    var options: [Argument] { (arguments ?? []).filter { $0.kind != "positional" } }

    /// The number of words that it takes besides options; nil for any number.
    var wordCount: Int? {
      let words = (arguments ?? []).filter { $0.kind == "positional" }
      return words.contains(where: \.isRepeating) ? nil : words.count
    }

    /// Such as `--port`.
    func option(_ name: String) -> Argument? { options.first { $0.spellings.contains(name) } }
  }

  private struct Argument: Decodable {
    struct Name: Decodable {
      var kind: String
      var name: String
    }

    var kind: String
    var shouldDisplay: Bool
    var isRepeating: Bool
    var names: [Name]?

    var spellings: [String] { (names ?? []).map { ($0.kind == "long" ? "--" : "-") + $0.name } }
  }

  private struct Tool: Decodable {
    var command: Command
  }

  private let root: Command

  init?(of command: (some ParsableCommand).Type) {
    guard let tool = try? JSONDecoder().decode(Tool.self, from: Data(command._dumpHelp().utf8)) else { return nil }
    root = tool.command
  }

  /// A sentence for each mistake, and the command whose help shows the right words; nil if all words are known.
  func found(in words: [String]) -> (sentences: [String], command: String)? {
    var (command, path) = (root, [root.commandName])
    var sentences: [String] = []
    var rest = words[...]
    let isHelp = rest.first == "help"
    if isHelp { rest = rest.dropFirst() }
    var (taken, neighbours) = (0, [String]())
    // The words since the last --where, if all that the command takes besides options stands before it.
    var condition: [String] = []
    var order: String?
    while let word = rest.popFirst(), word != "--" {
      let before = neighbours
      neighbours = []
      if word.hasPrefix("-"), word.count > 1, Double(word) == nil {
        let name = String(word.prefix { $0 != "=" })
        (condition, order) = ([], nil)
        if let option = command.option(name) {
          let value = option.kind == "option" && name == word ? rest.popFirst() : nil
          if name == "--where", let value, taken == command.wordCount { condition = [value] }
          if option.spellings.contains("--order-by"), let value, taken == command.wordCount { order = value }
        } else {
          let value = name == word ? rest.first : String(word.dropFirst(name.count + 1))
          sentences.append(Self.unknownOption(name, of: command, path, value: value))
        }
      } else if let subcommands = command.subcommands, !subcommands.isEmpty {
        guard let next = subcommands.first(where: { $0.commandName == word }) else {
          sentences.append(Self.unknownSubcommand(word, of: command, path))
          break
        }
        command = next
        path.append(word)
      } else if isHelp {
        break
      } else {
        taken += 1
        neighbours = before + [word]
        guard let count = command.wordCount, taken > count, sentences.isEmpty else { continue }
        let further = rest.prefix { !$0.hasPrefix("-") }
        if let order, let direction = OrderText.direction(meantBy: word), !order.contains(":") {
          sentences.append("\(Self.start(word, path)) Write --order-by \(ShellWord.bare("\(order):\(direction)")).")
        } else if !condition.isEmpty {
          sentences.append(Self.cutCondition(condition, [word] + further, path))
        } else if !before.isEmpty {
          sentences.append(Self.surplus(neighbours, [word] + further, of: command, path))
        }
      }
    }
    return sentences.isEmpty ? nil : (sentences, path.joined(separator: " "))
  }

  /// A sentence for each option with one value that is given more than once, in a command line without mistyped words, and the command.
  func repeated(in words: [String]) -> (sentences: [String], command: String)? {
    var (command, path) = (root, [root.commandName])
    var values: [String: [String]] = [:]
    var rest = words[...]
    while let word = rest.popFirst(), word != "--" {
      let name = String(word.prefix { $0 != "=" })
      if word.hasPrefix("-"), let option = command.option(name) {
        guard option.kind == "option", !option.isRepeating, let first = option.spellings.first else { continue }
        let value = name == word ? rest.popFirst() : String(word.dropFirst(name.count + 1))
        values[first, default: []].append(value ?? "")
      } else if let next = command.subcommands?.first(where: { $0.commandName == word }) {
        command = next
        path.append(word)
      }
    }
    let place = path.joined(separator: " ")
    let sentences = values.filter { $1.count > 1 }.sorted { $0.key < $1.key }.map { name, values in
      "`\(place)` takes \(name) once, and it is given \(values.count) times: \(values.map(ShellWord.bare).joined(separator: ", "))."
    }
    return sentences.isEmpty ? nil : (sentences, place)
  }

  /// - Parameter value: The next word, or what stands behind an equals sign.
  private static func unknownOption(
    _ name: String, of command: Command, _ path: [String], value: String?
  ) -> String {
    let known = command.options.filter(\.shouldDisplay).flatMap(\.spellings)
    // -port means --port, and -v begins --version.
    let typed = name.hasPrefix("--") ? name : "-" + name
    let isLetter = typed.count == 3
    let beginnings = known.filter { $0.hasPrefix(typed) }
    if ["--desc", "--descending", "--asc", "--ascending"].contains(typed), command.option("--order-by") != nil {
      return
        "`\(path.joined(separator: " "))` has no option \(name). The direction stands behind the field: --order-by population:desc."
    }
    if let meant = otherOptions[typed], command.option(meant) != nil {
      return "`\(path.joined(separator: " "))` has no option \(name). Did you mean \(meant)?"
    }
    if typed == "--json", command.option("--format") != nil {
      let advice = "For JSON write --format json; without a terminal it is the default."
      return "`\(path.joined(separator: " "))` has no option \(name). \(advice)"
    }
    if ["--port", "--p"].contains(typed), command.option("--host") != nil, command.option("--port") == nil {
      let place = value.flatMap(UInt16.init).map { "127.0.0.1:\($0)" } ?? "HOST:PORT, such as --host 127.0.0.1:8080"
      return
        "`\(path.joined(separator: " "))` has no option \(name). The port belongs to the host: write --host \(place)."
    }
    if path.last == "serve", let advice = emulatorOptions[typed] {
      return "`\(path.joined(separator: " "))` has no option \(name). \(advice)"
    }
    let nearest = isLetter ? (beginnings.count == 1 ? beginnings[0] : nil) : nearestOption(typed, in: known)
    let advice = nearest.map { "Did you mean \($0)?" } ?? elsewhere(name, of: command, path)
    return "`\(path.joined(separator: " "))` has no option \(name)." + (advice.map { " " + $0 } ?? "")
  }

  /// The names that other tools have for options and subcommands.
  private static let otherOptions = [
    "--sort": "--order-by", "--sort-by": "--order-by", "--orderby": "--order-by", "--avg": "--average",
    "--mean": "--average",
    "--filter": "--where", "--fields": "--select", "--top": "--limit", "--first": "--limit",
  ]
  private static let otherSubcommands = [
    "ls": "collections", "list": "collections", "find": "query", "search": "query", "select": "query", "rm": "delete",
    "remove": "delete", "put": "set", "write": "set", "create": "set", "add": "set", "cat": "get", "read": "get",
    "show": "get",
    "dump": "export", "backup": "export", "load": "import", "restore": "import", "listen": "watch",
    "projects": "databases",
  ]

  /// Options of Google's emulator, and what does the same for `hearth serve`.
  private static let emulatorOptions = [
    "--import":
      "Start the server, then import with `hearth data import FOLDER`. Or keep the documents with --data FOLDER.",
    "--export-on-exit":
      "Keep the documents with --data FOLDER. Or export them before the end with `hearth data export FILE`.",
    "--host-port": "Write --host 127.0.0.1 --port 8080.",
  ]

  private static func nearestOption(_ typed: String, in known: [String]) -> String? {
    NearestWord.of(String(typed.dropFirst(2)), in: known.filter { $0.hasPrefix("--") }.map { String($0.dropFirst(2)) })
      .map { "--" + $0 }
  }

  /// A subcommand that has an option which the command itself lacks.
  private static func elsewhere(_ name: String, of command: Command, _ path: [String]) -> String? {
    guard let owner = command.displayed.first(where: { $0.option(name) != nil }) else { return nil }
    return "`\((path + [owner.commandName]).joined(separator: " "))` has it: write it behind the subcommand."
  }

  private static func start(_ word: String, _ path: [String]) -> String {
    "`\(path.joined(separator: " "))` does not take the word \"\(word)\" there."
  }

  /// The words of a path with spaces, which a shell takes for several words, or fields without the option for them.
  ///
  /// - Parameter neighbours: The words up to the first surplus one, side by side.
  private static func surplus(
    _ neighbours: [String], _ words: [String], of command: Command, _ path: [String]
  ) -> String {
    let start = start(words[0], path)
    if command.option("--json")?.kind == "option", let fields = FieldWords.json(words) {
      return "\(start) Give the fields with --json: --json \(ShellWord.quoted(fields))."
    }
    let whole = (neighbours + words.dropFirst()).joined(separator: " ")
    return "\(start) If the space before it is part of a path, quote the path: \(ShellWord.quoted(whole))."
  }

  /// The words of one condition, which a shell takes for several words, or several conditions behind one option.
  private static func cutCondition(_ condition: [String], _ surplus: [String], _ path: [String]) -> String {
    func isCondition(_ text: String) -> Bool {
      var query = DataQuery(collection: "any")
      query.conditions = [text]
      return (try? query.check()) != nil
    }
    let (start, words) = (start(surplus[0], path), condition + surplus)
    if words.allSatisfy(isCondition) {
      let all = words.map { "--where \(ShellWord.quoted($0))" }.joined(separator: " ")
      return "\(start) Repeat --where for each condition: \(all)."
    }
    let whole = words.joined(separator: " ")
    guard isCondition(whole) else {
      return
        "\(start) A condition is a field, an operator and a value. Quote it as a whole for the shell, such as --where 'population >= 1000000'."
    }
    return "\(start) Quote the whole condition for the shell: --where \(ShellWord.quoted(whole))."
  }

  private static func unknownSubcommand(_ word: String, of command: Command, _ path: [String]) -> String {
    let prefix = path.joined(separator: " ")
    let known = command.displayed.map(\.commandName)
    let own = known.filter { $0 != "help" }
    var advice = "The subcommands are \(own.joined(separator: ", "))."
    let owners = path.count > 1 ? [] : command.displayed.filter { $0.displayed.contains { $0.commandName == word } }
    if !owners.isEmpty {
      let commands = owners.map { "`\(prefix) \($0.commandName) \(word)`" }
      advice = "Did you mean \(commands.joined(separator: " or "))?"
    } else if let meant = otherSubcommands[word], known.contains(meant) {
      advice = "Did you mean `\(prefix) \(meant)`?"
    } else if let nearest = NearestWord.of(word, in: known) {
      advice = "Did you mean `\(prefix) \(nearest)`?"
    } else if command.option("--" + word) != nil {
      advice = "Did you mean `\(prefix) --\(word)`?"
    }
    return "`\(prefix)` has no subcommand \"\(TableLayout.safe(word))\". \(advice)"
  }
}
