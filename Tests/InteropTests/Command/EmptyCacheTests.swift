#if os(Linux)
  import Foundation
  import InteropSupport
  import TestSupport
  import Testing

  @Suite("What hearth cache says when it finds nothing, and what it asks before it deletes", .timeLimit(.minutes(5)))
  struct EmptyCacheTests {
    @Test("each subcommand says why its answer is empty, on standard error")
    func reasons() async throws {
      let base = try await ExampleCache()
      let pending = "2 writes in 2 batches"
      for (words, sentence) in [
        (["indexes"], "The cache has no local indexes: queries read all documents of a collection, or"),
        (["rejected"], "The cache keeps no writes that the backend has refused. \(pending) still wait for its answer"),
        (
          ["conflicts"], "The cache keeps no resolved conflicts: no rule of the app (conflictRules) has resolved one in"
        ),
        (
          ["conflicts", "--user", "ann"],
          "or the app has discarded the reports. The cache has never held a write of ann."
        ),
        (["query", "note", "--group"], "the cache has no collection note, but notes. Did you mean notes?"),
        (["query", "notes", "--where", "__name__ == Milk"], "Did you mean milk? Write '__name__ == milk'."),
        (
          ["outbox", "--user", "ann"],
          "No writes of ann wait for the backend; \(pending) of (signed out) do. The cache has never held a write of ann."
        ),
        (["documents", "--user", "ann"], "The cache holds no documents that ann sees. Writes"),
        (["documents", "--user", "ann"], "Writes of (signed out) wait, which only they see: give --signed-out."),
        (
          ["export", "--confirmed"], "The backend has confirmed no documents of this cache yet. \(pending) wait for it"
        ),
      ] {
        for format in words[0] == "export" ? ["lines"] : ["json", "table"] {
          let output = try await base.hearth(
            ["cache", words[0], base.cache] + words.dropFirst() + ["--format", format])
          let isSaid = output.text.contains("hearth cache: ") && output.text.contains(sentence)
          #expect(output.status == 0 && isSaid, "\(words): \(output.text)")
        }
      }
      let full = try await base.hearth("cache", "outbox", base.cache)
      #expect(full.status == 0 && !full.text.contains("hearth cache:"), "\(full.text)")
    }

    @Test("get says that a document is only a pending write, and how to see it")
    func pendingDocument() async throws {
      let base = try await ExampleCache()
      let confirmed = try await base.hearth("cache", "get", base.cache, "notes/milk", "--confirmed")
      #expect(
        confirmed.status == 1
          && confirmed.text
            == "hearth cache: The backend has never confirmed \"notes/milk\" to this cache; it is only a pending write of (signed out). "
            + "To see it, leave out --confirmed.\n",
        "\(confirmed.text)")
      let other = try await base.hearth("cache", "get", base.cache, "notes/milk", "--user", "ann")
      #expect(
        other.status == 1 && other.text.contains("in a pending write of (signed out). To see it, give --signed-out."),
        "\(other.text)")
      for (path, sentence) in [
        ("notes/MILK", "The cache has no document \"notes/MILK\". Did you mean notes/milk?\n"),
        ("note/milk", "\"note/milk\": it has no collection note, but notes. Did you mean notes?\n"),
      ] {
        let near = try await base.hearth("cache", "get", base.cache, path)
        #expect(near.status == 1 && near.text.hasSuffix(sentence), "\(near.text)")
      }
      let none = try await base.hearth("cache", "get", base.cache, "notes/tea", "--confirmed")
      #expect(none.status == 1 && none.text.contains("The cache has no document \"notes/tea\"."), "\(none.text)")
    }

    @Test("a folder behind the word that it belongs before is found")
    func order() async throws {
      let base = try await ExampleCache()
      for (command, word) in [("query", "notes"), ("documents", "notes"), ("get", "notes/milk")] {
        let swapped = try await base.hearth("cache", command, word, base.cache)
        #expect(
          swapped.status == 64
            && swapped.text.contains("The cache folder is the first word: '\(base.cache)' \(word)."), "\(swapped.text)")
      }
    }

    @Test("list says where it looked, and where else a cache may be")
    func list() async throws {
      let folder = TemporaryFolder()
      try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
      for format in ["json", "table"] {
        let listed = try await Programs.runInBackground(
          Programs.product("hearth"), ["cache", "list", "--format", format],
          environment: ["XDG_DATA_HOME": folder.url.path])
        #expect(
          listed.status == 0
            && listed.text.contains(
              "hearth cache: There are no caches below \"\(folder.url.path)/hearth\", where clients of this user put theirs."
            ),
          "\(listed.text)")
      }
      let given = try await Programs.runInBackground(
        Programs.product("hearth"), ["cache", "list", folder.url.path], environment: ["XDG_DATA_HOME": "/nowhere"])
      #expect(
        given.status == 0 && given.text.contains("down to 8 folders deep: none has a file cache.sqlite. Clients put")
          && given.text.contains("below \"/nowhere/hearth\""), "\(given.text)")
    }

    @Test("clear asks on a terminal with what it would delete, and not where the deletion is refused or --yes is given")
    func clear() async throws {
      let base = try await ExampleCache()
      let refused = try await base.terminal("clear", base.cache)
      #expect(refused.status == 1 && !refused.text.contains("[y/N]"), "\(refused.text)")
      let question = "Delete the cache of project demo-notes, database (default), in \"\(base.cache)\" with at most "
      for answer in ["n\n", "\n", "yes, all\n"] {
        let kept = try await base.terminal("clear", base.cache, "--discard-pending-writes", typing: answer)
        #expect(
          kept.status == 1 && kept.text.contains(question) && kept.text.contains("Nothing was deleted."),
          "\(kept.text)")
        #expect(kept.text.contains("2 writes in 2 batches that the backend does not have? [y/N]"), "\(kept.text)")
      }
      let part = try await base.terminal("clear", base.cache, "--collection", "notes", typing: "n\n")
      #expect(
        part.status == 1 && part.text.contains("Remove the documents of \"notes\" from the cache in"), "\(part.text)")
      let unasked = try await base.terminal("clear", base.cache, "--collection", "notes", "--yes")
      #expect(unasked.status == 0 && !unasked.text.contains("[y/N]"), "\(unasked.text)")
      let deleted = try await base.terminal("clear", base.cache, "--discard-pending-writes", typing: "y\n")
      #expect(
        deleted.status == 0 && deleted.text.contains("The cache is deleted, and with it 2 writes"), "\(deleted.text)")
      // A folder without a cache is named, and nobody is asked.
      let missing = try await base.terminal("clear", base.cache)
      #expect(missing.status == 1 && missing.text.contains("holds no cache"), "\(missing.text)")
    }
  }

  extension ExampleCache {
    fileprivate func terminal(_ arguments: String..., typing: String = "") async throws -> Programs.Output {
      try await Programs.runOnTerminal(
        Programs.product("hearth"), ["cache"] + arguments, columns: 500, typing: typing)
    }
  }
#endif
