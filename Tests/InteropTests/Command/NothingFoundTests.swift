import Foundation
import HearthServer
import InteropSupport
import TestSupport
import Testing

@Suite("What hearth data says when it finds or does nothing", .timeLimit(.minutes(5)))
struct NothingFoundTests {
  @Test("get names the project, the projects that have data, and the nearest collection")
  func get() async throws {
    try await DataPlace.run { place in
      try await place.set("notes/1", "{}", project: "demo-notes")
      let other = try await place.hearth("get", "notes/1")
      #expect(
        other.status == 1
          && other.text
            == "hearth data: document \"notes/1\" does not exist in project demo; this server has demo-notes (--project).\n",
        "\(other.text)")
      let missing = try await place.hearth("get", "notes/2", "--project", "demo-notes")
      #expect(
        missing.text.contains("\"notes/2\" does not exist in project demo-notes, at 127.0.0.1:"), "\(missing.text)")
      let mistyped = try await place.hearth("get", "note/1", "--project", "demo-notes")
      #expect(mistyped.text.contains("has no collection note, but notes. Did you mean notes?"), "\(mistyped.text)")
    }
  }

  @Test("a collection that is only below documents is named with its path, and collections of a missing document too")
  func below() async throws {
    try await DataPlace.run { place in
      for path in ["cities/SF", "cities/SF/shops/1"] { try await place.set(path, "{}") }
      let shops = try await place.hearth("query", "shops")
      #expect(
        shops.status == 0
          && shops.text.contains("There is a collection cities/SF/shops: give its path, or --collection-group for all"),
        "\(shops.text)")
      let missing = try await place.hearth("collections", "cities/NOPE")
      #expect(
        missing.status == 0
          && missing.text.hasPrefix(
            "hearth data: There are no collections below \"cities/NOPE\": it does not exist in project demo, at "),
        "\(missing.text)")
      try await place.set("cities/LA", "{}")
      let none = try await place.hearth("collections", "cities/LA")
      #expect(none.text == "hearth data: There are no collections below \"cities/LA\".\n", "\(none.text)")
    }
  }

  @Test(
    "the nearest id is named for a document, a condition on __name__, and a collection that is only below documents")
  func ids() async throws {
    try await DataPlace.run { place in
      for path in ["cities/SF", "cities/NY", "users/ada/notes/1", "users/ada/notes/2"] {
        try await place.set(path, "{}")
      }
      for (words, advice) in [
        (["get", "cities/sf"], "Did you mean cities/SF?"), (["get", "cities/NYC"], "Did you mean cities/NY?"),
        (["get", "users/ada/note/1"], "; users/ada has no collection note, but notes. Did you mean users/ada/notes?"),
        (["get", "users/ADA/notes/1"], "; there are no collections below users/ADA. Did you mean users/ada?"),
        (["query", "users/adda/notes"], "there are no collections below users/adda. Did you mean users/ada?"),
        (["delete", "cities/sf"], "Did you mean cities/SF?"),
        (
          ["query", "cities", "--where", "__name__ == NYC"],
          "There is no document cities/NYC. Did you mean NY? Write '__name__ == NY'."
        ),
        (["query", "note", "--group"], "at the root there are cities, users. Did you mean notes?"),
        (["query", "cities", "--where", "__name__ in [\"sf\", \"x\"]"], "Write '__name__ in [\"SF\"]'."),
      ] {
        let output = try await place.hearth(words)
        #expect(output.text.contains(advice), "\(words): \(output.text)")
      }
      // An id that counts is not mistyped.
      let next = try await place.hearth("get", "users/ada/notes/3")
      #expect(next.status == 1 && !next.text.contains("Did you mean"), "\(next.text)")
    }
  }

  @Test("an id is also found behind the first hundred documents of a collection")
  func idInManyDocuments() async throws {
    try await DataPlace.run { place in
      let folder = TemporaryFolder()
      try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
      let file = folder.url.appendingPathComponent("ids.jsonl")
      let lines =
        (0..<250).map { "{\"path\":\"c/Aa\($0)\",\"fields\":{}}\n" } + ["{\"path\":\"c/Zurich\",\"fields\":{}}\n"]
      try lines.joined().write(to: file, atomically: true, encoding: .utf8)
      #expect(try await place.hearth("import", file.path).status == 0)
      for word in ["zurich", "Zurch"] {
        let missing = try await place.hearth("get", "c/\(word)")
        #expect(missing.text.hasSuffix(" Did you mean c/Zurich?\n"), "\(missing.text)")
        let condition = try await place.hearth("query", "c", "--where", "__name__ == \(word)")
        #expect(condition.text.contains("Write '__name__ == Zurich'."), "\(condition.text)")
      }
    }
  }

  @Test("a collection below a document is looked for there, and a group among the collections of the root")
  func nested() async throws {
    try await DataPlace.run { place in
      for path in ["users/ada/notes/1", "cities/SF"] { try await place.set(path, "{}") }
      for (words, advice) in [
        (["query", "users/ada/nots"], "users/ada has no collection nots, but notes. Did you mean users/ada/notes?"),
        (["query", "users/bob/notes"], "there are no collections below users/bob."),
        (
          ["query", "users"], "users has no documents itself; there are collections below it, such as users/ada/notes."
        ),
        (["query", "citys"], "it has no collection citys, but cities, users. Did you mean cities?"),
        (
          ["query", "Cities", "--group"],
          "no collection called Cities has documents; at the root there are cities, users. Did you mean cities?"
        ),
        (["export", "-", "--collection", "users/ada/note"], "users/ada has no collection note, but notes."),
        (["query", "cities", "--database", "default"], "Did you mean --database '(default)'?"),
      ] {
        let output = try await place.hearth(words)
        #expect(output.status == 0 && output.text.contains(advice), "\(words): \(output.text)")
      }
    }
  }

  @Test("an update of a missing document, and a backend that does not run, name the command that helps")
  func helpers() async throws {
    try await DataPlace.run { place in
      let missing = try await place.hearth("update", "cities/LA", "--json", "{\"n\": 1}")
      #expect(
        missing.status == 1 && missing.text.contains("set` without --must-exist creates a document that is missing;"),
        "\(missing.text)")
    }
    let port = try Programs.freePort()
    let absent = try await Programs.runInBackground(
      Programs.product("hearth"), ["data", "get", "cities/LA", "--host", "127.0.0.1:\(port)"])
    #expect(
      absent.status == 1
        && absent.text.contains("Start one with `hearth serve --in-memory` or `hearth serve --data FOLDER`"),
      "\(absent.text)")
  }

  @Test("a listener whose first result is empty says why, and goes on")
  func watch() async throws {
    try await DataPlace.run { place in
      try await place.set("notes/1", "{}", project: "demo-notes")
      let command = "exec '\(Programs.product("hearth").path)' data watch notes --host \(place.server.address) 2>&1"
      let watching = try LineProcess(URL(fileURLWithPath: "/bin/sh"), ["-c", command])
      defer { watching.killAtOnce() }
      #expect(
        await watching.nextLine()
          == "hearth data: 0 documents in project demo; this server has demo-notes (--project).")
      try await place.set("notes/2", "{}")
      #expect(await watching.nextLine()?.hasPrefix("{\"change\":\"added\"") == true)
    }
  }

  @Test("delete says what it deleted, and that there was nothing to delete")
  func delete() async throws {
    try await DataPlace.run { place in
      for id in ["a", "b", "c"] { try await place.set("t/\(id)", "{}") }
      let deleted = try await place.hearth("delete", "t/a")
      #expect(
        deleted.status == 0 && deleted.text.hasPrefix("{\"path\":\"t/a\",\"deleted\":true,\"commitTime\":\""),
        "\(deleted.text)")
      let sentence = try await place.hearth("delete", "t/b", "--format", "table")
      #expect(
        sentence.text.hasPrefix("Document t/b is deleted, in projects/demo/databases/(default) at "), "\(sentence.text)"
      )
      let again = try await place.hearth("delete", "t/b")
      #expect(again.status == 0 && again.text.contains("{\"path\":\"t/b\",\"deleted\":false}\n"), "\(again.text)")
      #expect(
        again.text.contains("hearth data: Nothing was deleted: document \"t/b\" does not exist in project demo, at "),
        "\(again.text)")
      for name in ["--must-exist", "--if-exists"] {
        let demanded = try await place.hearth("delete", "t/b", name)
        #expect(
          demanded.status == 1
            && demanded.text.hasPrefix(
              "hearth data: Document \"t/b\" was not deleted: it does not exist in project demo"),
          "\(demanded.text)")
        #expect(try await place.hearth("delete", "t/c", name).status == 0)
        try await place.set("t/c", "{}")
      }
    }
  }

  @Test("a recursive deletion counts what was there, and names the project if that is nothing")
  func recursive() async throws {
    try await DataPlace.run { place in
      try await place.set("cities/SF", "{}")
      let mistyped = try await place.hearth("delete", "citis", "--recursive", "--yes")
      #expect(mistyped.status == 0 && mistyped.text.hasPrefix("Deleted 0 documents"), "\(mistyped.text)")
      #expect(
        mistyped.text.contains("0 documents in project demo; it has no collection citis, but cities. Did you mean"),
        "\(mistyped.text)")
      let missing = try await place.hearth("delete", "cities/LA", "--recursive", "--yes")
      #expect(
        missing.text.hasPrefix("Deleted 0 documents")
          && missing.text.contains("Nothing was deleted: document \"cities/LA\" does not exist in project demo, at "),
        "\(missing.text)")
      try await place.set("cities/SF/shops/1", "{}")
      let found = try await place.hearth("delete", "cities/SF", "--recursive", "--yes")
      #expect(found.status == 0 && found.text.hasPrefix("Deleted 2 documents"), "\(found.text)")
    }
  }

  @Test("an import of nothing, or of what is all there, says into which project it went")
  func imports() async throws {
    try await DataPlace.run { place in
      let file = NSTemporaryDirectory() + "hearth-nothing-\(UUID().uuidString).jsonl"
      defer { for name in [file, file + ".import"] { try? FileManager.default.removeItem(atPath: name) } }
      try "\n".write(toFile: file, atomically: true, encoding: .utf8)
      let empty = try await place.hearth("import", file)
      #expect(
        empty.status == 0 && empty.text.contains("Nothing was written to project demo, at \(place.server.address): \""),
        "\(empty.text)")
      #expect(empty.text.hasSuffix("holds no documents.\n"), "\(empty.text)")
      try await place.set("z/1", "{}")
      try "{\"path\":\"z/1\",\"fields\":{}}\n".write(toFile: file, atomically: true, encoding: .utf8)
      let skipped = try await place.hearth("import", file, "--on-conflict", "skip")
      #expect(
        skipped.status == 0 && skipped.text.contains("skipped 1")
          && skipped.text.hasSuffix("all of these documents exist there already.\n"), "\(skipped.text)")
    }
  }
}
