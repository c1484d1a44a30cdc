import Foundation
import TestSupport
import Testing

@Suite("hearth demo")
struct DemoTests {
  @Test("every check of the demo holds against the embedded server")
  func demoPasses() async throws {
    let output = try await Programs.runInBackground(Programs.product("hearth"), ["demo", "--json"])
    let lines = try output.text.split(separator: "\n").map { line in
      try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "not JSON: \(line)")
    }
    let checks = lines.filter { $0["type"] as? String == "check" }
    for check in checks {
      #expect(check["passed"] as? Bool == true, "\(check)")
    }
    #expect(checks.count >= 20)
    let chapters = lines.filter { $0["type"] as? String == "chapter" }.compactMap { $0["title"] as? String }
    #expect(chapters.contains("Two processes share one cache, and one of them is killed"))
    #expect(chapters.contains("Two users: TLS, tokens and security rules"))
    #expect(
      checks.contains {
        $0["what"] as? String == "ada's notes at the backend"
          && $0["found"] as? String == #"["idea: made offline", "plan: her plan"]"#
      })
    #expect(checks.contains { ($0["what"] as? String)?.hasPrefix("batches still in the outbox after process") == true })
    #expect(
      checks.contains { $0["what"] as? String == "its outbox" && $0["found"] as? String == "75 writes in 25 batches" })
    #expect(lines.last?["failed"] as? Int == 0)
    #expect(output.status == 0)
  }

  @Test(
    "with --keep the folder stays, and the commands that it names show the caches, an outbox and the backend's data")
  func keepsFolder() async throws {
    let hearth = Programs.product("hearth")
    let output = try await Programs.runInBackground(hearth, ["demo", "--keep"])
    #expect(output.status == 0, "\(output.text)")
    let folder = String(try #require(output.text.firstMatch(of: /\nThe folder is kept: (.+)\n/)?.1))
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // The program is in no folder of PATH, so the commands have its path.
    let program = hearth.resolvingSymlinksInPath().path
    let commands = output.text.split(separator: "\n").filter { $0.hasPrefix("  \(program) cache ") }
    #expect(commands.count == 4, "\(output.text)")
    var shown = ""
    for command in commands {
      let run = try await Programs.runInBackground(
        URL(fileURLWithPath: "/bin/sh"), ["-c", "\(command) --format table"])
      #expect(run.status == 0, "\(run.text)")
      shown += run.text
    }
    #expect(
      shown.contains("8 caches") && shown.contains("cities/SF") && shown.contains("20 writes in 10 batches\n"),
      "\(shown)")
    #expect(shown.contains("users/ada/notes/plan") && shown.contains("PERMISSION_DENIED"), "\(shown)")
    #expect(output.text.contains("  \(program) serve --data '\(folder)/backend'"))
    #expect(FileManager.default.fileExists(atPath: folder + "/backend"))
  }

  @Test(
    "an address that is not HOST:PORT is refused with its text",
    arguments: ["localhost", "localhost:", ":80", "a:70000", "http://127.0.0.1:8080"])
  func badBackendAddress(_ address: String) async throws {
    let output = try await Programs.runInBackground(Programs.product("hearth"), ["demo", "--backend", address])
    #expect(output.status == 64)
    #expect(output.text.contains("--backend \(address)"))
  }

  @Test("an unreachable backend fails the demo with a message instead of hanging or crashing")
  func unreachableBackend() async throws {
    let port = try Programs.freePort()
    let output = try await Programs.runInBackground(
      Programs.product("hearth"), ["demo", "--backend", "127.0.0.1:\(port)"])
    #expect(output.status == 1)
    #expect(output.text.contains("127.0.0.1:\(port). Start one with `hearth serve --in-memory`"), "\(output.text)")
  }
}
