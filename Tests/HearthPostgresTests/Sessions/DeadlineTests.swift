#if PostgreSQL
  import Dispatch
  import HearthPostgres
  import PostgresSupport
  import TestSupport
  import Testing

  @Suite("Deadlines and cancellation", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"))
  struct DeadlineTests {
    private static let long = PostgresStatement("sleep", "SELECT pg_sleep(60)")
    private static let one = PostgresStatement("one", "SELECT 1::int8")

    @Test("a call beyond its deadline is cancelled at the server, and the session goes on")
    func deadline() async throws {
      let url = try await PostgresServer.shared().createDatabase()
      try await withPostgresSession(url) { session in
        let start = ContinuousClock.now
        for _ in 0..<3 {
          let error = failure {
            _ = try session.run([.begin, Self.long.call(), .commit], deadline: .now + .milliseconds(100))
          }
          #expect(error?.kind == .deadline && error?.callIndex == 1)
          #expect(session.isUsable && !session.isInTransaction)
          try session.expect(1, from: Self.one.call())
        }
        #expect(ContinuousClock.now - start < .seconds(30))
      }
    }

    @Test("a result without an end is cancelled at the deadline", .timeLimit(.minutes(1)))
    func endlessResult() async throws {
      let url = try await PostgresServer.shared().createDatabase()
      try await withPostgresSession(url) { session in
        let endless = PostgresStatement("endless", "SELECT i FROM generate_series(1::int8, 1000000000000) AS i")
        let error = failure { _ = try session.run(endless.call(), deadline: .now + .milliseconds(100)) }
        #expect(error?.kind == .deadline)
      }
    }

    @Test("nothing is sent after the deadline, and an open transaction is rolled back")
    func passedDeadline() async throws {
      let url = try await PostgresServer.shared().createDatabase()
      try await withPostgresSession(url) { session in
        _ = try session.run(.begin)
        #expect(failure { _ = try session.run(Self.one.call(), deadline: .now) }?.kind == .deadline)
        #expect(session.isUsable && !session.isInTransaction)
      }
    }

    @Test("the server's own limits are refusals that say so")
    func serverTimeouts() async throws {
      let url = try await PostgresServer.shared().createDatabase()
      var settings = PostgresSessionSettings()
      settings.statementTimeout = .seconds(2)
      settings.lockTimeout = .milliseconds(30)
      try await withPostgresSession(url, settings: settings) { [settings] session in
        let error = failure { _ = try session.run(Self.long.call()) }
        #expect(error?.isServerTimeout == true && error?.sqlState == .queryCanceled)
        _ = try session.run(PostgresStatement("create", "CREATE TABLE t (id int8)").call())
        let lock = PostgresStatement("lock", "LOCK TABLE t IN EXCLUSIVE MODE")
        _ = try session.run([.begin, lock.call()])
        let other = try PostgresSession.open(
          PostgresConfiguration(url: url), settings: settings, deadline: .now + .seconds(30))
        let refused = failure { _ = try other.run([.begin, lock.call()]) }
        #expect(refused?.isServerTimeout == true && refused?.sqlState == .lockNotAvailable)
      }
    }

    @Test("a session that is silent inside of a transaction is ended by the server, and its commit has failed")
    func idleTransaction() async throws {
      let url = try await PostgresServer.shared().createDatabase()
      var settings = PostgresSessionSettings()
      settings.idleInTransactionTimeout = .milliseconds(50)
      try await withPostgresSession(url, settings: settings) { session in
        _ = try session.run([.begin, PostgresStatement("create", "CREATE TABLE t (id int8)").call()])
        let watch = try PostgresSession.open(PostgresConfiguration(url: url), deadline: .now + .seconds(30))
        let sessions = PostgresStatement(
          "sessions", "SELECT count(*) FROM pg_stat_activity WHERE pid = $1", [.int4])
        let process = try #require(session.processID)
        while try watch.run(sessions.call(.int4(process))).only().int64(0) > 0 {}
        let error = failure { _ = try session.run([Self.one.call(), .commit]) }
        #expect(error?.kind == .connection && error?.sqlState == .idleInTransactionTimeout)
        #expect(!session.isUsable)
        let tables = PostgresStatement("tables", "SELECT count(*) FROM pg_class WHERE relname = 't'")
        try watch.expect(0, from: tables.call())
      }
    }

    @Test("a cancelled task ends its running statement, and the pool goes on")
    func cancelledStatement() async throws {
      let pool = try await PostgresServer.sharedPool(size: 1)
      for _ in 0..<5 {
        let task = Task {
          try await pool.withSession(deadline: .now + .seconds(60)) { session in
            _ = try session.run([.begin, Self.long.call(), .commit])
          }
        }
        try await waitUntil { pool.use.busy == 1 }
        task.cancel()
        let error = await #expect(throws: PostgresError.self) { try await task.value }
        #expect(error?.kind == .cancelled)
        let one = try await pool.withSession(deadline: .now + .seconds(60)) { session in
          #expect(!session.isInTransaction)
          return try session.run(Self.one.call()).only().int64(0)
        }
        #expect(one == 1)
      }
      await pool.close()
    }

    @Test("a cancelled task sends nothing more")
    func cancelledBetweenCalls() async throws {
      let pool = try await PostgresServer.sharedPool(size: 1)
      let isInside = DispatchSemaphore(value: 0)
      let isCancelled = DispatchSemaphore(value: 0)
      let task = Task {
        try await pool.withSession(deadline: .now + .seconds(60)) { session in
          _ = try session.run([.begin, Self.one.call()])
          isInside.signal()
          isCancelled.wait()
          let error = failure { _ = try session.run([Self.one.call(), .commit]) }
          #expect(error?.kind == .cancelled)
          #expect(!session.isInTransaction && session.isUsable)
        }
      }
      try await waitUntil { isInside.wait(timeout: .now()) == .success }
      task.cancel()
      isCancelled.signal()
      try await task.value
      await pool.close()
    }

    @Test("cancellations at any moment never reach another caller's statement", .timeLimit(.minutes(2)))
    func cancellationStorm() async throws {
      let pool = try await PostgresServer.sharedPool(size: 3)
      let nap = PostgresStatement("nap", "SELECT pg_sleep($1::float8 / 1000)", [.int4])
      try await withThrowingTaskGroup { group in
        for index in 0..<300 {
          let isVictim = index % 2 == 0
          group.addTask {
            let task = Task {
              try await pool.withSession(deadline: .now + .seconds(60)) { session in
                _ = try session.run([.begin, nap.call(.int4(Int32(index % 5))), Self.one.call(), .commit])
              }
            }
            guard isVictim else { return try await task.value }
            try await Task.sleep(for: .microseconds(UInt64.random(in: 0...8000)))
            task.cancel()
            do {
              try await task.value
            } catch let error as PostgresError {
              #expect(error.kind == .cancelled || error.kind == .outcomeUnknown, "\(error)")
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(pool.use.waiting == 0 && pool.use.busy == 0)
      await pool.close()
    }

    @Test("a server that answers nothing costs the deadline and a grace", .timeLimit(.minutes(1)))
    func stalledConnection() async throws {
      let server = try await PostgresServer.shared()
      let database = try await server.createDatabase().split(separator: "/").last.map(String.init) ?? ""
      let proxy = try FaultyProxy(to: server.port)
      defer { proxy.close() }
      try await withPostgresSession(server.url(database: database, port: proxy.port)) { session in
        proxy.stallAll()
        let start = ContinuousClock.now
        let error = failure { _ = try session.run([.begin, Self.one.call()], deadline: .now + .milliseconds(200)) }
        #expect(error?.kind == .deadline)
        #expect(!session.isUsable)
        #expect(ContinuousClock.now - start >= .milliseconds(200))
        #expect(failure { _ = try session.run(Self.one.call()) }?.kind == .connection)
      }
      let refusal = await #expect(throws: PostgresError.self) {
        proxy.planForNew(.stall, .toClient, afterBytes: 0)
        let configuration = try PostgresConfiguration(url: server.url(database: database, port: proxy.port))
        let pool = PostgresPool(configuration, label: "stalled", size: 1)
        try await pool.withSession(deadline: .now + .milliseconds(300)) { _ in }
      }
      #expect(refusal?.kind == .deadline, "\(refusal?.description ?? "")")
    }
  }
#endif
