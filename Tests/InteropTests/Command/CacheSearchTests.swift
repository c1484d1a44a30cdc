#if os(Linux)
  import Foundation
  import HearthServer
  import InteropSupport
  import TestSupport
  import Testing

  @Suite("Finding caches, and what can be done with them", .timeLimit(.minutes(5)))
  struct CacheSearchTests {
    @Test("list finds the caches below the default folder and below others, in a table and as JSON")
    func list() async throws {
      let base = try await ExampleCache()
      try base.copy(to: "second/project")
      for arguments in [[], [base.path], [base.cache]] {
        let listed = try await base.hearth(["cache", "list"] + arguments)
        let lines = try listed.text.split(separator: "\n").map {
          try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        #expect(lines.count == (arguments == [base.cache] ? 1 : 2), "\(listed.text)")
        #expect(lines.first?["folder"] as? String == base.cache)
        #expect(lines.allSatisfy { $0["project"] as? String == "demo-notes" && $0["pendingBatches"] as? Int == 2 })
      }
      let table = try await base.hearth("cache", "list", "--format", "table")
      #expect(table.text.contains("\n  project demo-notes, database (default): "), "\(table.text)")
      #expect(
        table.text.contains("; outbox: 2 writes in 2 batches\n") && table.text.hasSuffix("2 caches\n"), "\(table.text)")
      #expect(table.text.hasPrefix("'\(base.cache)'\n"))
      let none = try await base.hearth("cache", "list", base.path + "/none")
      #expect(none.status == 1 && none.text.contains("There is no folder"), "\(none.text)")
      #expect(none.text.contains("`hearth cache list` finds those of this user."), "\(none.text)")
    }

    @Test("a parent folder names the caches below it")
    func parents() async throws {
      let base = try await ExampleCache()
      let one = try await base.hearth("cache", "info", base.path)
      #expect(one.status == 1 && one.text.contains("There is one cache below it: '\(base.cache)'."), "\(one.text)")
      try base.copy(to: "second/project")
      try base.copy(to: "third/project")
      for arguments in [["info"], ["outbox"], ["query", "notes"], ["check"]] {
        let output = try await Programs.runInBackground(
          Programs.product("hearth"), ["cache", arguments[0], base.path] + arguments.dropFirst())
        #expect(output.status == 1, "\(output.text)")
        #expect(output.text.contains("There are three caches below it: '\(base.path)"), "\(output.text)")
      }
    }

    @Test("an export of a cache is an import of a server, with the same values, and get prints the same line")
    func transfer() async throws {
      let base = try await ExampleCache()
      let server = try await TestServer.start()
      let file = base.path + "/documents.jsonl"
      let connection = ["--host", server.address, "--project", "demo-notes"]
      func data(_ arguments: [String]) async throws -> Programs.Output {
        try await Programs.runInBackground(Programs.product("hearth"), ["data"] + arguments + connection)
      }
      #expect(try await base.hearth("cache", "export", base.cache, "--output", file).status == 0)
      let exported = try String(contentsOfFile: file, encoding: .utf8)
      #expect(exported.contains("\"hasPendingWrites\":true"))
      let imported = try await data(["import", file])
      #expect(imported.status == 0 && imported.text.hasPrefix("Imported 2 documents"), "\(imported.text)")
      let cached = try await base.hearth("cache", "query", base.cache, "notes", "--order", "__name__")
      let stored = try await data(["query", "notes", "--order-by", "__name__:asc"])
      /// The lines up to the times, which differ.
      func fields(_ output: Programs.Output) -> [String] {
        output.text.split(separator: "\n").map { line in
          [",\"createTime\"", ",\"updateTime\"", ",\"hasPendingWrites\""].reduce(String(line)) { text, end in
            text.components(separatedBy: end)[0]
          }
        }
      }
      let got = try await base.hearth("cache", "get", base.cache, "notes/bread", "notes/milk")
      #expect(got.status == 0 && got.text.split(separator: "\n").count == 2, "\(got.text)")
      #expect(Set(fields(cached)) == Set(fields(got)) && !fields(cached).isEmpty)
      #expect(fields(stored) == fields(cached), "\(stored.text)\n\(cached.text)")
      await server.stop()
    }

    @Test("an empty answer says what the cache has")
    func empty() async throws {
      let base = try await ExampleCache()
      let mistyped = try await base.hearth("cache", "query", base.cache, "note")
      #expect(mistyped.status == 0 && mistyped.text.contains("no collection note, but notes. Did you mean notes?"))
      let none = try await base.hearth("cache", "query", base.cache, "notes", "--where", "n == x")
      #expect(none.text.hasPrefix("hearth cache: 0 documents; the collection notes is in the cache"), "\(none.text)")
      let confirmed = try await base.hearth("cache", "documents", base.cache, "notes", "--confirmed")
      #expect(confirmed.text.hasPrefix("hearth cache: "), "\(confirmed.text)")
    }

    @Test("a folder of another user lacks permission, and is not missing")
    func permission() async throws {
      guard geteuid() != 0 || Programs.find("setpriv") != nil else { return }
      let base = try await ExampleCache()
      let closed = base.path + "/hearth/__FIRAPP_DEFAULT"
      try FileManager.default.setAttributes([.posixPermissions: 0o000], ofItemAtPath: closed)
      defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: closed) }
      var command = [Programs.product("hearth").path, "cache", "info", base.cache]
      if geteuid() == 0 {
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: base.path)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: base.path + "/hearth")
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] + command
      }
      let output = try await Programs.runInBackground(URL(fileURLWithPath: "/usr/bin/env"), command)
      #expect(output.status == 1 && output.text.contains("cannot be used (permission denied)"), "\(output.text)")
      #expect(output.text.contains("\"\(closed)\"") && !output.text.contains("no folder"), "\(output.text)")
    }

    @Test("the database of another program is refused with one piece of advice")
    func otherProgram() async throws {
      let folder = TemporaryFolder()
      try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
      let file = folder.url.appendingPathComponent("cache.sqlite").path
      let python = try #require(Programs.find("python3"))
      let made = try await Programs.runInBackground(
        python,
        ["-c", "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute('create table t(a)'); c.commit()", file])
      #expect(made.status == 0, "\(made.text)")
      let output = try await Programs.runInBackground(
        Programs.product("hearth"), ["cache", "info", folder.url.path])
      #expect(output.status == 1 && output.text.contains("is not a cache of Hearth"), "\(output.text)")
      #expect(
        !output.text.contains("..") && output.text.components(separatedBy: "move the file away").count == 2,
        "\(output.text)")
    }
  }

  extension ExampleCache {
    fileprivate func copy(to name: String) throws {
      let copy = path + "/hearth/\(name)/(default)"
      try FileManager.default.createDirectory(atPath: path + "/hearth/\(name)", withIntermediateDirectories: true)
      try FileManager.default.copyItem(atPath: cache, toPath: copy)
    }
  }
#endif
