#if PostgreSQL
  import Dispatch
  import HearthPostgres
  import PostgresSupport
  import Synchronization
  import TestSupport
  import Testing

  @Suite(
    "Servers that stop, fail over or lose their standby",
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"))
  struct ServerFailureTests {
    private static let create = PostgresStatement("create", "CREATE TABLE t (id int8)")
    private static let insert = PostgresStatement("insert", "INSERT INTO t VALUES ($1)", [.int8])
    private static let count = PostgresStatement("count", "SELECT count(*) FROM t")
    private static let long = PostgresStatement("long", "SELECT pg_sleep(60)")
    private static var soon: ContinuousClock.Instant { .now + .seconds(60) }

    private static func pool(_ url: String, size: Int = 1) throws -> PostgresPool {
      PostgresPool(try PostgresConfiguration(url: url), label: "failures", size: size)
    }

    private static func count(_ pool: PostgresPool) async throws -> Int64 {
      try await pool.withSession(deadline: soon) { try $0.run(count.call()).only().int64(0) }
    }

    private final class Notices: Sendable {
      private let notices = Mutex<[PostgresNotice]>([])

      var all: [PostgresNotice] { notices.withLock { $0 } }
      func add(_ notice: PostgresNotice) { notices.withLock { $0.append(notice) } }
    }

    @Test(
      "a pool survives that its server stops and starts, without an error if nobody calls in between",
      .timeLimit(.minutes(2)))
    func restart() async throws {
      let server = try await PostgresServer.start()
      let pool = try Self.pool(try await server.createDatabase())
      _ = try await pool.withSession(deadline: Self.soon) { try $0.run(Self.create.call()) }
      for mode in [PostgresServer.Shutdown.fast, .immediate] {
        try await server.stop(mode)
        try await server.start()
        #expect(try await Self.count(pool) == 0)
        try await server.stop(mode)
        let error = await #expect(throws: PostgresError.self) { try await Self.count(pool) }
        #expect(error?.kind == .connection, "\(error?.description ?? "")")
        try await server.start()
        try await waitUntil { (try? await Self.count(pool)) == 0 }
      }
      await pool.close()
      try await server.stop(.immediate)
    }

    @Test("a statement that runs when its server is stopped or killed is a lost connection", .timeLimit(.minutes(2)))
    func killedServer() async throws {
      let server = try await PostgresServer.start(isDurable: true)
      let pool = try Self.pool(try await server.createDatabase())
      _ = try await pool.withSession(deadline: Self.soon) { try $0.run(Self.create.call()) }
      for isKilled in [false, true] {
        let isRunning = DispatchSemaphore(value: 0)
        let task = Task {
          try await pool.withSession(deadline: Self.soon) { session in
            _ = try session.run([.begin, Self.insert.call(.int8(1))])
            isRunning.signal()
            _ = try session.run([Self.long.call(), .commit])
          }
        }
        try await waitUntil { isRunning.wait(timeout: .now()) == .success }
        if isKilled { try server.kill() } else { try await server.stop(.fast) }
        let error = await #expect(throws: PostgresError.self) { try await task.value }
        // A server that was killed says nothing; one that is stopped says that it has not come to the commit.
        #expect(error?.kind == (isKilled ? .outcomeUnknown : .connection), "\(error?.description ?? "")")
        try await server.start()
        try await waitUntil { (try? await Self.count(pool)) == 0 }
      }
      await pool.close()
      try await server.stop(.immediate)
    }

    @Test(
      "a standby is not used for writes, and the primary is found among several hosts, also after a promotion",
      .timeLimit(.minutes(2)))
    func promotion() async throws {
      let primary = try await PostgresServer.start(isDurable: true)
      let standby = try await primary.startStandby()
      let hosts = "127.0.0.1:\(standby.port),127.0.0.1:\(primary.port)"
      let pool = try Self.pool("postgres://postgres@\(hosts)/postgres")
      let facts = try await pool.withSession(deadline: Self.soon) { try $0.facts() }
      #expect(facts.timeline == 1 && !facts.isInRecovery)

      let refused = await openingFailure(of: standby.url(database: "postgres"))
      #expect(refused?.isReadOnly == true && refused?.message.contains("standby") == true)
      let any = "\(standby.url(database: "postgres"))?target_session_attrs=any"
      let standbyFacts = try await withPostgresSession(any) { session in
        let error = failure { _ = try session.run(Self.create.call()) }
        #expect(error?.isReadOnly == true)
        return try session.facts()
      }
      #expect(standbyFacts.isInRecovery && standbyFacts.isReadOnly && standbyFacts.timeline == nil)
      #expect(standbyFacts.systemIdentifier == facts.systemIdentifier)

      try await primary.stop(.immediate)
      try await standby.promote()
      let later = try await pool.withSession(deadline: Self.soon) { try $0.facts() }
      #expect(later.timeline == 2 && later.systemIdentifier == facts.systemIdentifier)
      await pool.close()
      try await standby.stop(.immediate)
    }

    @Test("a server that takes no writes is said")
    func readOnlyServer() async throws {
      let server = try await PostgresServer.start(settings: ["default_transaction_read_only": "on"])
      let error = await openingFailure(of: server.url(database: "postgres"))
      #expect(error?.isReadOnly == true && error?.message.contains("default_transaction_read_only") == true)
      try await server.stop(.immediate)
    }

    @Test(
      "a commit whose wait for a standby is cancelled is unknown, although the server says COMMIT",
      .timeLimit(.minutes(1)))
    func missingStandby() async throws {
      let server = try await PostgresServer.start(settings: ["synchronous_standby_names": "nobody"])
      let url = server.url(database: "postgres")
      var local = PostgresSessionSettings()
      local.others = ["synchronous_commit": "local"]
      try await withPostgresSession(url, settings: local) { _ = try $0.run(Self.create.call()) }
      let notices = Notices()
      let commits = Task {
        try await withPostgresSession(url, onNotice: { notices.add($0) }) { session in
          let error = failure {
            _ = try session.run([.begin, Self.insert.call(.int8(1)), .commit], deadline: Self.soon)
          }
          #expect(error?.kind == .outcomeUnknown, "\(error?.description ?? "")")
          // Also without COMMIT: the end of the pipeline commits.
          let implicit = failure { _ = try session.run(Self.insert.call(.int8(2)), deadline: Self.soon) }
          #expect(implicit?.kind == .outcomeUnknown, "\(implicit?.description ?? "")")
          try session.expect(2, from: Self.count.call())
        }
      }
      try await withPostgresSession(url, settings: local) { session in
        let cancel = PostgresStatement(
          "cancel", "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        for number in 1...2 {
          while try session.run(cancel.call()).only().int64(0) == 0 {}
          while notices.all.count < number { _ = try session.run(Self.count.call()) }
        }
      }
      try await commits.value
      #expect(notices.all.map(\.isUnreplicatedCommit) == [true, true])
      try await server.stop(.immediate)
    }

    @Test("a commit that the session itself has cancelled is unknown, also if the server keeps its warning to itself")
    func silentServer() async throws {
      let server = try await PostgresServer.start(settings: ["synchronous_standby_names": "nobody"])
      let url = server.url(database: "postgres")
      var local = PostgresSessionSettings()
      local.others = ["synchronous_commit": "local"]
      try await withPostgresSession(url, settings: local) { _ = try $0.run(Self.create.call()) }
      var silent = PostgresSessionSettings()
      silent.others = ["client_min_messages": "error"]
      try await withPostgresSession(url, settings: silent) { session in
        let error = failure {
          _ = try session.run([.begin, Self.insert.call(.int8(1)), .commit], deadline: .now + .milliseconds(300))
        }
        #expect(error?.kind == .outcomeUnknown, "\(error?.description ?? "")")
      }
      try await server.stop(.immediate)
    }

    @Test("settings of the server on which the outcome of a transaction depends are those of the session")
    func settings() async throws {
      let server = try await PostgresServer.start(
        settings: ["client_min_messages": "error", "default_transaction_isolation": "serializable"])
      try await withPostgresSession(server.url(database: "postgres")) { session in
        let read = PostgresStatement(
          "settings of test",
          "SELECT current_setting('client_min_messages'), current_setting('default_transaction_isolation')")
        let row = try session.run(read.call()).only()
        #expect(try row.text(0) == "warning" && row.text(1) == "read committed")
      }
      try await server.stop(.immediate)
    }
  }
#endif
