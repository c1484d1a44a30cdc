#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthStore

  /// Reads one database of a cluster, with any session.
  struct ClusterReader: Sendable {
    let basis: ClusterBasis
    let databaseID: DatabaseID
    let collections: ClusterCollections
    let indexes: ClusterIndexes
    /// For results that have to be sorted.
    let sortAccount: SortAccount

    /// The number of the database.
    var database: Int64 { basis.database }

    /// The definitions were changed by others at most so often while one read went on.
    private static let maximumAttempts = 5

    /// Runs `body` on one state of the database: the present at its first statement. The transaction stays open for the owner of the session to
    /// end, so that the caller does not wait for that.
    ///
    /// - Parameters:
    ///   - past: A version that `body` reads at. A server that does not have it yet is no place to read.
    ///   - body: Runs again if the indexes were changed since the node has read their definitions.
    /// - Throws: The errors of `body`. DATA_LOSS for damaged rows, UNAVAILABLE if the version lies in the future of the snapshot.
    func read<Result>(
      on session: PostgresSession, at past: SnapshotVersion? = nil, _ body: (ClusterSnapshot) throws -> Result
    ) throws -> Result {
      var attempts = 0
      while true {
        attempts += 1
        do {
          return try body(ClusterSnapshot(self, session, at: past))
        } catch is OutdatedDefinitions {
          guard attempts < Self.maximumAttempts else {
            throw StatusError(code: .unavailable, message: "The indexes are being changed; try again.")
          }
        } catch let error as StoreError where error.kind == .corrupt {
          throw StatusError(code: .dataLoss, message: error.message)
        }
      }
    }
  }

  /// A plan was made with definitions of indexes that are not those of the snapshot.
  struct OutdatedDefinitions: Error {}

  /// One state of a database, as a transaction sees it, which begins with the first statement.
  ///
  /// Confined to the user of the session.
  final class ClusterSnapshot {
    /// The columns of ``ReadStatements/state``.
    struct State {
      let version: SnapshotVersion
      let logStart: SnapshotVersion
      let generation: Int64
      let indexState: Int64
    }

    let reader: ClusterReader
    private let session: PostgresSession
    private let past: SnapshotVersion?
    private var known: State?
    private var knownDefinitions: ClusterDefinitions?
    /// Calls that go with the next round trip.
    private var queue: [QueuedCall] = []

    init(_ reader: ClusterReader, _ session: PostgresSession, at past: SnapshotVersion? = nil) {
      self.reader = reader
      self.session = session
      self.past = past
    }

    /// Reads inside of a transaction that holds the order row, so that nothing changes.
    init(_ reader: ClusterReader, _ session: PostgresSession, holding order: ClusterOrder.State) {
      self.reader = reader
      self.session = session
      past = nil
      known = State(
        version: order.latest, logStart: order.logStart, generation: order.indexGeneration, indexState: order.indexState
      )
    }

    var database: PostgresValue { .int8(reader.database) }

    /// A call that is sent with the next round trip, or when its result is asked for.
    final class QueuedCall {
      fileprivate let call: PostgresCall
      fileprivate var result: PostgresRows?
      private let snapshot: ClusterSnapshot

      fileprivate init(_ call: PostgresCall, _ snapshot: ClusterSnapshot) {
        self.call = call
        self.snapshot = snapshot
      }

      var rows: PostgresRows {
        get throws {
          if result == nil { _ = try snapshot.fetch([]) }
          guard let result else { throw ClusterSnapshot.damaged("a statement has no result") }
          return result
        }
      }
    }

    func enqueue(_ call: PostgresCall) -> QueuedCall {
      let queued = QueuedCall(call, self)
      queue.append(queued)
      return queued
    }

    /// Runs calls in one round trip, with those that were queued; the first ones begin the transaction.
    func fetch(_ calls: [PostgresCall]) throws -> [PostgresRows] {
      var beginning: [PostgresCall] = []
      if known == nil {
        if session.isInTransaction { beginning.append(.rollback) }
        beginning += [.beginSnapshot, ReadStatements.state.call(database, reader.basis.seenParameter)]
      }
      let queued = queue
      queue = []
      let results = try session.run(
        beginning + queued.map(\.call) + calls, deadline: .now + Self.roundTripTime)
      if known == nil { known = try state(results[beginning.count - 1]) }
      for (index, call) in queued.enumerated() { call.result = results[beginning.count + index] }
      return Array(results.dropFirst(beginning.count + queued.count))
    }

    func fetch(_ call: PostgresCall) throws -> PostgresRows { try fetch([call])[0] }

    /// A large read has many round trips, each with its own deadline.
    private static let roundTripTime = ClusterEngine.callTime

    /// The state of the snapshot.
    var state: State {
      get throws {
        if let known { return known }
        _ = try fetch([])
        guard let known else { throw Self.damaged("hearth_databases has no row of database \(reader.database)") }
        return known
      }
    }

    private func state(_ rows: PostgresRows) throws -> State {
      let newest = try rows.first?.optionalVersion(0)
      try reader.basis.check(newest, rows.first?.optionalBytes(4), on: session)
      guard let row = rows.first, let version = newest else {
        throw Self.damaged("hearth_databases or hearth_commits has no row of database \(reader.database)")
      }
      let state = State(
        version: version, logStart: try row.version(1), generation: try row.int64(2), indexState: try row.int64(3))
      if let past, past > state.version {
        throw StatusError(code: .unavailable, message: "The database has not reached the version \(past); try again.")
      }
      reader.indexes.note(state: state.indexState)
      if let knownDefinitions, !knownDefinitions.holds(in: state) { throw OutdatedDefinitions() }
      return state
    }

    static func damaged(_ what: String) -> StatusError {
      StatusError(code: .dataLoss, message: "The database is damaged: \(what).")
    }

    /// The definitions of the indexes: those that the node knows, or those of the snapshot.
    var definitions: ClusterDefinitions {
      get throws {
        if let knownDefinitions { return knownDefinitions }
        if let indexes = reader.indexes.known, known.map(indexes.holds(in:)) ?? true {
          knownDefinitions = indexes
          return indexes
        }
        let rows = try fetch(ClusterDefinitions.statement.call(database))
        let state = try state
        let read = try ClusterDefinitions(rows, generation: state.generation, state: state.indexState)
        reader.indexes.note(read)
        knownDefinitions = read
        return read
      }
    }

    // MARK: - Collections

    /// The collection of a row of ``ReadStatements``.
    private func collection(_ row: PostgresRow) throws -> ClusterCollection {
      let number = try row.int64(0)
      let path = try reader.collections.path(of: number) ?? ClusterNames.collection(of: row.bytes(1))
      reader.collections.note(path, number)
      let documents = Int(clamping: try row.int64(2))
      guard (0...Self.maximumDocuments).contains(documents) else {
        throw Self.damaged("hearth_collections, \(path.canonicalString): it has \(documents) documents")
      }
      return ClusterCollection(number: number, path: path, documents: documents)
    }

    /// Neither a collection nor a scope has more: sums of these numbers do not overflow.
    static let maximumDocuments = 1 << 40

    func collections(_ call: PostgresCall) throws -> [ClusterCollection] { try fetch(call).map(collection) }

    /// The collections with these paths that have rows, in no particular order.
    func collections(at paths: [ResourcePath]) throws -> [ClusterCollection] {
      guard !paths.isEmpty else { return [] }
      return try collections(
        ReadStatements.collectionsByHash.call(database, .byteaArray(paths.map(ClusterNames.pathHash))))
    }

    /// The paths of collections by their numbers.
    func paths(of numbers: some Sequence<Int64>) throws -> [Int64: ResourcePath] {
      var paths: [Int64: ResourcePath] = [:]
      var unknown: Set<Int64> = []
      for number in numbers where paths[number] == nil {
        if let path = reader.collections.path(of: number) { paths[number] = path } else { unknown.insert(number) }
      }
      guard !unknown.isEmpty else { return paths }
      let call = ReadStatements.collectionsByNumber.call(database, .int8Array(Array(unknown)))
      for collection in try collections(call) { paths[collection.number] = collection.path }
      return paths
    }
  }
#endif
