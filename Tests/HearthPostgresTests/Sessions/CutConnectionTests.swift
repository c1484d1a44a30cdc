#if PostgreSQL
  import HearthPostgres
  import PostgresSupport
  import TestSupport
  import Testing

  @Suite("Cut connections", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"))
  struct CutConnectionTests {
    private static let insert = PostgresStatement("insert", "INSERT INTO t VALUES ($1)", [.int8])
    private static let count = PostgresStatement("count", "SELECT count(*) FROM t WHERE id = $1", [.int8])

    /// The error that a caller gets for a transaction, and the truth.
    private struct Outcome {
      var error: PostgresError?
      var isStored: Bool

      /// True if the caller knows no more and no less than what is so.
      var isTrue: Bool {
        switch error?.kind {
        case nil: isStored
        case .outcomeUnknown?: true
        case .connection?, .deadline?: !isStored
        default: false
        }
      }
    }

    /// A database with an empty table, and a proxy to it.
    private struct Place {
      let direct: String
      let proxied: String
      let proxy: FaultyProxy

      init() async throws {
        let server = try await PostgresServer.shared()
        direct = try await server.createDatabase()
        proxy = try FaultyProxy(to: server.port)
        proxied = direct.replacing(":\(server.port)/", with: ":\(proxy.port)/")
        try await withPostgresSession(direct) { session in
          _ = try session.run(PostgresStatement("create", "CREATE TABLE t (id int8)").call())
        }
      }

      /// Runs a transaction whose connection gets a fault.
      func outcome(
        _ id: Int64, deadline: Duration = .seconds(30), _ fault: @escaping @Sendable (FaultyProxy) -> Void
      ) async throws -> Outcome {
        let (error, process) = try await withPostgresSession(proxied) { [proxy] session in
          let process = try #require(session.processID)
          fault(proxy)
          do {
            let calls: [PostgresCall] = [.begin, CutConnectionTests.insert.call(.int8(id)), .commit]
            _ = try session.run(calls, deadline: .now + deadline)
            return (PostgresError?.none, process)
          } catch let error as PostgresError {
            return (error, process)
          }
        }
        // The server notices no end behind a stalled connection.
        proxy.cutAll()
        return Outcome(error: error, isStored: try await isStored(id, after: process))
      }

      /// The truth, once the server's end of the session has gone.
      private func isStored(_ id: Int64, after process: Int32) async throws -> Bool {
        try await withPostgresSession(direct) { session in
          let sessions = PostgresStatement(
            "sessions", "SELECT count(*) FROM pg_stat_activity WHERE pid = $1", [.int4])
          while try session.run(sessions.call(.int4(process))).only().int64(0) > 0 {}
          return try session.run(CutConnectionTests.count.call(.int8(id))).only().int64(0) == 1
        }
      }

      /// The bytes of the transaction in both directions.
      func lengths() async throws -> (toServer: Int, toClient: Int) {
        try await withPostgresSession(proxied) { [proxy] session in
          let before = proxy.lastByteCounts
          _ = try session.run([.begin, CutConnectionTests.insert.call(.int8(-1)), .commit])
          let after = proxy.lastByteCounts
          return (after.toServer - before.toServer, after.toClient - before.toClient)
        }
      }
    }

    @Test("whatever byte of the answers is the last, the caller knows what is so", .timeLimit(.minutes(5)))
    func cutAnswers() async throws {
      let place = try await Place()
      defer { place.proxy.close() }
      let length = try await place.lengths().toClient
      var outcomes: [Outcome] = []
      for byte in 0..<length {
        let outcome = try await place.outcome(Int64(byte)) { $0.plan(.cut, .toClient, afterBytes: byte) }
        #expect(outcome.isTrue, "cut after \(byte) of \(length) bytes: \(outcome)")
        outcomes.append(outcome)
      }
      // The server had the whole transaction each time. It was known when the answer to COMMIT had arrived, before the end of the pipeline.
      #expect(outcomes.allSatisfy { $0.isStored })
      #expect(outcomes.first?.error?.kind == .outcomeUnknown)
      #expect(outcomes.last?.error == nil)
      let known = outcomes.firstIndex { $0.error == nil } ?? 0
      #expect(outcomes[known...].allSatisfy { $0.error == nil })
    }

    @Test("whatever byte of the pipeline is the last, the caller knows what is so", .timeLimit(.minutes(5)))
    func cutPipeline() async throws {
      let place = try await Place()
      defer { place.proxy.close() }
      let length = try await place.lengths().toServer
      var storedCount = 0
      for byte in 0..<length {
        let outcome = try await place.outcome(Int64(byte)) { $0.plan(.cut, .toServer, afterBytes: byte) }
        #expect(outcome.isTrue, "cut after \(byte) of \(length) bytes: \(outcome)")
        #expect(outcome.error?.kind == .outcomeUnknown, "cut after \(byte) of \(length) bytes: \(outcome)")
        if outcome.isStored { storedCount += 1 }
      }
      // COMMIT had arrived, and only the end of the pipeline was missing.
      #expect((0..<length / 4).contains(storedCount))
    }

    @Test("a connection that has ended before a pipeline is sent leaves no outcome unknown")
    func cutBefore() async throws {
      let url = try await PostgresServer.shared().createDatabase()
      try await withPostgresSession(url) { session in
        let watch = try PostgresSession.open(PostgresConfiguration(url: url), deadline: .now + .seconds(30))
        _ = try session.run([.begin, PostgresStatement("create", "CREATE TABLE t (id int8)").call()])
        let process = try #require(session.processID)
        // Returns when the process has ended.
        let end = PostgresStatement("end", "SELECT pg_terminate_backend($1, 30000)", [.int4])
        #expect(try watch.run(end.call(.int4(process))).only().bool(0) == true)
        let error = failure { _ = try session.run([Self.insert.call(.int8(1)), .commit]) }
        #expect(error?.kind == .connection && error?.sqlState == .adminShutdown, "\(error?.description ?? "")")
        #expect(error?.message.contains("administrator") == true)
      }
    }

    @Test("a changed byte of the answers gives an error or a result, and never a trap", .timeLimit(.minutes(3)))
    func changedBytes() async throws {
      let place = try await Place()
      defer { place.proxy.close() }
      let statement = PostgresStatement(
        "mixed", "SELECT 1::int8, 'a'::text, ARRAY[1, NULL]::int8[], '\\x00'::bytea, NULL::bool, now()")
      for byte in stride(from: 0, to: 300, by: 11) {
        try await withPostgresSession(place.proxied) { [proxy = place.proxy] session in
          proxy.plan(.flip, .toClient, afterBytes: byte)
          do {
            let row = try session.run([.begin, statement.call()], deadline: .now + .milliseconds(300))[1].only()
            _ = try? (row.int64(0), row.text(1), row.nullableInt64Array(2), row.bytes(3), row.optionalBool(4))
            _ = try? row.microseconds(5)
          } catch let error as PostgresError {
            #expect(!error.message.isEmpty)
          }
        }
        place.proxy.cutAll()
      }
    }

    @Test("a stalled connection is an unknown outcome after the deadline", .timeLimit(.minutes(1)))
    func stalledCommit() async throws {
      let place = try await Place()
      defer { place.proxy.close() }
      for byte in [0, 20] {
        let outcome = try await place.outcome(Int64(byte), deadline: .milliseconds(300)) { proxy in
          proxy.plan(.stall, .toClient, afterBytes: byte)
        }
        #expect(outcome.error?.kind == .outcomeUnknown && outcome.isStored)
      }
    }

    @Test("a transaction without COMMIT is rolled back wherever it is cut")
    func cutTransaction() async throws {
      let place = try await Place()
      defer { place.proxy.close() }
      for byte in stride(from: 0, to: 60, by: 5) {
        let error = try await withPostgresSession(place.proxied) { [proxy = place.proxy] session in
          proxy.plan(.cut, .toClient, afterBytes: byte)
          return failure {
            _ = try session.run([.begin, Self.insert.call(.int8(1)), Self.count.call(.int8(1))])
          }
        }
        #expect(error?.kind == .connection, "cut after \(byte) bytes")
      }
      try await withPostgresSession(place.direct) { try $0.expect(0, from: Self.count.call(.int8(1))) }
    }

    @Test("a session that is cut while it is opened is a lost connection", .timeLimit(.minutes(1)))
    func cutOpening() async throws {
      let place = try await Place()
      defer { place.proxy.close() }
      for byte in stride(from: 0, to: 600, by: 23) {
        place.proxy.planForNew(.cut, .toClient, afterBytes: byte)
        let error = await openingFailure(of: place.proxied)
        #expect(error?.kind == .connection, "cut after \(byte) bytes: \(error?.description ?? "")")
      }
    }
  }
#endif
