import Foundation
import HearthModel
import TestSupport
import Testing

@testable import HearthServer

/// The emulator's request that loads rules, and tokens without a signature.
@Suite("Rules that a test loads", .timeLimit(.minutes(1)))
struct RulesRequestTests {
  private static let path = "/emulator/v1/projects/test:securityRules"
  private static let document = RESTPath.documents + "/notes/a"

  private static func body(_ rules: String, files: Int = 1) throws -> String {
    let file = ["name": "firestore.rules", "content": rules]
    let json = try JSONSerialization.data(
      withJSONObject: ["rules": ["files": Array(repeating: file, count: files)]])
    return String(decoding: json, as: UTF8.self)
  }

  private static func rules(_ condition: String) -> String {
    """
    service cloud.firestore {
      match /databases/{database}/documents {
        match /notes/{id} { allow read, write: if \(condition); }
      }
    }
    """
  }

  private static func token(_ claims: String) -> String {
    let parts = ["{\"alg\":\"none\"}", claims].map { Data($0.utf8).base64EncodedString().replacing("=", with: "") }
    return "Bearer \(parts.joined(separator: "."))."
  }

  @Test("apply to the callers of one project from then on, by the names in their tokens")
  func loaded() async throws {
    try await RESTCallTests.withClient { client, _ in
      // Without rules everybody may do everything.
      #expect(try await client.request("PATCH", Self.document, "{}").status == 200)
      let rules = Self.rules("request.auth.uid == 'alice' && request.auth.token.level >= 2")
      #expect(try await client.request("PUT", Self.path, try Self.body(rules)).status == 200)
      let callers: [(String?, Int)] = [
        (nil, 403), ("Bearer owner", 200), (Self.token(#"{"sub":"alice","level":2}"#), 200),
        (Self.token(#"{"sub":"alice","level":1}"#), 403), (Self.token(#"{"sub":"bob","level":2}"#), 403),
        (Self.token(#"{"user_id":"alice","level":2.5}"#), 200), ("Bearer nonsense", 400),
      ]
      for (header, status) in callers {
        let answer = try await client.request(
          "GET", Self.document, headers: header.map { ["Authorization": $0] } ?? [:])
        #expect(answer.status == status, "\(header ?? "none"): \(answer.body)")
      }
      let refused = try await client.request("GET", Self.document)
      #expect(refused.body.contains("null has no property 'uid' for 'get' @ L3"), "\(refused.body)")
      let unmatched = try await client.request("GET", RESTPath.documents + "/other/a")
      #expect(unmatched.status == 403 && unmatched.body.contains("No matching allow statements"), "\(unmatched.body)")
      // Another project has none.
      let other = Self.document.replacing("projects/test/", with: "projects/other/")
      #expect(try await client.request("PATCH", other, "{}").status == 200)
    }
  }

  @Test("with errors are refused with the line, and leave the former ones in force")
  func errors() async throws {
    try await RESTCallTests.withClient { client, _ in
      #expect(try await client.request("PUT", Self.path, try Self.body(Self.rules("false"))).status == 200)
      let bodies = [
        (try Self.body(Self.rules("true &&")), "3"), (try Self.body(""), "rules"), ("{}", "rules.files"),
        ("nonsense", "JSON"),
        (try Self.body(Self.rules("true"), files: 2), "one file"),
      ]
      for (body, word) in bodies {
        let answer = try await client.request("PUT", Self.path, body)
        #expect(answer.status == 400 && answer.body.contains(word), "\(answer.body)")
      }
      for path in ["/emulator/v1/projects/:securityRules", "/emulator/v1/x/test:securityRules"] {
        #expect(try await client.request("PUT", path, try Self.body(Self.rules("true"))).status == 400)
      }
      #expect(try await client.request("GET", Self.document).status == 403)
    }
  }

  @Test("with mistakes that do not prevent their use are taken, and the log is told")
  func warnings() async throws {
    let log = LogRecorder()
    let server = try await EmbeddedServer.start(storage: .memory, logger: log.logger)
    let answer = try? await RawHTTP1Client.withConnection(to: server) { client in
      try await client.request("PUT", Self.path, try Self.body(Self.rules("rol()")))
    }
    await server.shutdown()
    let body = try #require(answer?.body)
    let json = try JSONSerialization.jsonObject(with: Data(body.utf8))
    let issue = try #require(((json as? [String: Any])?["issues"] as? [[String: Any]])?.first)
    let place = try #require(issue["sourcePosition"] as? [String: Any])
    #expect(issue["severity"] as? String == "WARNING" && (issue["description"] as? String ?? "").contains("rol"))
    #expect(place["fileName"] as? String == "firestore.rules" && place["line"] as? Int == 3, "\(place)")
    #expect(answer?.status == 200)
    #expect(
      log.lines.contains {
        $0.hasPrefix("warning a warning about the rules project=test warning=3:") && $0.contains("rol")
      },
      "\(log.lines)")
  }

  @Test("are not taken by a server that tells callers apart")
  func locked() async throws {
    let server = try await EmbeddedServer.start(storage: .memory, logger: ServerFixture.quietLogger) {
      $0.callers = .locked(NamedCallers())
    }
    let result: Result<Void, any Error>
    do {
      result = .success(
        try await RawHTTP1Client.withConnection(to: server) { client in
          let answer = try await client.request(
            "PUT", Self.path, try Self.body(Self.rules("true")), headers: ["Authorization": "Bearer owner"])
          #expect(answer.status == 403 && answer.body.contains("--rules"), "\(answer.body)")
        })
    } catch {
      result = .failure(error)
    }
    await server.shutdown()
    try result.get()
  }
}
