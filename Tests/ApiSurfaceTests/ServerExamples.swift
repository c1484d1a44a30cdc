// swift-format-ignore-file
// The lines are those of the documentation comments in Sources/HearthServer, indented; CommentExampleTests finds them here.
import Foundation
import Hearth
import HearthServer
import Logging

/// The examples that documentation comments show, for the compiler. None is run.
enum ServerExamples {
  static func testServer() async throws {
    let server = try await TestServer.start()
    let settings = Firestore.firestore().settings
    settings.host = server.address
    settings.isSSLEnabled = false
    Firestore.firestore().settings = settings
    // … the test …
    try await Firestore.firestore().terminate()
    await server.stop()
  }

  static func token(settings: FirestoreSettings) {
    settings.credentials = IDTokenCredentials(userID: "alice") { _ in
      IDToken(try TestServer.token(userID: "alice"), userID: "alice")
    }
  }

  static func embeddedServer(logger: Logger) async throws {
    let server = try await EmbeddedServer.start(host: "127.0.0.1", port: 0, storage: .memory, logger: logger)
    print("listening on port \(server.port)")
    await server.shutdown()
  }
}
