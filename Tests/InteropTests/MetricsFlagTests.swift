import Foundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The flags of `hearth serve` for metrics, in the program.
@Suite("hearth serve with metrics")
struct MetricsFlagTests {
  @Test("serves them where it says, and counts what it serves", .timeLimit(.minutes(1)))
  func metricsAreServed() async throws {
    let server = try LineProcess(
      Programs.product("hearth"),
      ["serve", "--in-memory", "--port", "0", "--metrics-port", "0", "--log-level", "error"])
    let serving = try #require(await server.nextLine(), "the server ended before it served")
    let line = try #require(await server.nextLine(), "no line about metrics")
    let text = line.split(separator: " ").last.map(String.init) ?? ""
    let address = try #require(URL(string: text), "no URL in: \(line)")
    let port = try #require(serving.split(separator: ":").last.flatMap { Int($0) }, "no port in: \(serving)")

    var commit = URLRequest(
      url: try #require(URL(string: "http://127.0.0.1:\(port)/v1/projects/p/databases/(default)/documents:commit")))
    commit.httpMethod = "POST"
    commit.httpBody = Data(#"{"writes": [{"update": {"name": "projects/p/databases/(default)/documents/c/a"}}]}"#.utf8)
    #expect(try await status(of: commit).code == 200)

    let (code, metrics) = try await status(of: URLRequest(url: address))
    #expect(code == 200)
    #expect(metrics.contains("hearth_server_commits_total 1\n"))
    server.askToEnd()
    #expect(await server.waitForExit() == 0)
  }

  @Test("names a port that is none, and an address that other machines reach, and does not serve")
  func wrongFlags() async throws {
    for (flags, words) in [
      (["--metrics-port", "70000"], "--metrics-port is 70000"),
      (["--metrics-port", "0", "--metrics-host", "0.0.0.0"], "--open-metrics-to-everyone"),
    ] {
      let output = try await Programs.runInBackground(
        Programs.product("hearth"), ["serve", "--in-memory", "--port", "0"] + flags)
      #expect(output.status != 0)
      #expect(output.text.contains(words), "\(output.text)")
    }
  }

  @Test("a port that is taken, or that both would have, is named with the address, the option and what to do")
  func takenPort() async throws {
    let taken = try LineProcess(
      Programs.product("hearth"), ["serve", "--in-memory", "--port", "0", "--log-level", "error"])
    defer { taken.killAtOnce() }
    let port = try #require(await taken.nextLine()?.split(separator: ":").last.map(String.init))
    let output = try await Programs.runInBackground(
      Programs.product("hearth"),
      ["serve", "--in-memory", "--port", "0", "--metrics-port", port, "--log-level", "error"])
    #expect(
      output.status == 1
        && output.text
          == "hearth serve: Cannot serve metrics on 127.0.0.1 port \(port): the port is already in use. Stop the "
          + "program that uses it or choose another --metrics-port.\n",
      "\(output.text)")
    let both = try await Programs.runInBackground(
      Programs.product("hearth"), ["serve", "--in-memory", "--port", port, "--metrics-port", port])
    #expect(
      both.status == 64 && both.text.contains("--port and --metrics-port are both \(port): choose another"),
      "\(both.text)")
  }

  private func status(of request: URLRequest) async throws -> (code: Int, text: String) {
    let (data, response) = try await URLSession.shared.data(for: request)
    return ((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
  }
}
