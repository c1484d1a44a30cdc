import Foundation
import TestSupport
import Testing

#if PostgreSQL
  private let subcommands = "serve, data, cache, rules, token, demo, storage"
  private let placeAdvice = "--data FOLDER, --in-memory or --storage URL"
#else
  private let subcommands = "serve, data, cache, rules, token, demo"
  private let placeAdvice = "either --data FOLDER or --in-memory"
#endif

@Suite("Mistyped words of hearth", .timeLimit(.minutes(5)))
struct CommandMistakeTests {
  private func hearth(_ arguments: [String]) async throws -> Programs.Output {
    try await Programs.runInBackground(Programs.product("hearth"), arguments)
  }

  @Test(
    "a mistyped option or subcommand is named with the nearest one, whatever else is wrong",
    arguments: [
      (["serve", "--prot", "1"], "no option --prot. Did you mean --port?"),
      (["serve", "--prot", "1", "--in-memory"], "Did you mean --port?"),
      (["serve", "--in-memory", "--limit=5", "--prot", "1"], "Did you mean --port?"),
      (["serve", "--in-memory", "--import", "x"], "then import with `hearth data import FOLDER`"),
      (["serve", "--in-memory", "--export-on-exit", "x"], "with `hearth data export FILE`"),
      (["serve", "--in-memory", "--host-port", "127.0.0.1:8080"], "Write --host 127.0.0.1 --port 8080."),
      (["serv", "--in-memory"], "no subcommand \"serv\". Did you mean `hearth serve`?"),
      (["cache", "infos", "x"], "Did you mean `hearth cache info`?"),
      (["help", "dta"], "Did you mean `hearth data`?"),
      (["help", "data", "qurey"], "Did you mean `hearth data query`?"),
      (["data", "qurey", "cities"], "Did you mean `hearth data query`?"),
      (["data", "query", "cities", "--limt", "5", "--where", "n >"], "Did you mean --limit?"),
      (["data", "query", "--oder-by", "n"], "Did you mean --order-by?"),
      (["data", "get", "cities/SF", "-verbose"], "Did you mean --verbose?"),
      (["cache", "clear", "/no/folder", "--discard-pending-write"], "Did you mean --discard-pending-writes?"),
      (["data", "--project", "demo", "query", "cities"], "write it behind the subcommand"),
      (["version"], "Did you mean `hearth --version`?"), (["-v"], "Did you mean --version?"),
      (["outbox", "x"], "Did you mean `hearth cache outbox`?"),
      (["query", "cities"], "Did you mean `hearth data query` or `hearth cache query`?"),
      (["data", "query", "cities", "--order-by", "n", "--desc"], "behind the field: --order-by population:desc."),
      (["data", "query", "cities", "--order-by", "n", "desc"], "Write --order-by n:desc."),
      (["data", "query", "cities", "--sort", "n"], "no option --sort. Did you mean --order-by?"),
      (["data", "count", "cities", "--avg", "n"], "no option --avg. Did you mean --average?"),
      (["data", "ls"], "Did you mean `hearth data collections`?"),
      (["data", "find", "cities"], "Did you mean `hearth data query`?"),
      (["frobnicate"], "The subcommands are \(subcommands)."), (["shell", "--help"], "no subcommand \"shell\"."),
      (["data", "query", "cities", "--port", "28412"], "to the host: write --host 127.0.0.1:28412."),
      (["data", "get", "c/a", "--port=x"], "to the host: write --host HOST:PORT, such as --host 127.0.0.1:8080."),
      (["serve", "--in-memory", "--port", "1", "--port=2"], "takes --port once, and it is given 2 times: 1, 2."),
      (["data", "get", "c/a", "--host", "127.0.0.1:1", "--host", "127.0.0.1:2"], "takes --host once"),
    ])
  func mistakes(words: [String], advice: String) async throws {
    let output = try await hearth(words)
    #expect(output.status == 64 && output.text.hasPrefix("Error: "), "\(words): \(output.status) \(output.text)")
    #expect(output.text.contains(advice), "\(words): \(output.text)")
    #expect(output.text.contains("--help`."), "\(output.text)")
  }

  @Test("an option with two names is refused if both are given")
  func twoNames() async throws {
    let output = try await hearth(["cache", "clear", "/no/folder", "--collection-group", "a", "--group", "b"])
    #expect(output.status == 64 && output.text.contains("--collection-group is given 2 times"), "\(output.text)")
  }

  @Test("a host of --allow-host is a name alone")
  func hosts() async throws {
    for host in ["http://db", "db/x", ""] {
      let output = try await hearth(["serve", "--in-memory", "--allow-host", host])
      #expect(output.status == 64, "\(output.text)")
      #expect(output.text.contains("say the name alone, without scheme and path"), "\(output.text)")
    }
  }

  @Test("a sign before a field and an option without its value are named as such")
  func orders() async throws {
    let descending = try await hearth(["data", "query", "cities", "--order-by", "-n", "--host", "127.0.0.1:1"])
    #expect(descending.status == 64 && descending.text.contains("Write 'n:desc'."), "\(descending.text)")
    let missing = try await hearth(["data", "query", "cities", "--order-by", "--limit"])
    #expect(
      missing.status == 64 && missing.text.contains("Write the field behind --order-by: --order-by name --limit."),
      "\(missing.text)")
  }

  @Test("a file that cannot be read is named with the reason of the system")
  func files() async throws {
    for words in [
      ["data", "set", "a/b", "--file", "/no/file"], ["data", "get", "a/b", "--tls", "--ca-file", "/no/file"],
    ] {
      let output = try await hearth(words)
      #expect(
        output.text.contains("\"/no/file\" cannot be read: No such file or directory."), "\(words): \(output.text)")
    }
  }

  @Test("a path with spaces that a shell has cut is named with its quotation marks")
  func cutPaths() async throws {
    for (words, whole) in [
      (["set", "cities/San", "Francisco", "--json", "{}"], "'cities/San Francisco'"),
      (["delete", "--yes", "cities/New", "York", "City"], "'cities/New York City'"),
      (["query", "old", "notes", "--limit", "5"], "'old notes'"),
    ] {
      let output = try await hearth(["data"] + words)
      #expect(output.status == 64 && output.text.contains("quote the path: \(whole)."), "\(words): \(output.text)")
    }
    let read = try await hearth(["data", "get", "cities/San", "Francisco", "--host", "127.0.0.1:1"])
    #expect(read.status == 64 && read.text.contains("quote it: 'cities/San Francisco'."), "\(read.text)")
    // Words that do not stand side by side are no path.
    let apart = try await hearth(["data", "query", "a", "--limit", "5", "b"])
    #expect(apart.status == 64 && !apart.text.contains("quote the path"), "\(apart.text)")
  }

  @Test(
    "fields without --json, and conditions without quotation marks, are named with the right form",
    arguments: [
      (["data", "set", "cities/SF", #"{"a":1}"#], #"Give the fields with --json: --json '{"a":1}'."#),
      (["data", "set", "cities/SF", "{a:", "1}"], #"--json: --json '{"name": "San Francisco"}'."#),
      (["data", "update", "cities/SF", "name=Foo", "n=5"], #"--json: --json '{"name": "Foo", "n": 5}'."#),
      (["data", "query", "cities", "--where", "n", ">", "5"], "condition for the shell: --where 'n > 5'."),
      (["data", "query", "cities", "--where", "n", "5"], "Quote it as a whole for the shell, such as --where '"),
      (
        ["data", "query", "cities", "--where", "state == CA", "n > 5"],
        "Repeat --where for each condition: --where 'state == CA' --where 'n > 5'."
      ),
      (["cache", "query", "x", "cities", "--where", "n", "==", "5"], "for the shell: --where 'n == 5'."),
    ])
  func cutWords(words: [String], advice: String) async throws {
    let output = try await hearth(words)
    #expect(output.status == 64 && output.text.hasPrefix("Error: "), "\(words): \(output.status) \(output.text)")
    #expect(output.text.contains(advice) && !output.text.contains("quote the path"), "\(words): \(output.text)")
  }

  @Test("a file that is missing is named in a sentence with one full stop")
  func missingFile() async throws {
    let output = try await hearth(["rules", "check", "/no/such.rules"])
    #expect(output.status != 0 && output.text.contains("\"/no/such.rules\" cannot be read: "), "\(output.text)")
    #expect(!output.text.contains(".."), "\(output.text)")
  }

  @Test("two mistakes are both named")
  func two() async throws {
    let output = try await hearth(["serve", "--prot", "1", "--in-memry"])
    #expect(output.text.contains("--port?") && output.text.contains("--in-memory?"), "\(output.text)")
  }

  @Test("words that are right are not mistaken", arguments: [["help", "data", "query"], ["data", "query", "--help"]])
  func right(words: [String]) async throws {
    let output = try await hearth(words)
    #expect(output.status == 0 && output.text.contains("--where"), "\(output.text)")
  }

  @Test("--version names the version of the change log, or the one that is being worked on")
  func version() async throws {
    let output = try await hearth(["--version"])
    let text = try #require(
      output.text.firstMatch(of: /^hearth ([0-9]+\.[0-9]+\.[0-9]+(-dev)?)( \(debug build\))?\n$/), "\(output.text)")
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let log = try String(contentsOf: root.appendingPathComponent("CHANGELOG.md"), encoding: .utf8)
    let newest = try #require(log.firstMatch(of: /\n## (\S+)/)).1
    // The tests are built as the program is.
    #if DEBUG
      #expect(text.3 != nil)
    #else
      #expect(text.3 == nil)
    #endif
    if newest == "Unreleased" { #expect(text.2 != nil) } else { #expect(text.1 == newest) }
  }

  @Test("serve names both places that were given, and asks for one where there is none")
  func places() async throws {
    let both = try await hearth(["serve", "--data", "x", "--in-memory"])
    #expect(both.status == 64 && both.text.contains("--data x and --in-memory were both given"), "\(both.text)")
    let port = try await hearth(["serve", "--in-memory", "--host", "127.0.0.1:8081"])
    #expect(port.status == 64 && port.text.contains("Write --host 127.0.0.1 --port 8081."), "\(port.text)")
    let none = try await hearth(["serve"])
    #expect(none.status == 64 && none.text.contains(placeAdvice), "\(none.text)")
  }

  @Test("serve --help begins with the address and the data, and has titles for the rest")
  func serveHelp() async throws {
    let help = try await Programs.runOnTerminal(Programs.product("hearth"), ["serve", "--help"])
    #expect(help.status == 0)
    let places = [
      "ADDRESS AND DATA:", "--port ", "--data ", "--in-memory ", "--host ", "ACCESS:", "INDEXES:", "METRICS:",
      "LIMITS OF REQUESTS AND DATABASES:", "LIMITS OF CONNECTIONS:",
    ].map { help.text.firstRange(of: "\n" + ($0.hasPrefix("-") ? "  " : "") + $0)?.lowerBound }
    #expect(!places.contains(nil), "\(help.text)")
    #expect(places.compactMap { $0 } == places.compactMap { $0 }.sorted())
  }

  @Test("serve --help says who reaches the server by default, and what it takes that others do")
  func serveReach() async throws {
    let help = try await Programs.runInBackground(Programs.product("hearth"), ["serve", "--help"])
    let text = help.text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(
      text.contains("by default only programs on this machine can reach it. With --host and --open-to-everyone, other"))
    #expect(!text.contains("addresses of other machines"))
  }

  @Test("no value of data --help is broken at the end of a line")
  func values() async throws {
    let help = try await Programs.runOnTerminal(Programs.product("hearth"), ["data", "--help"])
    let lines = help.text.split(separator: "\n").filter { $0.contains("{\"$") }
    #expect(lines.count >= 8)
    for line in lines {
      #expect(line.count <= 80 && line.filter { $0 == "{" }.count == line.filter { $0 == "}" }.count, "\(line)")
    }
  }

  @Test("no line of a help is wider than the terminal, and examples can be pasted")
  func examples() async throws {
    let hearth = Programs.product("hearth")
    for (command, names) in [
      ("data", ["get", "set", "update", "delete", "query", "count", "watch", "export", "import", "databases"]),
      ("cache", ["query", "list", "export", "get"]),
    ] {
      for name in names {
        let help = try await Programs.runOnTerminal(hearth, [command, name, "--help"])
        let lines = help.text.split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= 80 }, "\(lines.filter { $0.count > 80 })")
        for (line, next) in zip(lines, lines.dropFirst()) where line.hasPrefix("hearth \(command) \(name)") {
          // An example is a line, or goes on behind a backslash, which stands at the end of the line.
          if line.hasSuffix("\\") {
            #expect(next.hasPrefix("  "))
          } else {
            #expect(!next.hasPrefix("  --"), "\(line)\n\(next)")
          }
          let quotes = (line.hasSuffix("\\") ? line + next : line).filter { $0 == "'" }
          #expect(quotes.count.isMultiple(of: 2), "\(line)")
        }
      }
    }
  }
}
