import Foundation
import TestSupport
import Testing

@Suite("The start of hearth serve", .timeLimit(.minutes(5)))
struct ServeStartTests {
  /// The lines that a server prints when it serves.
  private func start(_ arguments: [String]) async throws -> (lines: [String], server: LineProcess) {
    let server = try LineProcess(Programs.product("hearth"), ["serve", "--port", "0"] + arguments)
    var lines: [String] = []
    while let line = await server.nextLine() {
      lines.append(line)
      if line.hasPrefix("  hearth data databases") { break }
    }
    return (lines, server)
  }

  @Test("it says the address, memory, the version, the line for a shell and how to stop")
  func memory() async throws {
    let (lines, server) = try await start(["--in-memory", "--metrics-port", "0"])
    #expect(lines.first?.wholeMatch(of: /Hearth is serving on 127\.0\.0\.1:[0-9]+/) != nil, "\(lines)")
    let port = lines[0].split(separator: ":").last ?? ""
    #expect(lines.dropFirst().first?.hasPrefix("Metrics are at http://127.0.0.1:") == true)
    let text = lines.joined(separator: "\n")
    #expect(text.contains("in memory: gone when the server stops") && text.contains("projects  none yet"), "\(text)")
    #expect(text.contains("version   ") && text.contains("kill \(server.processIdentifier)"), "\(text)")
    #expect(lines.contains("  export FIRESTORE_EMULATOR_HOST=127.0.0.1:\(port)"), "\(text)")
    #expect(lines.allSatisfy { $0.count <= 80 }, "\(text)")
    server.interrupt()
    #expect(await server.waitForExit() == 0)
  }

  @Test("at the level debug, the log has no descriptions of the program's own structures")
  func debugLog() async throws {
    let server = try LineProcess(
      URL(fileURLWithPath: "/bin/sh"),
      [
        "-c", "exec \"$0\" serve --port 0 --in-memory --log-level debug 2>&1", Programs.product("hearth").path,
      ])
    var lines: [String] = []
    while let line = await server.nextLine() {
      lines.append(line)
      if line.hasPrefix("  hearth data databases") { server.interrupt() }
    }
    #expect(await server.waitForExit() == 0)
    #expect(lines.contains { $0.contains(" debug ") && $0.contains("listening") }, "\(lines)")
    #expect(!lines.contains { $0.contains("startReport") || $0.contains("RunningServer") }, "\(lines)")
  }

  @Test("a file of indexes that declares none, or one that means nothing, is refused with its name and its form")
  func indexes() async throws {
    let folder = NSTemporaryDirectory() + "hearth-indexes-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let file = folder + "/firebase.json"
    for (text, fault) in [
      (#"{"firestore": {"indexes": "firestore.indexes.json"}}"#, "give \"firestore.indexes.json\"."),
      ("[]", "must be an object"),
      (
        #"{"indexes": [{"collectionGroup": "c", "fields": [{"fieldPath": "a", "order": "ASC"}]}]}"#,
        #"indexes[0].fields[0].order is "ASC", but must be ASCENDING or DESCENDING."#
      ),
      (
        #"{"indexes": [{"collectionGroup": "c", "fields": [{"fieldPath": "a", "ordr": "ASCENDING"}]}]}"#,
        #"indexes[0].fields[0] has the unknown member "ordr"; the members are fieldPath, order,"#
      ),
    ] {
      try Data(text.utf8).write(to: URL(fileURLWithPath: file))
      let output = try await Programs.runInBackground(
        Programs.product("hearth"), ["serve", "--in-memory", "--port", "0", "--indexes", file])
      #expect(
        output.status == 1 && output.text.hasPrefix("hearth serve: Index file \"\(file)\": ")
          && output.text.contains(fault) && output.text.contains("{\"indexes\": [{\"collectionGroup\""),
        "\(output.text)")
    }
  }

  @Test("the help says when an address needs --open-to-everyone, and what that opens")
  func help() async throws {
    let help = try await Programs.runInBackground(Programs.product("hearth"), ["serve", "--help"])
    let text = help.text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(text.contains("On 127.0.0.1 and localhost it is not needed."), "\(text)")
    #expect(
      text.contains("may then read, change and delete all documents of all projects, without a password"), "\(text)")
    #expect(text.contains("0.0.0.0 or :: by every machine that reaches this one"), "\(text)")
  }

  @Test("it says which databases users may use, and for which names the certificate is valid")
  func locked() async throws {
    let folder = NSTemporaryDirectory() + "hearth-locked-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func file(_ name: String, _ text: String) throws -> String {
      try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
      return "\(folder)/\(name)"
    }
    let rules = """
      rules_version = '2';
      service cloud.firestore { match /databases/{database}/documents { match /a/{id} { allow read; } } }
      """
    let arguments = [
      "serve", "--port", "0", "--in-memory", "--rules", try file("firestore.rules", rules), "--admin-token-file",
      try file("secret", String(repeating: "s", count: 44)), "--project", "shop", "--project", "depot", "--database",
      "live", "--tls-certificate", try file("server.pem", TestAuthority.server), "--tls-key",
      try file("key.pem", TestAuthority.serverKey),
    ]
    let server = try LineProcess(Programs.product("hearth"), arguments)
    var lines: [String] = []
    while let line = await server.nextLine() {
      lines.append(line)
      if line.hasPrefix("  stop ") { break }
    }
    server.interrupt()
    _ = await server.waitForExit()
    let callers = lines.first { $0.hasPrefix("  callers ") }
    #expect(callers?.hasSuffix("firestore.rules: shop/live, depot/live") == true, "\(lines)")
    #expect(lines.contains { $0.hasPrefix("  TLS       for ") && $0.contains("localhost") }, "\(lines)")
  }

  @Test("it says the folder and the projects that are there")
  func folder() async throws {
    let folder = NSTemporaryDirectory() + "hearth-start-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (first, server) = try await start(["--data", folder])
    let address = "127.0.0.1:\(try #require(first.first?.split(separator: ":").last))"
    for project in ["demo-b", "Demo.A"] {
      let written = try await Programs.runInBackground(
        Programs.product("hearth"),
        ["data", "set", "a/b", "--json", "{}", "--host", address, "--project", project])
      #expect(written.status == 0, "\(written.text)")
    }
    // The list is that of the folder, also of databases that are open.
    let listed = try await Programs.runInBackground(
      Programs.product("hearth"), ["data", "databases", "--host", address])
    #expect(listed.text.split(separator: "\n").count == 2 && listed.text.contains("\"Demo.A\""), "\(listed.text)")
    server.interrupt()
    _ = await server.waitForExit()
    let (again, second) = try await start(["--data", folder])
    #expect(again.contains("  data      in the folder \(folder)"), "\(again)")
    #expect(again.contains("  projects  Demo.A, demo-b"), "\(again)")
    second.interrupt()
    _ = await second.waitForExit()
  }
}
