import Foundation
import HearthServer
import TestSupport
import Testing

/// A server of one test, and `hearth data` with it as the backend.
struct DataPlace {
  let server: TestServer

  static func run(_ body: (DataPlace) async throws -> Void) async throws {
    let server = try await TestServer.start()
    let result: Result<Void, any Error>
    do {
      result = .success(try await body(DataPlace(server: server)))
    } catch {
      result = .failure(error)
    }
    await server.stop()
    try result.get()
  }

  func hearth(_ arguments: String...) async throws -> Programs.Output { try await hearth(arguments) }

  func hearth(_ arguments: [String]) async throws -> Programs.Output {
    try await Programs.runInBackground(
      Programs.product("hearth"), ["data"] + arguments,
      environment: ["FIRESTORE_EMULATOR_HOST": server.address, "GOOGLE_CLOUD_PROJECT": "demo"])
  }

  func set(_ path: String, _ json: String, project: String = "demo") async throws {
    let written = try await hearth("set", path, "--json", json, "--project", project)
    #expect(written.status == 0, "\(written.text)")
  }
}
