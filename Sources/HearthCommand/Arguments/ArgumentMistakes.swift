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
    while let word = rest.popFirst(), word != "--" {
      let before = neighbours
      neighbours = []
      if word.hasPrefix("-"), word.count > 1, Double(word) == nil {
        let name = String(word.prefix { $0 != "=" })
        if let option = command.option(name) {
          if option.kind == "option", name == word { rest = rest.dropFirst() }
        } else {
          sentences.append(Self.unknownOption(name, of: command, path))
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
        guard let count = command.wordCount, taken > count, !before.isEmpty, sentences.isEmpty else { continue }
        let further = rest.prefix { !$0.hasPrefix("-") }
        sentences.append(Self.surplus(neighbours + further, word, path))
      }
    }
    return sentences.isEmpty ? nil : (sentences, path.joined(separator: " "))
  }

  private static func unknownOption(_ name: String, of command: Command, _ path: [String]) -> String {
    let known = command.options.filter(\.shouldDisplay).flatMap(\.spellings)
    // -port means --port, and -v begins --version.
    let typed = name.hasPrefix("--") ? name : "-" + name
    let isLetter = typed.count == 3
    let beginnings = known.filter { $0.hasPrefix(typed) }
    let nearest = isLetter ? (beginnings.count == 1 ? beginnings[0] : nil) : nearestOption(typed, in: known)
    let advice = nearest.map { "Did you mean \($0)?" } ?? elsewhere(name, of: command, path)
    return "`\(path.joined(separator: " "))` has no option \(name)." + (advice.map { " " + $0 } ?? "")
  }

  private static func nearestOption(_ typed: String, in known: [String]) -> String? {
    NearestWord.of(String(typed.dropFirst(2)), in: known.filter { $0.hasPrefix("--") }.map { String($0.dropFirst(2)) })
      .map { "--" + $0 }
  }

  /// A subcommand that has an option which the command itself lacks.
  private static func elsewhere(_ name: String, of command: Command, _ path: [String]) -> String? {
    guard let owner = command.displayed.first(where: { $0.option(name) != nil }) else { return nil }
    return "`\((path + [owner.commandName]).joined(separator: " "))` has it: write it behind the subcommand."
  }

  /// The words of a path with spaces, which a shell takes for several words.
  private static func surplus(_ words: [String], _ word: String, _ path: [String]) -> String {
    let whole = words.joined(separator: " ")
    return
      "`\(path.joined(separator: " "))` does not take the word \"\(word)\" there. If the space before it is part of a path, quote the "
      + "path: \(ShellWord.quoted(whole))."
  }

  private static func unknownSubcommand(_ word: String, of command: Command, _ path: [String]) -> String {
    let prefix = path.joined(separator: " ")
    let known = command.displayed.map(\.commandName)
    let own = known.filter { $0 != "help" }
    var advice = "The subcommands are \(own.joined(separator: ", "))."
    if let nearest = NearestWord.of(word, in: known) {
      advice = "Did you mean `\(prefix) \(nearest)`?"
    } else if command.option("--" + word) != nil {
      advice = "Did you mean `\(prefix) --\(word)`?"
    }
    return "`\(prefix)` has no subcommand \"\(TableLayout.safe(word))\". \(advice)"
  }
}
