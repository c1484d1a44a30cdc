import Foundation
import HearthModel
import HearthServer
import TestSupport
import Testing

@testable import HearthData

@Suite("Exports and imports", .timeLimit(.minutes(5)))
struct TransferTests {
  /// Values that the server takes.
  private static let values: [Value] = ValueZoo.all.filter { value in
    guard value.isValid else { return false }
    switch value {
    case .pendingServerTimestamp, .map: return false
    case .timestamp(let time): return time.nanoseconds % 1000 == 0
    case .string(let text): return text.utf8.count < 1000
    case .bytes(let bytes): return bytes.count < 1000
    case .reference(let reference): return reference.database.projectID == "demo"
    case .array(let elements): return elements.allSatisfy { if case .integer = $0 { true } else { false } }
    default: return true
    }
  }

  /// Many documents in one collection, and some in others, at several depths.
  private static func documents(_ count: Int) -> [(path: String, fields: MapValue)] {
    var documents = (0..<count).map { index -> (path: String, fields: MapValue) in
      let value = values[index % values.count]
      return ("many/d\(String(index * 7919 % 100_000))", ["i": .integer(Int64(index)), "v": value, "m": ["$v": value]])
    }
    documents += [
      ("a/1", ["vector": .vector([1, 2.5])]), ("many/d7919/below/x", ["n": 1]), ("many/none/below/x", ["n": 2]),
      ("manyother/1", [:]), ("ma/ny", ["$bytes": "AAE="]), ("many/d7919/below/x/deep/ü \u{1F525}", ["n": 3]),
    ]
    return documents
  }

  @Test("a copy of a database has the same documents, to the byte", arguments: ["all.jsonl", "all/"])
  func roundTrip(name: String) async throws {
    try await DataServer.with { server in
      let expected = try await server.fill(Self.documents(700))
      #expect(try await server.export(to: name) == expected.count)
      let state = try await server.import(name)
      #expect(state.documents == expected.count && state.failed == 0)
      let copy = try await server.contents(project: "copy")
      #expect(copy.count == expected.count)
      for (path, fields) in expected {
        // A reference into the database follows it to the copy.
        guard let found = copy[path], !String(decoding: fields.bytes, as: UTF8.self).contains("projects/demo") else {
          #expect(copy[path] != nil, "\(path)")
          continue
        }
        #expect(found.bytes == fields.bytes, "\(path)")
      }
      #expect(!FileManager.default.fileExists(atPath: server.path("all.jsonl.part")))
      #expect(!FileManager.default.fileExists(atPath: server.path("all.jsonl.plan")))
      #expect(!FileManager.default.fileExists(atPath: server.path("all.jsonl.import")))
    }
  }

  @Test("an export that was cut off at any byte goes on to the same documents of the same time")
  func resumedExport() async throws {
    try await DataServer.with { server in
      let expected = try await server.fill(Self.documents(500))
      let backend = try server.backend()
      // The state of an export that has run for a while: its plan and a beginning of its file.
      var complete = DataExport(destination: .file(server.path("complete.jsonl")))
      complete.parallelism = 3
      complete.pageSize = 40
      _ = try await complete.run(backend, progress: DataProgress())
      let lines = try server.text("complete.jsonl").split(separator: "\n").sorted()
      #expect(lines.count == expected.count)
      let plan = try await server.plan(backend)
      #expect(plan.parts.count > 1)
      await backend.shutdown()
      // Changes afterwards are not part of what goes on.
      try await server.fill([("many/later", [:]), ("a/1", ["changed": true])])

      let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: server.path("complete.jsonl"))))
      let ordered = try bytesInPartOrder(bytes, plan)
      var generator = SeededGenerator(seed: SeededGenerator.askedSeed ?? 17)
      for attempt in 0..<12 {
        let cut = attempt == 0 ? 0 : attempt == 1 ? ordered.count : generator.below(ordered.count)
        let name = "cut\(attempt).jsonl"
        let tail: [UInt8] = attempt.isMultiple(of: 3) ? [0, 0, 0] : []
        try Data(ordered.prefix(cut) + tail).write(to: URL(fileURLWithPath: server.path(name + ".part")))
        try plan.write(to: server.path(name + ".plan"))
        let count = try await server.export(to: name) { $0.resumes = true }
        #expect(count == expected.count, "cut at \(cut)")
        #expect(try server.text(name).split(separator: "\n").sorted() == lines, "cut at \(cut)")
      }
    }
  }

  /// The lines as several parts write them, each in its order, mixed.
  private func bytesInPartOrder(_ bytes: [UInt8], _ plan: ExportPlan) throws -> [UInt8] {
    var queues: [[ArraySlice<UInt8>]] = Array(repeating: [], count: plan.parts.count)
    let lines = try bytes.split(separator: 0x0A).map { line in
      (try DocumentKey(ResourcePath(canonical: #require(DocumentLine.path(in: line)))), line)
    }
    for (key, line) in lines.sorted(by: { $0.0 < $1.0 }) {
      let index = try #require(plan.parts.firstIndex { $0.contains(key) })
      queues[index].append(line)
    }
    var generator = SeededGenerator(seed: 5)
    var result: [UInt8] = []
    while queues.contains(where: { !$0.isEmpty }) {
      let index = generator.below(queues.count)
      guard !queues[index].isEmpty else { continue }
      result += queues[index].removeFirst() + [0x0A]
    }
    return result
  }

  @Test("a folder of an export goes on, and a complete one stays")
  func resumedFolder() async throws {
    try await DataServer.with { server in
      let expected = try await server.fill(Self.documents(500))
      try await server.export(to: "all/")
      var plan = try ExportPlan(contentsOfFile: server.path("all/export.json"))
      #expect(plan.isComplete && plan.parts.count > 1)
      #expect(try await server.export(to: "all") { $0.resumes = true } == expected.count)
      plan.isComplete = false
      try plan.write(to: server.path("all/export.json"))
      let first = server.path("all/documents-0000.jsonl")
      let bytes = try Data(contentsOf: URL(fileURLWithPath: first))
      try bytes.prefix(bytes.count / 2).write(to: URL(fileURLWithPath: first))
      await #expect(throws: DataError.self) { try await server.import("all") }
      #expect(try await server.export(to: "all") { $0.resumes = true } == expected.count)
      #expect(try Data(contentsOf: URL(fileURLWithPath: first)) == bytes)
      #expect(try await server.import("all").documents == expected.count)
    }
  }

  @Test("collections are exported with what is below them, or without")
  func collections() async throws {
    try await DataServer.with { server in
      try await server.fill(Self.documents(20))
      func paths(_ name: String, _ scopes: [ExportScope]) async throws -> Set<String> {
        try await server.export(to: name) { $0.scopes = scopes }
        let lines = try server.text(name).split(separator: "\n")
        return Set(lines.compactMap { DocumentLine.path(in: Array($0.utf8)[...]) })
      }
      let many = try ResourcePath(parsing: "many")
      let below = try await paths("below", [.below(many)])
      #expect(below.count == 23 && below.allSatisfy { $0.hasPrefix("many/") } && below.contains("many/none/below/x"))
      let shallow = try await paths("shallow", [.collection(many)])
      #expect(shallow.count == 20 && shallow.allSatisfy { $0.split(separator: "/").count == 2 })
      let nested = try ResourcePath(parsing: "many/d7919/below")
      #expect(
        try await paths("nested", [.below(nested)]) == ["many/d7919/below/x", "many/d7919/below/x/deep/ü \u{1F525}"])
      #expect(try await paths("twice", [.below(nested), .below(many), .collection(many)]).count == 23)
      #expect(try await paths("none", [.collection(try ResourcePath(parsing: "nothing"))]).isEmpty)
    }
  }

  @Test("an export never overwrites, and goes on only with the same database and collections")
  func exportRefusals() async throws {
    try await DataServer.with { server in
      try await server.fill(Self.documents(5))
      try await server.export(to: "x")
      await #expect(throws: DataError.self) { try await server.export(to: "x") }
      let backend = try server.backend()
      try await server.plan(backend).write(to: server.path("y.plan"))
      await backend.shutdown()
      for change: @Sendable (inout DataExport) -> Void in [
        { _ in }, { ($0.resumes, $0.scopes) = (true, [.collection(ResourcePath(["a"]))]) },
      ] {
        await #expect(throws: DataError.self) { try await server.export(to: "y", change) }
      }
      await #expect(throws: DataError.self) { try await server.export(to: "y", project: "other") { $0.resumes = true } }
      try server.write("{}", to: "z.plan")
      await #expect(throws: DataError.self) { try await server.export(to: "z") { $0.resumes = true } }
    }
  }

  // MARK: - Imports

  static func lines(_ range: Range<Int>, _ value: String = "1") -> String {
    range.map { "{\"path\":\"c/d\($0)\",\"fields\":{\"v\":\(value)}}\n" }.joined()
  }

  @Test(
    "the first line that is no document stops the import, with its place; --continue leaves it out", arguments: [1, 8])
  func badLines(parallelism: Int) async throws {
    try await DataServer.with { server in
      try server.write(
        Self.lines(0..<1200) + "{\"path\":\"c/x\",\"fields\":{\"v\":}}\n" + Self.lines(1200..<3000), to: "bad.jsonl")
      let failures = FailureList()
      await #expect(throws: DataError.self) {
        try await server.import("bad.jsonl") {
          $0.parallelism = parallelism
          $0.onFailure = { failures.add($0) }
        }
      }
      #expect(failures.all.count == 1 && failures.all.first?.contains("bad.jsonl:1201:29: ") == true, "\(failures.all)")
      let contents = try await server.contents(project: "copy")
      #expect((1000...1200).contains(contents.count))
      #expect(contents.keys.allSatisfy { (Int($0.dropFirst(3)) ?? .max) < 1200 })
      let state = try await server.import("bad.jsonl") {
        $0.continues = true
        $0.parallelism = parallelism
      }
      #expect(state.documents == 3000 && state.failed == 1)
      #expect(try await server.contents(project: "copy").count == 3000)
    }
  }

  @Test("a refused document is named with its line")
  func refusedDocument() async throws {
    try await DataServer.with { server in
      try server.write(
        Self.lines(0..<10) + "{\"path\":\"c/__reserved__\",\"fields\":{}}\n" + Self.lines(10..<20), to: "refused.jsonl")
      let failures = FailureList()
      await #expect(throws: DataError.self) {
        try await server.import("refused.jsonl") { $0.onFailure = { failures.add($0) } }
      }
      #expect(failures.all.count == 1)
      #expect(
        failures.all.first?.contains("refused.jsonl:11: document \"c/__reserved__\" was refused") == true,
        "\(failures.all)")
      let state = try await server.import("refused.jsonl") { $0.continues = true }
      #expect(state.documents == 20 && state.failed == 1)
    }
  }

  @Test(
    "JSON that is not in lines is imported: an array, and documents over several lines",
    arguments: [
      #"""
      [
        {"path": "c/1", "fields": {"v": [1, {"s": "}]\""}]}},
        {
          "path": "c/2",
          "fields": {"v": 2}
        }
      ]

      """#, #"[{"path":"c/1","fields":{"v":[1,{"s":"}]\""}]}},{"path":"c/2","fields":{"v":2}}]"#,
      "{\n\"path\": \"c/1\",\n\"fields\": {\"v\": [1, {\"s\": \"}]\\\"\"}]}\n}\r\n{\n\"path\": \"c/2\", \"fields\": {\"v\": 2}}",
    ])
  func textOfJSON(text: String) async throws {
    try await DataServer.with { server in
      try server.write(text, to: "seed.json")
      #expect(try await server.import("seed.json").documents == 2)
      let contents = try await server.contents(project: "copy")
      #expect(
        contents["c/1"] == EncodedFields(["v": [1, ["s": "}]\""]]]) && contents["c/2"] == EncodedFields(["v": 2]))
    }
  }

  @Test("a mistake in JSON that is not in lines is named with its line, and a cut off array is none")
  func faultyTextOfJSON() async throws {
    try await DataServer.with { server in
      for (text, failure) in [
        (
          "[\n  {\"path\": \"c/1\", \"fields\": {}},\n  {\"path\": \"c/2\",\n   \"fields\": {\"v\": }}\n]",
          "seed.json:4:20: a value"
        ),
        ("[\n  {\"path\": \"c/1\", \"fields\": {}},\n", "seed.json:3: the file ends before the array does"),
        ("[\n  {\"path\": \"c/1\", \"fields\": {}}] x", "seed.json:2: there is more after the array"),
        ("[{\"path\": \"c/1\", \"fields\": {}}, 5]", "an object such as"),
        ("{\n  \"path\": \"c/1\",\n  \"fields\": {\n", "seed.json:4:1: "),
      ] {
        try server.write(text, to: "seed.json")
        let failures = FailureList()
        await #expect(throws: DataError.self, "\(text)") {
          try await server.import("seed.json") { $0.onFailure = { failures.add($0) } }
        }
        #expect(failures.all.count == 1 && failures.all[0].contains(failure), "\(failures.all)")
        #expect(!FileManager.default.fileExists(atPath: server.path("seed.json.import")))
      }
    }
  }

  @Test(
    "a document in another form is refused with the right one, and nothing is left beside the source",
    arguments: [
      (#"{"path": "/cities/SF", "fields": {}}"#, #"one of its parts is empty. Write "cities/SF""#),
      (
        #"{"path": "c/1", "fields": {"name": {"stringValue": "x"}}}"#,
        #""stringValue" is the form of Firestore's REST API, and values here are plain JSON (`hearth data --help`). Write "name": "x"."#
      ),
      (#"{"path": "c/1", "fields": {"n": {"integerValue": "5"}, "m": {"mapValue": {}}}}"#, #"Write "n": 5."#),
      (
        #"{"name": "projects/p/databases/(default)/documents/cities/SF", "fields": {}}"#,
        #"which are path and fields: write "path": "cities/SF""#
      ),
      (
        #"{"path": "c/1", "fields": {"t": {"$timestamp": "2026-03-01"}}}"#,
        #"write {"$timestamp": "2026-03-01T00:00:00Z"}"#
      ),
      (
        #"{"path": "c/1", "fields": {"t": {"$timestamp": {"_seconds": 0, "_nanoseconds": 5}}}}"#,
        #"write {"$timestamp": "1970-01-01T00:00:00.000000005Z"}"#
      ),
      (#"{"path": "c/1", "fields": {"p": {"$geopoint": "1.5, -2"}}}"#, #"write {"$geopoint": [1.5, -2]}"#),
    ])
  func otherForms(line: String, advice: String) async throws {
    try await DataServer.with { server in
      try server.write(line + "\n", to: "other.jsonl")
      let failures = FailureList()
      await #expect(throws: DataError.self) {
        try await server.import("other.jsonl") { $0.onFailure = { failures.add($0) } }
      }
      #expect(failures.all.count == 1 && failures.all[0].contains(advice), "\(failures.all)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: server.folder) == ["other.jsonl"])
    }
  }

  @Test("maps that look like values of the REST API are exported so that an import takes them")
  func mapsLikeREST() async throws {
    try await DataServer.with { server in
      let fields: MapValue = ["a": ["stringValue": "x"], "b": ["nullValue": .null]]
      try await server.fill([("c/1", fields), ("c/2", ["a": ["stringValue": "x"], "b": 1])])
      try await server.export(to: "maps.jsonl")
      #expect(try await server.import("maps.jsonl").documents == 2)
      #expect(try await server.contents(project: "copy")["c/1"] == EncodedFields(fields))
    }
  }

  @Test("an export one folder deeper, and a file of an emulator's export, are refused with the folder to give")
  func otherPlaces() async throws {
    try await DataServer.with { server in
      let inner = server.path("emulator/firestore_export")
      try FileManager.default.createDirectory(
        atPath: inner + "/all_namespaces/all_kinds", withIntermediateDirectories: true)
      let overall = "firestore_export.overall_export_metadata"
      for name in [overall, "all_namespaces/all_kinds/output-0"] {
        try server.write("", to: "emulator/firestore_export/" + name)
      }
      for (name, advice) in [
        ("emulator", "There is an export in \(inner): give that folder."),
        ("emulator/firestore_export/" + overall, "is one file of an emulator's export. Give its folder: \(inner)."),
        ("emulator/firestore_export/all_namespaces/all_kinds/output-0", "Give its folder: \(inner)."),
      ] {
        let error = await #expect(throws: DataError.self) { try await server.import(name) }
        #expect(error?.description.contains(advice) == true, "\(error?.description ?? "")")
      }
    }
  }

  @Test("documents that exist are overwritten, skipped or refused")
  func conflicts() async throws {
    try await DataServer.with { server in
      try await server.fill([("c/d3", ["v": "old"])], project: "copy")
      try server.write(Self.lines(0..<10), to: "c.jsonl")
      let skipped = try await server.import("c.jsonl") { $0.conflictRule = .skip }
      #expect(skipped.documents == 9 && skipped.skipped == 1)
      #expect(try await server.contents(project: "copy")["c/d3"] == EncodedFields(["v": "old"]))
      let failures = FailureList()
      await #expect(throws: DataError.self) {
        try await server.import("c.jsonl", project: "copy") {
          $0.conflictRule = .fail
          $0.onFailure = { failures.add($0) }
        }
      }
      #expect(failures.all.first?.contains("document \"c/d0\" exists already") == true, "\(failures.all)")
      // An import that ends names a few.
      #expect(failures.all.count == 6 && failures.all.last == "Further documents that were refused are only counted.")
      let stop = await #expect(throws: DataError.self) {
        try await server.import("c.jsonl") { $0.conflictRule = .fail }
      }
      #expect(stop?.description.contains("--on-conflict overwrite replaces documents that exist") == true)
      #expect(try await server.import("c.jsonl").documents == 10)
      #expect(try await server.contents(project: "copy")["c/d3"] == EncodedFields(["v": 1]))
    }
  }

  @Test("of several lines for one document the last one counts", arguments: [1, 8])
  func repeatedDocuments(parallelism: Int) async throws {
    try await DataServer.with { server in
      let text = (0..<300).map { Self.lines(($0 % 7)..<($0 % 7 + 1), "\($0)") }.joined()
      let spelled = "{\"fields\":{\"v\":1000},\"path\":\"c\\u002fd3\"}\n"
      try server.write(text + Self.lines(100..<1200) + spelled, to: "repeated.jsonl")
      try await server.import("repeated.jsonl") { $0.parallelism = parallelism }
      let contents = try await server.contents(project: "copy")
      for index in 0..<7 where index != 3 {
        let last = try #require((0..<300).last { $0 % 7 == index })
        #expect(contents["c/d\(index)"] == EncodedFields(["v": .integer(Int64(last))]))
      }
      #expect(contents["c/d3"] == EncodedFields(["v": 1000]))
    }
  }

  @Test("an import goes on behind what was acknowledged, and refuses another source or database")
  func resumedImport() async throws {
    try await DataServer.with { server in
      try server.write(Self.lines(0..<2000), to: "i.jsonl")
      let file = ImportFile(path: server.path("i.jsonl"), byteCount: try server.text("i.jsonl").utf8.count)
      var state = ImportState(databaseID: DatabaseID(projectID: "copy"), files: [file])
      let offset = Self.lines(0..<1500).utf8.count
      state.position = ImportPosition(file: 0, offset: offset, line: 1500)
      state.documents = 1500
      try state.write(to: server.path("i.jsonl.import"))
      await #expect(throws: DataError.self) { try await server.import("i.jsonl", project: "x") { $0.resumes = true } }
      let result = try await server.import("i.jsonl") { $0.resumes = true }
      #expect(result.documents == 2000 && result.earlier == 1500)
      #expect(try await server.contents(project: "copy").count == 500)
      try state.write(to: server.path("i.jsonl.import"))
      try server.write(Self.lines(0..<2001), to: "i.jsonl")
      await #expect(throws: DataError.self) { try await server.import("i.jsonl") { $0.resumes = true } }
      try server.write("{\"format\":1}", to: "i.jsonl.import")
      await #expect(throws: DataError.self) { try await server.import("i.jsonl") { $0.resumes = true } }
      // Without --resume it begins at the beginning.
      #expect(try await server.import("i.jsonl").documents == 2001)
    }
  }

  @Test("an import that failed goes on to the whole, wherever it was")
  func interruptedImport() async throws {
    try await DataServer.with { server in
      try server.write(Self.lines(0..<4000), to: "i.jsonl")
      let (backend, file) = (try server.backend("copy"), server.path("i.jsonl"))
      let progress = DataProgress()
      let work = Task {
        var job = DataImport(path: file)
        job.parallelism = 2
        try await job.run(backend, progress: progress)
      }
      try await waitUntil { progress.current.documents > 500 }
      work.cancel()
      let result = await work.result
      await backend.shutdown()
      // It may have come to its end before.
      if case .failure(let error) = result { #expect(error is CancellationError) }
      let state = try await server.import("i.jsonl") { ($0.resumes, $0.conflictRule) = (true, .fail) }
      #expect(state.documents == 4000 && state.failed == 0)
      #expect(try await server.contents(project: "copy").count == 4000)
    }
  }

  @Test("everything below a document or a collection is deleted, and nothing else")
  func recursiveDelete() async throws {
    try await DataServer.with { server in
      let expected = try await server.fill(Self.documents(600))
      let backend = try server.backend()
      try await RecursiveDelete(path: try ResourcePath(parsing: "many/d7919")).run(backend, progress: DataProgress())
      var rest = try await server.contents()
      #expect(rest.count == expected.count - 3 && rest.keys.allSatisfy { !$0.hasPrefix("many/d7919/") })
      #expect(rest["many/d7919"] == nil && rest["many/none/below/x"] != nil)
      let progress = DataProgress()
      try await RecursiveDelete(path: try ResourcePath(parsing: "many")).run(backend, progress: progress)
      rest = try await server.contents()
      #expect(Set(rest.keys) == ["a/1", "manyother/1", "ma/ny"] && progress.current.documents == 600)
      await backend.shutdown()
    }
  }

  @Test("a backend that is not there is a failure that says what to do")
  func noBackend() async throws {
    let server = try await DataServer()
    try server.write(Self.lines(0..<1), to: "i.jsonl")
    await server.server.stop()
    for body: @Sendable () async throws -> Void in [
      { _ = try await server.export(to: "x") }, { _ = try await server.import("i.jsonl") },
    ] {
      let error = await #expect(throws: DataError.self) { try await body() }
      #expect(error?.description.contains("hearth serve") == true, "\(String(describing: error))")
    }
    try? FileManager.default.removeItem(atPath: server.folder)
  }
}

extension DataServer {
  /// A plan of several parts of all documents, at the present time.
  fileprivate func plan(_ backend: DataBackend) async throws -> ExportPlan {
    try await export(to: "planned/") { $0.parallelism = 3 }
    var plan = try ExportPlan(contentsOfFile: path("planned/export.json"))
    plan.isComplete = false
    try FileManager.default.removeItem(atPath: path("planned"))
    return plan
  }
}
