internal import ArgumentParser
internal import HearthRPC
internal import HearthServer

/// The limits of `hearth serve`, with the defaults of `ServerLimits` and `DatabaseLimits`.
struct LimitOptions: ParsableArguments {
  private static let defaults = ServerLimits()
  private static let databaseDefaults = DatabaseLimits()

  @Option(
    help: "Open connections; one address may hold as many as remain free. One more is closed with GOAWAY.")
  var maxConnections = defaults.connections

  @Option(help: "Calls in progress, listeners among them; one client may have as many as remain free, so half of them.")
  var maxCalls = defaults.calls

  @Option(help: "Streams that one connection may have open at the same time.")
  var maxStreamsPerConnection = defaults.connection.maximumConcurrentStreams

  @Option(help: "The size in bytes of the largest request message.")
  var maxRequestBytes = defaults.requestBytes

  @Option(help: "Bytes that wait for the client of one stream before the server stops producing more.")
  var maxQueuedBytesPerStream = defaults.queuedBytesPerStream

  @Option(help: "Bytes held for clients that have not read them before each stream may only have its share waiting.")
  var maxQueuedBytes = defaults.queuedBytes

  @Option(
    help:
      "Bytes held for clients that have not read them before the calls that wait longest fail with RESOURCE_EXHAUSTED.")
  var maxUnreadBytes = defaults.unreadBytes

  @Option(
    help:
      "Bytes of unfinished requests before the largest of those clients that have most fail with RESOURCE_EXHAUSTED.")
  var maxReceivedBytes = defaults.receivedBytes

  @Option(help: "Bytes of requests in progress before further ones fail with RESOURCE_EXHAUSTED.")
  var maxRequestBytesInProgress = defaults.requestBytesInProgress

  @Option(help: "Seconds after which a stream ends whose client takes nothing, although bytes wait.")
  var unreadSeconds = Int(defaults.unreadTime.components.seconds)

  @Option(help: "Seconds of silence after which a client is asked if it is there.")
  var keepAliveSeconds = Int(defaults.connection.keepAliveTime.components.seconds)

  @Option(help: "Seconds that a client has to answer before its connection is closed.")
  var keepAliveTimeoutSeconds = Int(defaults.connection.keepAliveTimeout.components.seconds)

  @Option(help: "Databases that are open at the same time.")
  var maxDatabases = databaseDefaults.databases

  @Option(help: "Targets of one Listen stream.")
  var maxTargetsPerStream = databaseDefaults.targetsPerStream

  @Option(help: "Bytes of the targets of all streams; one client may have as many as remain free, so half of them.")
  var maxTargetBytes = databaseDefaults.targetBytes

  @Option(help: "Open transactions of one database.")
  var maxTransactions = databaseDefaults.transactions

  @Option(help: "Documents and queries that one transaction reads.")
  var maxReadsPerTransaction = databaseDefaults.readsPerTransaction

  @Option(help: "Documents and queries that all open transactions of one database have read.")
  var maxTransactionReads = databaseDefaults.transactionReads

  @Option(help: "Filters and orders of one query.")
  var maxQueryComponents = databaseDefaults.queryComponents

  @Option(help: "Disjunctions of one query.")
  var maxQueryDisjunctions = databaseDefaults.queryDisjunctions

  @Option(help: "Writes of one request; one with more fails with INVALID_ARGUMENT.")
  var maxWritesPerRequest = databaseDefaults.writesPerRequest

  @Option(help: "Documents that one batch get or one target of a listener names.")
  var maxDocumentsPerRequest = databaseDefaults.documentsPerRequest

  @Option(help: "Fields that a mask or a projection names.")
  var maxFieldsPerMask = databaseDefaults.fieldsPerMask

  @Option(help: "The size in MiB of the documents that the merges and transforms of one commit read and write.")
  var maxRewrittenMegabytes = databaseDefaults.rewrittenBytesPerCommit >> 20

  @Option(help: "The memory in MiB of each database for the results of listeners with a limit.")
  var windowMegabytes = databaseDefaults.windowBytes >> 20

  @Option(help: "Bytes of sort keys of all results that no index gives in their order.")
  var maxSortBytes = databaseDefaults.sortBytes

  @Option(help: "Seconds of history that each database keeps, for listeners that come back and reads in the past.")
  var historySeconds = Int(databaseDefaults.historyTime.components.seconds)

  @Option(help: "The size in MiB beyond which history is dropped before its time.")
  var historyMegabytes = databaseDefaults.historyBytes >> 20

  @Option(help: "The size in MiB of a database's write-ahead log, at least 64; long reads make room for it.")
  var maxWalMegabytes = databaseDefaults.writeAheadLogBytes >> 20

  @Option(help: "Seconds that a write waits for transactions that have read what it changes.")
  var maxLockWaitSeconds = Int(databaseDefaults.lockWait.components.seconds)

  @Option(help: "Writes that wait for transactions that have read one document; one more fails with ABORTED.")
  var maxWaitingWritesPerDocument = databaseDefaults.waitingWritesPerDocument

  @Option(help: "Seconds after its begin at which a transaction ends.")
  var maxTransactionSeconds = Int(databaseDefaults.transactionTime.components.seconds)

  @Option(help: "Seconds after its last use at which a transaction ends.")
  var maxTransactionIdleSeconds = Int(databaseDefaults.transactionIdleTime.components.seconds)

  var limits: ServerLimits {
    var limits = ServerLimits()
    limits.connections = maxConnections
    limits.calls = maxCalls
    limits.connection.maximumConcurrentStreams = maxStreamsPerConnection
    limits.requestBytes = maxRequestBytes
    limits.queuedBytesPerStream = maxQueuedBytesPerStream
    limits.queuedBytes = maxQueuedBytes
    limits.unreadBytes = maxUnreadBytes
    limits.receivedBytes = maxReceivedBytes
    limits.requestBytesInProgress = maxRequestBytesInProgress
    limits.unreadTime = .seconds(unreadSeconds)
    limits.connection.keepAliveTime = .seconds(keepAliveSeconds)
    limits.connection.keepAliveTimeout = .seconds(keepAliveTimeoutSeconds)
    return limits
  }

  /// - Parameter requiresIndexes: True to refuse queries for which production demands an index that is not declared.
  func databaseLimits(requiresIndexes: Bool) -> DatabaseLimits {
    var limits = DatabaseLimits()
    limits.requiresIndexes = requiresIndexes
    limits.databases = maxDatabases
    limits.targetsPerStream = maxTargetsPerStream
    limits.targetBytes = maxTargetBytes
    limits.transactions = maxTransactions
    limits.readsPerTransaction = maxReadsPerTransaction
    limits.transactionReads = maxTransactionReads
    limits.lockWait = .seconds(maxLockWaitSeconds)
    limits.waitingWritesPerDocument = maxWaitingWritesPerDocument
    limits.transactionTime = .seconds(maxTransactionSeconds)
    limits.transactionIdleTime = .seconds(maxTransactionIdleSeconds)
    limits.queryComponents = maxQueryComponents
    limits.queryDisjunctions = maxQueryDisjunctions
    limits.writesPerRequest = maxWritesPerRequest
    limits.documentsPerRequest = maxDocumentsPerRequest
    limits.fieldsPerMask = maxFieldsPerMask
    limits.rewrittenBytesPerCommit = maxRewrittenMegabytes << 20
    limits.windowBytes = windowMegabytes << 20
    limits.sortBytes = maxSortBytes
    limits.historyTime = .seconds(historySeconds)
    limits.historyBytes = historyMegabytes << 20
    limits.writeAheadLogBytes = maxWalMegabytes << 20
    return limits
  }

  func validate() throws {
    let numbers = [
      ("--max-connections", maxConnections), ("--max-calls", maxCalls),
      ("--max-streams-per-connection", maxStreamsPerConnection), ("--max-request-bytes", maxRequestBytes),
      ("--max-queued-bytes-per-stream", maxQueuedBytesPerStream), ("--max-queued-bytes", maxQueuedBytes),
      ("--max-unread-bytes", maxUnreadBytes),
      ("--max-received-bytes", maxReceivedBytes),
      ("--max-request-bytes-in-progress", maxRequestBytesInProgress), ("--max-databases", maxDatabases),
      ("--max-targets-per-stream", maxTargetsPerStream), ("--max-target-bytes", maxTargetBytes),
      ("--max-transactions", maxTransactions),
      ("--max-reads-per-transaction", maxReadsPerTransaction), ("--max-transaction-reads", maxTransactionReads),
      ("--max-query-components", maxQueryComponents), ("--max-query-disjunctions", maxQueryDisjunctions),
      ("--max-writes-per-request", maxWritesPerRequest), ("--max-documents-per-request", maxDocumentsPerRequest),
      ("--max-fields-per-mask", maxFieldsPerMask), ("--max-rewritten-megabytes", maxRewrittenMegabytes),
      ("--max-sort-bytes", maxSortBytes), ("--max-lock-wait-seconds", maxLockWaitSeconds),
      ("--max-waiting-writes-per-document", maxWaitingWritesPerDocument),
      ("--max-transaction-seconds", maxTransactionSeconds),
      ("--max-transaction-idle-seconds", maxTransactionIdleSeconds),
      ("--window-megabytes", windowMegabytes),
      ("--history-seconds", historySeconds), ("--history-megabytes", historyMegabytes),
      ("--max-wal-megabytes", maxWalMegabytes), ("--unread-seconds", unreadSeconds),
      ("--keep-alive-seconds", keepAliveSeconds), ("--keep-alive-timeout-seconds", keepAliveTimeoutSeconds),
    ]
    try Self.check(numbers)
    guard maxWalMegabytes >= Self.leastWalMegabytes else {
      throw ValidationError("--max-wal-megabytes is \(maxWalMegabytes): choose at least \(Self.leastWalMegabytes).")
    }
  }

  /// The log is written back between commits when it has half of this.
  private static let leastWalMegabytes = 64

  /// 32 bits: streams are announced in a setting of HTTP/2, and times are counted in nanoseconds.
  static func check(_ numbers: [(name: String, number: Int)]) throws {
    for (name, number) in numbers where !(1...Int(Int32.max)).contains(number) {
      throw ValidationError("\(name) is \(number): choose a number between 1 and \(Int32.max).")
    }
  }
}
