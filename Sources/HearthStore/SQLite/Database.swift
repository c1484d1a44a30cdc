#if canImport(SQLite3)
  internal import SQLite3
#else
  internal import CSQLite
#endif

/// One connection to an SQLite database, in a file or in memory.
///
/// A connection is confined to its owner: it is not `Sendable`, takes no locks and must be used by one thread at a time. Several
/// connections may share a file, even from several processes.
///
/// Every result code of SQLite is handled; a failure is a ``StoreError``. Tests can make any transaction, statement or
/// commit fail with ``injectFailure``.
package final class Database {
  package enum Location: Hashable, Sendable {
    case file(path: String)
    case memory
  }

  /// The point at which a commit counts as done.
  package enum Synchronous: String, Sendable {
    /// After it is on the disk: it survives a loss of power.
    case full = "FULL"
    /// After the operating system has it: it survives the end of the process, and a loss of power may undo the latest
    /// commits, never corrupt the file.
    case normal = "NORMAL"
  }

  package struct Options: Hashable, Sendable {
    package var synchronous: Synchronous
    package var isReadOnly: Bool
    /// Reads what can be read of a file that SQLite would refuse as a whole: one that is shorter than its header says, or
    /// whose schema has entries that make no sense. For reading only.
    package var toleratesDamage = false
    /// Refuses to make a file that does not exist.
    package var mustExist = false
    /// Takes no locks and creates no files next to the database. Only for reading a file that has no write-ahead log and that no process
    /// writes in that time; otherwise the results make no sense.
    package var isImmutable = false
    /// The time that a statement waits for another connection's lock before it fails with ``StoreError/Kind/unavailable``.
    package var busyTimeout: Duration
    /// Memory for pages of the file.
    var pageCacheBytes: Int
    /// The mark in the file's header that says whose database it is.
    package var applicationID: Int32
    /// False if the owner runs the checkpoints, with ``Database/checkpoint()``. Then no commit takes longer because of one.
    package var checkpointsAtCommits = true
    /// The number of pages in the log from which on a commit runs a checkpoint. Twice SQLite's own number: pages that several transactions
    /// write are then copied into the file half as often, and the log still fits ``keptLogBytes``.
    package var logPages = 2000
    /// The size in bytes to which the file of the write-ahead log is truncated when the log restarts. Commits overwrite this space. A commit
    /// that extends the file takes longer, because the file system also writes the new length (decision 18 has figures).
    package var keptLogBytes = 16 << 20

    package init(
      synchronous: Synchronous = .full, isReadOnly: Bool = false, busyTimeout: Duration = .seconds(5),
      pageCacheBytes: Int = 8 << 20, applicationID: Int32 = Database.hearthApplicationID
    ) {
      self.synchronous = synchronous
      self.isReadOnly = isReadOnly
      self.busyTimeout = busyTimeout
      self.pageCacheBytes = pageCacheBytes
      self.applicationID = applicationID
    }
  }

  /// A point at which a test can make the database fail.
  package enum FailurePoint: Equatable, Sendable {
    /// The start of an outermost transaction of this name.
    case transaction(String)
    /// A step of a statement with this text.
    case statement(String)
    /// The commit of an outermost write transaction.
    case commit
    /// A checkpoint after a commit.
    case checkpoint
  }

  /// "Hrth" in the file's header (https://www.sqlite.org/fileformat.html, offset 68).
  package static let hearthApplicationID: Int32 = 0x4872_7468

  package let location: Location
  package let options: Options
  /// The file in quotation marks, or "in memory": how messages call this database.
  package let name: String
  /// Asked before each point; an error that it returns is thrown there as if SQLite had failed.
  package var injectFailure: ((FailurePoint) -> StoreError?)?
  /// The failure of a sync during a checkpoint; nil if there was none. Written in Database+Checkpoints.swift and Database+Space.swift.
  package internal(set) var failedCheckpoint: StoreError?
  /// The pages in the write-ahead log after the newest commit of this connection, or after it has truncated the log; 0 before the first one.
  /// Written in Database+Checkpoints.swift and Database+Space.swift.
  package internal(set) var logPages: Int64 = 0
  var logMark = LogMark.Progress()
  /// Makes every further step fail once it is set.
  var interruption: Interruption?

  private(set) var connection: OpaquePointer?
  /// Called while statements run, see `onProgress`.
  var progress: ProgressHandler?
  private var idleStatements: [String: IdleStatements] = [:]
  private var idleStatementCount = 0
  /// BEGIN, COMMIT and ROLLBACK.
  private var controlStatements: [String: OpaquePointer] = [:]
  private var currentSynchronous: Synchronous
  private var current: RunningTransaction?

  /// Counts outermost transactions. Contents that were read inside a transaction are still true while this number stays the same and
  /// ``isInTransaction`` holds, because no other connection can have changed them.
  package private(set) var transactionNumber: UInt64 = 0

  private struct RunningTransaction {
    var name: String
    var isWrite: Bool
    /// The failure that makes a commit impossible: of a joined transaction, or the one at which SQLite rolled back.
    var failure: (any Error)?
    /// SQLite has already rolled back by itself, as it does on a full disk or an I/O error.
    var wasRolledBack = false
  }

  /// Opens a database and creates it when it does not exist (unless the options say read only).
  ///
  /// - Throws: ``StoreError``: `cannotOpen` for a folder that is missing or not writable and for a database of another
  ///   program, `notADatabase`, `corrupt`, `readOnly`, `unavailable`. A file that is refused is not changed.
  package init(_ location: Location, options: Options = Options()) throws(StoreError) {
    self.location = location
    self.options = options
    self.currentSynchronous = options.synchronous
    switch location {
    case .file(let path): name = "\"\(path)\""
    case .memory: name = "in memory"
    }
    try open()
    do {
      try configure()
    } catch {
      close()
      throw error
    }
  }

  deinit {
    close()
  }

  // MARK: - Opening and closing

  private func open() throws(StoreError) {
    let fileName: String
    switch location {
    case .memory:
      fileName = ":memory:"
    case .file(let path):
      guard !path.isEmpty, !path.utf8.contains(0) else {
        throw StoreError(
          kind: .cannotOpen,
          message: "Database \(name): the path of a file must not be empty and must not contain NUL bytes.")
      }
      // An absolute or "./" path is never taken for SQLite's special names (":memory:", "file:…").
      let place = path.hasPrefix("/") ? path : "./\(path)"
      fileName = options.isImmutable ? Self.immutableName(place) : place
    }
    // NOMUTEX: the owner confines the connection, so SQLite need not lock it at each call.
    var flags = SQLITE_OPEN_NOMUTEX
    flags |= options.isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
    if !options.isReadOnly, !options.mustExist { flags |= SQLITE_OPEN_CREATE }
    if options.isImmutable { flags |= SQLITE_OPEN_URI }
    var connection: OpaquePointer?
    let code = sqlite3_open_v2(fileName, &connection, flags, nil)
    guard code == SQLITE_OK, let connection else {
      let error = StoreError(sqliteCode: code, connection: connection, databaseName: name)
      sqlite3_close_v2(connection)
      throw error
    }
    self.connection = connection
    sqlite3_extended_result_codes(connection, 1)
    BusyWait.set(connection, to: options.busyTimeout)
    // SQLite opens a file that it may not write for reading only, without an error.
    if !options.isReadOnly, sqlite3_db_readonly(connection, "main") != 0 {
      close()
      throw StoreError(sqliteCode: SQLITE_READONLY, connection: nil, databaseName: name)
    }
  }

  /// The name by which SQLite opens a file as one that does not change (https://www.sqlite.org/uri.html).
  private static func immutableName(_ path: String) -> String {
    let escaped = path.unicodeScalars.map { scalar in
      switch scalar {
      case "%": "%25"
      case "?": "%3F"
      case "#": "%23"
      default: String(scalar)
      }
    }
    // After two slashes SQLite expects the name of a machine, so an absolute path gets two more in front.
    return (path.hasPrefix("/") ? "file://" : "file:") + escaped.joined() + "?immutable=1"
  }

  /// Executes `body` so that a lock of another connection is a failure after this time; at once if it is zero.
  package func waiting<Failure: Error>(
    atMost duration: Duration, _ body: () throws(Failure) -> Void
  ) throws(Failure) {
    BusyWait.set(connection, to: duration)
    defer { if isOpen { BusyWait.set(connection, to: options.busyTimeout) } }
    try body()
  }

  private func configure() throws(StoreError) {
    // The switch that makes SQLite skip these two checks (https://www.sqlite.org/pragma.html#pragma_writable_schema).
    if options.toleratesDamage { try execute("PRAGMA writable_schema = ON") }
    // A damaged page whose header happens to make sense would be taken for one with other rows, or with none.
    try execute("PRAGMA cell_size_check = ON")
    try execute("PRAGMA temp_store = MEMORY")
    // Overwriting deleted content with zeros is on by default in some builds and costs a write for each page given up.
    try execute("PRAGMA secure_delete = OFF")
    try execute("PRAGMA foreign_keys = OFF")
    // A memory-mapped file that fails or shrinks is a signal, not an error.
    try execute("PRAGMA mmap_size = 0")
    // A file that was tampered with must not run functions through its schema.
    try execute("PRAGMA trusted_schema = OFF")
    try execute("PRAGMA cache_size = -\(max(options.pageCacheBytes / 1024, 64))")
    let isNew = try checkOwner()
    if isNew, !options.isReadOnly {
      // Fixed by the first page that is written, and setting it again later would write. 8 KiB pages scanned documents of
      // 450 bytes half again as fast as 4 KiB ones. Incremental vacuum lets a later collection give space back.
      try execute("PRAGMA page_size = 8192")
      try execute("PRAGMA auto_vacuum = INCREMENTAL")
    }
    if case .file = location, !options.isReadOnly {
      try switchToWriteAheadLog()
      try execute("PRAGMA wal_autocheckpoint = 0")
      watchLog()
      // Otherwise the file would stay as large as it ever was.
      try execute("PRAGMA journal_size_limit = \(options.keptLogBytes)")
    }
    for pragma in Self.syncPragmas(options.synchronous, onDarwin: Self.isDarwin) { try execute(pragma) }
    if isNew, !options.isReadOnly {
      try execute("PRAGMA application_id = \(options.applicationID)")
    }
  }

  #if canImport(Darwin)
    private static let isDarwin = true
  #else
    private static let isDarwin = false
  #endif

  /// The pragmas that say when the file system is synchronized, and how.
  ///
  /// On Darwin `fsync` leaves data in the drive's cache, so that a loss of power can undo what was synchronized. With these two, SQLite
  /// synchronizes by F_FULLFSYNC (https://www.sqlite.org/pragma.html#pragma_fullfsync). The first is about commits; the second is about
  /// checkpoints, without which the log would be overwritten before its pages are in the file. Other systems ignore both.
  package static func syncPragmas(_ synchronous: Synchronous, onDarwin: Bool) -> [String] {
    (onDarwin ? ["PRAGMA fullfsync = ON", "PRAGMA checkpoint_fullfsync = ON"] : [])
      + ["PRAGMA synchronous = \(synchronous.rawValue)"]
  }

  /// Reads the file's header for the first time and refuses a database that is not ours, before anything is written.
  /// - Returns: true when the database is empty.
  private func checkOwner() throws(StoreError) -> Bool {
    // In this order, because another process may be creating the file: our mark is there before the first table.
    let isEmpty = try integer("SELECT count(*) FROM sqlite_master") == 0
    let applicationID = try integer("PRAGMA application_id")
    if applicationID == Int64(options.applicationID) { return false }
    if applicationID == 0, isEmpty { return true }
    throw StoreError(
      kind: .cannotOpen,
      message: "Database \(name) belongs to another program (application id \(applicationID) instead of "
        + "\(options.applicationID)). Choose another folder, or move the file away.")
  }

  /// Readers do not wait for the writer, and a commit appends to one file.
  ///
  /// Two processes that open a new file at the same time can collide in the switch, which SQLite reports at once instead
  /// of waiting; taking and releasing the write lock waits until the other has finished.
  private func switchToWriteAheadLog() throws(StoreError) {
    var attempt = 1
    while true {
      do throws(StoreError) {
        let mode = try text("PRAGMA journal_mode = WAL")
        guard mode == "wal" else {
          throw StoreError(
            kind: .cannotOpen,
            message: "Database \(name): its file system does not support a write-ahead log (journal mode \(mode)). "
              + "Choose a folder on a local disk.")
        }
        return
      } catch {
        guard error.kind == .unavailable, attempt < 100 else { throw error }
        attempt += 1
        try execute("BEGIN IMMEDIATE")
        try execute("COMMIT")
      }
    }
  }

  /// Closes the connection. Statements that are still held are closed when they are let go. Does nothing the second time.
  package func close() {
    guard let connection else { return }
    for idle in idleStatements.values { for handle in idle.handles { sqlite3_finalize(handle) } }
    for handle in controlStatements.values { sqlite3_finalize(handle) }
    idleStatements = [:]
    idleStatementCount = 0
    controlStatements = [:]
    sqlite3_close_v2(connection)
    self.connection = nil
  }

  package var isOpen: Bool { connection != nil }

  /// Leaves the files of the log alone when the connection is closed. SQLite deletes them by their names, and by then the names may belong
  /// to another database.
  ///
  /// There is no checkpoint at the close either. With the SQLite of Apple's platforms, whose switch for that cannot be called from Swift,
  /// there is one if SQLite finds no other connection; even then the log stays.
  package func keepLogAtClose() {
    #if !canImport(SQLite3)
      _ = hearth_sqlite3_close_without_checkpoint(connection)
    #endif
    var isKept: Int32 = 1
    sqlite3_file_control(connection, "main", SQLITE_FCNTL_PERSIST_WAL, &isKept)
    // With a limit SQLite would truncate the log at the close, while another process may still write to it.
    _ = try? execute("PRAGMA journal_size_limit = -1")
  }

  // MARK: - Statements

  /// A statement for this SQL, from the cache when one with the same text is idle.
  package func prepare(_ sql: String) throws(StoreError) -> Statement {
    guard let connection else { throw closedError(sql) }
    let idle = idleStatements(of: sql)
    if let handle = idle.handles.popLast() {
      idleStatementCount -= 1
      return Statement(sql: sql, database: self, handle: handle, idle: idle)
    }
    var handle: OpaquePointer?
    let code = sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
    guard code == SQLITE_OK else { throw failure(code, statement: sql) }
    guard let handle else { throw .misuse("Database \(name): \"\(sql)\" contains no statement.") }
    return Statement(sql: sql, database: self, handle: handle, idle: idle)
  }

  /// Executes one statement without parameters and ignores the rows that it may return.
  package func execute(_ sql: String) throws(StoreError) {
    try prepare(sql).run()
  }

  /// Enough for every fixed statement of all targets. Texts that are built at run time do not grow memory without bound.
  private static let idleStatementLimit = 256

  /// The idle statements with one SQL text. Its statements refer to it, so that returning a statement needs no search.
  final class IdleStatements {
    fileprivate var handles: [OpaquePointer] = []
    fileprivate let isListed: Bool

    fileprivate init(isListed: Bool) {
      self.isListed = isListed
    }
  }

  private func idleStatements(of sql: String) -> IdleStatements {
    if let known = idleStatements[sql] { return known }
    let new = IdleStatements(isListed: idleStatements.count < Database.idleStatementLimit)
    if new.isListed { idleStatements[sql] = new }
    return new
  }

  func giveBack(_ handle: OpaquePointer, to idle: IdleStatements) {
    guard connection != nil, idle.isListed, idleStatementCount < Database.idleStatementLimit else {
      sqlite3_finalize(handle)
      return
    }
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
    idle.handles.append(handle)
    idleStatementCount += 1
  }

  /// Called before each step.
  func checkUse(of sql: String) throws(StoreError) {
    if connection == nil { throw closedError(sql) }
    // Asked in this way, because binding them would count references for each row of a scan.
    if interruption?.isSet == true {
      throw StoreError(kind: .unavailable, message: "Database \(name): the read was cancelled.")
    }
    if current?.wasRolledBack == true, let current {
      // Without this, the statement would be executed and committed on its own.
      throw current.failure as? StoreError
        ?? .misuse(
          "Database \(name): transaction \"\(current.name)\" was rolled back, so this was not executed: \(sql)")
    }
    if let injectFailure, let error = injectFailure(.statement(sql)) { throw error }
  }

  /// The error for a result code, after taking note of what SQLite did to the transaction.
  func failure(_ code: Int32, statement: String) -> StoreError {
    let error = StoreError(sqliteCode: code, connection: connection, databaseName: name, statement: statement)
    if current != nil, let connection, sqlite3_get_autocommit(connection) != 0 {
      current?.wasRolledBack = true
      current?.failure = error
    }
    return error
  }

  private func closedError(_ sql: String) -> StoreError {
    .misuse("Database \(name) is closed, so this was not executed: \(sql)")
  }

  func integer(_ sql: String) throws(StoreError) -> Int64 {
    let statement = try prepare(sql)
    guard try statement.step() else { throw .corrupt("Database \(name): \(sql) returned no row.") }
    return try statement.int64(at: 0)
  }

  private func text(_ sql: String) throws(StoreError) -> String {
    let statement = try prepare(sql)
    guard try statement.step() else { throw .corrupt("Database \(name): \(sql) returned no row.") }
    return try statement.string(at: 0)
  }

  // MARK: - Transactions

  package var isInTransaction: Bool { current != nil }

  /// True while the running transaction may write. Outside of one, each statement is committed by itself.
  package var isInWriteTransaction: Bool { current?.isWrite ?? false }

  /// Executes `body` as one unit: all its changes are committed together, or, when it or the commit throws, none is kept.
  ///
  /// The write lock is taken at once, so that what `body` reads cannot be changed by another process before it writes. A
  /// call inside another write transaction joins it; when a joined part throws, the whole cannot be committed any more,
  /// even if the error is caught on the way.
  ///
  /// - Parameters:
  ///   - name: says in messages and to ``injectFailure`` which step this is.
  ///   - synchronous: the durability of the commit; nil means that of the options. Ignored for a joined transaction.
  package func transaction<T>(
    _ name: String, synchronous: Synchronous? = nil, _ body: () throws -> T
  ) throws -> T {
    if let current {
      guard current.isWrite else {
        throw StoreError.misuse(
          "Database \(self.name): \"\(name)\" cannot write inside the read transaction \"\(current.name)\".")
      }
      return try join(body)
    }
    try setSynchronous(synchronous ?? options.synchronous)
    return try run(name, isWrite: true, begin: "BEGIN IMMEDIATE", body)
  }

  /// Executes `body` on one unchanging state of the database. A call inside another transaction joins it.
  package func readTransaction<T>(_ name: String, _ body: () throws -> T) throws -> T {
    if current != nil { return try body() }
    return try run(name, isWrite: false, begin: "BEGIN DEFERRED", body)
  }

  /// Executes a part of a running transaction under a name of its own, so that tests can make it fail.
  package func part<T>(_ name: String, _ body: () throws -> T) throws -> T {
    if let injectFailure, let error = injectFailure(.transaction(name)) { throw error }
    return try body()
  }

  /// Begins a read transaction that lasts until the connection is closed, at the state that the file has now.
  func pin(_ name: String) throws(StoreError) {
    if let current { throw .misuse("Database \(self.name): \"\(current.name)\" is running, \"\(name)\" cannot begin.") }
    try control("BEGIN DEFERRED")
    transactionNumber &+= 1
    current = RunningTransaction(name: name, isWrite: false)
    // The first read decides which state it is, not BEGIN.
    _ = try integer("SELECT count(*) FROM sqlite_master")
  }

  private func join<T>(_ body: () throws -> T) throws -> T {
    assert(current?.isWrite == true, "a part of a write transaction runs outside of one")
    do {
      return try body()
    } catch {
      if current?.failure == nil { current?.failure = error }
      throw error
    }
  }

  private func run<T>(_ name: String, isWrite: Bool, begin: String, _ body: () throws -> T) throws -> T {
    if let injectFailure, let error = injectFailure(.transaction(name)) { throw error }
    assert(current == nil, "\(name) begins inside a transaction, as an outermost one")
    try control(begin)
    transactionNumber &+= 1
    current = RunningTransaction(name: name, isWrite: isWrite)
    do {
      let result = try body()
      if let failure = current?.failure { throw failure }
      if isWrite, let injectFailure, let error = injectFailure(.commit) { throw error }
      try control("COMMIT")
      current = nil
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  private func rollBack() {
    current = nil
    guard let connection, sqlite3_get_autocommit(connection) == 0 else { return }
    // A ROLLBACK that fails leaves a transaction that the next BEGIN reports; there is nothing better to do here.
    try? control("ROLLBACK")
  }

  private func setSynchronous(_ synchronous: Synchronous) throws(StoreError) {
    guard synchronous != currentSynchronous else { return }
    try execute("PRAGMA synchronous = \(synchronous.rawValue)")
    currentSynchronous = synchronous
  }

  /// Executes a statement of the transaction machinery itself, which tests make fail through the transaction's name.
  ///
  /// Prepared once, because parsing would take a quarter of the time of a short transaction.
  private func control(_ sql: String) throws(StoreError) {
    guard let connection else { throw closedError(sql) }
    var handle = controlStatements[sql]
    if handle == nil {
      let code = sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
      guard code == SQLITE_OK else {
        throw StoreError(sqliteCode: code, connection: connection, databaseName: name, statement: sql)
      }
      controlStatements[sql] = handle
    }
    let code = sqlite3_step(handle)
    defer { sqlite3_reset(handle) }
    guard code == SQLITE_DONE else {
      throw StoreError(sqliteCode: code, connection: connection, databaseName: name, statement: sql)
    }
  }

  // MARK: - Sizes

  /// The size of the file with its unused pages, without the write-ahead log; for a database in memory its size there.
  package var fileSizeBytes: Int64 {
    get throws(StoreError) { try integer("PRAGMA page_count") * integer("PRAGMA page_size") }
  }

  /// The part of ``fileSizeBytes`` that holds something.
  package var usedBytes: Int64 {
    get throws(StoreError) { try (integer("PRAGMA page_count") - freePageCount) * integer("PRAGMA page_size") }
  }

  /// The pages of the file that hold nothing.
  var freePageCount: Int64 {
    get throws(StoreError) { try integer("PRAGMA freelist_count") }
  }

  /// Another number than before if another connection has changed the file in between, as far as the running transaction sees it.
  package var dataVersion: Int64 {
    get throws(StoreError) { try integer("PRAGMA data_version") }
  }

  /// Another number than before if a table, an index or a view was created, changed or removed in between, as far as the running
  /// transaction sees it. (https://www.sqlite.org/pragma.html#pragma_schema_version)
  package var schemaVersion: Int64 {
    get throws(StoreError) { try integer("PRAGMA schema_version") }
  }

  /// The rowid of the latest INSERT.
  package var lastInsertedRow: Int64 { connection.map { sqlite3_last_insert_rowid($0) } ?? 0 }

  /// Rows that the latest INSERT, UPDATE or DELETE changed.
  package var changedRowCount: Int { connection.map { Int(sqlite3_changes($0)) } ?? 0 }

  /// SQLite's own check of the whole file; empty when nothing is wrong. Reads everything.
  package func integrityProblems() throws(StoreError) -> [String] {
    let statement = try prepare("PRAGMA integrity_check")
    var problems: [String] = []
    while try statement.step() { problems.append(try statement.string(at: 0)) }
    return problems == ["ok"] ? [] : problems
  }
}
