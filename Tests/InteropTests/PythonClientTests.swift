import Foundation
import HearthServer
import InteropSupport
import Logging
import TestSupport
import Testing

/// Google's own Python client against our server.
@Suite(
  "Google's Python client against hearth serve",
  .enabled(
    "google-cloud-firestore is not installed (pip install google-cloud-firestore)", PythonClient.isInstalled))
struct PythonClientTests {
  @Test("creates, sets, updates, deletes, queries, listens, batches and runs a transaction")
  func everyStepPasses() async throws {
    let server = try await EmbeddedServer.start(
      host: "127.0.0.1", port: 0, storage: .memory, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let script = try #require(Bundle.module.url(forResource: "python_client", withExtension: "py"))
    let python = try #require(Programs.find("python3"))
    let environment = [
      "FIRESTORE_EMULATOR_HOST": "127.0.0.1:\(server.port)", "GOOGLE_CLOUD_PROJECT": "python-client",
      "PYTHONDONTWRITEBYTECODE": "1",
    ]
    let output = try await Programs.runInBackground(python, [script.path], environment: environment)
    #expect(output.status == 0, "\(output.text)")
    #expect(output.text.contains("python client: 9 steps passed"), "\(output.text)")
    await server.shutdown()
  }
}
