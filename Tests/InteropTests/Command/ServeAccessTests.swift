import Foundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// `hearth serve` with callers that it tells apart, through the program.
@Suite("hearth serve that tells callers apart", .timeLimit(.minutes(5)))
final class ServeAccessTests {
  private let folder = NSTemporaryDirectory() + "hearth-access-" + UUID().uuidString

  private var log: String { "\(folder)/log" }

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func file(_ name: String, _ text: String) throws -> String {
    let path = "\(folder)/\(name)"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    return path
  }

  /// - Returns: The lines up to the one that says how to stop, and the port.
  private func serve(_ arguments: [String]) async throws -> (lines: [String], port: String, server: LineProcess) {
    let program = Programs.product("hearth").path
    let server = try LineProcess(
      URL(fileURLWithPath: "/bin/sh"),
      ["-c", "exec \"$0\" serve --port 0 --in-memory \"$@\" 2>\(log)", program] + arguments)
    var lines: [String] = []
    while let line = await server.nextLine() {
      lines.append(line)
      if line.hasPrefix("  stop") { break }
    }
    return (lines, String(lines.first?.split(separator: ":").last ?? ""), server)
  }

  private func hearth(
    _ arguments: [String], environment: [String: String] = [:]
  ) async throws -> (status: Int32, text: String) {
    let result = try await Programs.runInBackground(Programs.product("hearth"), arguments, environment: environment)
    return (result.status, result.text)
  }

  private static let secret = String(repeating: "s3cret", count: 6)

  @Test("with a certificate and a secret, the administrator may do everything and others nothing")
  func administrator() async throws {
    let secret = try file("tokens", Self.secret)
    let key = try file("key.pem", TestAuthority.serverKey)
    for (path, permissions) in [(secret, 0o644), (key, 0o640)] {
      try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
    }
    let (lines, port, server) = try await serve([
      "--admin-token-file", secret, "--tls-certificate", try file("certificate.pem", TestAuthority.server),
      "--tls-key", key,
    ])
    let text = lines.joined(separator: "\n")
    #expect(text.contains("administrators only") && text.contains("https://127.0.0.1:\(port)"), "\(text)")
    #expect(lines.allSatisfy { $0.count <= 80 }, "\(text)")
    let place = [
      "--host", "localhost:\(port)", "--tls", "--ca-file", try file("authority.pem", TestAuthority.root), "--project",
      "p",
    ]
    let set = ["data", "set", "a/b", "--json", "{}"] + place
    let allowed = try await hearth(set, environment: ["HEARTH_TOKEN": Self.secret])
    #expect(allowed.status == 0, "\(allowed.text)")
    try Data((Self.secret + "\nanother").utf8).write(to: URL(fileURLWithPath: secret))
    try await waitUntil {
      try String(contentsOfFile: log, encoding: .utf8).contains("a file with secrets has changed")
    }
    let none = try await hearth(set)
    #expect(none.status != 0 && none.text.contains("PERMISSION_DENIED"), "\(none.text)")
    let wrong = try await hearth(set, environment: ["HEARTH_TOKEN": Self.secret + "x"])
    #expect(wrong.status != 0 && wrong.text.contains("UNAUTHENTICATED"), "\(wrong.text)")
    server.interrupt()
    #expect(await server.waitForExit() == 0)
    let warnings = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").filter {
      $0.contains("use chmod o-rw")
    }
    #expect(warnings.count == 1 && warnings[0].contains("\(folder)/tokens"), "\(warnings)")
  }

  @Test("hearth data shows a client certificate to a server that demands one, and says what is wrong with another")
  func clientCertificates() async throws {
    let certificate = try file("certificate.pem", TestAuthority.server)
    let (_, port, server) = try await serve([
      "--admin-token-file", try file("tokens", Self.secret), "--tls-certificate", certificate, "--tls-key",
      try file("key.pem", TestAuthority.serverKey), "--tls-client-authority",
      try file("clients.pem", TestAuthority.clientRoot),
    ])
    let place = [
      "--host", "127.0.0.1:\(port)", "--tls", "--ca-file", try file("authority.pem", TestAuthority.root), "--project",
      "p",
    ]
    func set(_ arguments: [String]) async throws -> (status: Int32, text: String) {
      try await hearth(
        ["data", "set", "a/b", "--json", "{}"] + place + arguments, environment: ["HEARTH_TOKEN": Self.secret])
    }
    let (own, key) = (try file("client.pem", TestAuthority.client), try file("client-key.pem", TestAuthority.clientKey))
    let strangerKey = try file("stranger-key.pem", TestAuthority.strangerKey)
    let accepted = try await set(["--cert-file", own, "--key-file", key])
    #expect(accepted.status == 0, "\(accepted.text)")
    for (arguments, text) in [
      ([], "demands a certificate of its callers: give yours with --cert-file and --key-file"),
      (
        ["--cert-file", try file("stranger.pem", TestAuthority.stranger), "--key-file", strangerKey],
        "does not accept the certificate in --cert-file"
      ),
      (
        ["--cert-file", own, "--key-file", strangerKey],
        "--key-file \"\(strangerKey)\" is not the key of the first certificate in --cert-file \"\(own)\""
      ),
      (["--cert-file", own, "--key-file", own], "--key-file \"\(own)\" has no private key in PEM form"),
      (["--cert-file", key, "--key-file", key], "--cert-file \"\(key)\" has no certificate in PEM form"),
    ] {
      let refused = try await set(arguments)
      #expect(refused.status == 1 && refused.text.contains(text), "\(arguments): \(refused.text)")
    }
    let alone = try await set(["--cert-file", own])
    #expect(alone.status == 64 && alone.text.contains("belong together"), "\(alone.text)")
    server.interrupt()
    #expect(await server.waitForExit() == 0)
  }

  @Test("the log tells of a client that does not speak TLS, and a metric of the time until the certificate expires")
  func handshakes() async throws {
    let (lines, port, server) = try await serve([
      "--admin-token-file", try file("tokens", Self.secret), "--tls-certificate",
      try file("certificate.pem", TestAuthority.server), "--tls-key", try file("key.pem", TestAuthority.serverKey),
      "--metrics-port", "0",
    ])
    let plain = try await hearth(["data", "get", "a/b", "--host", "127.0.0.1:\(port)"])
    #expect(plain.status == 1 && plain.text.contains("If it uses TLS, add --tls."), "\(plain.text)")
    func told() throws -> [Substring] {
      try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").filter {
        $0.contains("the TLS handshake of a connection failed")
      }
    }
    try await waitUntil { try !told().isEmpty }
    let line = try #require(try told().first)
    #expect(
      line.contains(" notice ") && line.contains("address=127.0.0.1")
        && line.contains("reason=the client does not speak TLS"), "\(line)")
    let word = try #require(lines.first { $0.contains("/metrics") }?.split(separator: " ").last)
    let (data, _) = try await URLSession.shared.data(from: try #require(URL(string: String(word))))
    let metric = String(decoding: data, as: UTF8.self).split(separator: "\n").first {
      $0.hasPrefix("hearth_server_certificate_seconds ")
    }
    // It expires in 2120.
    #expect(try #require(metric.flatMap { Double($0.split(separator: " ")[1]) }) > 1e9)
    server.interrupt()
    #expect(await server.waitForExit() == 0)
  }

  @Test("keys that cannot be had at the start are one line of the log, which says why")
  func missingKeys() async throws {
    let (_, _, server) = try await serve([
      "--firebase-project", "my-app", "--firebase-keys", "http://127.0.0.1:1/keys",
    ])
    server.interrupt()
    #expect(await server.waitForExit() == 0)
    let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").filter { $0.contains("keys") }
    #expect(lines.count == 1 && lines[0].components(separatedBy: "http://127.0.0.1:1/keys").count == 2, "\(lines)")
  }

  @Test("hearth rules check says file, line and column of what is wrong, and has a status that scripts can use")
  func check() async throws {
    func rules(_ condition: String) -> String {
      "service cloud.firestore { match /databases/{d}/documents/a/{b} { allow read: if \(condition); } }"
    }
    let good = try file("good.rules", rules("true"))
    let bad = try file("bad.rules", "service cloud.firestore {\n  match /a/{b} {\n    allow read: if true &&;\n  }\n}")
    let warned = try file("warned.rules", rules("nothing()"))
    let clean = try await hearth(["rules", "check", good])
    #expect(clean.status == 0 && clean.text == "\(good): no mistakes\n", "\(clean.text)")
    let mistaken = try await hearth(["rules", "check", good, bad])
    #expect(mistaken.status == 1 && mistaken.text.contains("\(bad):3:"), "\(mistaken.text)")
    let doubtful = try await hearth(["rules", "check", warned])
    #expect(
      doubtful.status == 0 && doubtful.text.contains("warning") && doubtful.text.contains("nothing"), "\(doubtful.text)"
    )
    let strict = try await hearth(["rules", "check", "--strict", warned])
    #expect(strict.status == 1 && strict.text == doubtful.text, "\(strict.text)")
    let missing = try await hearth(["rules", "check", "\(folder)/none"])
    #expect(missing.status == 1 && missing.text.contains("none"), "\(missing.text)")
  }

  @Test("rules are read again when their file changes, and stay when it has errors")
  func rules() async throws {
    func text(_ condition: String) -> String {
      "service cloud.firestore { match /databases/{d}/documents { match /{doc=**} { allow read: if \(condition); } } }"
    }
    let rules = try file("firestore.rules", text("true"))
    let (lines, port, server) = try await serve(["--rules", rules])
    #expect(lines.contains { $0.contains("by the rules in") }, "\(lines)")
    let address = try #require(
      URL(string: "http://127.0.0.1:\(port)/v1/projects/p/databases/(default)/documents/a/b"))
    func status() async throws -> Int {
      let (_, response) = try await URLSession.shared.data(from: address)
      return (response as? HTTPURLResponse)?.statusCode ?? 0
    }
    #expect(try await status() == 404)
    _ = try file("firestore.rules", text("false"))
    try await waitUntil { try await status() == 403 }
    _ = try file("firestore.rules", text("true &&"))
    try await waitUntil { try String(contentsOfFile: log, encoding: .utf8).contains("the rules stay as they are") }
    #expect(try !String(contentsOfFile: log, encoding: .utf8).contains(#"\u{a}"#))
    #expect(try await status() == 403)
    _ = try file("firestore.rules", text("true"))
    try await waitUntil { try await status() == 404 }
    server.interrupt()
    #expect(await server.waitForExit() == 0)
  }

  @Test(
    "a start with options that do not go together, or files that cannot be used, says why",
    arguments: [
      (["--tls-certificate", "x"], "--tls-key"),
      (["--tls-at-proxy", "--tls-certificate", "x", "--tls-key", "y"], "--tls-at-proxy"),
      (
        [
          "--firebase-project", "p", "--rules", "r", "--token-issuer", "i", "--token-audience", "a",
          "--token-secret-file",
          "s",
        ], "--token-issuer together with --firebase-project needs --project"
      ),
      (["--tls-at-proxy"], "does not tell callers apart"), (["--admin-token-file", "/nowhere"], "/nowhere"),
      (["--service-account", "/nowhere"], "/nowhere"),
      (["--rules", "/nowhere"], "/nowhere"), (["--token-issuer", "x"], "--token-audience"),
      (["--token-issuer", "x", "--token-audience", "y"], "--token-keys"), (["--token-keys", "x"], "--token-issuer"),
      (["--token-issuer", "x", "--token-audience", "y", "--token-keys", "/nowhere"], "/nowhere"),
      (["--token-issuer", "x", "--token-audience", "y", "--token-keys", "http://example.com/"], "https"),
      (["--firebase-keys", "x"], "--firebase-project"), (["--app-check-project", "my-app"], "number"),
      (["--open-to-everyone", "--firebase-project", "x"], "--open-to-everyone"),
      (["--allow-shutdown", "--firebase-project", "x"], "--allow-shutdown"), (["--project", "x"], "--project"),
      (["--token-issuer", "x", "--token-audience", "y", "--token-keys", "k", "--rules", "r"], "--project"),
      (["--tls-at-proxy", "--max-failed-authentications-per-minute", "100"], "--tls-at-proxy"),
      (["--max-failed-authentications-per-minute=-1"], "--max-failed-authentications-per-minute"),
    ])
  func mistakes(arguments: [String], word: String) async throws {
    let result = try await hearth(["serve", "--in-memory", "--port", "0"] + arguments)
    #expect(result.status != 0 && result.text.contains(word), "\(result.text)")
  }
}
