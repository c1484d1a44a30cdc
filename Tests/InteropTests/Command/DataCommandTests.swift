import Foundation
import HearthServer
import TestSupport
import Testing

@Suite("hearth data", .timeLimit(.minutes(5)))
struct DataCommandTests {
  /// A server and a folder of one test.
  private struct Place {
    let server: TestServer
    let folder: URL

    func hearth(_ arguments: [String], environment: [String: String] = [:]) async throws -> Programs.Output {
      try await Programs.runInBackground(
        Programs.product("hearth"), ["data"] + arguments,
        environment: ["FIRESTORE_EMULATOR_HOST": server.address, "GOOGLE_CLOUD_PROJECT": "demo-hearth"].merging(
          environment
        ) { $1 })
    }

    func hearth(_ arguments: String...) async throws -> Programs.Output { try await hearth(arguments) }

    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
  }

  private func withServer(_ body: (Place) async throws -> Void) async throws {
    let server = try await TestServer.start()
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-data-" + UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let result: Result<Void, any Error>
    do {
      result = .success(try await body(Place(server: server, folder: folder)))
    } catch {
      result = .failure(error)
    }
    await server.stop()
    try result.get()
  }

  private func objects(_ output: Programs.Output) throws -> [[String: Any]] {
    #expect(output.status == 0, "\(output.text)")
    return try output.text.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any], "not JSON: \($0)")
    }
  }

  private func isSuccess(_ output: Programs.Output) -> Bool {
    #expect(output.status == 0, "\(output.text)")
    return output.status == 0
  }

  @Test("documents are written, read, queried, counted and deleted, as JSON in a pipe")
  func documents() async throws {
    try await withServer { place in
      for (id, fields) in [
        ("SF", #"{"name": "San Francisco", "state": "CA", "population": 860000, "area": 121.0}"#),
        ("LA", #"{"name": "Los Angeles", "state": "CA", "population": 3900000, "nested": {"a": 1}}"#),
        ("NY", #"{"name": "New York\u001b[31m", "state": "NY", "since": {"$timestamp": "1898-01-01T00:00:00Z"}}"#),
      ] {
        #expect(isSuccess(try await place.hearth("set", "cities/\(id)", "--json", fields)))
      }
      #expect(isSuccess(try await place.hearth("set", "cities/LA", "--merge", "--json", #"{"nested": {"b": 2.0}}"#)))
      #expect(
        isSuccess(
          try await place.hearth(
            "set", "cities/LA", "--update", "--json", #"{"nested.a": 9}"#, "--delete-field", "name")))
      let la = try await place.hearth("get", "cities/LA")
      #expect(la.text.contains(#""fields":{"nested":{"a":9,"b":2.0},"population":3900000,"state":"CA"}"#), "\(la.text)")
      let found = try objects(
        try await place.hearth(
          "query", "cities", "--where", "state == CA", "--where", "population > 1000", "--order-by", "population:desc",
          "--limit", "1", "--select", "state"))
      #expect(found.map { $0["path"] as? String } == ["cities/LA"])
      #expect((found.first?["fields"] as? [String: Any])?.keys.sorted() == ["state"])
      let after = try objects(
        try await place.hearth("query", "cities", "--order-by", "population", "--start-after", "860000"))
      #expect(after.map { $0["path"] as? String } == ["cities/LA"])
      let count = try objects(
        try await place.hearth("count", "cities", "--where", "state == CA", "--sum", "population"))
      #expect(count.first?["count"] as? Int == 2 && count.first?["sum(population)"] as? Int == 4_760_000)
      let average = try objects(try await place.hearth("count", "cities", "--average", "area"))
      #expect(average.first?["average(area)"] as? Double == 121)
      #expect(isSuccess(try await place.hearth("set", "cities/SF/shops/1", "--json", "{}")))
      #expect(try objects(try await place.hearth("collections")).map { $0["collection"] as? String } == ["cities"])
      #expect(
        try objects(try await place.hearth("collections", "cities/SF")).map { $0["collection"] as? String }
          == ["cities/SF/shops"])
      let group = try objects(try await place.hearth("query", "shops", "--collection-group"))
      #expect(group.map { $0["path"] as? String } == ["cities/SF/shops/1"])
      #expect(isSuccess(try await place.hearth("delete", "cities/NY")))
      let refused = try await place.hearth("delete", "cities", "--recursive")
      #expect(refused.status == 1 && refused.text.contains("--yes"))
      let deleted = try await place.hearth("delete", "cities", "--recursive", "--yes")
      #expect(deleted.status == 0 && deleted.text.hasPrefix("Deleted 3 documents"), "\(deleted.text)")
      let collections = try await place.hearth("collections")
      #expect(
        collections.status == 0 && collections.text.hasPrefix("hearth data: 0 collections"), "\(collections.text)")
    }
  }

  @Test("a table in a pipe carries no colours and nothing that a terminal would obey, and is as wide as COLUMNS")
  func tables() async throws {
    try await withServer { place in
      let fields = #"{"name": "\u001b]0;x\u0007", "text": "\#(String(repeating: "long ", count: 60))"}"#
      #expect(isSuccess(try await place.hearth("set", "a/b", "--json", fields)))
      for arguments in [["query", "a"], ["get", "a/b"], ["count", "a"], ["collections"], ["watch", "a", "--once"]] {
        let output = try await place.hearth(arguments + ["--format", "table"], environment: ["COLUMNS": "50"])
        #expect(output.status == 0 && !output.text.isEmpty)
        #expect(
          !output.text.unicodeScalars.contains { ($0.value < 0x20 && $0 != "\n") || (0x7F...0x9F).contains($0.value) })
        #expect(output.text.split(separator: "\n").allSatisfy { $0.count <= 50 }, "\(arguments): \(output.text)")
      }
    }
  }

  @Test("a failure has status 1 and wrong arguments 64, and both say what to do")
  func failures() async throws {
    try await withServer { place in
      let failing: [([String], String)] = [
        (["get", "a/b"], "does not exist"),
        (["set", "a/b", "--update", "--json", "{}"], "not written"),
        (["set", "a/b", "--file", "/none"], "cannot be read"),
        (["set", "a/b", "--if-exists", "--json", "{}"], "a/b"), (["delete", "a/b", "--if-exists"], "not deleted"),
        (["import", place.path("none")], "does not exist"), (["import", place.folder.path], "nothing to import"),
        (["get", "a/b", "--host", "127.0.0.1:1"], "hearth serve"),
        (["export", place.path("no/x.jsonl")], "there is no folder"),
        (["get", "a/b", "--credentials", "/none"], "--credentials"),
      ]
      for (arguments, text) in failing {
        let output = try await place.hearth(arguments)
        #expect(
          output.status == 1 && output.text.hasPrefix("hearth data: ") && output.text.contains(text),
          "\(arguments): \(output.status) \(output.text)")
      }
      for (arguments, text) in [
        (["get", "cities"], "even number"), (["query", "a/b"], "odd number"),
        (["query", "a", "--where", "x"], "operators"),
        (["set", "a/b", "--json", "{bad"], "--json, line 1, column 2"), (["delete", "a"], "--recursive"),
        (["set", "a/b", "--json", #"["x"]"#], "--json: an object with the fields is expected."),
        (["set", "a/b", "--json", #"{"n": {"$increment": "1"}}"#], "field n.$increment: a number is expected."),
        (["set", "a/b", "--json", #"{"n": [{"$increment": 1}]}"#], "it stands in no array"),
        (["set", "a/b", "--json", #"{"n": {"$incremnt": 1}}"#], "the nearest is the change $increment"),
        (["set", "a/b", "--json", #"{"n": {"$delete": true}}"#], "$delete needs --merge or --update"),
        (["get", "a/b", "--host", "http://x"], "--host"), (["query", "a", "--select", "x,"], "--select"),
        (["count", "a", "--sum", "x y"], "--sum"),
        (["count", "a", "--sum", "x,y"], "Repeat the option for each further field"),
        (["query", "a", "--select", "x;y"], "separated by commas, and \";\" (character 2) is none"),
        (["query", "a", "--where", "amount >"], "a value is missing"),
      ] {
        let output = try await place.hearth(arguments)
        #expect(
          output.status == 64 && output.text.hasPrefix("hearth data: ") && output.text.contains(text),
          "\(arguments): \(output.status) \(output.text)")
      }
      for (time, advice) in [
        ("2026-03-01", "Write 2026-03-01T00:00:00Z."), ("2026-03-01 12:30", "Write 2026-03-01T12:30:00Z."),
        ("soon", "Such times are 2026-03-01T12:30:00Z, 2026-03-01T12:30:00.25Z or 2026-03-01T14:30:00+02:00."),
      ] {
        let output = try await place.hearth("get", "a/b", "--read-time", time)
        #expect(output.status == 64 && output.text.contains(advice), "\(output.text)")
      }
      for arguments in [
        ["set", "a/b"], ["set", "a/b", "--merge", "--update", "--json", "{}"], ["export", "x", "--parallel", "0"],
        ["import", "-", "--resume"], ["query", "a", "--limit", "x"], ["get", "a/b", "--read-time", "soon"],
        ["import", "x", "--on-conflict", "what"],
      ] {
        #expect(try await place.hearth(arguments).status == 64, "\(arguments)")
      }
    }
  }

  @Test("an export through a pipe is the import of another database, and one with failures has status 2")
  func pipes() async throws {
    try await withServer { place in
      for index in 0..<3 {
        #expect(isSuccess(try await place.hearth("set", "a/\(index)", "--json", #"{"i": \#(index), "d": 1.0}"#)))
      }
      let hearth = Programs.product("hearth").path
      let copy = try await Programs.runInBackground(
        URL(fileURLWithPath: "/bin/sh"),
        [
          "-c",
          "'\(hearth)' data export - --project demo-hearth | '\(hearth)' data import - --project copy && "
            + "'\(hearth)' data export - --project copy 2>/dev/null",
        ], environment: ["FIRESTORE_EMULATOR_HOST": place.server.address])
      #expect(copy.status == 0 && copy.text.contains(#"{"path":"a/2","fields":{"d":1.0,"i":2}"#), "\(copy.text)")
      try "{\"path\": \"b/1\", \"fields\": {}}\nwrong\n".write(
        toFile: place.path("x.jsonl"), atomically: true, encoding: .utf8)
      let stopped = try await place.hearth("import", place.path("x.jsonl"))
      #expect(stopped.status == 1 && stopped.text.contains("x.jsonl:2:1: "), "\(stopped.text)")
      let left = try await place.hearth("import", place.path("x.jsonl"), "--continue")
      #expect(left.status == 2 && left.text.contains("left out 1"), "\(left.text)")
    }
  }

  @Test("an import and an export that were killed go on with --resume", arguments: [false, true])
  func killed(isInterrupted: Bool) async throws {
    try await withServer { place in
      let count = 6000
      let lines = (0..<count).map { "{\"path\":\"c/d\($0)\",\"fields\":{\"v\":\($0)}}\n" }.joined()
      try lines.write(toFile: place.path("c.jsonl"), atomically: true, encoding: .utf8)
      let connection = ["--host", place.server.address, "--project", "demo-hearth"]
      let importing = try LineProcess(
        Programs.product("hearth"), ["data", "import", place.path("c.jsonl"), "--parallel", "1"] + connection)
      try await waitUntil { FileManager.default.fileExists(atPath: place.path("c.jsonl.import")) }
      if isInterrupted { importing.interrupt() } else { importing.killAtOnce() }
      _ = await importing.waitForExit()
      let imported = try await place.hearth("import", place.path("c.jsonl"), "--resume")
      #expect(
        imported.status == 0 && imported.text.contains("Imported 6,000 documents into project "), "\(imported.text)")

      let exporting = try LineProcess(
        Programs.product("hearth"), ["data", "export", place.path("out.jsonl")] + connection)
      try await waitUntil { FileManager.default.fileExists(atPath: place.path("out.jsonl.plan")) }
      if isInterrupted { exporting.interrupt() } else { exporting.killAtOnce() }
      let status = await exporting.waitForExit()
      if isInterrupted { #expect(status == 130 || status == 0) }
      let exported = try await place.hearth("export", place.path("out.jsonl"), "--resume")
      #expect(
        exported.status == 0 && exported.text.contains("Exported 6,000 documents from project "), "\(exported.text)")
      let written = try String(contentsOfFile: place.path("out.jsonl"), encoding: .utf8).split(separator: "\n")
      #expect(Set(written).count == count && written.count == count)
    }
  }

  @Test("watch prints additions, changes and removals as they come, and ends in order after Ctrl-C")
  func watch() async throws {
    try await withServer { place in
      #expect(isSuccess(try await place.hearth("set", "c/a", "--json", #"{"v": 1}"#)))
      let watching = try LineProcess(
        Programs.product("hearth"),
        ["data", "watch", "c", "--where", "v < 5", "--host", place.server.address, "--project", "demo-hearth"])
      func next() async throws -> (String?, String?) {
        let object = try #require(await watching.next())
        let path = (object["document"] as? [String: Any])?["path"] ?? object["path"]
        return (object["change"] as? String, path as? String)
      }
      #expect(try await next() == ("added", "c/a"))
      #expect(isSuccess(try await place.hearth("set", "c/a", "--json", #"{"v": 2}"#)))
      #expect(try await next() == ("changed", "c/a"))
      #expect(isSuccess(try await place.hearth("set", "c/a", "--json", #"{"v": 7}"#)))
      #expect(try await next() == ("removed", "c/a"))
      watching.interrupt()
      #expect(await watching.waitForExit() == 130)
    }
  }

  @Test("every subcommand explains itself")
  func help() async throws {
    let help = try await Programs.runInBackground(Programs.product("hearth"), ["data", "--help"])
    for name in [
      "get", "set", "update", "delete", "query", "count", "collections", "databases", "watch", "export", "import",
    ] {
      #expect(help.text.contains("  \(name) "), "\(name)")
      let own = try await Programs.runInBackground(Programs.product("hearth"), ["data", name, "--help"])
      #expect(own.status == 0 && own.text.contains("hearth data \(name)"), "\(own.text)")
    }
  }
}
