import Foundation
import HearthServer
import InteropSupport
import Logging
import TestSupport
import Testing

/// Google's package with which apps test their rules, against this server and against Google's emulator.
///
/// The same program runs against both, so that what it expects is what the emulator does.
@Suite(
  "@firebase/rules-unit-testing, unchanged",
  .enabled(
    if: JavaScriptSDK.hasRulesUnitTesting,
    "Node, or the package in HEARTH_JS_SDK or .build/js-sdk, is not installed (npm install firebase @firebase/rules-unit-testing)"
  ), .timeLimit(.minutes(3)))
enum RulesUnitTestingTests {
  private static func check(port: Int) async throws {
    let script = try #require(Bundle.module.url(forResource: "rules_unit_testing", withExtension: "mjs"))
    let output = try await Programs.runInBackground(
      try #require(Programs.find("node")), [script.path, JavaScriptSDK.folder.path],
      environment: ["FIRESTORE_EMULATOR_HOST": "127.0.0.1:\(port)"])
    #expect(output.text.contains("rules unit testing: 17 passed, 0 failed, 0 skipped"), "\(output.text)")
    #expect(output.status == 0)
  }

  @Suite("against hearth serve")
  struct Server {
    @Test("the server answers as its tests expect")
    func answers() async throws {
      let server = try await EmbeddedServer.start(
        host: "127.0.0.1", port: 0, storage: .memory, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
      let result: Result<Void, any Error>
      do { result = .success(try await check(port: server.port)) } catch { result = .failure(error) }
      await server.shutdown()
      try result.get()
    }
  }

  @Suite("against Google's emulator", Emulator(), .enabled(if: Emulator.isInstalled, Emulator.hint))
  struct OfGoogle {
    @Test("the emulator answers as its tests expect")
    func answers() async throws {
      try await check(port: Emulator.port)
    }
  }
}
