import Foundation
import HearthServer
import InteropSupport
import TestSupport
import Testing

/// The integration tests of Google's Go client, which Debian's package of the client has.
private enum GoogleGoSuite {
  static let package = "cloud.google.com/go/firestore"

  @Sendable static func missing() async -> String? {
    guard Programs.find("go") != nil else { return "Go is not installed (apt install golang-go)" }
    guard let goPath = await GoClient.goPath() else {
      return "Google's Go client is not in a GOPATH (apt install golang-google-cloud-dev)"
    }
    let tests = "\(goPath)/src/\(package)/integration_test.go"
    return FileManager.default.fileExists(atPath: tests) ? nil : "the Go client of this machine comes without its tests"
  }

  /// The client reads a key although it signs in nowhere here.
  private static func writeKey(to file: URL) throws {
    let key = [
      "type": "service_account", "project_id": "go-suite", "private_key_id": "none", "private_key": "none",
      "client_email": "none@go-suite.example", "client_id": "1", "token_uri": "http://127.0.0.1:1/token",
    ]
    try JSONEncoder().encode(key).write(to: file)
  }

  static func run(port: Int) async throws -> Programs.Output {
    let go = try #require(Programs.find("go"))
    let goPath = try #require(await GoClient.goPath())
    let folder = TemporaryFolder()
    try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
    let key = folder.url.appendingPathComponent("key.json")
    try writeKey(to: key)
    return try await Programs.runInBackground(
      go, ["test", "-v", "-vet=off", "-count=1", "-timeout=300s", "-run", "^TestIntegration", package],
      environment: [
        "GO111MODULE": "off", "GOFLAGS": "", "GOPATH": goPath, "FIRESTORE_EMULATOR_HOST": "127.0.0.1:\(port)",
        "GCLOUD_TESTS_GOLANG_FIRESTORE_PROJECT_ID": "go-suite", "GCLOUD_TESTS_GOLANG_FIRESTORE_KEY": key.path,
      ])
  }
}

extension ClientSuites {
  /// One of them expects that a query without its composite index is refused.
  @Suite(
    "Google's integration tests of its Go client",
    Availability(name: "google go suite", reason: GoogleGoSuite.missing))
  struct GoogleGoSuiteTests {
    @Test(
      "all pass on a server that requires indexes, on one that is locked, and on two nodes over PostgreSQL",
      .timeLimit(.minutes(10)), arguments: ClientSuites.Backend.all)
    func pass(backend: ClientSuites.Backend) async throws {
      var limits = DatabaseLimits()
      limits.requiresIndexes = true
      // The client cannot be told another token.
      try await ClientSuites.withServer(backend, replaced: "owner", databaseLimits: limits) { port in
        let output = try await GoogleGoSuite.run(port: port)
        let lines = output.text.split(separator: "\n")
        let counts = SuiteCounts(
          passed: lines.count { $0.hasPrefix("--- PASS: ") }, failed: lines.count { $0.hasPrefix("--- FAIL: ") },
          skipped: lines.count { $0.hasPrefix("--- SKIP: ") })
        print("google go suite\(backend.suffix): \(counts)")
        for line in lines where line.hasPrefix("--- SKIP: ") { print("google go suite: skipped by the suite: \(line)") }
        #expect(output.status == 0, "\(output.text)")
        #expect(counts.failed == 0 && counts.skipped == 0, "\(output.text)")
        // As many as release 0.56 of Debian's package has.
        #expect(counts.passed >= 32, "\(output.text)")
      }
    }
  }
}
