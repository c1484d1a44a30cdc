internal import HearthRPC

/// The limits of databases.
extension ServerLimit {
  static let databases = ServerLimit(rawValue: "databases")
  static let targetsPerStream = ServerLimit(rawValue: "targets_per_stream")
  static let targetBytes = ServerLimit(rawValue: "target_bytes")
  static let transactions = ServerLimit(rawValue: "transactions")
  static let transactionTime = ServerLimit(rawValue: "transaction_time")
  static let readsPerTransaction = ServerLimit(rawValue: "reads_per_transaction")
  static let transactionReads = ServerLimit(rawValue: "transaction_reads")
  static let lockWait = ServerLimit(rawValue: "lock_wait")
  static let waitingWritesPerDocument = ServerLimit(rawValue: "waiting_writes_per_document")
  static let queryComponents = ServerLimit(rawValue: "query_components")
  static let queryDisjunctions = ServerLimit(rawValue: "query_disjunctions")
  static let writesPerRequest = ServerLimit(rawValue: "writes_per_request")
  static let documentsPerRequest = ServerLimit(rawValue: "documents_per_request")
  static let fieldsPerMask = ServerLimit(rawValue: "fields_per_mask")
  static let rewrittenBytesPerCommit = ServerLimit(rawValue: "rewritten_bytes_per_commit")
  static let windowBytes = ServerLimit(rawValue: "window_bytes")
  static let sortBytes = ServerLimit(rawValue: "sort_bytes")
  static let historyBytes = ServerLimit(rawValue: "history_bytes")
  static let writeAheadLogBytes = ServerLimit(rawValue: "wal_bytes")
}

extension ServerLimit: CaseIterable {
  /// The limits of calls and those of databases. Each has a counter.
  static let allCases: [ServerLimit] =
    ofCalls + [
      .databases, .targetsPerStream, .targetBytes, .transactions, .transactionTime, .readsPerTransaction,
      .transactionReads,
      .lockWait,
      .waitingWritesPerDocument, .queryComponents, .queryDisjunctions, .writesPerRequest, .documentsPerRequest,
      .fieldsPerMask, .rewrittenBytesPerCommit, .windowBytes, .sortBytes, .historyBytes, .writeAheadLogBytes,
    ]
}
