#if PostgreSQL
  internal import Foundation
  internal import HearthPostgres
  internal import Synchronization
  internal import TestSupport

  #if canImport(Darwin)
    internal import Darwin
  #elseif canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #endif

  /// A PostgreSQL server on a free port of 127.0.0.1, in a temporary folder. It ends with the process of the tests.
  package final class PostgresServer: Sendable {
    /// Why no server can be started here; nil if one can.
    package static var unavailableReason: String? { PostgresPrograms.unavailableReason }

    /// For `@Suite(.enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"))`. True in continuous integration, which sets
    /// HEARTH_REQUIRE_POSTGRESQL: there the tests fail instead of being skipped.
    package static var isAvailable: Bool {
      unavailableReason == nil || ProcessInfo.processInfo.environment["HEARTH_REQUIRE_POSTGRESQL"] != nil
    }

    package static var skipReason: String { unavailableReason ?? "" }

    /// The server that the tests of this process share. Its settings are not durable, for speed.
    package static func shared() async throws -> PostgresServer { try await sharedServer.value }

    private static let sharedServer = Task { try await start() }
    private static let count = Atomic(0)

    package let port: Int
    let folder: String
    /// For the tests' own statements.
    private let administration: PostgresPool
    private let databaseCount = Atomic(0)

    private init(folder: String, port: Int) throws {
      self.folder = folder
      self.port = port
      administration = PostgresPool(
        try PostgresConfiguration(url: Self.url(port: port, database: "postgres", user: "postgres")),
        label: "test administration", size: 2)
    }

    /// A server of the test's own, which it may stop and kill.
    ///
    /// - Parameters:
    ///   - isDurable: True for `fsync` and `full_page_writes`, as in production.
    ///   - usesTLS: True to offer TLS with a certificate of its own, see ``certificate``.
    ///   - settings: Further lines of postgresql.conf.
    package static func start(
      isDurable: Bool = false, usesTLS: Bool = false, settings: [String: String] = [:]
    ) async throws -> PostgresServer {
      let parent = try await PostgresFolder.shared.value
      let port = try Programs.freePort()
      let folder = "\(parent.path)/server\(count.add(1, ordering: .relaxed).newValue)"
      try await PostgresPrograms.run("cp", ["-R", "-p", parent.template, folder])
      var lines = self.settings(isDurable: isDurable, port: port).merging(settings) { $1 }
      if usesTLS {
        try await createCertificate(in: folder)
        lines["ssl"] = "on"
      }
      try write(lines.map { "\($0) = '\($1)'" }.sorted(), to: "\(folder)/postgresql.auto.conf")
      try write(accessRules, to: "\(folder)/pg_hba.conf")
      let server = try PostgresServer(folder: folder, port: port)
      try await server.start()
      return server
    }

    /// For the name "localhost", and the addresses of tests.
    private static func createCertificate(in folder: String) async throws {
      try await PostgresPrograms.run(
        "openssl",
        [
          "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
          "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", "\(folder)/server.key", "-out",
          "\(folder)/server.crt",
        ])
    }

    /// The certificate of a server that uses TLS, which has signed itself.
    package var certificate: String {
      get throws { try String(contentsOfFile: "\(folder)/server.crt", encoding: .utf8) }
    }

    /// A standby of this server, which follows it and takes no writes before ``promote()``.
    package func startStandby(settings: [String: String] = [:]) async throws -> PostgresServer {
      let parent = try await PostgresFolder.shared.value
      let port = try Programs.freePort()
      let folder = "\(parent.path)/server\(Self.count.add(1, ordering: .relaxed).newValue)"
      try await PostgresPrograms.run(
        "pg_basebackup",
        [
          "-D", folder, "-d", Self.url(port: self.port, database: "postgres", user: "postgres"), "-R",
          "--checkpoint=fast",
        ])
      let path = "\(folder)/postgresql.auto.conf"
      let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
      // The last line of a setting counts.
      try Self.write(lines + settings.merging(["port": "\(port)"]) { $1 }.map { "\($0) = '\($1)'" }, to: path)
      let server = try PostgresServer(folder: folder, port: port)
      try await server.start()
      return server
    }

    /// Makes a standby a primary.
    package func promote() async throws {
      try await PostgresPrograms.run("pg_ctl", ["promote", "-D", folder, "-w", "-s"])
    }

    private static func settings(isDurable: Bool, port: Int) -> [String: String] {
      [
        "listen_addresses": "127.0.0.1", "port": "\(port)", "unix_socket_directories": "", "max_connections": "500",
        "shared_buffers": "64MB", "log_min_messages": "warning", "timezone": "UTC", "lc_messages": "C",
        "fsync": isDurable ? "on" : "off", "full_page_writes": isDurable ? "on" : "off",
      ]
    }

    /// The role ``lockedRole`` needs its password, and nobody may use ``refusedDatabase``.
    private static let accessRules = [
      "host all \(lockedRole) 127.0.0.1/32 scram-sha-256", "host \(refusedDatabase) all 127.0.0.1/32 reject",
      "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust",
    ]

    package static let lockedRole = "hearth_locked"
    package static let refusedDatabase = "hearth_refused"

    /// The files belong to the user of the server, and keep their owner.
    private static func write(_ lines: [String], to path: String) throws {
      let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      try file.truncate(atOffset: 0)
      try file.write(contentsOf: Data((lines.joined(separator: "\n") + "\n").utf8))
      try file.close()
    }

    // MARK: - Databases

    /// Creates an empty database.
    ///
    /// - Returns: Its URL, with a superuser.
    package func createDatabase() async throws -> String {
      let name = "test\(databaseCount.add(1, ordering: .relaxed).newValue)"
      try await execute("CREATE DATABASE \(name) TEMPLATE template0")
      return url(database: name)
    }

    /// Runs a statement in the database `postgres`, as a superuser.
    package func execute(_ sql: String) async throws {
      _ = try await administration.withSession(deadline: .now + .seconds(60)) { session in
        try session.run(PostgresStatement("test", sql).call())
      }
    }

    /// The URL of a database of this server.
    ///
    /// - Parameter port: The port of a proxy, for instance.
    package func url(database: String, user: String = "postgres", port: Int? = nil) -> String {
      Self.url(port: port ?? self.port, database: database, user: user)
    }

    private static func url(port: Int, database: String, user: String) -> String {
      "postgres://\(user)@127.0.0.1:\(port)/\(database)"
    }

    // MARK: - Starting and stopping

    package enum Shutdown: String, Sendable {
      /// Ends all sessions.
      case fast
      /// As a crash: the server recovers at its next start.
      case immediate
    }

    /// Starts it again, on the same port with the same data.
    package func start() async throws {
      let end = ContinuousClock.now + .seconds(60)
      repeat {
        let process = try launch()
        while process.isRunning {
          if await isReady() { return }
        }
        // The sessions of a killed server end a moment after it, and it does not start before.
      } while ContinuousClock.now < end
      let log = (try? String(contentsOfFile: "\(folder)/log", encoding: .utf8)) ?? ""
      throw PostgresPrograms.Failure(description: "PostgreSQL does not start: \(log.suffix(2000))")
    }

    /// Not by `pg_ctl start`: `Process` would wait for the end of the server that it leaves behind.
    private func launch() throws -> Process {
      let process = Process()
      (process.executableURL, process.arguments) = try PostgresPrograms.command("postgres", ["-D", folder])
      let path = "\(folder)/log"
      let files = FileManager.default
      if !files.fileExists(atPath: path) { _ = files.createFile(atPath: path, contents: nil) }
      let log = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      try log.seekToEnd()
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = log
      process.standardError = log
      try process.run()
      return process
    }

    private func isReady() async -> Bool {
      (try? await PostgresPrograms.run("pg_isready", ["-q", "-h", "127.0.0.1", "-p", "\(port)"])) != nil
    }

    package func stop(_ mode: Shutdown = .fast) async throws {
      try await PostgresPrograms.run("pg_ctl", ["stop", "-D", folder, "-w", "-s", "-m", mode.rawValue])
    }

    /// SIGKILL for the server. Its sessions end at once, because it is gone.
    package func kill() throws {
      _ = sendSignal(try processID, SIGKILL)
    }

    /// SIGKILL for the process of one session. The server ends all others, and recovers as after a crash; it goes on by itself.
    package func kill(session process: Int32) { _ = sendSignal(process, SIGKILL) }

    /// SIGSTOP for the server: it takes no new sessions, and its others go on.
    package func pause() throws { _ = sendSignal(try processID, SIGSTOP) }

    package func resume() throws { _ = sendSignal(try processID, SIGCONT) }

    private var processID: Int32 {
      get throws {
        let text = try String(contentsOfFile: "\(folder)/postmaster.pid", encoding: .utf8)
        guard let line = text.split(separator: "\n").first, let id = Int32(line), id > 1 else {
          throw PostgresPrograms.Failure(description: "The server's file postmaster.pid begins with \(text.prefix(80))")
        }
        return id
      }
    }
  }

  private func sendSignal(_ process: Int32, _ signal: Int32) -> Int32 { kill(process, signal) }
#endif
