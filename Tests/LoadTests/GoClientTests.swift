import Foundation
import HearthServer
import InteropSupport
import Logging
import TestSupport
import Testing

/// Suites that load every processor. They run one after the other, because one of them measures how soon a change is heard of.
@Suite("Google's clients under load", .serialized)
enum ClientLoad {}

extension ClientLoad {
  /// Google's Go client against our server, built from source first.
  @Suite(
    "Google's Go client under load against hearth serve",
    .enabled(
      "Go, or its Firestore client in a GOPATH, is not installed (apt install golang-go golang-google-cloud-dev)"
    ) {
      await GoClient.goPath() != nil
    })
  struct GoClientTests {
    @Test("64 goroutines and a listener keep one connection for 20 s without an error")
    func connectionLasts() async throws {
      let go = try #require(Programs.find("go"))
      let goPath = try #require(await GoClient.goPath())
      let source = try #require(Bundle.module.url(forResource: "go_load", withExtension: "go"))
      let folder = TemporaryFolder()
      let program = folder.url.appendingPathComponent("go_load")
      let build = try await Programs.runInBackground(
        go, ["build", "-o", program.path, source.path],
        environment: ["GO111MODULE": "off", "GOFLAGS": "", "GOPATH": goPath])
      try #require(build.status == 0, "\(build.text)")

      let server = try await EmbeddedServer.start(
        host: "127.0.0.1", port: 0, storage: .memory, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
      let environment = [
        "FIRESTORE_EMULATOR_HOST": "127.0.0.1:\(server.port)", "GOOGLE_CLOUD_PROJECT": "go-client",
      ]
      let output = try await Programs.runInBackground(
        program, ["-seconds", "20", "-goroutines", "64"], environment: environment)
      #expect(output.status == 0, "\(output.text)")
      #expect(output.text.contains("go load: calls="), "\(output.text)")
      #expect(output.text.contains(" errors=0 failed_attempts=0 connections=1 "), "\(output.text)")
      await server.shutdown()
    }
  }
}
