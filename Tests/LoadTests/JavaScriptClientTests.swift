import Foundation
import HearthServer
import InteropSupport
import Logging
import TestSupport
import Testing

extension ClientLoad {
  /// Google's JavaScript SDK against our server. In Node it uses gRPC, and resets the stream of every call that has ended.
  @Suite(
    "Google's JavaScript SDK against hearth serve",
    .enabled(
      if: JavaScriptSDK.isInstalled,
      "Node, or the firebase package in HEARTH_JS_SDK or .build/js-sdk, is not installed (npm install firebase)"))
  struct JavaScriptClientTests {
    @Test("2,000 calls succeed while a listener hears of another client's changes within a second")
    func listenerSurvivesCalls() async throws {
      let script = try #require(Bundle.module.url(forResource: "js_calls", withExtension: "mjs"))
      let node = try #require(Programs.find("node"))
      let server = try await EmbeddedServer.start(
        host: "127.0.0.1", port: 0, storage: .memory, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
      let environment = [
        "FIRESTORE_EMULATOR_HOST": "127.0.0.1:\(server.port)", "GOOGLE_CLOUD_PROJECT": "javascript-client",
      ]
      let output = try await Programs.runInBackground(
        node, [script.path, JavaScriptSDK.folder.path], environment: environment)
      #expect(output.status == 0, "\(output.text)")
      #expect(output.text.contains("js calls: calls=2000 errors=0 changes=10 "), "\(output.text)")
      await server.shutdown()
    }
  }
}
