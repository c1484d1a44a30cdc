import Foundation
import TestSupport
import Testing

@Suite("hearth token", .timeLimit(.minutes(5)))
final class TokenCommandTests {
  private let folder = NSTemporaryDirectory() + "hearth-token-" + UUID().uuidString

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func file(_ name: String, _ text: String, permissions: Int = 0o600) throws -> String {
    let path = "\(folder)/\(name)"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
    return path
  }

  private func hearth(_ arguments: [String]) async throws -> Programs.Output {
    try await Programs.runInBackground(Programs.product("hearth"), arguments)
  }

  /// Runs `body` with the address of a server.
  private func withServer(_ arguments: [String], _ body: (String) async throws -> Void) async throws {
    let server = try LineProcess(
      Programs.product("hearth"), ["serve", "--port", "0", "--in-memory", "--log-level", "error"] + arguments)
    let line = try #require(await server.nextLine())
    try await body("127.0.0.1:\(line.split(separator: ":").last ?? "")")
    server.interrupt()
    #expect(await server.waitForExit() == 0)
  }

  private static let rules = """
    service cloud.firestore {
      match /databases/{database}/documents/users/{user} {
        allow read, write: if request.auth.uid == user && request.auth.token.role == 'editor';
      }
    }
    """

  /// Tries to write the documents of Ada and of Eve.
  private func writes(as token: String, to address: String) async throws -> [Bool] {
    var results: [Bool] = []
    for user in ["ada", "eve"] {
      let set = try await hearth([
        "data", "set", "users/\(user)", "--json", "{}", "--host", address, "--project", "my-app", "--token", token,
      ])
      results.append(set.status == 0)
    }
    return results
  }

  @Test("a server with the secret takes the token for its user, and one with another secret does not")
  func signed() async throws {
    let secret = try file("secret", String(repeating: "s", count: 44) + "\n")
    let own = [
      "--user", "ada", "--issuer", "https://login.example.com", "--audience", "my-app", "--claim", #"role="editor""#,
    ]
    let arguments = [
      "--rules", try file("firestore.rules", Self.rules), "--project", "my-app", "--token-issuer",
      "https://login.example.com", "--token-audience", "my-app", "--token-secret-file",
    ]
    let made = try await hearth(["token", "--secret-file", secret] + own)
    #expect(made.status == 0, "\(made.text)")
    // Nothing but the token, so that a shell can take it.
    let token = try #require(made.text.wholeMatch(of: /([\w-]+\.[\w-]+\.[\w-]+)\n/), "\(made.text)").1
    try await withServer(arguments + [secret]) { address in
      let written = try await writes(as: String(token), to: address)
      #expect(written == [true, false])
    }
    let other = try file("other", String(repeating: "o", count: 44))
    try await withServer(arguments + [other]) { address in
      let written = try await writes(as: String(token), to: address)
      #expect(written == [false, false])
    }
  }

  @Test("an unsigned token makes rules of a server in development see its user")
  func unsigned() async throws {
    let made = try await hearth([
      "token", "--unsigned", "--user", "ada", "--project", "my-app", "--claim", #"role="editor""#,
    ])
    let token = try #require(made.text.wholeMatch(of: /([\w-]+\.[\w-]+\.)\n/), "\(made.text)").1
    try await withServer(["--rules", try file("firestore.rules", Self.rules)]) { address in
      let written = try await writes(as: String(token), to: address)
      #expect(written == [true, false])
    }
  }

  @Test("a secret that every user of the machine may read, or that cannot be read, makes no token")
  func secrets() async throws {
    let own = ["--user", "ada", "--issuer", "i", "--audience", "a"]
    for (path, text) in [
      (try file("open", String(repeating: "s", count: 44), permissions: 0o644), "use chmod o-rw"),
      (try file("short", "short"), "must have at least 32"), ("\(folder)/none", "cannot be read"),
    ] {
      let refused = try await hearth(["token", "--secret-file", path] + own)
      #expect(
        refused.status == 1 && refused.text.hasPrefix("hearth token: ") && refused.text.contains(text)
          && refused.text.contains(path), "\(refused.text)")
    }
  }

  @Test(
    "options that do not go together are refused with what to do",
    arguments: [
      (["--user", "ada"], "either --secret-file FILE, or --unsigned"),
      (["--user", "ada", "--unsigned", "--secret-file", "x"], "either --secret-file FILE, or --unsigned"),
      (["--user", "ada", "--secret-file", "x"], "needs --issuer and --audience"),
      (["--user", "ada", "--unsigned", "--issuer", "x"], "are for --secret-file"),
      (["--user", "ada", "--unsigned", "--minutes", "0"], "between 1 and"), (["--unsigned"], "--user"),
      (["--user", "ada", "--unsigned", "--minutes", "-5"], "--minutes is -5"),
      (["--user", "ada", "--unsigned", "--claim", "admin"], "does not have the form name=JSON"),
    ])
  func mistakes(arguments: [String], text: String) async throws {
    let refused = try await hearth(["token"] + arguments)
    #expect(refused.status == 64 && refused.text.contains(text), "\(refused.text)")
  }
}
