import ClusterSupport
import Foundation
import HearthServer
import InteropSupport
import TestSupport
import Testing

/// Programs of ours with Google's JavaScript SDK.
private enum GoogleJavaScript {
  @Sendable static func missing() async -> String? {
    guard Programs.find("node") != nil else { return "Node is not installed" }
    return JavaScriptSDK.isInstalled
      ? nil : "the firebase package is not in HEARTH_JS_SDK or .build/js-sdk (npm install firebase)"
  }

  /// Runs a program of the resources, and prints its lines that begin with `name`.
  static func run(
    _ program: String, _ arguments: [String] = [], name: String,
    against backend: ClientSuites.Backend = ClientSuites.Backend()
  ) async throws -> Programs.Output {
    let script = try #require(Bundle.module.url(forResource: program, withExtension: "mjs"))
    let node = try #require(Programs.find("node"))
    var output = Programs.Output(status: -1, text: "")
    try await ClientSuites.withServer(backend) { port in
      var environment = ["FIRESTORE_EMULATOR_HOST": "127.0.0.1:\(port)"]
      if backend.isLocked { environment["HEARTH_SUITE_TOKEN"] = ClientSuites.token }
      output = try await Programs.runInBackground(
        node, [script.path, JavaScriptSDK.folder.path] + arguments, environment: environment)
    }
    for line in output.text.split(separator: "\n") where line.hasPrefix(name) { print(line) }
    return output
  }
}

extension ClientSuites {
  /// In Node, the SDK talks gRPC, and its edition Lite REST over HTTP/1.1.
  ///
  /// `HEARTH_SEED` repeats what the clients of the soak choose; `HEARTH_SECONDS` makes it shorter or longer than two minutes.
  @Suite(
    "Google's JavaScript SDK, call by call and twenty at once",
    Availability(name: "google javascript calls and soak", reason: GoogleJavaScript.missing))
  struct GoogleJavaScriptTests {
    @Test(
      "every kind of call does what it should, over gRPC and over REST, also on a locked server and on two nodes",
      .timeLimit(.minutes(5)), arguments: ClientSuites.Backend.all)
    func calls(backend: ClientSuites.Backend) async throws {
      let name = "google javascript calls"
      let output = try await GoogleJavaScript.run("google_js_calls", name: name, against: backend)
      let counts = try #require(SuiteCounts(of: name, in: output.text), "\(output.text)")
      #expect(counts == SuiteCounts(passed: 83, failed: 0, skipped: 0), "\(output.text)")
      #expect(output.status == 0)
    }

    @Test(
      "twenty clients end with views as read afresh, and with sums that are right, also on two nodes",
      .timeLimit(.minutes(15)), arguments: ServedStorage.available)
    func soak(storage: ServedStorage) async throws {
      let environment = ProcessInfo.processInfo.environment
      let seed = environment["HEARTH_SEED"] ?? String(Int.random(in: 1..<1_000_000))
      let name = "google javascript soak"
      let output = try await GoogleJavaScript.run(
        "google_js_soak", [seed, environment["HEARTH_SECONDS"] ?? "120"], name: name,
        against: ClientSuites.Backend(storage: storage))
      let counts = try #require(SuiteCounts(of: name, in: output.text), "\(output.text)")
      #expect(counts == SuiteCounts(passed: 20, failed: 0, skipped: 0), "\(output.text)")
      #expect(output.status == 0, "\(output.text)")
    }
  }
}
