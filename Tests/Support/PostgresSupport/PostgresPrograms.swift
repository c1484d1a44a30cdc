#if PostgreSQL
  internal import Foundation
  internal import TestSupport

  #if canImport(Darwin)
    internal import Darwin
  #elseif canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #endif

  /// The programs of PostgreSQL, and how they are run: the server refuses to run as root, so tests that do run it as another user.
  enum PostgresPrograms {
    private static let user = "postgres"

    /// Why no server can be started; nil if one can.
    static let unavailableReason: String? = {
      if folder == nil { return "PostgreSQL is not installed (apt install postgresql)" }
      guard isRoot else { return nil }
      if Programs.find("runuser") == nil { return "there is no runuser to start PostgreSQL as another user than root" }
      return getpwnam(user) == nil ? "there is no user \"\(user)\" to start PostgreSQL as" : nil
    }()

    /// The folder of the newest version. HEARTH_POSTGRESQL_BIN names another one.
    private static let folder: URL? = {
      let named = ProcessInfo.processInfo.environment["HEARTH_POSTGRESQL_BIN"]
      if let named { return URL(fileURLWithPath: named) }
      let debian = URL(fileURLWithPath: "/usr/lib/postgresql")
      let versions = (try? FileManager.default.contentsOfDirectory(atPath: debian.path)) ?? []
      if let newest = versions.compactMap({ Int($0) }).max() { return debian.appendingPathComponent("\(newest)/bin") }
      return Programs.find("initdb")?.resolvingSymlinksInPath().deletingLastPathComponent()
    }()

    private static var isRoot: Bool { geteuid() == 0 }

    struct Failure: Error, CustomStringConvertible {
      let description: String
    }

    /// Runs a program of PostgreSQL, or of the system, as the user of the server.
    ///
    /// - Throws: If it fails; with its output.
    @discardableResult
    static func run(_ name: String, _ arguments: [String]) async throws -> String {
      let (program, all) = try command(name, arguments)
      let output = try await Programs.runInBackground(program, all, environment: ["LC_ALL": "C"])
      guard output.status == 0 else {
        throw Failure(description: "\(name) has ended with \(output.status): \(output.text)")
      }
      return output.text
    }

    /// The program and arguments that run a command as the user of the server.
    static func command(_ name: String, _ arguments: [String]) throws -> (program: URL, arguments: [String]) {
      let own = folder?.appendingPathComponent(name)
      let isOwn = own.map { FileManager.default.isExecutableFile(atPath: $0.path) } ?? false
      guard let program = isOwn ? own : Programs.find(name) else { throw Failure(description: "There is no \(name).") }
      guard isRoot else { return (program, arguments) }
      guard let runuser = Programs.find("runuser") else { throw Failure(description: "There is no runuser.") }
      return (runuser, ["-u", user, "--", program.path] + arguments)
    }
  }
#endif
