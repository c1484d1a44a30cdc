internal import Foundation
internal import HearthModel
internal import HearthStore
internal import HearthWire
internal import Logging

/// The storage in one SQLite file (or in memory): documents, change log and the answers to labelled batches.
///
/// Commits that wait at the same moment share one durable transaction (`synchronous=FULL`); each still has a commit time
/// of its own and applies whole or not at all. All work happens on one queue.
actor EmbeddedStorage: ServerStorage {
  nonisolated let feed: ChangeFeed
  nonisolated let incarnation: [UInt8]

  private nonisolated let executor: DatabaseExecutor
  private let databaseID: DatabaseID
  private let clock: ServerClock
  private let logger: Logger
  private let retention: ChangeLog.Retention
  private let responseRetention: BatchResponses.Retention
  private var tables: Tables
  /// The place to which a database without commits moves with its first one; nil once it is there.
  private var home: StorageHome?

  /// The newest commit, or the creation of the database. Never goes back, also not over restarts.
  private var lastVersion: SnapshotVersion
  private var waiting: [WaitingCommit] = []
  private var isClosed = false

  private struct WaitingCommit {
    var request: CommitRequest
    var continuation: CheckedContinuation<Result<CommitOutcome, StatusError>, Never>
  }

  /// The objects that use one connection.
  private struct Tables {
    let database: Database
    let store: DocumentStore
    let queries: QueryExecutor
    let log: ChangeLog
    let responses: BatchResponses

    init(
      _ database: Database, databaseID: DatabaseID, retention: ChangeLog.Retention,
      responseRetention: BatchResponses.Retention, logStart: SnapshotVersion
    ) throws {
      self.database = database
      store = try DocumentStore(database: database)
      queries = QueryExecutor(documents: store)
      log = try ChangeLog(database: database, retention: retention, start: logStart)
      responses = BatchResponses(database: database, databaseID: databaseID, retention: responseRetention)
    }
  }

  private var database: Database { tables.database }
  private var store: DocumentStore { tables.store }
  private var queries: QueryExecutor { tables.queries }
  private var log: ChangeLog { tables.log }
  private var responses: BatchResponses { tables.responses }

  /// The maximum number of requests that share one transaction.
  private static let commitsPerGroup = 64

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Opens or creates the database.
  ///
  /// - Parameter home: Set for a database that does not exist. It is then kept in `location`, which is in memory, until
  ///   something is committed: reads leave nothing behind.
  /// - Throws: `StoreError`, for example for a file that is not a database, or one that a newer release wrote.
  init(
    location: Database.Location, home: StorageHome? = nil, databaseID: DatabaseID, clock: ServerClock, logger: Logger
  ) throws {
    let database = try Database(location, options: Self.options)
    try self.init(database: database, home: home, databaseID: databaseID, clock: clock, logger: logger)
  }

  private static let options = Database.Options(synchronous: .full)

  /// Takes over an open database.
  ///
  /// - Parameters:
  ///   - feedCapacity: The number of commits that the feed keeps in memory.
  ///   - retention: The limits of the change log.
  ///   - responseRetention: The limits of the stored answers to labelled requests.
  init(
    database: sending Database, home: StorageHome? = nil, databaseID: DatabaseID, clock: ServerClock, logger: Logger,
    feedCapacity: Int = 4096, retention: ChangeLog.Retention = ChangeLog.Retention(),
    responseRetention: BatchResponses.Retention = BatchResponses.Retention()
  ) throws {
    try ServerSchema.schema.migrate(database)
    let state = try ServerState.load(from: database, now: clock.now())
    self.executor = DatabaseExecutor(label: "hearth.storage.\(databaseID)")
    self.databaseID = databaseID
    self.clock = clock
    self.logger = logger
    self.retention = retention
    self.responseRetention = responseRetention
    self.home = home
    self.tables = try Tables(
      database, databaseID: databaseID, retention: retention, responseRetention: responseRetention,
      logStart: state.logStart)
    self.lastVersion = state.lastVersion
    self.incarnation = state.incarnation
    self.feed = ChangeFeed(version: state.lastVersion, maximumCommits: feedCapacity)
  }

  func currentVersion() throws(StatusError) -> SnapshotVersion {
    try requireOpen()
    return lastVersion
  }

  func close() {
    while !waiting.isEmpty { commitWaiting() }
    isClosed = true
    database.close()
  }

  private func requireOpen() throws(StatusError) {
    if isClosed { throw StatusError(code: .unavailable, message: "the server is shutting down") }
  }

  /// Runs `body` in a read transaction and converts its errors to a status.
  private func reading<T>(_ name: String, _ body: () throws -> T) throws(StatusError) -> T {
    try requireOpen()
    do {
      return try database.readTransaction(name, body)
    } catch {
      throw status(of: error)
    }
  }

  private func status(of error: any Error) -> StatusError {
    if let status = error as? StatusError { return status }
    logger.error("storage failed", metadata: ["database": .escaped(databaseID), "error": .escaped("\(error)")])
    return StatusError(storage: error)
  }
}

// MARK: - Commits

extension EmbeddedStorage {
  func commit(_ request: CommitRequest) async throws(StatusError) -> CommitOutcome {
    try requireOpen()
    let result = await withCheckedContinuation { continuation in
      waiting.append(WaitingCommit(request: request, continuation: continuation))
      // The first request of a group posts the commit to the end of the actor's queue. Requests that arrive before it runs
      // join the group and share its durable transaction.
      if waiting.count == 1 { Task { self.commitWaiting() } }
    }
    return try result.get()
  }

  /// Commits a group of waiting requests in one durable transaction, and only then publishes and answers them.
  private func commitWaiting() {
    let group = Array(waiting.prefix(Self.commitsPerGroup))
    guard !group.isEmpty else { return }
    waiting.removeFirst(group.count)
    // The next group is posted now: `commit` posts one only when it finds nothing waiting.
    if !waiting.isEmpty { Task { self.commitWaiting() } }

    let versionBefore = lastVersion
    var outcomes: [Result<CommitOutcome, StatusError>] = []
    var changes: [CommittedChange] = []
    do {
      if home != nil, group.contains(where: { wouldCommit($0.request) }) { try moveHome() }
      try database.transaction("commit") {
        for waitingCommit in group {
          do {
            let (outcome, change) = try apply(waitingCommit.request)
            outcomes.append(.success(outcome))
            if let change { changes.append(change) }
          } catch let error as StatusError {
            // A refused request has stored nothing, so the others of the group commit. Errors of the store end the transaction.
            outcomes.append(.failure(error))
          }
        }
        let logStart = try log.trim(now: clock.now())
        if logStart != nil || lastVersion != versionBefore {
          try ServerState.save(lastVersion: lastVersion, logStart: log.start, in: database)
        }
      }
    } catch {
      // Rolled back: no version was used, and nothing may be published or answered with success.
      lastVersion = versionBefore
      let failure = status(of: error)
      outcomes = group.map { _ in .failure(failure) }
      changes = []
      reloadLog()
    }
    assert(outcomes.count == group.count, "\(group.count) requests have \(outcomes.count) outcomes")
    // Only now are the changes durable. Listeners must not see what a power cut could take back.
    for change in changes { feed.publish(change) }
    for (waitingCommit, outcome) in zip(group, outcomes) { waitingCommit.continuation.resume(returning: outcome) }
  }

  /// Returns true if a request would succeed as the first commit of an empty database. A request that fails, or that is
  /// empty, must not create a file.
  private func wouldCommit(_ request: CommitRequest) -> Bool {
    var evaluation = CommitEvaluation(database: databaseID, version: lastVersion, requestTime: lastVersion.timestamp)
    do {
      for mutation in request.mutations { try evaluation.apply(mutation) { .missing($0, version: lastVersion) } }
      return !request.mutations.isEmpty
    } catch {
      return false
    }
  }

  /// Moves a database without commits to its place on disk. Only its identity is copied: it holds nothing else.
  private func moveHome() throws {
    guard let home else { return }
    let location = try home.create()
    do {
      if location != .memory {
        let database = try Database(location, options: Self.options)
        try ServerSchema.schema.migrate(database)
        let state = ServerState(incarnation: incarnation, lastVersion: lastVersion, logStart: log.start)
        try state.adopt(in: database)
        let moved = try Tables(
          database, databaseID: databaseID, retention: retention, responseRetention: responseRetention,
          logStart: state.logStart)
        tables.database.close()
        tables = moved
      }
    } catch {
      home.discard()
      throw error
    }
    self.home = nil
    home.settled(self)
  }

  /// Brings the totals of the log, which are kept in memory, back in line with the tables after a rollback.
  private func reloadLog() {
    do {
      try log.reload(start: ServerState.load(from: database, now: clock.now()).logStart)
    } catch {
      logger.error(
        "change log cannot be read", metadata: ["database": .escaped(databaseID), "error": .escaped("\(error)")])
    }
  }

  /// Applies one request inside the group's transaction.
  ///
  /// The whole request is evaluated before anything is stored. So a `StatusError` leaves no trace, and the other requests of
  /// the group commit.
  private func apply(_ request: CommitRequest) throws -> (CommitOutcome, CommittedChange?) {
    if let label = request.label, let known = try responses.response(for: label) { return (known, nil) }
    if let reads = request.reads { try checkReadsStillHold(reads) }
    let now = clock.now()
    guard !request.mutations.isEmpty else {
      return (CommitOutcome(version: lastVersion, results: []), nil)
    }
    let version = SnapshotVersion(microseconds: max(now.microseconds, lastVersion.microseconds + 1))
    var evaluation = CommitEvaluation(database: databaseID, version: version, requestTime: version.timestamp)
    for (index, mutation) in request.mutations.enumerated() {
      do {
        try evaluation.apply(mutation) { try presentDocument($0) }
      } catch let error as StatusError where error.code == .invalidArgument && request.mutations.count > 1 {
        throw StatusError(code: error.code, message: "\(error.message) (write \(index) of the request)")
      }
    }
    let transitions = evaluation.transitions
    for transition in transitions {
      if transition.after.isFound { try store.set(transition.after) } else { try store.remove(transition.key) }
    }
    if !transitions.isEmpty { try log.append(version: version, documentsBefore: transitions.map(\.before)) }
    let outcome = CommitOutcome(version: version, results: evaluation.results)
    if let label = request.label { try responses.save(outcome, for: label) }
    lastVersion = version
    return (outcome, CommittedChange(version: version, transitions: transitions))
  }

  /// A stored document, or a missing one.
  private func presentDocument(_ key: DocumentKey) throws -> Document {
    let document = try store.document(for: key)
    return document.isFound ? document : .missing(key, version: lastVersion)
  }

  /// - Throws: ABORTED if a document or a query result that the transaction has read changed after its snapshot.
  private func checkReadsStillHold(_ reads: TransactionReads) throws {
    let conflict = StatusError(
      code: .aborted,
      message: "Aborted due to cross-transaction contention. This occurs when multiple transactions attempt to access "
        + "the same data, requiring Firestore to abort at least one in order to enforce serializability.")
    // A conflict can no longer be excluded when the log was trimmed beyond the snapshot.
    guard log.reaches(reads.version) else { throw conflict }
    if !reads.keys.isEmpty,
      try !log.documentsBefore(in: .documents(reads.keys), after: reads.version).isEmpty
    {
      throw conflict
    }
    for query in reads.queries {
      let changed = try log.documentsBefore(in: ChangeScope(of: query), after: reads.version)
      // A result changes only through documents that match before or after: one that matches neither was never in it.
      for (key, before) in changed {
        if before.isFound, query.matches(before) { throw conflict }
        let present = try presentDocument(key)
        if present.isFound, query.matches(present) { throw conflict }
      }
    }
  }
}

// MARK: - Reads

extension EmbeddedStorage {
  func documents(
    for keys: [DocumentKey], at version: SnapshotVersion?
  ) throws(StatusError) -> (documents: [Document], readVersion: SnapshotVersion) {
    try reading("read documents") {
      let past = try past(of: .documents(Set(keys)), at: version)
      let readVersion = version ?? lastVersion
      let documents = try keys.map { key in
        let document = try past[key] ?? presentDocument(key)
        return document.isFound ? document : .missing(key, version: readVersion, readTime: readVersion)
      }
      return (documents, readVersion)
    }
  }

  func run(
    _ query: Query, at version: SnapshotVersion?
  ) throws(StatusError) -> (documents: [Document], readVersion: SnapshotVersion) {
    try reading("run query") {
      let past = try past(of: ChangeScope(of: query), at: version)
      let readVersion = version ?? lastVersion
      guard !past.isEmpty else { return (try queries.run(query).documents, readVersion) }
      // The result in the past is the present result without the documents that changed since, plus their old versions that
      // match. The limit is widened by their number, because as many of the present result may drop out.
      var wider = query
      if let limit = query.limit {
        let (sum, overflow) = limit.addingReportingOverflow(past.count)
        wider.limit = overflow ? nil : sum
      }
      var documents = try queries.run(wider).documents.filter { past[$0.key] == nil }
      documents += past.values.filter { $0.isFound && query.matches($0) }
      documents.sort { query.compare($0, $1) == .ascending }
      if let limit = query.limit { documents = Array(documents.prefix(limit)) }
      return (documents, readVersion)
    }
  }

  func changes(
    in scope: ChangeScope, after start: SnapshotVersion, through end: SnapshotVersion
  ) throws(StatusError) -> [DocumentTransition]? {
    try reading("read changes") {
      guard log.reaches(start) else { return nil }
      let before = try log.documentsBefore(in: scope, after: start, through: end)
      guard !before.isEmpty else { return [] }
      let after = try past(of: .documents(Set(before.keys)), at: end)
      return try before.values
        .map { DocumentTransition(before: $0, after: try after[$0.key] ?? presentDocument($0.key)) }
        .sorted { $0.key < $1.key }
    }
  }

  func snapshot(at readTime: Timestamp) throws(StatusError) -> SnapshotVersion {
    try requireOpen()
    guard readTime.truncatedToMicroseconds() == readTime else {
      throw StatusError(
        code: .invalidArgument, message: "read_time \(readTime): timestamp cannot have more than microseconds precision"
      )
    }
    let version = SnapshotVersion(readTime)
    guard version <= lastVersion || readTime <= clock.now() else {
      throw StatusError(
        code: .invalidArgument, message: "The requested 'read_time' \(readTime) cannot be in the future.")
    }
    guard log.reaches(version) else { throw Self.tooOld }
    // A later commit must not have a time at or before a snapshot that was read: it would change that snapshot.
    if lastVersion < version { lastVersion = version }
    return version
  }

  func collectionIDs(under parent: ResourcePath) throws(StatusError) -> [String] {
    try reading("list collections") { try store.collectionIDs(under: parent) }
  }

  func missingDocumentIDs(in collection: ResourcePath) throws(StatusError) -> [String] {
    try reading("list missing documents") {
      try store.documentIDsWithSubcollections(in: collection).filter { id in
        try !store.document(for: DocumentKey(collection.appending(id))).isFound
      }
    }
  }

  private static let tooOld = StatusError(
    code: .failedPrecondition, message: "The requested 'read_time' is too old.")

  /// The documents of `scope` that have changed since `version`, as they were then; none when `version` is the present.
  private func past(of scope: ChangeScope, at version: SnapshotVersion?) throws -> [DocumentKey: Document] {
    guard let version, version < lastVersion else { return [:] }
    guard log.reaches(version) else { throw Self.tooOld }
    return try log.documentsBefore(in: scope, after: version)
  }
}
