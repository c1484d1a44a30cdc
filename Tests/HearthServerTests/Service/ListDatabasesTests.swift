import GRPCCore
import HearthModel
import Testing

@testable import HearthServer

@Suite("ListDatabases")
struct ListDatabasesTests {
  static func list(_ parent: String, _ fixture: ServerFixture) async throws -> String {
    var request = WireWriter()
    request.writeString(parent, field: 1)
    let bytes = request.bytes
    let descriptor = MethodDescriptor(
      service: ServiceDescriptor(fullyQualifiedService: AdminService.name), method: "ListDatabases")
    let answer = try await fixture.client.unary(
      request: ClientRequest(message: bytes, metadata: fixture.metadata), descriptor: descriptor,
      serializer: AnyBytes(), deserializer: AnyBytes(),
      options: .defaults
    ) { try $0.message }
    return String(decoding: answer, as: UTF8.self)
  }

  @Test("lists the databases of a project that have a commit, and for projects/- those of all")
  func parents() async throws {
    try await ServerFixture.withServer { fixture in
      #expect(try await Self.list("projects/-", fixture).isEmpty)
      try await fixture.set("a/b")
      for parent in ["projects/-", "projects/test"] {
        #expect(try await Self.list(parent, fixture).contains("projects/test/databases/(default)"))
      }
      #expect(try await Self.list("projects/tes", fixture).isEmpty)
    }
  }

  @Test(
    "a parent that is no project is refused", arguments: ["", "projects", "projects/", "projects/a/b", "databases/a"])
  func malformed(parent: String) async throws {
    try await ServerFixture.withServer { fixture in
      let refusal = await failure { try await Self.list(parent, fixture) }
      #expect(refusal?.code == .invalidArgument && refusal?.message.contains("projects/<project>") == true)
    }
  }

  @Test("names with any characters are found again in a data folder, and other files there are none")
  func names() async throws {
    try await withTemporaryFolder { path in
      let folder = try DataFolder(path: path, logger: ServerFixture.quietLogger)
      let ids = [
        DatabaseID(projectID: "a"), DatabaseID(projectID: "A.b", database: "x%y"),
        DatabaseID(projectID: "ü", database: "d"),
      ]
      for id in ids { _ = try folder.createFile(for: id) }
      #expect(try folder.databases().sorted() == ids.sorted())
      folder.unlock()
    }
  }
}
