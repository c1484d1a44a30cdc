internal import Foundation
internal import HearthModel
internal import HearthRPC
internal import HearthStore
internal import HearthWire
internal import Logging
internal import Synchronization

/// The storage in one SQLite file (or in memory): documents, change log and the answers to labelled batches.
///
/// Commits that wait at the same moment share one durable transaction (`synchronous=FULL`). Each still has its own commit time and applies
/// as a whole or not at all. All writing happens on one queue. Reads of a file have connections of their own and never wait for a commit; a
/// database in memory has one connection for everything.
actor EmbeddedStorage: ExclusiveStorage {
  nonisolated let feed: ChangeFeed
  nonisolated let locks: TransactionLocks

  private nonisolated let executor: DatabaseExecutor
  nonisolated let databaseID: DatabaseID
  nonisolated let clock: ServerClock
  /// The failures of calls; its logger is for other lines.
  nonisolated let failures: FailureLog
  nonisolated let metrics: ServerMetrics?
  private let retention: HistoryRetention
  private let responseRetention: ResponseRetention
  /// The length of the write-ahead log at which reads are stopped.
  nonisolated let maximumLogBytes: Int64
  var logLimit: LogLimit
  /// The bytes of documents that the merges and transforms of one commit may read and write.
  private let maximumRewrittenBytes: Int
  private let sortBudget: SortBudget
  private let readSlots: ReadSlots<StorageReader>
  /// False if indexes are filled by calls of ``fillIndexes(_:)`` alone, in tests.
  let fillsIndexes: Bool
  private var tables: Tables
  /// The place to which a database without commits moves with its first one; nil once it is there.
  private var home: StorageHome?
  /// Set from the move of a database to its place until the commit is durable for which it was moved.
  private var move: Move?

  /// The newest commit, the creation of the database, or a version that was reserved or announced since. Later commits have later versions.
  private(set) var lastVersion: SnapshotVersion
  /// The newest commit, or the creation of the database. Unlike ``lastVersion`` it is never a reserved or announced version, which says nothing of
  /// what clients have seen of this history.
  private(set) var committedVersion: SnapshotVersion
  nonisolated let waiting = CommitQueue<WaitingCommit>()
  var isClosed: Bool { published.withLock { $0.isClosed } }
  /// The number of the indexes' state, see `IndexTable.use`.
  var indexState: Int64
  /// Indexes are being filled.
  var isFilling = false
  /// The time at which the uses of automatic indexes are looked at again, in microseconds since 1970.
  var nextIndexCheck: Int64 = 0
  let openingTime: Int64
  /// History beyond its limits is being removed.
  var isTrimming = false
  /// Unused pages are being given back.
  var isReleasing = false
  var checkpoints = Checkpointer.Progress()

  nonisolated let published: Mutex<Published>
  nonisolated let indexDemand = Mutex(IndexDemand())

  /// The objects that use the writer's connection.
  private struct Tables {
    let database: Database
    let store: DocumentStore
    let reader: StorageReader
    let log: ChangeLog
    let responses: BatchResponses

    init(
      _ database: Database, databaseID: DatabaseID, retention: HistoryRetention,
      responseRetention: ResponseRetention, sortBudget: SortBudget, state: ServerState, metrics: ServerMetrics?,
      logger: Logger
    ) throws {
      self.database = database
      store = try DocumentStore(database: database, findsByReadTime: false)
      reader = StorageReader(database, store: store, sortBudget: sortBudget)
      log = try ChangeLog(
        database: database, retention: retention, state: state, noteCut: { metrics?.exceeded(.historyBytes) }
      ) { warning in
        logger.warning("change log is at its limit", metadata: warning.metadata(of: databaseID))
      }
      responses = BatchResponses(database: database, databaseID: databaseID, retention: responseRetention)
    }
  }

  /// A database that has moved into a file for a commit that is not durable yet.
  private struct Move {
    let home: StorageHome
    /// The tables from before.
    let blank: Tables
    /// The other connections to its file.
    let file: FileAccess?
  }

  nonisolated var logger: Logger { failures.logger }
  var database: Database { tables.database }
  var store: DocumentStore { tables.store }
  var reader: StorageReader { tables.reader }
  var log: ChangeLog { tables.log }
  var responses: BatchResponses { tables.responses }

  /// The maximum number of requests that share one transaction.
  private static let commitsPerGroup = 64

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Opens or creates the database.
  ///
  /// - Parameter home: Set for a database that does not exist. It is then kept in `location`, which is in memory, until
  ///   something is committed: reads leave nothing behind.
  /// - Throws: `StoreError`, for example for a file that is not a database, one that a newer release wrote, or one whose log is damaged.
  init(
    location: Database.Location, home: StorageHome? = nil, databaseID: DatabaseID, clock: ServerClock,
    windowBytes: Int = DatabaseLimits().windowBytes, retention: HistoryRetention = HistoryRetention(),
    lockWait: Duration = DatabaseLimits().lockWait,
    waitingWrites: Int = DatabaseLimits().waitingWritesPerDocument,
    rewrittenBytes: Int = DatabaseLimits().rewrittenBytesPerCommit,
    logBytes: Int = DatabaseLimits().writeAheadLogBytes, sortBudget: SortBudget = SortBudget(),
    readSlots: ReadSlots<StorageReader> = EmbeddedStorage.readSlots(), place: FolderPlace? = nil,
    metrics: ServerMetrics? = nil, logger: Logger
  ) throws {
    let mark = if case .file(let path) = location { LogMark(of: path) } else { nil as LogMark? }
    try mark?.requireLog()
    let hasGap = try DamagedLog.check(of: location, databaseID, logger)
    let database = try Database(location, options: Self.options)
    if let mark { try database.noteLogMark(mark) }
    if hasGap { try DamagedLog.empty(of: database) }
    try self.init(
      database: database, home: home, databaseID: databaseID, clock: clock, logger: logger, windowBytes: windowBytes,
      retention: retention, lockWait: lockWait, waitingWrites: waitingWrites,
      rewrittenBytes: rewrittenBytes, logBytes: logBytes, sortBudget: sortBudget, readSlots: readSlots,
      place: place, metrics: metrics)
  }

  /// Takes over an open database.
  ///
  /// - Parameters:
  ///   - feedCapacity: The number of commits that the feed keeps in memory.
  ///   - feedEffort: The number of conditions that the feed evaluates at once.
  ///   - windowBytes: See ``DatabaseLimits/windowBytes``.
  ///   - retention: The limits of the change log.
  ///   - responseRetention: The limits of the stored answers to labelled requests.
  ///   - fillsIndexes: Fill indexes in the background.
  ///   - lockWait: The time that a request waits for locks of transactions.
  ///   - waitingWrites: The writes that may wait for the locks of one document.
  ///   - rewrittenBytes: The bytes of documents that the merges and transforms of one commit may read and write.
  ///   - logBytes: The length of the write-ahead log at which reads are stopped.
  ///   - sortBudget: The memory for results that have to be sorted, which databases may share.
  ///   - readSlots: The slots in which reads of files run, which databases may share.
  ///   - place: The folder of its file; nil for none, whose place is not looked at.
  init(
    database: sending Database, home: StorageHome? = nil, databaseID: DatabaseID, clock: ServerClock, logger: Logger,
    feedCapacity: Int = 4096, feedEffort: Int = 500_000, windowBytes: Int = DatabaseLimits().windowBytes,
    retention: HistoryRetention = HistoryRetention(),
    responseRetention: ResponseRetention = ResponseRetention(), fillsIndexes: Bool = true,
    lockWait: Duration = DatabaseLimits().lockWait,
    waitingWrites: Int = DatabaseLimits().waitingWritesPerDocument,
    rewrittenBytes: Int = DatabaseLimits().rewrittenBytesPerCommit,
    logBytes: Int = DatabaseLimits().writeAheadLogBytes, sortBudget: SortBudget = SortBudget(),
    readSlots: ReadSlots<StorageReader> = EmbeddedStorage.readSlots(), place: FolderPlace? = nil,
    metrics: ServerMetrics? = nil
  ) throws {
    try ServerSchema.schema.migrate(database)
    let state = try ServerState.load(from: database, now: clock.now())
    let ahead = state.lastVersion.microseconds - clock.now().microseconds
    if ahead > SteadyClock.toleranceMicroseconds {
      logger.warning(
        "commit times are ahead of the clock and stay so until it has caught up",
        metadata: ["database": .escaped(databaseID), "seconds": "\(ahead / 1_000_000)"])
    }
    self.executor = DatabaseExecutor(label: "hearth.storage.\(databaseID)")
    self.databaseID = databaseID
    self.clock = clock
    self.failures = FailureLog(logger)
    self.metrics = metrics
    self.retention = retention
    self.responseRetention = responseRetention
    self.maximumRewrittenBytes = rewrittenBytes
    self.maximumLogBytes = Int64(logBytes)
    self.logLimit = LogLimit(bytes: Int64(logBytes))
    self.sortBudget = sortBudget
    self.readSlots = readSlots
    self.home = home
    self.fillsIndexes = fillsIndexes
    self.tables = try Tables(
      database, databaseID: databaseID, retention: retention, responseRetention: responseRetention,
      sortBudget: sortBudget, state: state, metrics: metrics, logger: logger)
    self.lastVersion = state.lastVersion
    self.committedVersion = state.committedVersion
    self.indexState = state.indexState
    self.openingTime = clock.now().microseconds
    self.published = Mutex(
      Published(
        version: state.lastVersion, logStart: state.logStart, logBytes: tables.log.bytes,
        committedVersion: state.committedVersion, epochs: state.epochs,
        announcements: Announcements(isNew: state.epochs.quiet == nil), place: place,
        file: try Self.fileAccess(
          to: database.location, in: place, databaseID, slots: readSlots, sortBudget: sortBudget)))
    self.feed = ChangeFeed(
      version: state.lastVersion, maximumCommits: feedCapacity, maximumEffort: feedEffort,
      windowMemory: WindowMemory(maximumBytes: windowBytes) { metrics?.exceeded(.windowBytes) })
    self.locks = TransactionLocks(
      clock: clock, maximumWait: lockWait, maximumWriters: waitingWrites, metrics: metrics)
    Task { await self.continueFilling() }
  }

  nonisolated func use() -> StorageUse {
    let (bytes, logLength, readers) = published.withLock { ($0.logBytes, $0.writeAheadLogBytes, $0.file?.readers) }
    return StorageUse(
      historyBytes: Int(clamping: bytes), writeAheadLogBytes: Int(clamping: logLength),
      waitingReads: readers?.waitingCount ?? 0)
  }

  nonisolated func currentVersion() throws(StatusError) -> SnapshotVersion {
    let (version, isClosed) = published.withLock { ($0.version, $0.isClosed) }
    if isClosed { throw StatusError.shuttingDown }
    return version
  }

  func close() async {
    locks.close()
    waiting.close()
    while !waiting.isEmpty { commitGroup() }
    let file = published.withLock { published in
      published.isClosed = true
      return published.file
    }
    // The writer is the last to close its connection, so that nothing is left in the log.
    await file?.readers.close()
    file?.checkpointer.close()
    saveIndexUses()
    database.clearLogMark()
    database.close()
  }

  func requireOpen() throws(StatusError) {
    if isClosed { throw StatusError.shuttingDown }
  }

  nonisolated func status(of error: any Error) -> StatusError {
    if let status = error as? StatusError { return status }
    if error is ReadGivenUp { return readGivenUp }
    failures.log("storage failed", ["database": .escaped(databaseID), "error": .escaped("\(error)")])
    let status = StatusError(storage: error)
    metrics?.storageFailed(status)
    return status
  }
}

// MARK: - Commits

extension EmbeddedStorage {
  nonisolated func commit(
    _ request: CommitRequest, ending conditions: TransactionRegistry.Conditions?
  ) async throws(StatusError) -> CommitOutcome {
    let attempt = CommitAttempt(request, ending: conditions)
    guard let first = await result(of: attempt) else { throw StatusError.shuttingDown }
    if case .ended(let result) = first { return try result.get() }
    // Not on the caller's event loop: the time to find the next one grows with the number of those that wait.
    return try await withTaskExecutorPreference(globalConcurrentExecutor) {
      () async throws(StatusError) -> CommitOutcome in
      try await retry(attempt, after: first)
    }
  }

  /// Commits a request that waits for transactions which have locked what it changes, or whose own reads were not checked in full.
  private nonisolated func retry(
    _ first: CommitAttempt, after result: CommitAttempt.Result
  ) async throws(StatusError) -> CommitOutcome {
    var (attempt, result, rounds) = (first, result, 0)
    defer { attempt.ticket?.finish() }
    while true {
      switch result {
      case .ended(let result): return try result.get()
      case .blocked(let ticket):
        attempt.ticket = ticket
        try await locks.turn(of: ticket.id)
      case .unchecked:
        rounds += 1
        guard rounds <= ReadCheck.maximumRounds else { throw StatusError.transactionConflict }
        try await checkReads(of: &attempt)
      }
      guard let next = await self.result(of: attempt) else { throw StatusError.shuttingDown }
      result = next
    }
  }

  /// - Returns: nil if the storage is closed.
  private nonisolated func result(of attempt: CommitAttempt) async -> CommitAttempt.Result? {
    await withCheckedContinuation { continuation in
      let entry = WaitingCommit(attempt: attempt, continuation: continuation)
      switch waiting.add(entry, of: attempt.request.sender, writes: attempt.request.mutations.count) {
      // The first request of a group posts the commit to the end of the writer's queue. Requests that arrive before it runs
      // join the group and share its durable transaction.
      case .first: postCommit()
      case .later: break
      case .refused: continuation.resume(returning: nil)
      }
    }
  }

  /// Not a task, which would begin on another thread than the writer's.
  nonisolated func postCommit() {
    executor.run { self.assumeIsolated { $0.commitWaiting() } }
  }

  private func commitWaiting() {
    // They are posted again when the log has been cut.
    if !logLimit.isFull { commitGroup() }
  }

  /// Commits a group of waiting requests in one durable transaction, and only then publishes and answers them.
  private func commitGroup() {
    let (group, isMoreWaiting) = waiting.take(atMost: Self.commitsPerGroup)
    guard !group.isEmpty else { return }
    // The next group is posted now: `commit` posts one only when it finds nothing waiting.
    if isMoreWaiting { postCommit() }

    let results = publishing { commit(group.map(\.entry.attempt)) }
    assert(results.count == group.count, "\(group.count) requests have \(results.count) results")
    assert(results.contains { $0 != nil }, "none of \(group.count) requests was tried")
    let untried = zip(group, results).filter { $1 == nil }.map(\.0)
    waiting.finish(group.indices.last { results[$0] != nil }.map { group[$0] }, untried: untried)
    if !untried.isEmpty { postCommit() }
    for (waiting, result) in zip(group, results) {
      if let result { waiting.entry.continuation.resume(returning: result) }
    }
    checkpoint()
    continueTrimming()
  }

  /// Runs a step that makes changes durable, and publishes them only then. Listeners must not see what a power cut could take back.
  func publishing<Result>(_ step: () -> (Result, [CommittedChange])) -> Result {
    locks.beginCommits()
    let (result, changes) = step()
    publishState()
    locks.endCommits()
    for change in changes {
      feed.publish(change)
      metrics?.committed(documents: change.documentCount)
    }
    return result
  }

  /// Commits requests in one durable transaction. A request that the store cannot carry out, because a row that it needs is damaged, fails
  /// by itself: the others start again without it.
  ///
  /// - Returns: The result of each, nil for those that were not tried because the others have taken long.
  private func commit(_ attempts: [CommitAttempt]) -> ([CommitAttempt.Result?], [CommittedChange]) {
    var attempts = attempts
    var results: [CommitAttempt.Result?] = attempts.map { _ in nil }
    var before = known
    while true {
      let open = results.indices.filter { results[$0] == nil }
      do {
        try requireSafeDisk()
        if home != nil, open.contains(where: { wouldCommit(attempts[$0].request) }) { try moveHome() }
        before = known
        let (answers, changes, epochs) = try transact(&attempts, open, after: before.committedVersion)
        if let move { settle(move) }
        if let epochs { begin(epochs) }
        for (index, answer) in zip(open, answers) { results[index] = answer }
        return (results, changes)
      } catch {
        // No version was used, and nothing may be published or answered with success.
        rollBack(to: before)
        if let move { undo(move) }
        guard let damage = error as? RequestFailure else {
          let failure = commitFailure(error)
          return (zip(attempts, results).map { $1 ?? $0.failed(failure) }, [])
        }
        results[damage.index] = attempts[damage.index].failed(commitFailure(damage.error))
      }
    }
  }

  /// The state of the tables that is kept in memory.
  struct Known {
    var lastVersion: SnapshotVersion
    var committedVersion: SnapshotVersion
    var log: ChangeLog.Totals
  }

  var known: Known { Known(lastVersion: lastVersion, committedVersion: committedVersion, log: log.totals) }

  /// Goes back to what was known before a transaction that was rolled back. It reads nothing: the disk that has just failed may fail
  /// again.
  func rollBack(to known: Known) {
    lastVersion = known.lastVersion
    committedVersion = known.committedVersion
    store.indexes.forget()
    log.rollBack(to: known.log)
  }

  /// The version of the next commit.
  func nextVersion() -> SnapshotVersion {
    SnapshotVersion(microseconds: max(clock.now().microseconds, lastVersion.microseconds + 1))
  }

  /// Takes note of a commit in the transaction that makes it durable.
  func noteCommit(at version: SnapshotVersion) {
    lastVersion = version
    committedVersion = version
  }

  /// Takes note of a version that is no commit.
  func note(uncommitted version: SnapshotVersion) {
    lastVersion = version
  }

  /// A failure of the store that concerns one request alone.
  private struct RequestFailure: Error {
    var index: Int
    var error: StoreError

    init?(_ error: any Error, index: Int) {
      guard let error = error as? StoreError, error.kind == .corrupt || error.kind == .constraint else { return nil }
      self.index = index
      self.error = error
    }
  }

  /// - Parameters:
  ///   - open: The attempts that have no result yet.
  ///   - committedBefore: The newest commit.
  /// - Returns: The results of the first ones, at least of one, and the epochs if one has begun.
  private func transact(
    _ attempts: inout [CommitAttempt], _ open: [Int], after committedBefore: SnapshotVersion
  ) throws -> ([CommitAttempt.Result], [CommittedChange], Epochs?) {
    var answers: [CommitAttempt.Result] = []
    var changes: [CommittedChange] = []
    var epochs: Epochs?
    var effort = ReadCheck.effortPerGroup
    var time = clock.elapsedMicroseconds
    let end = time + waiting.groupMicroseconds
    try database.setLogMark()
    try write("commit") {
      store.indexes.use(indexState)
      for index in open {
        let sender = attempts[index].request.sender
        if !answers.isEmpty, waiting.isSlow(sender) { break }
        do {
          let (answer, change) = try apply(&attempts[index], &effort)
          answers.append(answer)
          if let change { changes.append(change) }
        } catch let error as StatusError {
          // A refused request has stored nothing, so the others of the group commit. Errors of the store end the transaction.
          answers.append(attempts[index].failed(error))
        } catch {
          throw RequestFailure(error, index: index) ?? error
        }
        let now = clock.elapsedMicroseconds
        waiting.note(now - time, of: sender)
        time = now
        if now > end { break }
      }
      epochs = try endTransaction(firstVersion: changes.first?.version, after: committedBefore)
    }
    return (answers, changes, epochs)
  }

  /// Trims the log and saves the state, as the last part of a transaction that commits.
  ///
  /// - Parameters:
  ///   - firstVersion: The first version of the commits; nil if there are none.
  ///   - committedBefore: The newest commit before them.
  /// - Returns: The epochs if one has begun.
  func endTransaction(
    firstVersion: SnapshotVersion?, after committedBefore: SnapshotVersion
  ) throws -> Epochs? {
    let isTrimmed = try log.trim(now: clock.now())
    // A commit with changes leaves its version in the log.
    if isTrimmed || (committedVersion != committedBefore && log.latestVersion != committedVersion) {
      try ServerState.save(lastVersion: committedVersion, logStart: log.start, logBytes: log.bytes, in: database)
    }
    guard let firstVersion, epochs.quiet != nil else { return nil }
    return try storeNextEpoch(after: committedBefore, first: firstVersion)
  }

  /// The status for the sender of a write. Clients drop a write that gets DATA_LOSS; a file can be mended.
  func commitFailure(_ error: any Error) -> StatusError {
    if let error = error as? StoreError {
      if error.isFailedSync { noteFailedSync(error) }
      if error.kind == .full { metrics?.foundDiskFull() }
    }
    let failure = status(of: error)
    guard failure.code == .dataLoss else { return failure }
    return StatusError(code: .internal, message: failure.message)
  }

  /// Returns true if a request would leave something in an empty database: a document, or the answer that its label gets again. A request
  /// that fails, is empty, or deletes what is not there must not create a file. One that rules deny may.
  private func wouldCommit(_ request: CommitRequest) -> Bool {
    // Rules may allow at the time of the commit what they deny now: then it must find its place on disk.
    var request = request
    request.commitGuard = nil
    do {
      let evaluation = try RequestEvaluation(
        request, in: databaseID, at: lastVersion, maximumRewrittenBytes: maximumRewrittenBytes, metrics: nil
      ).evaluate(DocumentReads { [lastVersion] in .missing($0, version: lastVersion) })
      return !evaluation.transitions.isEmpty || (request.label != nil && !request.mutations.isEmpty)
    } catch {
      return false
    }
  }

  /// Moves a database without commits to its place on disk. Only its identity is copied: it holds nothing else.
  private func moveHome() throws {
    guard let home else { return }
    let location = try home.create()
    let blank = tables
    var file: FileAccess?
    do {
      if location != .memory {
        let database = try Database(location, options: Self.options)
        try ServerSchema.schema.migrate(database)
        let state = ServerState(
          committedVersion: committedVersion, lastVersion: lastVersion, logStart: log.start, indexState: indexState,
          epochs: epochs)
        try state.adopt(in: database)
        file = try Self.fileAccess(
          to: location, in: published.withLock { $0.place }, databaseID, slots: readSlots, sortBudget: sortBudget)
        tables = try Tables(
          database, databaseID: databaseID, retention: retention, responseRetention: responseRetention,
          sortBudget: sortBudget, state: state, metrics: metrics, logger: logger)
      }
    } catch {
      home.discard()
      throw error
    }
    self.home = nil
    move = Move(home: home, blank: blank, file: file)
  }

  /// The commit is durable for which the database was moved.
  private func settle(_ move: Move) {
    self.move = nil
    if move.blank.database !== database {
      move.blank.database.close()
      let declared = published.withLock { published in
        published.file = move.file
        return published.declared
      }
      if let declared { Task { self.declare(declared) } }
    }
    move.home.settled()
  }

  /// The commit has failed for which the database was moved, because the disk is full for example. No file is left behind.
  private func undo(_ move: Move) {
    self.move = nil
    home = move.home
    if move.blank.database !== database {
      move.file?.readers.closeUnused()
      database.close()
      tables = move.blank
    }
    move.home.discard()
  }

  /// Applies one request inside the group's transaction, unless a transaction has locked what it changes.
  ///
  /// The whole request is evaluated before anything is stored. So a `StatusError` leaves no trace, and the other requests of
  /// the group commit.
  ///
  /// - Parameter effort: Left for checks of what transactions have read.
  private func apply(
    _ attempt: inout CommitAttempt, _ effort: inout ReadCheck.Effort
  ) throws -> (CommitAttempt.Result, CommittedChange?) {
    let request = attempt.request
    if let label = request.label, let known = try responses.response(for: label) {
      return (attempt.succeeded(known), nil)
    }
    if let check = attempt.check, try !holds(check, &effort) { return (.unchecked, nil) }
    guard !request.mutations.isEmpty else {
      return (attempt.succeeded(CommitOutcome(version: lastVersion, results: [])), nil)
    }
    let version = nextVersion()
    let evaluation = try RequestEvaluation(
      request, in: databaseID, at: version, maximumRewrittenBytes: maximumRewrittenBytes, metrics: metrics
    ).evaluate(presentReads)
    let transitions = evaluation.transitions
    if let id = try locks.admit(transitions, by: attempt.owner, ticket: attempt.ticket?.id) {
      let ticket = attempt.ticket.flatMap { $0.id == id ? $0 : nil } ?? LockTicket(id, of: locks)
      attempt.ticket = ticket
      return (.blocked(ticket), nil)
    }
    for transition in transitions {
      if transition.after.isFound { try store.set(transition.after) } else { try store.remove(transition.key) }
    }
    if !transitions.isEmpty { try log.append(version: version, transitions) }
    var outcome = CommitOutcome(version: version, results: evaluation.results)
    if request.returnsDocument { outcome.document = evaluation.lastDocument }
    if let label = request.label { try responses.save(outcome, for: label) }
    noteCommit(at: version)
    return (attempt.succeeded(outcome), CommittedChange(version: version, transitions: transitions))
  }

  /// Reads stored documents, and missing ones.
  private var presentReads: DocumentReads {
    let (store, lastVersion) = (store, lastVersion)
    return DocumentReads(
      head: { key in
        let head = try store.document(for: key, withFieldsUpTo: DocumentReads.bytesWithHead)
        return DocumentReads.Head(
          document: head.document.isFound ? head.document : .missing(key, version: lastVersion),
          isComplete: head.isComplete)
      },
      document: { key in
        let document = try store.document(for: key)
        return document.isFound ? document : .missing(key, version: lastVersion)
      })
  }

  /// - Returns: False if the effort was used up before the end of the check.
  /// - Throws: ABORTED if a document or a query result that the transaction has read changed after its snapshot.
  private func holds(_ check: ReadCheck, _ effort: inout ReadCheck.Effort) throws -> Bool {
    var own = min(effort, ReadCheck.effortInWriter)
    effort -= own
    let verdict = try check.check(reader.changes, logStart: log.start, effort: &own)
    effort += own
    if verdict == .conflict { throw StatusError.transactionConflict }
    return verdict == .holds
  }
}

// MARK: - Past versions

extension EmbeddedStorage {
  /// Makes a version that no commit has, the present one of a quiet database, safe to read at: later commits get later times.
  func reserve(_ version: SnapshotVersion) throws(StatusError) {
    try requireOpen()
    guard version <= lastVersion || version.timestamp <= clock.now() else {
      throw StatusError(
        code: .invalidArgument, message: "The requested 'read_time' \(version.text) cannot be in the future.")
    }
    // A later commit must not have a time at or before a snapshot that was read: it would change that snapshot.
    guard lastVersion < version else { return }
    note(uncommitted: version)
    published.withLock { $0.version = version }
  }
}
