#if PostgreSQL
  import HearthPostgres
  import PostgresSupport
  import Synchronization
  import Testing

  @Suite("Sessions", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"))
  struct PostgresSessionTests {
    static let create = PostgresStatement("create", "CREATE TABLE t (id int8 PRIMARY KEY, v bytea)")
    static let insert = PostgresStatement("insert", "INSERT INTO t VALUES ($1, $2)", [.int8, .bytea])
    static let count = PostgresStatement("count", "SELECT count(*) FROM t")

    /// Runs `body` with a session of a database that has an empty table.
    private func withTable<Result: Sendable>(
      settings: PostgresSessionSettings = PostgresSessionSettings(),
      _ body: @escaping @Sendable (PostgresSession) throws -> Result
    ) async throws -> Result {
      let url = try await PostgresServer.shared().createDatabase()
      return try await withPostgresSession(url, settings: settings) { session in
        _ = try session.run(Self.create.call())
        return try body(session)
      }
    }

    @Test("a pipeline of thousands of calls is answered call by call, in one transaction")
    func longPipeline() async throws {
      try await withTable { session in
        var calls: [PostgresCall] = [.begin]
        for id in 0..<5000 { calls.append(Self.insert.call(.int8(Int64(id)), .bytea([UInt8(id % 256)]))) }
        calls += [Self.count.call(), .commit]
        let results = try session.run(calls)
        #expect(results.count == 5003)
        #expect(results[1...5000].allSatisfy { $0.affectedCount == 1 })
        #expect(try results[5001].only().int64(0) == 5000)
        #expect(!session.isInTransaction)
      }
    }

    @Test("a pipeline of 40 MiB in both directions does not block itself")
    func largePipeline() async throws {
      try await withTable { session in
        let echo = PostgresStatement("echo", "SELECT $1::bytea", [.bytea])
        let value = [UInt8](repeating: 7, count: 2 << 20)
        let results = try session.run((0..<20).map { _ in echo.call(.bytea(value)) })
        for rows in results { #expect(try rows.only().withBytes(0) { $0.count } == value.count) }
      }
    }

    @Test("no calls are no round trip")
    func emptyPipeline() async throws {
      try await withTable { session in
        let results = try session.run([])
        #expect(results.isEmpty)
      }
    }

    @Test("a failed call names itself, skips the rest, and leaves no transaction open")
    func failedCall() async throws {
      try await withTable { session in
        let error = failure {
          _ = try session.run([
            .begin, Self.insert.call(.int8(1), .null), Self.insert.call(.int8(1), .null), Self.count.call(), .commit,
          ])
        }
        #expect(error?.kind == .statement && error?.isUniqueViolation == true)
        #expect(error?.callIndex == 2 && error?.statementName == "insert")
        #expect(error?.message.contains("t_pkey") == true)
        #expect(session.isUsable && !session.isInTransaction)
        try session.expect(0, from: Self.count.call())
      }
    }

    @Test("a transaction goes on over several pipelines, and ends with the first error of any of them")
    func longTransaction() async throws {
      try await withTable { session in
        _ = try session.run([.begin, Self.insert.call(.int8(1), .null)])
        #expect(session.isInTransaction)
        _ = try session.run([Self.insert.call(.int8(2), .null), .commit])
        _ = try session.run([.begin, Self.insert.call(.int8(3), .null)])
        #expect(failure { _ = try session.run([Self.insert.call(.int8(3), .null), .commit]) }?.kind == .statement)
        #expect(!session.isInTransaction)
        try session.expect(2, from: Self.count.call())
      }
    }

    @Test("calls without BEGIN are one transaction")
    func implicitTransaction() async throws {
      try await withTable { session in
        let error = failure {
          _ = try session.run([Self.insert.call(.int8(1), .null), Self.insert.call(.int8(1), .null)])
        }
        #expect(error?.callIndex == 1)
        try session.expect(0, from: Self.count.call())
      }
    }

    @Test("COMMIT without a transaction is an error, not the warning of the server")
    func commitWithoutTransaction() async throws {
      try await withTable { session in
        let error = failure { _ = try session.run([Self.insert.call(.int8(1), .null), .commit]) }
        #expect(error?.sqlState == .noActiveTransaction && error?.callIndex == 1)
        try session.expect(0, from: Self.count.call())
      }
    }

    @Test("a constraint that fails at the commit is a refused commit, or without BEGIN a refused last call")
    func deferredConstraint() async throws {
      try await withTable { session in
        _ = try session.run(
          PostgresStatement("constrain", "CREATE TABLE d (id int8 UNIQUE DEFERRABLE INITIALLY DEFERRED)").call())
        let insert = PostgresStatement("insert", "INSERT INTO d VALUES (1), (1)")
        let explicit = failure { _ = try session.run([.begin, insert.call(), .commit]) }
        #expect(explicit?.kind == .statement && explicit?.callIndex == 2 && explicit?.isUniqueViolation == true)
        let implicit = failure { _ = try session.run([insert.call()]) }
        #expect(implicit?.kind == .statement && implicit?.callIndex == 0 && implicit?.isUniqueViolation == true)
        #expect(session.isUsable && !session.isInTransaction)
        try session.expect(0, from: PostgresStatement("count d", "SELECT count(*) FROM d").call())
      }
    }

    @Test("errors in text, preparation and parameters are refusals of their call")
    func refusals() async throws {
      try await withTable { session in
        let calls: [(PostgresCall, SQLState)] = [
          (PostgresStatement("typo", "SELEC 1").call(), SQLState("42601")),
          (PostgresStatement("no table", "SELECT * FROM nothing").call(), .undefinedTable),
          (PostgresStatement("division", "SELECT 1 / 0").call(), SQLState("22012")),
          (PostgresStatement("two", "SELECT 1; SELECT 2").call(), SQLState("42601")),
          (PostgresStatement("missing parameter", "SELECT $1 + $2", [.int8]).call(.int8(1)), SQLState("08P01")),
        ]
        for (call, state) in calls {
          let error = failure { _ = try session.run([.begin, call, .commit]) }
          #expect(error?.kind == .statement && error?.callIndex == 1, "\(call.statement.name)")
          #expect(error?.sqlState == state, "\(call.statement.name): \(error?.description ?? "")")
          #expect(session.isUsable && !session.isInTransaction)
        }
        try session.expect(0, from: Self.count.call())
      }
    }

    @Test("refusals are classified by their SQLSTATE")
    func classes() async throws {
      try await withTable { session in
        let questions: [(code: String, isTrue: (PostgresError) -> Bool)] = [
          ("40001", { $0.isSerializationFailure }), ("40P01", { $0.isSerializationFailure }),
          ("25006", { $0.isReadOnly }), ("53100", { $0.isDiskFull && $0.isOutOfResources }),
          ("53200", { $0.isOutOfResources && !$0.isDiskFull }), ("23505", { $0.isUniqueViolation }),
          ("57014", { $0.isServerTimeout }), ("55P03", { $0.isServerTimeout }), ("42501", { $0.needsOperator }),
          ("57P01", { $0.isConnectionLost }), ("57P02", { $0.isConnectionLost }), ("57P03", { $0.isConnectionLost }),
          ("08006", { $0.isConnectionLost }),
        ]
        for (code, isTrue) in questions {
          let raise = PostgresStatement("raise", "DO $$ BEGIN RAISE 'no' USING ERRCODE = '\(code)'; END $$")
          let error = failure { _ = try session.run([.begin, raise.call(), .commit]) }
          #expect(error.map(isTrue) == true, "\(code)")
          #expect(error?.kind == .statement && session.isUsable, "\(code)")
        }
      }
    }

    @Test("COPY, which no pipeline can do, ends the session with an error")
    func copy() async throws {
      try await withTable { session in
        let error = failure { _ = try session.run(PostgresStatement("copy", "COPY t TO STDOUT").call()) }
        #expect(error?.kind == .connection)
        #expect(!session.isUsable)
      }
    }

    @Test("a statement is prepared once, also if a pipeline has failed in between")
    func preparations() async throws {
      try await withTable { session in
        let prepared = PostgresStatement(
          "prepared", "SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT 42'")
        let statement = PostgresStatement("answer", "SELECT 42")
        for _ in 0..<3 { _ = try session.run([statement.call(), statement.call()]) }
        try session.expect(1, from: prepared.call())
        let other = PostgresStatement("other", "SELECT 43")
        let typo = PostgresStatement("typo", "SELEC 1")
        for _ in 0..<2 { _ = failure { _ = try session.run([typo.call(), other.call()]) } }
        #expect(try session.run([other.call(), other.call()]).count == 2)
      }
    }

    @Test("two statements with one name and different texts are two statements")
    func namesakes() async throws {
      try await withTable { session in
        for number in 1...3 {
          let rows = try session.run(PostgresStatement("same", "SELECT \(number)").call())
          #expect(try rows.only().int32(0) == Int32(number))
        }
      }
    }

    @Test("statements beyond the limit are sent with their text")
    func preparationLimit() async throws {
      try await withTable { session in
        let limit = PostgresSession.preparedStatementLimit
        let statements = (0..<limit + 20).map { PostgresStatement("s\($0)", "SELECT $1::int8 + \($0)", [.int8]) }
        for _ in 0..<2 {
          let results = try session.run(statements.map { $0.call(.int8(1)) })
          for (index, rows) in results.enumerated() { #expect(try rows.only().int64(0) == Int64(index + 1)) }
        }
        let count = try session.run(PostgresStatement("n", "SELECT count(*) FROM pg_prepared_statements").call())
        #expect(try count.only().int64(0) <= limit)
      }
    }

    @Test("a statement whose table has changed fails once, and the session is replaced")
    func changedTable() async throws {
      try await withTable { session in
        let all = PostgresStatement("all", "SELECT * FROM t")
        _ = try session.run(all.call())
        _ = try session.run(PostgresStatement("alter", "ALTER TABLE t ADD COLUMN w int8").call())
        let error = failure { _ = try session.run(all.call()) }
        #expect(error?.kind == .statement && error?.sqlState == .featureNotSupported)
        #expect(!session.isUsable)
        #expect(failure { _ = try session.run(all.call()) }?.kind == .connection)
      }
    }

    @Test("notices reach their handler")
    func notices() async throws {
      let url = try await PostgresServer.shared().createDatabase()
      let notices = Mutex<[PostgresNotice]>([])
      try await withPostgresSession(url, onNotice: { notice in notices.withLock { $0.append(notice) } }) { session in
        let warn = "DO $$ BEGIN RAISE WARNING 'careful' USING DETAIL = 'very', ERRCODE = '01H00'; END $$"
        _ = try session.run(PostgresStatement("warn", warn).call())
      }
      let notice = notices.withLock(\.first)
      #expect(notice?.severity == "WARNING" && notice?.message == "careful" && notice?.detail == "very")
      #expect(notice?.sqlState == SQLState("01H00") && notice?.isUnreplicatedCommit == false)
    }

    @Test("settings hold, and one that the server does not know is an error of the configuration")
    func settings() async throws {
      var settings = PostgresSessionSettings()
      settings.lockTimeout = .milliseconds(1234)
      settings.others = ["synchronous_commit": "off"]
      let names = ["lock_timeout", "statement_timeout", "plan_cache_mode", "enable_seqscan", "synchronous_commit"]
      let values = try await withTable(settings: settings) { session in
        let show = PostgresStatement("show", "SELECT current_setting(n) FROM unnest($1::text[]) AS n", [.textArray])
        return try session.run(show.call(.textArray(names))).map { row in try row.text(0) }
      }
      #expect(values == ["1234ms", "10s", "force_generic_plan", "off", "off"])
      let url = try await PostgresServer.shared().createDatabase()
      settings.others = ["no_such_setting": "1"]
      let error = await openingFailure(of: url, settings: settings)
      #expect(error?.kind == .configuration)
      #expect(error?.message.contains("no_such_setting") == true)
    }

    @Test("facts say what the server is")
    func facts() async throws {
      let facts = try await withTable { session in try session.facts() }
      #expect(facts.version >= 140_000)
      #expect(facts.timeline == 1 && facts.systemIdentifier != 0)
      #expect(!facts.isInRecovery && !facts.isReadOnly)
      #expect(facts.fsync == "off" && facts.fullPageWrites == "off" && facts.synchronousCommit == "on")
      #expect(facts.maximumConnections == 500 && facts.synchronousStandbyNames.isEmpty)
      #expect(facts.startMicroseconds < facts.clockMicroseconds)
    }
  }
#endif
