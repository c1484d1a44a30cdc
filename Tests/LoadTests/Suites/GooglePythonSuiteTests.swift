import ClusterSupport
import Foundation
import HearthServer
import TestSupport
import Testing

/// The system tests of Google's Python client, in release 2.23.0, in a folder that is kept between runs.
private enum GooglePythonSuite {
  /// The one of HEARTH_PYTHON_SUITE, by default one in the user's cache.
  static let folder: URL = {
    let environment = ProcessInfo.processInfo.environment
    if let path = environment["HEARTH_PYTHON_SUITE"] { return URL(fileURLWithPath: path) }
    let cache =
      environment["XDG_CACHE_HOME"].map { URL(fileURLWithPath: $0) }
      ?? FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".cache")
    return cache.appendingPathComponent("hearth-python-suite")
  }()

  private static func call(_ arguments: String..., token: String? = nil) async throws -> Programs.Output {
    let script = try #require(Bundle.module.url(forResource: "google_python_suite", withExtension: "py"))
    let python = try #require(Programs.find("python3"))
    var environment = ["PYTHONDONTWRITEBYTECODE": "1"]
    environment["HEARTH_SUITE_TOKEN"] = token
    return try await Programs.runInBackground(python, [script.path] + arguments, environment: environment)
  }

  /// Installs the suite where it is not installed yet.
  /// - Returns: Why that cannot be done; nil when it is done.
  @Sendable static func missing() async -> String? {
    guard Programs.find("python3") != nil else { return "python3 is not installed" }
    do {
      let output = try await call("install", folder.path)
      guard output.status != 0 else { return nil }
      return output.text.split(separator: "\n").last.map(String.init) ?? "the installation ended with \(output.status)"
    } catch {
      return "the installation failed: \(error)"
    }
  }

  /// Runs the suite, and prints its lines.
  static func run(
    transport: String, against backend: ClientSuites.Backend = ClientSuites.Backend()
  ) async throws -> Programs.Output {
    var output = Programs.Output(status: -1, text: "")
    try await ClientSuites.withServer(backend) { port in
      output = try await call(
        "run", folder.path, "127.0.0.1:\(port)", transport, token: backend.isLocked ? ClientSuites.token : nil)
    }
    for line in output.text.split(separator: "\n") where line.hasPrefix("google python suite") { print(line) }
    return output
  }
}

extension ClientSuites {
  /// The tests are pinned to a release, so their number is known: a test that is no longer run is found, too.
  @Suite(
    "Google's system tests of its Python client",
    Availability(name: "google python suite", reason: GooglePythonSuite.missing))
  struct GooglePythonSuiteTests {
    @Test("all that do not wait for a change of Google's pass over gRPC", .timeLimit(.minutes(10)))
    func passOverGRPC() async throws {
      let output = try await GooglePythonSuite.run(transport: "grpc")
      let counts = try #require(SuiteCounts(of: "google python suite", in: output.text), "\(output.text)")
      #expect(counts == SuiteCounts(passed: 530, failed: 0, skipped: 12), "\(output.text)")
      #expect(output.status == 0)
    }

    /// On two nodes over PostgreSQL, where there is one.
    @Test("the same pass with an administrator's token on locked servers that take turns", .timeLimit(.minutes(10)))
    func passOnLockedServers() async throws {
      let storage = ServedStorage.available.last ?? .embedded
      print(
        "google python suite with a token: storage \(storage)\(storage == .cluster ? "" : ", \(ServedStorage.reason)")")
      let output = try await GooglePythonSuite.run(
        transport: "grpc", against: ClientSuites.Backend(isLocked: true, storage: storage))
      let counts = try #require(SuiteCounts(of: "google python suite with a token", in: output.text), "\(output.text)")
      #expect(counts == SuiteCounts(passed: 530, failed: 0, skipped: 12), "\(output.text)")
      #expect(output.status == 0)
    }

    @Test("those for which the client offers calls over REST pass over REST", .timeLimit(.minutes(10)))
    func passOverREST() async throws {
      let output = try await GooglePythonSuite.run(transport: "rest")
      let name = "google python suite over REST"
      let counts = try #require(SuiteCounts(of: name, in: output.text), "\(output.text)")
      #expect(counts == SuiteCounts(passed: 268, failed: 0, skipped: 8), "\(output.text)")
      #expect(output.status == 0)
      // Their absence is the client's, and not that of our server.
      #expect(output.text.contains("\(name): not offered by the client: listen, write; left out: "))
    }
  }
}
