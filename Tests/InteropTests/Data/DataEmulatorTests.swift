import Foundation
import HearthServer
import InteropSupport
import TestSupport
import Testing

@Suite(
  "hearth data with Google's emulator", Emulator(), .enabled(if: Emulator.isInstalled, Emulator.hint),
  .timeLimit(.minutes(5)))
struct DataEmulatorTests {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-data-" + UUID().uuidString)

  private func hearth(_ arguments: String...) async throws -> Programs.Output {
    try await Programs.runInBackground(Programs.product("hearth"), ["data"] + arguments)
  }

  /// A document with all types, some in a map and in an array, and documents at several depths.
  private static let lines = #"""
    {"path":"cities/SF","fields":{"n":null,"t":true,"f":false,"i":-9223372036854775808,"d":3.0,"nan":{"$double":"NaN"},"inf":{"$double":"-Infinity"},"s":"text \u001b é","empty":"","b":{"$bytes":"AAH/"},"eb":{"$bytes":""},"ts":{"$timestamp":"1890-11-14T22:13:20.123456Z"},"g":{"$geopoint":[1.5,-2.25]},"r":{"$reference":"cities/LA/shops/s1"},"arr":[1,"a",null,2.5,{"k":"v","l":[1,2],"e":[]},{"$geopoint":[1.0,2.0]},{"$timestamp":"2026-01-01T00:00:00Z"}],"one":[1],"none":[],"map":{"x":1,"y":{"z":"deep","v":{"$vector":[1.0,-0.5]}}},"emap":{},"v":{"$vector":[1.0,2.0,3.5]},"a.b `c`":{"$map":{"$bytes":1}}}}
    {"path":"cities/SF/shops/s1","fields":{"name":"shop"}}
    {"path":"empty/doc","fields":{}}
    {"path":"towns/t 1 ü","fields":{"long":"LONG"}}

    """#

  private func contents(_ host: String, _ project: String) async throws -> [String] {
    let file = folder.appendingPathComponent(UUID().uuidString).path
    let output = try await hearth("export", file, "--host", host, "--project", project)
    #expect(output.status == 0, "\(output.text)")
    let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    // The times differ between backends.
    return lines.compactMap { $0.components(separatedBy: ",\"createTime\"").first }.sorted()
  }

  @Test("the emulator lists no databases, and that is said")
  func databases() async throws {
    let output = try await hearth("databases", "--host", "127.0.0.1:\(Emulator.port)")
    #expect(output.status == 1 && output.text.contains("does not list its databases"), "\(output.text)")
  }

  @Test(
    "what is exported from one backend and imported into the other is the same, and so is the emulator's own export")
  func roundTrips() async throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let server = try await TestServer.start()
    let (ours, theirs) = (server.address, "127.0.0.1:\(Emulator.port)")
    let project = "demo-data-\(UUID().uuidString.prefix(8).lowercased())"
    let source = folder.appendingPathComponent("source.jsonl").path
    let many = (0..<700).map { "{\"path\":\"many/d\($0)\",\"fields\":{\"i\":\($0)}}\n" }.joined()
    // Longer than a block of the emulator's files.
    let text = Self.lines.replacingOccurrences(of: "LONG", with: String(repeating: "x", count: 70_000))
    try (text + many).write(toFile: source, atomically: true, encoding: .utf8)

    for host in [ours, theirs] {
      let output = try await hearth("import", source, "--host", host, "--project", project)
      #expect(output.status == 0 && output.text.contains("704 documents"), "\(output.text)")
    }
    let expected = try await contents(ours, project)
    #expect(expected.count == 704)
    #expect(try await contents(theirs, project) == expected)

    let body =
      "{\"database\":\"projects/\(project)/databases/(default)\",\"export_directory\":\"\(folder.path)\",\"export_name\":\"theirs\"}"
    let exported = try await Programs.runInBackground(
      URL(fileURLWithPath: "/usr/bin/env"),
      [
        "curl", "-s", "-X", "POST", "-H", "Content-Type: application/json", "-d", body,
        "http://\(theirs)/emulator/v1/projects/\(project):export",
      ])
    #expect(exported.status == 0, "\(exported.text)")
    let theirFolder = folder.appendingPathComponent("theirs").path
    let imported = try await hearth("import", theirFolder, "--host", ours, "--project", "from-theirs")
    #expect(imported.status == 0 && imported.text.contains("704 documents"), "\(imported.text)")
    #expect(try await contents(ours, "from-theirs") == expected)

    let deleted = try await hearth("delete", "cities", "--recursive", "--yes", "--host", theirs, "--project", project)
    #expect(deleted.status == 0 && deleted.text.contains("Deleted 2 documents"), "\(deleted.text)")
    let nested = try await hearth(
      "query", "many", "--where", "i < 3", "--order-by", "i:desc", "--host", theirs, "--project", project)
    #expect(nested.text.split(separator: "\n").count == 3, "\(nested.text)")
    let watched = try await hearth(
      "watch", "many", "--where", "i >= 698", "--once", "--host", theirs, "--project", project)
    #expect(watched.status == 0 && watched.text.split(separator: "\n").count == 2, "\(watched.text)")
    await server.stop()
  }
}
