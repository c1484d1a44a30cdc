import Foundation
import HearthCache
import HearthModel
import HearthStore
import TestSupport
import Testing

@Suite("hearth cache")
struct CacheCommandTests {
  /// A cache with one confirmed document and two pending writes.
  private final class Folder {
    let path = NSTemporaryDirectory() + "hearth-cache-command-" + UUID().uuidString
    static let databaseID = DatabaseID(projectID: "demo-hearth")
    private(set) var cache: OpenedCache?

    /// - Parameter refuses: True if the backend has refused the writes.
    init(isShared: Bool = false, refuses: Bool = false) throws {
      let options = CacheFile.Options(sharing: isShared ? .shared : .alone, clientName: isShared ? "client" : nil)
      let opened = try CacheFile.openStore(folder: path, databaseID: Self.databaseID, options: options) {
        database, files in
        try LocalStore(
          database: database, databaseID: Self.databaseID,
          garbageCollection: .leastRecentlyUsed(thresholdBytes: 100 << 20),
          user: nil, newCacheID: "command", locks: files, backend: "backend")
      }
      cache = opened.cache
      let store = opened.store
      if isShared {
        _ = try store.updateClient(wantsNetwork: true, isVisible: true)
        try store.pin(Query(path: try ResourcePath(parsing: "cities")))
      }
      let query = Query(path: try ResourcePath(parsing: "cities"))
      let target = try store.allocateTarget(query.target).targetID
      let key = try DocumentKey(parsing: "cities/SF")
      let version = SnapshotVersion(microseconds: 1_000_000)
      var event = RemoteEvent(snapshotVersion: version)
      event.documentUpdates[key] = .found(
        key, version: version, fields: EncodedFields(["name": "San Francisco\u{1B}[31m", "population": 860_000]))
      event.targetChanges[target] = TargetChange(resumeToken: [1], isCurrent: true, added: [key], removed: [])
      _ = try store.apply(event)
      for id in ["LA", "NY"] {
        _ = try store.write(
          [.set(try DocumentKey(parsing: "cities/\(id)"), ["name": .string(id), "population": 4_000_000])],
          localWriteTime: Timestamp(seconds: 1_700_000_000, nanoseconds: 0))
      }
      guard refuses else { return }
      for batch in try store.pendingBatches() {
        let error = StatusError(code: .permissionDenied, message: "no")
        _ = try store.reject(batch, error, at: Timestamp(seconds: 1_700_000_001, nanoseconds: 0))
      }
    }

    func close() {
      cache?.close()
      cache = nil
    }

    /// The closed cache, opened for a user; nil for the signed-out one.
    func reopened(user: String? = nil) async throws -> (cache: OpenedCache, store: LocalStore) {
      func open() throws -> (cache: OpenedCache, store: LocalStore) {
        try CacheFile.openStore(folder: path, databaseID: Self.databaseID) { database, _ in
          try LocalStore(
            database: database, databaseID: Self.databaseID,
            garbageCollection: .leastRecentlyUsed(thresholdBytes: 100 << 20), user: user, newCacheID: "command")
        }
      }
      // Another test may be starting a program, which holds the closed folder's lock until it runs.
      var reopened = try? open()
      try await waitUntil {
        if reopened == nil { reopened = try? open() }
        return reopened != nil
      }
      return try #require(reopened)
    }

    deinit {
      close()
      try? FileManager.default.removeItem(atPath: path)
    }
  }

  private func hearth(_ arguments: String...) async throws -> Programs.Output {
    try await Programs.runInBackground(Programs.product("hearth"), ["cache"] + arguments)
  }

  private func json(_ text: some StringProtocol) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "not JSON: \(text)")
  }

  /// The lines of standard output, without what standard error says of an empty answer.
  private func jsonLines(_ output: Programs.Output) throws -> [[String: Any]] {
    #expect(output.status == 0, "\(output.text)")
    return try output.text.split(separator: "\n").filter { !$0.hasPrefix("hearth cache: ") }.map { try json($0) }
  }

  @Test("documents says that a limit has left out others, and info that it counts confirmed documents")
  func countsInWords() async throws {
    let folder = try Folder()
    folder.close()
    let cut = try await hearth("documents", folder.path, "cities", "--limit", "2", "--format", "table")
    #expect(cut.text.contains("2 documents, more with --limit N"), "\(cut.text)")
    let cutJSON = try await hearth("documents", folder.path, "cities", "--limit", "2")
    #expect(cutJSON.text.contains("2 documents, more with --limit N"), "\(cutJSON.text)")
    #expect(try jsonLines(cutJSON).count == 2)
    let whole = try await hearth("documents", folder.path, "cities", "--limit", "3", "--format", "table")
    #expect(whole.text.contains("3 documents\n") && !whole.text.contains("--limit"), "\(whole.text)")
    let info = try await hearth("info", folder.path, "--format", "table")
    #expect(
      info.text.contains("confirmed  at most 1 document (`hearth cache documents` counts them)\n"), "\(info.text)")
    let collections = try await hearth("documents", folder.path)
    #expect(try jsonLines(collections).map { $0["documents"] as? Int } == [1], "\(collections.text)")
  }

  @Test("every reading subcommand prints JSON into a pipe, also while the cache is in use", arguments: [true, false])
  func reading(_ isInUse: Bool) async throws {
    let folder = try Folder()
    if !isInUse { folder.close() }
    let info = try await hearth("info", folder.path)
    #expect(info.status == 0)
    let overview = try json(info.text)
    #expect(overview["project"] as? String == "demo-hearth" && overview["pendingBatches"] as? Int == 2)
    #expect(overview["isInExclusiveUse"] as? Bool == isInUse)

    let outbox = try jsonLines(try await hearth("outbox", folder.path))
    #expect(outbox.compactMap { $0["writtenAt"] as? String } == ["2023-11-14T22:13:20Z", "2023-11-14T22:13:20Z"])
    let documents = try jsonLines(try await hearth("documents", folder.path, "cities"))
    #expect(documents.compactMap { $0["path"] as? String } == ["cities/LA", "cities/NY", "cities/SF"])
    let confirmed = try jsonLines(try await hearth("documents", folder.path, "cities", "--confirmed"))
    #expect(confirmed.count == 1)
    let got = try await hearth("get", folder.path, "cities/SF", "cities/LA")
    #expect(
      got.text.hasPrefix(#"{"path":"cities/SF","fields":{"name":"San Francisco\u001b[31m","population":860000}"#),
      "\(got.text)")
    #expect(try jsonLines(got).map { $0["hasPendingWrites"] as? Bool } == [nil, true])
    let found = try jsonLines(
      try await hearth(
        "query", folder.path, "cities", "--where", "population > 1000000", "--order", "population", "--limit", "1"))
    #expect(found.compactMap { $0["path"] as? String } == ["cities/LA"])
    let plan = try json(
      try await hearth("query", folder.path, "cities", "--where", "population > 1000000", "--explain").text)
    #expect(plan["results"] as? Int == 2 && plan["missingIndexes"] as? [String] == ["cities: population ASCENDING"])
    #expect(try jsonLines(try await hearth("indexes", folder.path)).isEmpty)
    #expect(try json(try await hearth("check", folder.path).text)["isSound"] as? Bool == true)
    #expect(try jsonLines(try await hearth("export", folder.path)).count == 3)
  }

  @Test("writes are listed with the identity that made them, and of one identity where that is asked for")
  func owners() async throws {
    let folder = try Folder()
    folder.close()
    let opened = try await folder.reopened(user: OutboxOwner.serviceAccount("a@b").name)
    _ = try opened.store.write([.set(try DocumentKey(parsing: "cities/TOK"), [:])], localWriteTime: .epoch)
    opened.cache.close()
    let table = try await hearth("outbox", folder.path, "--format", "table")
    #expect(table.text.contains("(service account a@b)") && table.text.contains("(signed out)"))
    let lines = try jsonLines(try await hearth("outbox", folder.path))
    #expect(lines.map { $0["owner"] as? String } == ["(signed out)", "(signed out)", "(service account a@b)"])
    #expect(lines.allSatisfy { $0["user"] is NSNull })
    #expect(try jsonLines(try await hearth("outbox", folder.path, "--service-account", "a@b")).count == 1)
    #expect(try jsonLines(try await hearth("outbox", folder.path, "--emulator-owner")).isEmpty)
    #expect(try jsonLines(try await hearth("outbox", folder.path, "--user", "service-account:a@b")).isEmpty)
    #expect(try await hearth("outbox", folder.path, "--user", "a", "--signed-out").status == 64)
    let own = try jsonLines(try await hearth("documents", folder.path, "cities", "--service-account", "a@b"))
    #expect(own.compactMap { $0["path"] as? String } == ["cities/SF", "cities/TOK"])
    let info = try await hearth("info", folder.path, "--format", "table")
    #expect(info.text.contains("(service account a@b): 1 write in 1 batch\n"))
  }

  @Test("tables carry neither colours into a pipe nor what a terminal would obey")
  func tables() async throws {
    let folder = try Folder()
    for subcommand in ["info", "outbox", "rejected", "conflicts", "documents", "indexes", "check"] {
      let output = try await hearth(subcommand, folder.path, "--format", "table")
      #expect(output.status == 0 && !output.text.isEmpty)
      #expect(!output.text.contains("\u{1B}"))
    }
    let query = try await hearth("query", folder.path, "cities", "--format", "table")
    #expect(query.text.contains("cities/SF") && !query.text.contains("\u{1B}"))
  }

  @Test("a failure has status 1, nothing but its text, and says what to do")
  func failures() async throws {
    let folder = try Folder()
    let empty = NSTemporaryDirectory() + "hearth-cache-command-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: empty) }
    let failing: [([String], String, Int32)] = [
      (["info", empty + "/none"], "Check the path", 1), (["info", empty], "holds no cache", 1),
      (["get", folder.path, "cities"], "not the path of a document", 64),
      (["documents", folder.path, "cities/SF"], "not the path of a collection", 64),
      (["get", folder.path, "cities/none"], "hearth cache documents", 1),
      (["query", folder.path, "cities", "--where", "a"], "an operator", 64),
      (["export", folder.path, "--output", empty + "/no/x.jsonl"], "there is no folder", 1),
      (["clear", folder.path], "Stop that process", 1), (["collect", folder.path], "Stop that process", 1),
    ]
    for (arguments, text, status) in failing {
      let output = try await Programs.runInBackground(Programs.product("hearth"), ["cache"] + arguments)
      #expect(
        output.status == status && output.text.hasPrefix("hearth cache: ") && output.text.contains(text),
        "\(output.text)")
    }
    #expect(try await hearth("documents", folder.path, "--limit", "x").status == 64)
    #expect(try FileManager.default.contentsOfDirectory(atPath: empty).isEmpty)
  }

  @Test("check of a damaged cache has status 1 and says what would be saved")
  func damaged() async throws {
    let folder = try Folder()
    folder.close()
    let file = try #require(FileHandle(forUpdatingAtPath: folder.path + "/cache.sqlite"))
    try file.write(contentsOf: Data(repeating: 7, count: 100))
    try file.close()
    let info = try await hearth("info", folder.path)
    #expect(info.status == 1 && info.text.contains("hearth cache check"))
    let check = try await hearth("check", folder.path)
    let report = try json(check.text)
    #expect(check.status == 1 && report["isSound"] as? Bool == false && report["outbox"] != nil)
    let table = try await hearth("check", folder.path, "--format", "table")
    for text in [try #require(report["summary"] as? String), table.text] {
      #expect(text.hasPrefix("The cache is damaged") && text.contains("Start the program that owns it"), "\(text)")
    }
  }

  @Test("clear refuses to lose writes, and an export goes into a new file only")
  func changing() async throws {
    let folder = try Folder()
    folder.close()
    let file = folder.path + "/export.bundle"
    #expect(try await hearth("export", folder.path, "--format", "bundle", "--output", file).status == 0)
    #expect(try String(contentsOfFile: file, encoding: .utf8).contains("\"metadata\""))
    let again = try await hearth("export", folder.path, "--output", file)
    #expect(again.status == 1 && again.text.contains("exists"))
    #expect(try json(try await hearth("collect", folder.path).text)["removedDocuments"] != nil)
    let refused = try await hearth("clear", folder.path)
    #expect(refused.status == 1 && refused.text.contains("holds 2 writes in 2 batches that"))
    #expect(try await hearth("clear", folder.path, "--discard-pending-writes").status == 0)
    #expect(try await hearth("info", folder.path).text.contains("holds no cache"))
  }

  @Test("the writes and the batches that they are in are counted alike by info, outbox, list, check and clear")
  func counts() async throws {
    let folder = try Folder()
    folder.close()
    let opened = try await folder.reopened()
    let keys = try ["a", "b", "c"].map { try DocumentKey(parsing: "towns/\($0)") }
    _ = try opened.store.write(keys.map { .set($0, [:]) }, localWriteTime: .epoch)
    opened.cache.close()
    let counted = "5 writes in 3 batches"
    let info = try await hearth("info", folder.path, "--format", "table")
    #expect(
      info.text.contains("outbox     \(counted)\n") && info.text.contains("(signed out): \(counted)\n"), "\(info.text)")
    #expect(try await hearth("outbox", folder.path, "--format", "table").text.hasSuffix("\n\(counted)\n"))
    #expect(try await hearth("list", folder.path, "--format", "table").text.contains("outbox: \(counted)\n"))
    #expect(
      try await hearth("check", folder.path, "--format", "table").text.contains("waiting for the backend: \(counted)."))
    #expect(try await hearth("clear", folder.path).text.contains("holds \(counted) that the backend does not have"))
    let json = try json(try await hearth("info", folder.path).text)
    #expect(json["pendingWrites"] as? Int == 5 && json["pendingBatches"] as? Int == 3)
    let cleared = try await hearth("clear", folder.path, "--discard-pending-writes", "--format", "table")
    #expect(
      cleared.text == "The cache is deleted, and with it \(counted) that waited for the backend.\n", "\(cleared.text)")
  }

  @Test("clear names the refused writes that it does not lose without a flag, and info counts them")
  func refused() async throws {
    let folder = try Folder(refuses: true)
    folder.close()
    let info = try await hearth("info", folder.path, "--format", "table")
    #expect(info.text.contains("rejected   2 writes in 2 batches that"), "\(info.text)")
    let users = try #require(try json(try await hearth("info", folder.path).text)["users"] as? [[String: Any]])
    #expect(users.map { $0["rejectedBatches"] as? Int } == [2])
    let rejected = try jsonLines(try await hearth("rejected", folder.path))
    #expect(rejected.count == 2 && !rejected.contains { $0["unreadable"] != nil })
    for arguments in [[], ["--discard-pending-writes"]] {
      let kept = try await Programs.runInBackground(
        Programs.product("hearth"), ["cache", "clear", folder.path] + arguments)
      #expect(
        kept.status == 1 && kept.text.contains("set cities/LA (PERMISSION_DENIED); set cities/NY"), "\(kept.text)")
    }
    let cleared = try await hearth("clear", folder.path, "--discard-rejected-writes")
    #expect(cleared.status == 0)
    #expect(try json(cleared.text)["discardedRejectedBatches"] as? Int == 2)
    #expect(try await hearth("info", folder.path).text.contains("holds no cache"))
  }

  @Test("conflicts lists what was local, remote and kept, and info counts it")
  func conflicts() async throws {
    let folder = try Folder()
    folder.close()
    let opened = try await folder.reopened()
    // Reports are kept for writes that can be named.
    let id = try opened.store.write(
      [.set(try DocumentKey(parsing: "cities/LA"), [:])], localWriteTime: .epoch,
      identity: BatchIdentity(high: 7, low: 1)
    ).batchID
    let batch = try #require(try opened.store.pendingBatches().first { $0.batchID == id })
    let report = ConflictReport(
      key: try DocumentKey(parsing: "cities/LA"), ending: .merged,
      fields: [
        ConflictReport.Field(
          path: try FieldPath(["name"]), base: "base", local: "mine", remote: "theirs", kept: .local),
        ConflictReport.Field(path: try FieldPath(["note"]), base: nil, local: "mine", remote: nil, kept: .remote),
      ])
    let outcome = LocalStore.ConflictOutcome(
      mutations: batch.mutations, remote: [:], bases: try opened.store.outbox.bases(of: batch), reports: [report])
    _ = try opened.store.resolveConflict(
      batch, outcome, of: .activeUser, at: Timestamp(seconds: 1_700_000_002, nanoseconds: 0))
    opened.cache.close()
    let table = try await hearth("conflicts", folder.path, "--format", "table")
    let lines = table.text.split(separator: "\n").map {
      $0.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
    #expect(
      lines == [
        "BATCH USER RESOLVED DOCUMENT OUTCOME FIELD BASE LOCAL REMOTE KEPT",
        "\(id) (signed out) 2023-11-14T22:13:22Z cities/LA merged name \"base\" \"mine\" \"theirs\" local",
        "\(id) (signed out) 2023-11-14T22:13:22Z cities/LA merged note \"mine\" remote", "1 conflict",
      ], "\(table.text)")
    let json = try jsonLines(try await hearth("conflicts", folder.path, "--signed-out"))
    let fields = try #require(json.first?["fields"] as? [[String: Any]])
    #expect(json.count == 1 && fields.map { $0["local"] as? String } == ["mine", "mine"])
    #expect(fields[0]["remote"] as? String == "theirs" && fields[1]["remote"] == nil)
    let other = try await hearth("conflicts", folder.path, "--user", "ann")
    #expect(
      other.status == 0
        && other.text.hasPrefix(
          "hearth cache: The cache keeps no resolved conflicts of ann, but 1 resolved conflict of (signed out)."),
      "\(other.text)")
    let info = try await hearth("info", folder.path, "--format", "table")
    #expect(
      info.text.contains("conflicts  1 conflict that rules have resolved: see `hearth cache conflicts`\n"),
      "\(info.text)"
    )
    #expect(info.text.contains("; resolved conflicts: 1\n"), "\(info.text)")
  }

  @Test("documents that a collection or a clearing removes are not counted any more, and one is not many")
  func countsAfterRemoval() async throws {
    let folder = try Folder()
    folder.close()
    let opened = try await folder.reopened()
    var event = RemoteEvent(snapshotVersion: SnapshotVersion(microseconds: 2_000_000))
    for id in ["A", "B", "C"] {
      let key = try DocumentKey(parsing: "cities/\(id)")
      event.documentUpdates[key] = .found(
        key, version: SnapshotVersion(microseconds: 2_000_000), fields: EncodedFields(["name": .string(id)]))
    }
    _ = try opened.store.apply(event)
    opened.cache.close()
    func count() async throws -> Int? {
      try jsonLines(try await hearth("documents", folder.path)).first?["documents"] as? Int
    }
    #expect(try await count() == 4)
    let cleared = try await hearth("clear", folder.path, "--document", "cities/B", "--format", "table")
    #expect(cleared.text.hasPrefix("Removed 1 document; "), "\(cleared.text)")
    #expect(try await count() == 3)
    let collected = try await hearth("collect", folder.path, "--format", "table")
    let removed = try #require(
      collected.text.firstMatch(of: #/^Garbage collection removed ([01]) quer(?:y|ies) and (\d+) documents? in /#),
      "\(collected.text)")
    #expect(!collected.text.contains("1 documents") && !collected.text.contains("1 queries"), "\(collected.text)")
    #expect(try await count() == 3 - (Int(removed.2) ?? 0) && removed.2 != "0", "\(collected.text)")
  }

  @Test(
    "clear takes a part, also while a client shares the cache, and spares what that listens to",
    arguments: [true, false])
  func clearingPart(isInUse: Bool) async throws {
    let folder = try Folder(isShared: true)
    if !isInUse { folder.close() }
    let report = try json(try await hearth("clear", folder.path, "--group", "cities", "--securely").text)
    #expect(report["isErased"] as? Bool == true)
    #expect(report["removedDocuments"] as? Int == (isInUse ? 0 : 1))
    #expect(report["listenedDocuments"] as? Int == (isInUse ? 1 : 0))
    let info = try json(try await hearth("info", folder.path).text)
    #expect(info["pendingBatches"] as? Int == 2)
    let pinned = try #require(info["pinnedQueries"] as? [[String: Any]])
    #expect(pinned.map { $0["documents"] as? Int } == [isInUse ? 1 : 0])
    let again = try json(try await hearth("clear", folder.path, "--collection", "cities", "--older-than", "1d").text)
    #expect(again["removedDocuments"] as? Int == 0)
    // The command is no client any more.
    #expect((info["clients"] as? [Any])?.count == (isInUse ? 1 : 0))
    for wrong in [["--document", "a/b", "--group", "c"], ["--older-than", "soon"], ["--subcollections"]] {
      let output = try await Programs.runInBackground(
        Programs.product("hearth"), ["cache", "clear", folder.path] + wrong)
      #expect(output.status == 64, "\(wrong)")
    }
  }

  @Test("the commands of the article run")
  func article() async throws {
    let folder = try Folder()
    folder.close()
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let article = try String(
      contentsOf: root.appendingPathComponent("Sources/Hearth/Hearth.docc/LookingIntoACache.md"), encoding: .utf8)
    let commands = article.split(separator: "\n").filter { $0.hasPrefix("hearth cache ") && !$0.contains("| jq") }
    #expect(commands.count >= 9)
    for command in commands {
      let text = command.replacingOccurrences(of: "FOLDER", with: "'\(folder.path)'")
      let output = try await Programs.runInBackground(
        URL(fileURLWithPath: "/bin/sh"),
        ["-c", "hearth() { '\(Programs.product("hearth").path)' \"$@\"; }; cd '\(folder.path)'; \(text)"])
      #expect((output.status == 0) != command.contains("--confirmed"), "\(command): \(output.text)")
    }
  }

  @Test("completion scripts know the subcommands", arguments: ["bash", "zsh", "fish"])
  func completion(_ shell: String) async throws {
    let script = try await Programs.runInBackground(
      Programs.product("hearth"), ["--generate-completion-script", shell])
    #expect(script.status == 0 && script.text.contains("outbox"))
  }
}
