#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthRPC
  internal import HearthStore
  internal import HearthWire
  internal import Logging
  internal import Synchronization

  /// The storage of one database in the PostgreSQL of a cluster. Several nodes have one each, and any of them commits and reads.
  ///
  /// Commits that wait at the same moment share one transaction, see ``GroupCommit``; one group of a node is on its way at a time. Reads have
  /// sessions of their own. What a node keeps of a database in memory can be lost, and is checked by each transaction that depends on it.
  final class ClusterStorage: ServerStorage {
    /// The facts that a node has noted of the database. A session may find that they have changed since then.
    struct Known: Sendable, Equatable {
      /// The number of the empty database as long as there is no commit.
      var number: Int64
      /// See ``Epochs``.
      var incarnation: [UInt8]
      /// See ``ClusterHistory/number``.
      var history: Int
    }

    struct State {
      var known: Known
      /// The numbers of collections in the same history. Reads of a former one keep the object that they began with.
      var collections = ClusterCollections()
      var epochs: Epochs
      var isClosed = false
      /// A group is on its way, or about to be.
      var isCommitting = false
      /// They wait for the end of the groups.
      var ends: [CheckedContinuation<Void, Never>] = []
      /// When a version was announced for a listener last.
      var latestAnnouncement: Int64?
      /// The database has a version that it must not have: no further commits.
      var isBroken = false
      /// The bytes of the history when it was trimmed last.
      var historyBytes = 0
      /// The index file of the node, also for a database that does not exist yet; nil if it has none.
      var indexFile: ClusterIndexFile?
      /// The highest number of any database when this one was looked up and was not there; nil before.
      var absentBelow: Int64?
      /// The file of another node that was reported to the log, because its indexes count.
      var reportedFile: ClusterIndexFile.Declared?
    }

    let databaseID: DatabaseID
    let engine: ClusterEngine
    let limits: DatabaseLimits
    let feed: ChangeFeed
    let tail: ClusterTail
    let waiting = CommitQueue<WaitingAttempt>()
    let pointReads = PointReads()
    /// The commits that wait for pessimistic transactions.
    let waits: TransactionWaits
    let indexes: ClusterIndexes
    let sortBudget: SortBudget
    let translator: WireTranslator
    let responseRetention: ResponseRetention
    /// Nil if the program has no metrics backend.
    let metrics: ServerMetrics?
    let logger: Logger
    let state: Mutex<State>

    /// The sizes of a feed.
    struct FeedSizes: Sendable {
      var commits = 4096
      var effort = 500_000
    }

    /// Opens the database, whether it exists or not.
    ///
    /// - Throws: As a read, see ``ServerStorage``.
    static func open(
      _ id: DatabaseID, in engine: ClusterEngine, limits: DatabaseLimits = DatabaseLimits(),
      feedSizes: FeedSizes = FeedSizes(), responseRetention: ResponseRetention = ResponseRetention(),
      sortBudget: SortBudget = SortBudget(), metrics: ServerMetrics? = nil
    ) async throws(StatusError) -> ClusterStorage {
      do {
        let (known, version) = try await engine.reading { session in try find(id, engine, on: session) }
        return ClusterStorage(
          id, engine, known, version, limits: limits, feedSizes: feedSizes, responseRetention: responseRetention,
          sortBudget: sortBudget, metrics: metrics)
      } catch {
        throw engine.status(of: error, in: id)
      }
    }

    private init(
      _ id: DatabaseID, _ engine: ClusterEngine, _ known: Known, _ version: SnapshotVersion, limits: DatabaseLimits,
      feedSizes: FeedSizes, responseRetention: ResponseRetention, sortBudget: SortBudget, metrics: ServerMetrics?
    ) {
      databaseID = id
      self.engine = engine
      self.limits = limits
      self.sortBudget = sortBudget
      self.responseRetention = responseRetention
      self.metrics = metrics
      logger = engine.logger
      translator = WireTranslator(database: id)
      indexes = ClusterIndexes()
      feed = ChangeFeed(
        version: version, maximumCommits: feedSizes.commits, maximumEffort: feedSizes.effort,
        windowMemory: WindowMemory(maximumBytes: limits.windowBytes) { metrics?.exceeded(.windowBytes) })
      tail = ClusterTail(feed: feed)
      waits = TransactionWaits(engine, limits: limits, metrics: metrics)
      state = Mutex(State(known: known, epochs: Self.epochs(of: known)))
    }

    /// There is one epoch at a time: a token of another incarnation leads to a reset.
    private static func epochs(of known: Known) -> Epochs {
      Epochs([Epochs.Epoch(number: 1, id: known.incarnation, after: .none, first: .none)])
    }

    // MARK: - Knowledge

    var known: Known { state.withLock { $0.known } }

    var epochs: Epochs { state.withLock { $0.epochs } }

    /// Looks the database up.
    ///
    /// - Returns: Also its present version.
    private static func find(
      _ id: DatabaseID, _ engine: ClusterEngine, on session: PostgresSession
    ) throws -> (Known, SnapshotVersion) {
      guard
        let row = try session.run(
          found.call(
            .bytea(Array(id.projectID.utf8)), .bytea(Array(id.database.utf8)), .int8(ClusterSchema.emptyDatabase))
        ).first
      else {
        throw StatusError(code: .dataLoss, message: "Table hearth_databases has no row of the empty database.")
      }
      let known = Known(number: try row.int64(0), incarnation: try row.bytes(1), history: session.generation)
      return (known, try row.version(2))
    }

    private static let found = PostgresStatement(
      "open database",
      """
      SELECT d.number, d.incarnation,
        (SELECT c.version FROM hearth_commits c WHERE c.database = d.number ORDER BY c.version DESC LIMIT 1)
      FROM (
        SELECT number, incarnation FROM hearth_databases WHERE project = $1 AND name = $2
        UNION ALL SELECT number, incarnation FROM hearth_databases WHERE number = $3
      ) AS d ORDER BY d.number DESC LIMIT 1
      """, [.bytea, .bytea, .int8])

    /// Takes note of what a session has found. What was kept of another history, or of the empty database, is forgotten.
    func note(_ present: Known) {
      let isCreated = state.withLock { state -> Bool in
        let former = state.known
        // A session may have looked before another one.
        let isOlder =
          present.history < former.history
          || present.history == former.history && present.number == ClusterSchema.emptyDatabase
            && former.number != ClusterSchema.emptyDatabase
        guard former != present, !isOlder else { return false }
        state.known = present
        if former.incarnation != present.incarnation { state.epochs = Self.epochs(of: present) }
        state.collections = ClusterCollections()
        indexes.forgetAll()
        return former.number == ClusterSchema.emptyDatabase && present.number != former.number
      }
      if isCreated { Task { await self.declareAgain() } }
    }

    /// Gives the database what is known of it at the session's server, before anything of it is read there.
    ///
    /// - Returns: The facts that are known after that.
    func knownNow(on session: PostgresSession) throws -> Known {
      let known = self.known
      guard known.number == ClusterSchema.emptyDatabase || known.history != session.generation else { return known }
      let (present, _) = try Self.find(databaseID, engine, on: session)
      if present != known { note(present) }
      return present
    }

    /// True if the database was not there when it was looked up, and another one has been created since then.
    ///
    /// - Parameter highest: The highest number of a database.
    func mustBeLookedUp(below highest: Int64) -> Bool {
      state.withLock { $0.known.number == ClusterSchema.emptyDatabase && $0.absentBelow != highest }
    }

    /// As ``knownNow(on:)``, of some databases in one round trip.
    ///
    /// - Parameter highest: The highest number of a database that was read before; nil if it was not.
    static func lookUp(_ storages: [ClusterStorage], below highest: Int64? = nil, on session: PostgresSession) throws {
      guard !storages.isEmpty else { return }
      let rows = try session.run(
        foundOfMany.call(
          .byteaArray(storages.map { Array($0.databaseID.projectID.utf8) }),
          .byteaArray(storages.map { Array($0.databaseID.database.utf8) }), .int8(ClusterSchema.emptyDatabase)))
      for row in rows {
        let index = Int(try row.int64(0)) - 1
        guard storages.indices.contains(index) else { continue }
        let storage = storages[index]
        storage.note(
          Known(number: try row.int64(1), incarnation: try row.bytes(2), history: session.generation))
        if let highest { storage.state.withLock { $0.absentBelow = highest } }
      }
    }

    private static let foundOfMany = PostgresStatement(
      "look databases up",
      """
      SELECT k.position, d.number, d.incarnation
      FROM unnest($1, $2) WITH ORDINALITY AS k (project, name, position)
      CROSS JOIN LATERAL (
        SELECT number, incarnation FROM hearth_databases WHERE project = k.project AND name = k.name
        UNION ALL SELECT number, incarnation FROM hearth_databases WHERE number = $3
        ORDER BY number DESC LIMIT 1) AS d
      """, [.byteaArray, .byteaArray, .int8])

    /// The facts that are known of the database, for a session that reads it later.
    func basis() -> (Known, ClusterBasis) {
      let known = self.known
      return (known, basis(known.number))
    }

    /// As ``basis()-()``.
    ///
    /// - Parameter number: Its number.
    func basis(_ number: Int64) -> ClusterBasis {
      let incarnation = known.incarnation
      return ClusterBasis(
        history: engine.history, database: number, incarnation: incarnation, seen: engine.history.seen(of: number))
    }

    // MARK: - Use and end

    func use() -> StorageUse {
      StorageUse(
        historyBytes: state.withLock { $0.historyBytes }, writeAheadLogBytes: 0,
        waitingReads: engine.reads.use.waiting + pointReads.waitingCount)
    }

    func requireOpen() throws(StatusError) {
      if state.withLock({ $0.isClosed }) { throw .shuttingDown }
    }

    func close() async {
      waiting.close()
      waits.close()
      await groupsEnd()
      state.withLock { $0.isClosed = true }
    }
  }
#endif
