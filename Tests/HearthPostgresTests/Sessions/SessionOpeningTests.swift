#if PostgreSQL
  import Foundation
  import HearthPostgres
  import PostgresSupport
  import TestSupport
  import Testing

  @Suite("Opening sessions", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"))
  struct SessionOpeningTests {
    @Test("a server that is not there is a lost connection that names its address")
    func noServer() async throws {
      let port = try Programs.freePort()
      let error = await openingFailure(of: "postgres://postgres@127.0.0.1:\(port)/postgres")
      #expect(error?.kind == .connection && error?.sqlState == nil && error?.needsOperator == false)
      #expect(error?.message.contains("127.0.0.1:\(port)") == true)
    }

    @Test("a host without an address is a lost connection that names it")
    func noHost() async throws {
      let error = await openingFailure(of: "postgres://postgres@no-such-host.invalid/postgres")
      #expect(error?.kind == .connection)
      #expect(error?.message.contains("no-such-host.invalid") == true)
    }

    @Test("a database that does not exist is said, with what to do")
    func noDatabase() async throws {
      let error = await openingFailure(of: try await PostgresServer.shared().url(database: "nothing"))
      #expect(error?.kind == .connection && error?.sqlState == .unknownDatabase && error?.needsOperator == true)
      #expect(error?.message.contains("\"nothing\"") == true && error?.message.contains("createdb") == true)
    }

    @Test("a role that does not exist, or that pg_hba.conf rejects, is said")
    func noRole() async throws {
      let server = try await PostgresServer.shared()
      let refused = server.url(database: PostgresServer.refusedDatabase)
      for url in [server.url(database: "postgres", user: "nobody"), refused] {
        let error = await openingFailure(of: url)
        #expect(error?.kind == .connection && error?.sqlState == .invalidAuthorization, "\(error?.description ?? "")")
        #expect(error?.needsOperator == true && error?.message.contains("pg_hba.conf") == true)
      }
    }

    @Test("a role without the right to connect is said")
    func noRight() async throws {
      let server = try await PostgresServer.shared()
      let url = try await server.createDatabase()
      let name = try #require(url.split(separator: "/").last.map(String.init))
      try await server.execute("CREATE ROLE stranger_\(name) LOGIN")
      try await server.execute("REVOKE CONNECT ON DATABASE \(name) FROM PUBLIC")
      let error = await openingFailure(of: server.url(database: name, user: "stranger_\(name)"))
      #expect(error?.kind == .connection && error?.sqlState == .insufficientPrivilege && error?.needsOperator == true)
      #expect(error?.message.contains("GRANT") == true)
    }

    @Test("the password comes from a file; a wrong or missing one is said, with the ways to give it")
    func passwords() async throws {
      let server = try await PostgresServer.shared()
      let name = PostgresServer.lockedRole
      try await server.execute("CREATE ROLE \(name) LOGIN PASSWORD 'right'")
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let url = { (password: String) in
        let file = folder.appendingPathComponent(UUID().uuidString).path
        let contents = Data("127.0.0.1:*:*:\(name):\(password)\n".utf8)
        _ = FileManager.default.createFile(atPath: file, contents: contents, attributes: [.posixPermissions: 0o600])
        return "\(server.url(database: "postgres", user: name))?passfile=\(file)"
      }
      _ = try await withPostgresSession(url("right")) { $0.isUsable }
      let missing = "\(server.url(database: "postgres", user: name))?passfile=\(folder.path)/none"
      for url in [url("wrong"), missing] {
        let error = await openingFailure(of: url)
        #expect(error?.kind == .connection && error?.sqlState == .invalidPassword && error?.needsOperator == true)
        #expect(error?.message.contains("PGPASSFILE") == true && error?.message.contains("PGPASSWORD") == true)
        #expect(error?.message.contains("wrong") == false)
      }
    }

    @Test("TLS that is demanded and not there is said")
    func noTLS() async throws {
      let url = try await PostgresServer.shared().url(database: "postgres")
      let error = await openingFailure(of: "\(url)?sslmode=require")
      #expect(error?.kind == .connection)
      #expect(error?.message.contains("SSL") == true)
    }

    @Test("TLS is used as the URL demands, and a certificate that nobody has signed is refused")
    func usesTLS() async throws {
      let server = try await PostgresServer.start(usesTLS: true)
      let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
      try server.certificate.write(toFile: file, atomically: true, encoding: .utf8)
      defer { try? FileManager.default.removeItem(atPath: file) }
      let url = server.url(database: "postgres")
      let encrypted = PostgresStatement("tls", "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
      for mode in ["require", "verify-full&sslrootcert=\(file)"] {
        let isEncrypted = try await withPostgresSession("\(url)?sslmode=\(mode)") { session in
          // A cancelled statement, too: its request goes over a connection of its own.
          let long = PostgresStatement("long", "SELECT pg_sleep(60)")
          #expect(failure { _ = try session.run(long.call(), deadline: .now + .milliseconds(50)) }?.kind == .deadline)
          return try session.run(encrypted.call()).only().bool(0)
        }
        #expect(isEncrypted)
      }
      let error = await openingFailure(of: "\(url)?sslmode=verify-full&sslrootcert=/etc/hostname")
      #expect(error?.kind == .connection)
      try await server.stop(.immediate)
    }

    @Test("a role without rights learns what the server is")
    func plainRole() async throws {
      let server = try await PostgresServer.shared()
      try await server.execute("CREATE ROLE plain LOGIN")
      let facts = try await withPostgresSession(server.url(database: "postgres", user: "plain")) { try $0.facts() }
      #expect(facts.timeline == 1 && facts.systemIdentifier != 0)
    }

    @Test("further hosts are tried when one is not there, or answers nothing", .timeLimit(.minutes(1)))
    func severalHosts() async throws {
      let server = try await PostgresServer.shared()
      let proxy = try FaultyProxy(to: server.port)
      defer { proxy.close() }
      proxy.planForNew(.stall, .toClient, afterBytes: 0)
      let free = try Programs.freePort()
      let hosts = "127.0.0.1:\(free),127.0.0.1:\(proxy.port),127.0.0.1:\(server.port)"
      let start = ContinuousClock.now
      let facts = try await withPostgresSession("postgres://postgres@\(hosts)/postgres?connect_timeout=1") { session in
        try session.facts()
      }
      #expect(facts.timeline == 1)
      #expect(ContinuousClock.now - start >= .seconds(1))
      let error = await openingFailure(
        of: "postgres://postgres@127.0.0.1:\(free),127.0.0.1:\(proxy.port)/postgres?connect_timeout=1")
      #expect(error?.kind == .connection)
      #expect(error?.message.contains(":\(free)") == true && error?.message.contains(":\(proxy.port)") == true)
    }

    @Test("a server without free sessions is said")
    func tooManySessions() async throws {
      let settings = ["max_connections": "4", "superuser_reserved_connections": "2", "max_wal_senders": "0"]
      let server = try await PostgresServer.start(settings: settings)
      try await server.execute("CREATE ROLE guest LOGIN")
      let url = server.url(database: "postgres", user: "guest")
      var error: PostgresError?
      // The sessions of those who have just asked the server may still be ending, so that there is not even a first one.
      try await waitUntil {
        error = try? await withPostgresSession(url) { _ in
          failure {
            var sessions: [PostgresSession] = []
            while sessions.count < 4 {
              try sessions.append(PostgresSession.open(PostgresConfiguration(url: url), deadline: .now + .seconds(30)))
            }
          }
        }
        return error != nil
      }
      #expect(error?.kind == .connection && error?.sqlState == .tooManyConnections)
      #expect(error?.message.contains("max_connections") == true && error?.needsOperator == false)
      try await server.stop(.immediate)
    }
  }
#endif
