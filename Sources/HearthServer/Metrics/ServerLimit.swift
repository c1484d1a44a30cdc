/// A limit of the server, by the name that its metrics have for it (docs/server.md, "Limits and metrics").
enum ServerLimit: String, CaseIterable, Sendable {
  // Of connections.
  case connections
  case streamsPerConnection = "streams_per_connection"
  case pings
  case unsentPingAnswers = "unsent_ping_answers"
  case resets
  case emptyFrames = "empty_frames"
  case strayFrames = "stray_frames"
  case keepAlive = "keep_alive"
  case webIdle = "web_idle"
  // Of calls.
  case calls
  case requestBytes = "request_bytes"
  case receivedBytes = "received_bytes"
  case requestBytesInProgress = "request_bytes_in_progress"
  case queuedBytesPerStream = "queued_bytes_per_stream"
  case queuedBytes = "queued_bytes"
  case unreadBytes = "unread_bytes"
  case unread
  case webBody = "web_body"
  // Of databases.
  case databases
  case targetsPerStream = "targets_per_stream"
  case transactions
  case transactionTime = "transaction_time"
  case readsPerTransaction = "reads_per_transaction"
  case transactionReads = "transaction_reads"
  case lockWait = "lock_wait"
  case waitingWritesPerDocument = "waiting_writes_per_document"
  case queryComponents = "query_components"
  case queryDisjunctions = "query_disjunctions"
  case writesPerRequest = "writes_per_request"
  case documentsPerRequest = "documents_per_request"
  case fieldsPerMask = "fields_per_mask"
  case rewrittenBytesPerCommit = "rewritten_bytes_per_commit"
  case windowBytes = "window_bytes"
  case sortBytes = "sort_bytes"
  case historyBytes = "history_bytes"
  case writeAheadLogBytes = "wal_bytes"
}
