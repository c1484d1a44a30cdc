internal import HearthRPC

/// The limits of operations in a database, and of the number of open databases. ``ServerLimits`` has the limits of connections and calls.
package struct DatabaseLimits: Sendable, Hashable {
  /// Databases that are open at the same time, or being opened or closed. A call for one more fails with RESOURCE_EXHAUSTED. An unused
  /// database is closed after five minutes. The same number of databases without documents may be in use in addition.
  package var databases = 1000

  /// Targets of one Listen stream. One more ends the stream with RESOURCE_EXHAUSTED.
  package var targetsPerStream = 10_000

  /// Open transactions of one database. One more fails with RESOURCE_EXHAUSTED.
  package var transactions = 10_000

  /// The time after its start at which a transaction ends (Firestore documentation, "Usage and limits").
  package var transactionTime = Duration.seconds(270)

  /// The time after its last use at which a transaction ends (Firestore documentation, "Usage and limits"). One that waits for others is in use.
  package var transactionIdleTime = Duration.seconds(60)

  /// Documents and queries that one transaction reads. A read beyond them fails with INVALID_ARGUMENT.
  package var readsPerTransaction = 100_000

  /// Documents and queries that all open transactions of one database have read. A read beyond them fails with RESOURCE_EXHAUSTED.
  package var transactionReads = 2_000_000

  /// The time that a write, or a read of a transaction, waits for transactions that have locked what it needs. Then it fails with ABORTED.
  package var lockWait = Duration.seconds(20)

  /// Writes that wait for transactions that have locked one document. One more fails with ABORTED, as under any contention that is too high.
  package var waitingWritesPerDocument = 1_000

  /// Filters, orders and the parent document of one query together (Firestore documentation, "Usage and limits"). A query with more fails
  /// with INVALID_ARGUMENT.
  package var queryComponents = 100

  /// Disjunctions of one query in disjunctive normal form (Firestore documentation, "Query limitations"). A query with more fails with
  /// INVALID_ARGUMENT.
  package var queryDisjunctions = 30

  /// Writes of one Commit, BatchWrite or message of a Write stream. A request with more fails with INVALID_ARGUMENT: other commits wait
  /// while the writes of one are carried out.
  package var writesPerRequest = 10_000

  /// Documents that one BatchGetDocuments or one target of a Listen stream names. A request with more fails with INVALID_ARGUMENT.
  package var documentsPerRequest = 10_000

  /// Fields that the masks of one write, the mask of a read or the projection of a query name. A request with more fails with
  /// INVALID_ARGUMENT. A document that has an index entry in each direction for each field has at most as many (40,000 entries: Firestore
  /// documentation, "Usage and limits").
  package var fieldsPerMask = 20_000

  /// Bytes of documents that the merges and transforms of one commit read and write. A commit that needs more fails with INVALID_ARGUMENT:
  /// a small request can change large documents many times, and other commits wait for it.
  package var rewrittenBytesPerCommit = 128 << 20

  /// Bytes of the write-ahead log of a database's file. The log restarts only while no read sees an older state: from half of the limit on
  /// no long read begins until it has, at the limit long reads are stopped and begun again, and the fourth time they fail with
  /// RESOURCE_EXHAUSTED. Other reads and the next commit wait until the log has restarted. A single commit may exceed the limit.
  package var writeAheadLogBytes = 256 << 20

  /// The memory of each database for the results of listeners with a limit, as far as their order goes. One result has a thirty-second of it at
  /// most. Listeners whose result is not kept follow it by the history, which takes longer; one that does not reach its limit needs no memory.
  package var windowBytes = 128 << 20

  /// The bytes of sort keys of all results, of all databases together, that are being sorted or wait sorted for their clients. A result of
  /// more than a piece (256 KiB) is sorted by its keys if no index gives its order. It gets at most half of what the others leave free,
  /// and fails with RESOURCE_EXHAUSTED if it needs more.
  package var sortBytes = 128 << 20

  /// The memory of the targets of all Listen streams, of all databases together. A target counts with 8 KiB and eight times the bytes of its
  /// request. One client (one connection, where clients are not known) may have as much as it leaves
  /// free. A target without room ends with RESOURCE_EXHAUSTED.
  package var targetBytes = 1 << 30

  /// True to refuse queries for which production demands an index that is not declared, with FAILED_PRECONDITION.
  package var requiresIndexes = false

  /// The age of the history that each database keeps, for resumed listeners, reads in the past and transactions. Listeners that need an
  /// older one read everything again; other requests fail with FAILED_PRECONDITION.
  package var historyTime = Duration.seconds(3600)

  /// The bytes of each database's history. Beyond them history is dropped before its time, which is logged.
  package var historyBytes = 1 << 30

  package init() {}
}
