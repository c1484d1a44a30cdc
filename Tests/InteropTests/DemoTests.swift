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
    #expect(checks.contains { ($0["what"] as? String)?.hasPrefix("writes left in the outbox, which process") == true })
    #expect(lines.last?["failed"] as? Int == 0)
    #expect(output.status == 0)
  }

  @Test(
    "an address that is not HOST:PORT is refused with its text",
    arguments: ["localhost", "localhost:", ":80", "a:70000"])
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
    #expect(output.text.contains("127.0.0.1:\(port)"))
  }
}
