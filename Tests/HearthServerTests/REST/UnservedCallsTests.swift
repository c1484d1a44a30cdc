import Foundation
import GRPCCore
import HearthModel
import Testing

@testable import HearthServer

@Suite("Calls that are not served")
struct UnservedCallsTests {
  @Test(
    "say over HTTP what is missing and where it is documented",
    arguments: [
      ("GET", "/emulator/v1/projects/test:securityRules", "security rules"),
      ("POST", "/emulator/v1/projects/test:export", "hearth data export"),
      ("POST", "/emulator/v1/projects/test:import", "hearth data import"),
      ("GET", "/v1beta1/projects/test/databases/(default)/documents/c/d", "v1beta1"),
      ("POST", "/v1beta1/projects/test/databases/(default)/documents:commit", "v1beta1"),
      ("GET", "/v1/projects/test/databases", "google.firestore.admin.v1"),
      ("POST", "/v1/projects/test/databases/(default):exportDocuments", "google.firestore.admin.v1"),
      ("GET", "/v1/projects/test/databases/(default)/collectionGroups/c/indexes", "google.firestore.admin.v1"),
      ("POST", "/v1/projects/test:runQuery", "google.datastore.v1"),
      ("POST", "/v1/projects/test:commit", "google.datastore.v1"),
      ("POST", "/google.firestore.v1.Firestore/Listen/channel?VER=8", "WebChannel"),
    ])
  func http(verb: String, path: String, text: String) async throws {
    try await RESTCallTests.withClient { client, _ in
      let answer = try await client.request(verb, path, verb == "GET" ? nil : "{}")
      #expect(answer.status == 501)
      #expect(answer.body.contains("UNIMPLEMENTED") && answer.body.contains(text), "\(answer.body)")
      #expect(answer.body.contains("docs/server.md"))
    }
  }

  @Test(
    "an id of a project or database that a header cannot carry is refused, whichever client sends it",
    arguments: ["projects/Bad Project!/databases/(default)", "projects/test/databases/a b", "projects/é/databases/x"])
  func badNames(database: String) async throws {
    let name = try #require(database.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed))
    try await RESTCallTests.withClient { client, _ in
      for (verb, path) in [("POST", "documents:commit"), ("GET", "documents/c/d"), ("POST", "documents:runQuery")] {
        let answer = try await client.request(verb, "/v1/\(name)/\(path)", verb == "GET" ? nil : "{}")
        #expect(answer.status == 400 && answer.body.contains("visible ASCII"), "\(answer.body)")
      }
    }
  }

  @Test(
    "other paths that do not exist are not found",
    arguments: ["/v1/nothing", "/emulator/v1/projects/test", "/v2/projects"])
  func notFound(path: String) async throws {
    try await RESTCallTests.withClient { client, _ in
      let answer = try await client.request("GET", path)
      #expect(answer.status == 404)
    }
  }

  @Test(
    "say so over gRPC",
    arguments: [
      "google.firestore.v1beta1.Firestore", "google.firestore.admin.v1.FirestoreAdmin", "google.datastore.v1.Datastore",
    ])
  func grpc(service: String) async throws {
    try await ServerFixture.withServer { fixture in
      let descriptor = MethodDescriptor(service: ServiceDescriptor(fullyQualifiedService: service), method: "Commit")
      let refusal = await failure {
        try await fixture.client.unary(
          request: ClientRequest(message: [UInt8]()), descriptor: descriptor, serializer: AnyBytes(),
          deserializer: AnyBytes(), options: .defaults
        ) { try $0.message }
      }
      #expect(refusal?.code == .unimplemented)
      #expect(refusal?.message.contains("docs/server.md") == true, "\(refusal as Any)")
    }
  }

  @Test("an escaped slash is part of an id, and never ends a segment", arguments: ["%2F", "%2f"])
  func escapedSlash(slash: String) async throws {
    try await RESTCallTests.withClient { client, fixture in
      try await fixture.set("c/a/b/d", ["n": 1.value])
      try await fixture.set("c/a", ["n": 1.value])
      // Neither the document c/a/b/d nor c/a.
      #expect(try await client.request("GET", RESTPath.documents + "/c/a\(slash)b\(slash)d").status == 404)
      #expect(try await client.request("PATCH", RESTPath.documents + "/c/a\(slash)b", "{}").status == 200)
      #expect(try await fixture.ids(Query(path: path("c"))) == ["a", "a\(slash)b"])
      #expect(try await client.request("DELETE", RESTPath.documents + "/c/a\(slash)b").status == 200)
      #expect(try await client.request("DELETE", "/emulator" + RESTPath.documents + "/c\(slash)a").status == 200)
      #expect(try await fixture.ids(Query(path: path("c"))) == ["a"])
      // A variable of one segment is decoded, and must be an id.
      #expect(try await client.request("POST", RESTPath.documents + "/k\(slash)l", "{}").status == 400)
      #expect(try await client.request("POST", RESTPath.documents + "/k?documentId=x\(slash)y", "{}").status == 400)
    }
  }
}
