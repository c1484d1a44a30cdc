#if PostgreSQL
  import Dispatch
  import PostgresSupport
  import Synchronization
  import TestSupport
  import Testing

  @testable import HearthPostgres

  @Suite("Pools", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"))
  struct PostgresPoolTests {
    private static let process = PostgresStatement("process", "SELECT pg_backend_pid()::int8")
    private static let create = PostgresStatement("create", "CREATE TABLE t (id int8)")
    private static let insert = PostgresStatement("insert", "INSERT INTO t VALUES (1)")
    private static let count = PostgresStatement("count", "SELECT count(*) FROM t")
    private static var soon: ContinuousClock.Instant { .now + .seconds(60) }

    private static func process(_ pool: PostgresPool) async throws -> Int64 {
      try await pool.withSession(deadline: soon) { session in try session.run(process.call()).only().int64(0) }
    }

    private final class Crowd: Sendable {
      private let counts = Mutex((now: 0, most: 0))

      var most: Int { counts.withLock(\.most) }
      func leave() { counts.withLock { $0.now -= 1 } }

      func enter() {
        counts.withLock {
          $0.now += 1
          $0.most = max($0.most, $0.now)
        }
      }
    }

    /// Occupies a session until the semaphore is signalled.
    private static func occupy(_ pool: PostgresPool, until end: DispatchSemaphore) -> Task<Void, any Error> {
      Task { try await pool.withSession(deadline: soon) { _ in end.wait() } }
    }

    @Test("thousands of callers share a few sessions, each in its turn", .timeLimit(.minutes(2)))
    func manyCallers() async throws {
      let pool = try await PostgresServer.sharedPool(size: 4)
      let processes = try await withThrowingTaskGroup(of: Int64.self) { group in
        for _ in 0..<5000 { group.addTask { try await Self.process(pool) } }
        return try await group.reduce(into: Set()) { $0.insert($1) }
      }
      #expect((1...4).contains(processes.count))
      #expect(pool.use == .init(open: processes.count, busy: 0, waiting: 0))
      await pool.close()
      #expect(pool.use.open == 0)
    }

    @Test("a session of an earlier generation is replaced before its next use")
    func generations() async throws {
      let present = Atomic(1)
      let pool = PostgresPool(
        try PostgresConfiguration(url: try await PostgresServer.shared().createDatabase()), label: "tests", size: 1,
        onOpen: { $0.generation = present.load(ordering: .relaxed) },
        isCurrent: { $0.generation == present.load(ordering: .relaxed) })
      let first = try await Self.process(pool)
      #expect(try await Self.process(pool) == first)
      present.store(2, ordering: .relaxed)
      let second = try await Self.process(pool)
      #expect(second != first)
      #expect(try await Self.process(pool) == second)
      await pool.close()
    }

    @Test("a session whose server takes no writes is replaced, so that a retry may find another server")
    func readOnlyServer() async throws {
      let pool = try await PostgresServer.sharedPool(size: 1)
      let first = try await pool.withSession(deadline: Self.soon) { session in
        _ = try session.run([
          Self.create.call(),
          PostgresStatement("set", "SELECT set_config($1, 'on', false)", [.text])
            .call(.text("default_transaction_read_only")),
        ])
        return try session.run(Self.process.call()).only().int64(0)
      }
      let error = await #expect(throws: PostgresError.self) {
        _ = try await pool.withSession(deadline: Self.soon) { try $0.run(Self.insert.call()) }
      }
      #expect(error?.isReadOnly == true)
      #expect(try await Self.process(pool) != first)
      _ = try await pool.withSession(deadline: Self.soon) { try $0.run(Self.insert.call()) }
      await pool.close()
    }

    @Test(
      "callers wait for the open sessions where the server has no further one; without any they fail with the reason")
    func fullServer() async throws {
      let server = try await PostgresServer.shared()
      try await server.execute("CREATE ROLE one_connection LOGIN CONNECTION LIMIT 1")
      let url = try await server.createDatabase().replacing("//postgres@", with: "//one_connection@")
      let pool = PostgresPool(try PostgresConfiguration(url: url), label: "tests", size: 6)
      let first = try await Self.process(pool)
      let processes = try await withThrowingTaskGroup(of: Int64.self) { group in
        for _ in 0..<200 { group.addTask { try await Self.process(pool) } }
        return try await group.reduce(into: Set()) { $0.insert($1) }
      }
      #expect(processes == [first])
      let other = PostgresPool(try PostgresConfiguration(url: url), label: "tests", size: 1)
      let error = await #expect(throws: PostgresError.self) { try await Self.process(other) }
      #expect(error?.sqlState == .tooManyConnections)
      await pool.close()
      await other.close()
    }

    @Test("no more sessions than its size are in use at the same time")
    func limit() async throws {
      let pool = try await PostgresServer.sharedPool(size: 3)
      let crowd = Crowd()
      try await withThrowingTaskGroup { group in
        for _ in 0..<200 {
          group.addTask {
            try await pool.withSession(deadline: Self.soon) { session in
              crowd.enter()
              defer { crowd.leave() }
              _ = try session.run(Self.process.call())
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(crowd.most <= 3)
      await pool.close()
    }

    @Test("a caller that waits ends at its deadline, or when its task is cancelled, while the session is in use")
    func waitingCallers() async throws {
      let pool = try await PostgresServer.sharedPool(size: 1)
      let end = DispatchSemaphore(value: 0)
      let occupant = Self.occupy(pool, until: end)
      try await waitUntil { pool.use.busy == 1 }
      let late = await #expect(throws: PostgresError.self) {
        try await pool.withSession(deadline: .now + .milliseconds(30)) { _ in }
      }
      #expect(late?.kind == .deadline)
      let passed = await #expect(throws: PostgresError.self) { try await pool.withSession(deadline: .now) { _ in } }
      #expect(passed?.kind == .deadline)
      let tasks = (0..<1000).map { _ in Task { try await pool.withSession(deadline: Self.soon) { _ in } } }
      try await waitUntil { pool.use.waiting == 1000 }
      for task in tasks { task.cancel() }
      for task in tasks {
        let error = await #expect(throws: PostgresError.self) { try await task.value }
        #expect(error?.kind == .cancelled)
      }
      #expect(pool.use == .init(open: 1, busy: 1, waiting: 0))
      end.signal()
      try await occupant.value
      _ = try await Self.process(pool)
      await pool.close()
    }

    @Test("a task that is cancelled before it asks gets no session")
    func cancelledBefore() async throws {
      let pool = try await PostgresServer.sharedPool(size: 1)
      let task = Task {
        while !Task.isCancelled { await Task.yield() }
        try await pool.withSession(deadline: Self.soon) { _ in _ = Issue.record("it runs") }
      }
      task.cancel()
      let error = await #expect(throws: PostgresError.self) { try await task.value }
      #expect(error?.kind == .cancelled)
      await pool.close()
    }

    @Test("a task that is cancelled while its session is opened ends at once", .timeLimit(.minutes(1)))
    func cancelledOpening() async throws {
      let server = try await PostgresServer.shared()
      let proxy = try FaultyProxy(to: server.port)
      defer { proxy.close() }
      proxy.planForNew(.stall, .toClient, afterBytes: 0)
      let url = "\(server.url(database: "postgres", port: proxy.port))?connect_timeout=3600"
      let pool = PostgresPool(try PostgresConfiguration(url: url), label: "stalled", size: 1)
      let task = Task {
        try await pool.withSession(deadline: .now + .seconds(3600)) { _ in _ = Issue.record("it runs") }
      }
      try await waitUntil { proxy.connectionCounts.forwarded == 1 }
      task.cancel()
      let error = await #expect(throws: PostgresError.self) { try await task.value }
      #expect(error?.kind == .cancelled)
      #expect(pool.use.busy == 1)
      proxy.cutAll()
      try await waitUntil { pool.use.busy == 0 }
      await pool.close()
    }

    @Test("the errors of a body pass, and what it leaves open is rolled back")
    func openTransactions() async throws {
      struct Trouble: Error {}
      let pool = try await PostgresServer.sharedPool(size: 1)
      try await pool.withSession(deadline: Self.soon) { session in
        _ = try session.run(Self.create.call())
        _ = try session.run([.begin, Self.insert.call()])
      }
      await #expect(throws: Trouble.self) {
        try await pool.withSession(deadline: Self.soon) { session in
          #expect(!session.isInTransaction)
          _ = try session.run([.begin, Self.insert.call()])
          throw Trouble()
        }
      }
      try await pool.withSession(deadline: Self.soon) { session in
        #expect(!session.isInTransaction)
        try session.expect(0, from: Self.count.call())
      }
      await pool.close()
    }

    @Test("a session that was given up is replaced at the next use, and so is one that the server has ended")
    func replacedSessions() async throws {
      let pool = try await PostgresServer.sharedPool(size: 1)
      let first = try await Self.process(pool)
      try await pool.withSession(deadline: Self.soon) { $0.discard() }
      let second = try await Self.process(pool)
      #expect(first != second)
      try await PostgresServer.shared().execute("SELECT pg_terminate_backend(\(second), 30000)")
      let third = try await Self.process(pool)
      #expect(second != third)
      await pool.close()
    }

    @Test("each new session is checked before its use, and callers get the error of the check")
    func checkedSessions() async throws {
      struct WrongServer: Error, Equatable {}
      let url = try await PostgresServer.shared().createDatabase()
      let isWrong = Atomic(true)
      let checks = Atomic(0)
      let pool = PostgresPool(
        try PostgresConfiguration(url: url), label: "checked", size: 1,
        onOpen: { session in
          checks.add(1, ordering: .relaxed)
          #expect(try session.facts().timeline == 1)
          if isWrong.load(ordering: .acquiring) { throw WrongServer() }
        })
      await #expect(throws: WrongServer.self) { try await Self.process(pool) }
      await #expect(throws: WrongServer.self, "the pause") { try await Self.process(pool) }
      #expect(pool.use.open == 0)
      isWrong.store(false, ordering: .releasing)
      try await waitUntil { (try? await Self.process(pool)) != nil }
      let used = checks.load(ordering: .relaxed)
      for _ in 0..<10 { _ = try await Self.process(pool) }
      #expect(checks.load(ordering: .relaxed) == used)
      await pool.close()
    }

    @Test("while a server is gone, callers fail at once, and few of them ask it")
    func fastFailures() async throws {
      let server = try await PostgresServer.shared()
      let url = try await server.createDatabase()
      let proxy = try FaultyProxy(to: server.port)
      defer { proxy.close() }
      proxy.refuse(true)
      let pool = PostgresPool(
        try PostgresConfiguration(url: url.replacing(":\(server.port)/", with: ":\(proxy.port)/")), label: "refused",
        size: 2)
      let start = ContinuousClock.now
      for _ in 0..<2000 {
        let error = await #expect(throws: PostgresError.self) { try await Self.process(pool) }
        #expect(error?.kind == .connection)
      }
      let pauses = (ContinuousClock.now - start) / (PostgresPool.shortestPause / 2)
      // Each attempt without TLS and with it (sslmode=prefer).
      #expect(Double(proxy.connectionCounts.refused) <= 2 * (pauses + 3))
      proxy.refuse(false)
      try await waitUntil { (try? await Self.process(pool)) != nil }
      await pool.close()
    }

    @Test("a closed pool lets the running call finish, and refuses those that wait and those that come")
    func closing() async throws {
      let pool = try await PostgresServer.sharedPool(size: 1)
      let end = DispatchSemaphore(value: 0)
      let occupant = Self.occupy(pool, until: end)
      try await waitUntil { pool.use.busy == 1 }
      let waiting = Task { try await Self.process(pool) }
      try await waitUntil { pool.use.waiting == 1 }
      let closing = Task { await pool.close() }
      let refused = await #expect(throws: PostgresError.self) { try await waiting.value }
      #expect(refused?.kind == .closed)
      #expect(pool.use.busy == 1)
      end.signal()
      try await occupant.value
      await closing.value
      #expect(pool.use == .init(open: 0, busy: 0, waiting: 0))
      let late = await #expect(throws: PostgresError.self) { try await Self.process(pool) }
      #expect(late?.kind == .closed)
      await pool.close()
    }
  }
#endif
