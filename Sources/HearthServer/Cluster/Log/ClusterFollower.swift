#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthRPC
  internal import Logging
  internal import Synchronization

  /// Looks for the commits of other nodes, for the databases that have listeners on this one: regularly, and when a hint comes.
  final class ClusterFollower: Sendable {
    private struct State {
      var listener: PostgresListener?
      var tasks: [Task<Void, Never>] = []
      /// The polls in a row that have found commits of others which no hint had told of.
      var unheard = 0
      /// Hints have come since the latest poll.
      var isHinted = false
      var isWarned = false
      /// The time of the latest look at the server, in microseconds that have elapsed.
      var latestLook: Int64?
    }

    private let engine: ClusterEngine
    private let storages: @Sendable () -> [ClusterStorage]
    private let state = Mutex(State())
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// The interval of polls where hints do not arrive, for instance behind a pooler that forgets LISTEN.
    private static let shortInterval = Duration.milliseconds(25)
    /// The polls in a row after which hints count as lost.
    private static let maximumUnheard = 20
    /// The interval of looks at the server while nobody listens, in microseconds.
    private static let lookInterval: Int64 = 1_000_000
    private static let lookTime = Duration.seconds(2)

    /// - Parameter storages: Gives the open databases.
    init(_ engine: ClusterEngine, storages: @escaping @Sendable () -> [ClusterStorage]) {
      self.engine = engine
      self.storages = storages
      (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func begin() throws(PostgresError) {
      let configuration = try PostgresConfiguration(url: engine.location.url)
      let polling = Task { [self] in
        for await _ in wakes { await look() }
      }
      let timer = Task { [self] in
        while (try? await Task.sleep(for: interval)) != nil { wake.yield() }
      }
      let listener =
        engine.hooks.sendsHints
        ? try PostgresListener(configuration, label: "hearth hints", channels: [HintSender.channel]) { [weak self] in
          self?.hear($0)
        } : nil
      state.withLock { state in
        state.listener = listener
        state.tasks = [polling, timer]
      }
    }

    func close() async {
      let (listener, tasks) = state.withLock { ($0.listener, $0.tasks) }
      for task in tasks { task.cancel() }
      wake.finish()
      await listener?.close()
      for task in tasks { await task.value }
    }

    private var interval: Duration {
      let isHearing = engine.hooks.sendsHints && state.withLock { $0.unheard < Self.maximumUnheard }
      return isHearing ? engine.location.polling : min(engine.location.polling, Self.shortInterval)
    }

    // MARK: - Hints

    private func hear(_ event: PostgresListener.Event) {
      switch event {
      // What was sent before is lost.
      case .listening: wake.yield()
      case .notification(_, let payload):
        guard let hint = Hint(payload), hint.node != engine.node else { return }
        state.withLock { state in
          state.isHinted = true
          state.unheard = 0
        }
        wake.yield()
        // Transactions may have ended with the commits.
        let numbers = Set(hint.databases.map(\.number))
        for storage in storages() where numbers.contains(storage.known.number) { storage.waits.look() }
      case .disconnected(let error):
        engine.logger.debug("hints of commits are not heard for now", metadata: ["error": .escaped("\(error)")])
      }
    }

    // MARK: - Polls

    private func look() async {
      let listened = storages().filter { $0.feed.hasListeners }
      let now = engine.clock.node.elapsedMicroseconds
      let isDue = state.withLock { state in
        guard !listened.isEmpty || state.latestLook.map({ now - $0 >= Self.lookInterval }) ?? true else { return false }
        state.latestLook = now
        return true
      }
      guard isDue else { return }
      do {
        let found = try await engine.repeating(on: engine.polls, deadline: .now + Self.lookTime) {
          [self, listened] session in try poll(listened, on: session)
        }
        note(found)
        // A node that reads, but has no session for commits, is of no use to clients that write: they find another one.
        if engine.commits.use.open == 0 {
          try await engine.commits.withSession(deadline: .now + Self.lookTime) { _ in }
        }
        if engine.availability.set(true) { engine.logger.info("PostgreSQL can be reached again") }
      } catch {
        guard !Task.isCancelled else { return }
        guard engine.availability.set(false) else { return }
        engine.logger.error("PostgreSQL is out of reach", metadata: ["error": .escaped("\(error)")])
      }
    }

    private struct News: Sendable {
      var storage: ClusterStorage
      /// A failure is that of this database alone.
      var present: Result<ClusterStorage.Present, any Error>
    }

    /// Reads the present of some databases: one round trip, however many they are. One more looks for those that were not there, if any
    /// database was created since then, and one for all of them in a new history.
    private func poll(_ storages: [ClusterStorage], on session: PostgresSession) throws -> [News] {
      try ClusterStorage.lookUp(storages.filter { $0.known.history != session.generation }, on: session)
      let bases = storages.map { $0.basis() }
      let results = try session.run([
        Self.presents.call(.int8Array(bases.map(\.0.number)), .int8Array(bases.map(\.1.seen.microseconds))),
        GroupReads.highestDatabase.call(),
      ])
      let highest = try results[1].first?.int64(0) ?? ClusterSchema.emptyDatabase
      let absent = storages.filter { $0.mustBeLookedUp(below: highest) }
      try ClusterStorage.lookUp(absent, below: highest, on: session)
      // What was created since then has another present.
      if absent.contains(where: { $0.known.number != ClusterSchema.emptyDatabase }) { wake.yield() }
      return try results[0].compactMap { row in
        let index = Int(try row.int64(0)) - 1
        guard storages.indices.contains(index) else { return nil }
        let (storage, (known, basis)) = (storages[index], bases[index])
        guard storage.known == known else { return nil }
        return News(storage: storage, present: try Self.present(row, of: storage, known, basis, on: session))
      }
    }

    /// - Throws: What concerns all databases.
    private static func present(
      _ row: PostgresRow, of storage: ClusterStorage, _ known: ClusterStorage.Known, _ basis: ClusterBasis,
      on session: PostgresSession
    ) throws -> Result<ClusterStorage.Present, any Error> {
      do {
        return .success(
          try ClusterStorage.Present(row, of: known, since: basis, in: storage.engine, on: session))
      } catch let error as PostgresError where error.kind == .badResult {
        return .failure(error)
      } catch let error as StatusError where error.code == .dataLoss {
        return .failure(error)
      }
    }

    private func note(_ found: [News]) {
      for news in found {
        Task { [self] in
          let start = engine.clock.node.elapsedMicroseconds
          switch news.present {
          case .success(let present):
            guard await news.storage.follow(present) else { return }
            noteCommitsOfOthers()
            let age = max(0, present.time.microseconds - present.latest.microseconds)
            engine.metrics?.found(after: .microseconds(age + engine.clock.node.elapsedMicroseconds - start))
          case .failure(let error):
            // Logged, as for a caller; then the listeners find it out by themselves.
            _ = engine.status(of: error, in: news.storage.databaseID)
            await news.storage.wakeListeners()
          }
        }
      }
    }

    /// A poll has found commits of other nodes.
    private func noteCommitsOfOthers() {
      let isLost = state.withLock { state in
        if state.isHinted {
          state.isHinted = false
          return false
        }
        state.unheard += 1
        guard engine.hooks.sendsHints, state.unheard >= Self.maximumUnheard, !state.isWarned else { return false }
        state.isWarned = true
        return true
      }
      guard isLost else { return }
      engine.logger.warning(
        "commits of other nodes are found that NOTIFY has not told of; is there a pooler in transaction mode? Polling goes on faster"
      )
    }

    private static let presents = PostgresStatement(
      "presents",
      """
      SELECT k.position, d.latest, d.log_start, d.incarnation, clock_timestamp()
      FROM unnest($1, $2) WITH ORDINALITY AS k (number, seen, position)
      LEFT JOIN LATERAL (
        SELECT log_start, \(ClusterBasis.incarnation(withVersion: "k.seen")) AS incarnation, (
          SELECT c.version FROM hearth_commits c WHERE c.database = number ORDER BY c.version DESC LIMIT 1) AS latest
        FROM hearth_databases d WHERE number = k.number LIMIT 1) d ON true
      """, [.int8Array, .int8Array])
  }
#endif
