import Foundation
import HearthServer
import TestSupport
import Testing

@Suite("What hearth data shows", .timeLimit(.minutes(5)))
struct CommandOutputTests {
  private struct Place {
    let server: TestServer

    var environment: [String: String] { ["FIRESTORE_EMULATOR_HOST": server.address, "GOOGLE_CLOUD_PROJECT": "demo"] }

    func pipe(_ arguments: String...) async throws -> Programs.Output {
      try await Programs.runInBackground(Programs.product("hearth"), ["data"] + arguments, environment: environment)
    }

    /// Standard output alone, which other programs read.
    func output(_ arguments: String...) async throws -> Programs.Output {
      try await Programs.runInBackground(
        URL(fileURLWithPath: "/bin/sh"),
        ["-c", "exec \"$0\" \"$@\" 2>/dev/null", Programs.product("hearth").path, "data"] + arguments,
        environment: environment)
    }

    func terminal(
      _ arguments: [String], rows: Int = 1000, environment: [String: String] = [:]
    ) async throws -> Programs.Output {
      try await Programs.runOnTerminal(
        Programs.product("hearth"), ["data"] + arguments, rows: rows,
        environment: self.environment.merging(environment) { $1 })
    }

    func set(_ path: String, _ json: String, project: String = "demo") async throws {
      let written = try await pipe("set", path, "--json", json, "--project", project)
      #expect(written.status == 0, "\(written.text)")
    }
  }

  private func withServer(_ body: (Place) async throws -> Void) async throws {
    let server = try await TestServer.start()
    let result: Result<Void, any Error>
    do {
      result = .success(try await body(Place(server: server)))
    } catch {
      result = .failure(error)
    }
    await server.stop()
    try result.get()
  }

  @Test("an empty answer says why it may be empty, and JSON in a pipe stays JSON")
  func emptyAnswers() async throws {
    try await withServer { place in
      #expect(try await place.pipe("query", "notes").text.contains("this server has no documents at all"))
      #expect(try await place.pipe("databases").text.contains("has no databases yet"))
      try await place.set("notes/1", #"{"n": 5}"#, project: "demo-notes")
      try await place.set("lists/1", "{}", project: "demo-list")
      for arguments in [
        ["query", "notes"], ["query", "notes", "--format", "table"], ["collections"], ["count", "notes"],
      ] {
        let output = try await Programs.runInBackground(
          Programs.product("hearth"), ["data"] + arguments, environment: place.environment)
        #expect(
          output.status == 0 && output.text.contains("in project demo; this server has demo-list, demo-notes"),
          "\(output.text)")
      }
      let piped = try await place.output("query", "notes")
      #expect(piped.status == 0 && piped.text.isEmpty, "\(piped.text)")
      #expect(try await place.output("count", "notes").text == "{\"count\":0}\n")
      let conditions = try await place.pipe("query", "notes", "--where", "n == \"5\"", "--project", "demo-notes")
      #expect(conditions.text.contains("without the conditions there is 1 document in notes"), "\(conditions.text)")
      let mistyped = try await place.pipe("query", "nots", "--project", "demo-notes")
      #expect(mistyped.text.contains("no collection nots, but notes. Did you mean notes?"), "\(mistyped.text)")
      let database = try await place.pipe("query", "notes", "--project", "demo-notes", "--database", "prod")
      #expect(
        database.text.contains("the project has the database (default). Did you mean --database '(default)'?"),
        "\(database.text)")
      let exported = try await place.pipe("export", "-")
      #expect(exported.status == 0, "\(exported.text)")
      #expect(exported.text.contains("in project demo; this server has demo-list, demo-notes"), "\(exported.text)")
      let found = try await place.terminal(["query", "notes", "--project", "demo-notes"])
      #expect(!found.text.contains("0 documents"), "\(found.text)")
    }
  }

  @Test("databases lists the projects and databases of a server, and a backend without such a list is named")
  func databases() async throws {
    try await withServer { place in
      try await place.set("a/b", "{}", project: "one")
      let other = try await place.pipe("set", "a/b", "--json", "{}", "--project", "two", "--database", "second")
      #expect(other.status == 0)
      // A database that was only read is none.
      _ = try await place.pipe("query", "a", "--project", "three")
      let listed = try await place.output("databases")
      #expect(
        listed.text == #"{"project":"one","database":"(default)"}"# + "\n" + #"{"project":"two","database":"second"}"#
          + "\n")
      let table = try await place.terminal(["databases"], environment: ["NO_COLOR": "1"])
      #expect(table.text == "PROJECT  DATABASE\none      (default)\ntwo      second\n2 databases\n", "\(table.text)")
    }
  }

  @Test("set says what it wrote: a sentence on a terminal, an object in a pipe")
  func written() async throws {
    try await withServer { place in
      let piped = try await place.output("set", "cities/SF", "--json", #"{"n": 1}"#)
      let object = try #require(try JSONSerialization.jsonObject(with: Data(piped.text.utf8)) as? [String: Any])
      #expect(object["path"] as? String == "cities/SF" && object["updateTime"] is String)
      let shown = try await place.terminal(["set", "cities/SF", "--json", #"{"n": 2}"#])
      #expect(
        shown.text.hasPrefix("Document cities/SF is written, in projects/demo/databases/(default) at "), "\(shown.text)"
      )
    }
  }

  @Test("changes in place of values are computed by the backend")
  func changes() async throws {
    try await withServer { place in
      try await place.set(
        "v/1", #"{"n": {"$increment": 2}, "tags": {"$arrayUnion": ["a", "b"]}, "old": 1, "m": {"k": 1}}"#)
      let updated = try await place.pipe(
        "update", "v/1", "--json",
        #"{"n": {"$increment": 3}, "tags": {"$arrayRemove": ["a"]}, "old": {"$delete": true}, "m.x": {"$maximum": 7}}"#)
      #expect(updated.status == 0, "\(updated.text)")
      let merged = try await place.pipe(
        "set", "v/1", "--merge", "--json", #"{"seen": {"$serverTimestamp": true}, "m": {"y": {"$minimum": 4}}}"#)
      #expect(merged.status == 0, "\(merged.text)")
      let text = try await place.pipe("get", "v/1").text
      #expect(
        text.contains(#""fields":{"m":{"k":1,"x":7,"y":4},"n":5,"seen":{"$timestamp":"20"#)
          && text.contains(#""tags":["b"]"#),
        "\(text)")
      #expect(try await place.pipe("update", "v/none", "--json", "{}").status == 1)
    }
  }

  @Test("a table fits a terminal of 80 columns, lines up under wide characters, and counts its rows")
  func cells() async throws {
    try await withServer { place in
      try await place.set("t/1", #"{"name": "日本語テキスト日本語テキスト日本語テキスト日本語テキスト", "n": 42}"#)
      try await place.set("t/2", #"{"name": "e\#u{301}👍🇩🇪 plain", "n": "42"}"#)
      try await place.set("t/3", #"{"name": null, "n": true}"#)
      try await place.set("t/4", #"{"name": "null", "n": "true"}"#)
      let table = try await place.terminal(["query", "t"], environment: ["NO_COLOR": "1"])
      #expect(!table.text.contains("\u{1B}"))
      let lines = table.text.split(separator: "\n")
      #expect(lines.count == 6 && lines.last == "4 documents", "\(table.text)")
      for line in lines {
        // Japanese letters take two cells each, the flag and the thumb two, the accent none.
        let cells = line.unicodeScalars.reduce(0) { sum, scalar in
          switch scalar.value {
          case 0x301: sum
          case 0x3000...0x9FFF, 0x1F44D: sum + 2
          default: sum + 1
          }
        }
        #expect(cells <= 80, "\(cells): \(line)")
      }
      let rows = Dictionary(uniqueKeysWithValues: lines.dropFirst().dropLast().map { ($0.prefix(3), $0) })
      #expect(rows["t/2"]?.contains("\"42\"") == true && rows["t/1"]?.contains(" 42 ") == true, "\(table.text)")
      #expect(
        rows["t/3"]?.hasSuffix(" null") == true && rows["t/4"]?.hasSuffix(" \"null\"") == true
          && rows["t/4"]?.contains(" \"true\" ") == true,
        "\(table.text)")
      let coloured = try await place.terminal(["query", "t"], environment: ["NO_COLOR": ""])
      #expect(coloured.text.hasPrefix("\u{1B}[1mDOCUMENT"))
      let piped = try await place.output("query", "t", "--format", "table")
      #expect(!piped.text.contains("\u{1B}") && piped.text.hasSuffix("4 documents\n"))
    }
  }

  @Test("a table that is longer than the screen goes through the pager, once, and only on a terminal")
  func pager() async throws {
    try await withServer { place in
      for index in 0..<12 { try await place.set("t/\(index)", "{}") }
      let pager = ["PAGER": "sed 's/^/paged /'", "NO_COLOR": "1"]
      let long = try await place.terminal(["query", "t"], rows: 10, environment: pager)
      #expect(long.text.split(separator: "\n").count == 14, "\(long.text)")
      #expect(long.text.split(separator: "\n").allSatisfy { $0.hasPrefix("paged ") })
      for (arguments, rows, environment) in [
        (["query", "t", "--no-pager"], 10, pager), (["query", "t"], 40, pager), (["query", "t"], 10, ["PAGER": ""]),
        (["query", "t"], 10, ["PAGER": "cat"]), (["query", "t"], 10, ["PAGER": "/no/such/program"]),
      ] {
        let output = try await place.terminal(
          arguments, rows: rows, environment: environment.merging(["NO_COLOR": "1"]) { $1 })
        #expect(
          output.status == 0 && output.text.hasSuffix("\n12 documents\n") && !output.text.contains("paged"),
          "\(output.text)")
      }
      let piped = try await Programs.runInBackground(
        Programs.product("hearth"), ["data", "query", "t", "--format", "table"],
        environment: place.environment.merging(pager) { $1 })
      #expect(!piped.text.contains("paged"))
      // One that ends before it has read everything is no failure.
      #expect(try await place.terminal(["query", "t"], rows: 10, environment: ["PAGER": "head -1"]).status == 0)
    }
  }

  @Test("an import that stops at a conflict says how many documents it has written")
  func stoppedImport() async throws {
    try await withServer { place in
      let file = NSTemporaryDirectory() + "hearth-stopped-\(UUID().uuidString).jsonl"
      try (0..<1100).map { "{\"path\":\"z/\($0)\",\"fields\":{}}\n" }.joined().write(
        toFile: file, atomically: true, encoding: .utf8)
      defer { for name in [file, file + ".import"] { try? FileManager.default.removeItem(atPath: name) } }
      try await place.set("z/1050", #"{"x": 1}"#)
      let output = try await place.pipe("import", file, "--on-conflict", "fail", "--parallel", "1")
      #expect(output.status == 1 && output.text.contains(":1051: document \"z/1050\" exists already"), "\(output.text)")
      #expect(
        output.text.contains("The import has stopped there: 1,099 documents were written, 1 refused."), "\(output.text)"
      )
      #expect(!output.text.contains("So far"))
    }
  }

  @Test("the progress of an import fits a terminal of 80 columns, and is gone at the end")
  func progress() async throws {
    try await withServer { place in
      let file = NSTemporaryDirectory() + "hearth-progress-\(UUID().uuidString).jsonl"
      try (0..<20_000).map { "{\"path\":\"collection/\($0)\",\"fields\":{\"n\":\($0)}}\n" }.joined().write(
        toFile: file, atomically: true, encoding: .utf8)
      defer { try? FileManager.default.removeItem(atPath: file) }
      let output = try await place.terminal(["import", file, "--parallel", "1"])
      #expect(output.status == 0, "\(output.text)")
      let shown = output.text.components(separatedBy: "\r\u{1B}[K").filter { !$0.isEmpty }
      #expect(shown.count > 1 && shown.allSatisfy { $0.count <= 80 }, "\(shown)")
      #expect(
        shown.first?.hasPrefix("Importing  ") == true && shown.last?.hasPrefix("Imported 20,000 documents") == true)
    }
  }

  @Test(
    "a backend with TLS is asked for --tls, and one with an unknown certificate is called that",
    .enabled(if: Programs.find("openssl") != nil, "openssl is not installed"))
  func secureBackend() async throws {
    let openssl = try #require(Programs.find("openssl"))
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-tls-" + UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (key, certificate) = (folder.path + "/key.pem", folder.path + "/certificate.pem")
    let made = try await Programs.runInBackground(
      openssl,
      ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-subj", "/CN=localhost"])
    #expect(made.status == 0, "\(made.text)")
    let port = try Programs.freePort()
    let server = try LineProcess(
      openssl,
      ["s_server", "-accept", "\(port)", "-key", key, "-cert", certificate, "-alpn", "h2", "-quiet"], takesInput: true)
    defer { server.killAtOnce() }
    func get(_ arguments: String...) async throws -> String {
      let output = try await Programs.runInBackground(
        Programs.product("hearth"), ["data", "get", "a/b", "--host", "127.0.0.1:\(port)"] + arguments)
      #expect(output.status == 1)
      return output.text
    }
    // It takes a while to listen.
    try await waitUntil { try await !get().contains("nothing listens") }
    let plain = try await get()
    #expect(plain.contains("If it uses TLS, add --tls."), "\(plain)")
    let secure = try await get("--tls")
    #expect(
      secure.contains("the certificate of 127.0.0.1:\(port) is not trusted") && !secure.contains(".cc:"), "\(secure)")
  }

  @Test("a backend without TLS is called that, without places of a build machine, and a closed port is a closed port")
  func transport() async throws {
    try await withServer { place in
      let secure = try await place.pipe("get", "a/b", "--tls", "--host", place.server.address)
      #expect(secure.status == 1 && secure.text.contains("does not use TLS. Leave out --tls."), "\(secure.text)")
      #expect(!secure.text.contains(".cc:") && !secure.text.contains("/Sources/"), "\(secure.text)")
      let port = try Programs.freePort()
      let closed = try await place.pipe("get", "a/b", "--host", "127.0.0.1:\(port)")
      #expect(closed.text.contains("nothing listens at 127.0.0.1:\(port). Is the backend running"), "\(closed.text)")
    }
  }
}
