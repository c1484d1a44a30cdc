import Foundation
import HearthModel
import Testing

@testable import HearthData

@Suite("Exports of the emulator", .timeLimit(.minutes(2)))
struct EmulatorExportTests {
  private static let kinds = "all_namespaces/all_kinds"
  private static let metadataName = kinds + "/all_namespaces_all_kinds.export_metadata"

  /// Writes an export as the emulator does.
  private static func write(
    _ outputs: [String: [[UInt8]]], to folder: String, name: String = "e",
    damage: (inout [String: [UInt8]?]) -> Void = { _ in }
  ) throws {
    var files: [String: [UInt8]?] = [:]
    for (output, records) in outputs { files["\(kinds)/\(output)"] = ExportBytes.log(records) }
    let bytes = files.values.reduce(0) { $0 + ($1?.count ?? 0) }
    files[metadataName] = ExportBytes.metadata(outputs.keys.sorted())
    files["\(name).overall_export_metadata"] = ExportBytes.overall([(metadataName, bytes)])
    damage(&files)
    try FileManager.default.createDirectory(atPath: "\(folder)/\(kinds)", withIntermediateDirectories: true)
    for case (let path, let bytes?) in files { try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/\(path)")) }
  }

  private static func failure(of name: String, _ server: DataServer) async throws -> String {
    let error = await #expect(throws: DataError.self) { try await server.import(name) }
    return error?.description ?? ""
  }

  @Test("all outputs that the metadata names are imported, and no others")
  func outputs() async throws {
    try await DataServer.with { server in
      let first = (0..<30).map { ExportBytes.entity("a\($0)", text: String(repeating: "x", count: 3_000)) }
      try Self.write(["output-0": first, "output-1": [ExportBytes.entity("b")]], to: server.path("e"))
      try Data(ExportBytes.log([ExportBytes.entity("stray")]))
        .write(to: URL(fileURLWithPath: server.path("e/\(Self.kinds)/output-2")))
      let state = try await server.import("e")
      #expect(state.documents == 31)
      let contents = try await server.contents(project: "copy")
      #expect(contents.count == 31 && contents["c/b"] != nil)
    }
  }

  @Test(
    "a file that is named and is missing, empty or too short ends the import before it begins, with its name",
    arguments: [kinds + "/output-1", metadataName], ["missing", "empty", "short"])
  func incomplete(file: String, fault: String) async throws {
    try await DataServer.with { server in
      let outputs = [
        "output-0": [ExportBytes.entity("a")], "output-1": [ExportBytes.entity("b"), ExportBytes.entity("d")],
      ]
      try Self.write(outputs, to: server.path("e")) { files in
        switch fault {
        case "missing": files[file] = .some(nil)
        case "empty": files[file] = []
        // The border of a record, where the log itself says nothing, or the middle of a message.
        default: files[file] = file.contains("output") ? ExportBytes.log([ExportBytes.entity("b")]) : [0x12, 0x7F]
        }
      }
      let text = try await Self.failure(of: "e", server)
      #expect(text.contains(file), "\(text)")
      #expect(try await server.contents(project: "copy").isEmpty)
    }
  }

  @Test("a checksum that is wrong ends the import with file and byte; what came before is there, what follows is not")
  func damaged() async throws {
    try await DataServer.with { server in
      let records = (0..<1_200).map { ExportBytes.entity("d\($0)") }
      let place = ExportBytes.log(Array(records[0..<700])).count
      try Self.write(["output-0": records], to: server.path("e")) { files in
        files["\(Self.kinds)/output-0"]??[place + 10] ^= 1
      }
      for continues in [false, true] {
        let error = await #expect(throws: DataError.self) { try await server.import("e") { $0.continues = continues } }
        #expect(
          error?.description.contains("output-0\" cannot be read at byte \(place), record 701") == true,
          "\(error as Any)")
        #expect(try await server.contents(project: "copy").count == 700)
      }
    }
  }

  @Test("references into the exported database follow it, those into others stay", arguments: [nil, "named"])
  func references(database: String?) throws {
    let origin = ExportBytes.Database(project: "p", id: database)
    let others =
      [nil, "named", "more"].filter { $0 != database }.map {
        ("p/\($0 ?? "")", ExportBytes.Database(project: "p", id: $0))
      }
      + [nil, "named"].map { ("q/\($0 ?? "")", ExportBytes.Database(project: "q", id: $0)) }
    let entity = ExportBytes.entity("a", in: origin, references: [("own", origin)] + others)
    let target = DatabaseID(projectID: "to", database: "target")
    let fields = try EntityReader(database: target).document(entity).fields
    let key = try DocumentKey(parsing: "c/1")
    #expect(fields["own"] == .reference(ReferenceValue(database: target, key: key)))
    for (name, other) in others {
      let expected = DatabaseID(projectID: other.project, database: other.id ?? "(default)")
      #expect(fields[name] == .reference(ReferenceValue(database: expected, key: key)), "\(name)")
    }
  }

  @Test("a folder of firebase emulators:export is taken; one without Firestore says so")
  func firebaseFolder() async throws {
    try await DataServer.with { server in
      try Self.write(
        ["output-0": [ExportBytes.entity("a")]], to: server.path("data/firestore_export"), name: "firestore_export")
      let metadata = """
        {"version": "13.0.0", "firestore": {"version": "1.19.8", "path": "firestore_export",
        "metadata_file": "firestore_export/firestore_export.overall_export_metadata"},
        "auth": {"version": "13.0.0", "path": "auth_export"}}
        """
      try server.write(metadata, to: "data/firebase-export-metadata.json")
      #expect(try await server.import("data").documents == 1)
      #expect(try await server.import("data/").documents == 1)

      try server.write(
        metadata.replacingOccurrences(of: "firestore_export/f", with: "gone/f"),
        to: "data/firebase-export-metadata.json")
      #expect(try await Self.failure(of: "data", server).contains("gone/firestore_export.overall_export_metadata"))
      for other in ["../e", "/etc/e", ""] {
        try server.write(#"{"firestore": {"path": "\#(other)"}}"#, to: "data/firebase-export-metadata.json")
        #expect(try await Self.failure(of: "data", server).contains("not the name of a file within the export"))
      }
      try server.write(#"{"auth": {"path": "auth_export"}}"#, to: "data/firebase-export-metadata.json")
      #expect(try await Self.failure(of: "data", server).contains("no export of Firestore"))
      try server.write("{", to: "data/firebase-export-metadata.json")
      #expect(try await Self.failure(of: "data", server).contains("firebase-export-metadata.json"))
    }
  }

  @Test("an empty database was exported: nothing is imported, and that is no failure")
  func emptyDatabase() async throws {
    try await DataServer.with { server in
      try FileManager.default.createDirectory(atPath: server.path("e"), withIntermediateDirectories: true)
      try Data(ExportBytes.overall([])).write(to: URL(fileURLWithPath: server.path("e/e.overall_export_metadata")))
      #expect(try await server.import("e").documents == 0)
    }
  }

  @Test("without metadata of its kinds, an export is all its outputs")
  func outputsAlone() async throws {
    try await DataServer.with { server in
      try Self.write(
        ["output-0": [ExportBytes.entity("a")], "output-1": [ExportBytes.entity("b")]], to: server.path("e")
      ) { files in
        files[Self.metadataName] = .some(nil)
        files["e.overall_export_metadata"] = []
      }
      #expect(try await server.import("e").documents == 2)
      try Data().write(to: URL(fileURLWithPath: server.path("e/\(Self.kinds)/output-1")))
      #expect(try await Self.failure(of: "e", server).contains("output-1"))
    }
  }
}
