internal import HearthRPC

/// Looks up the present use of a server's limits, and reports it.
///
/// Each report takes a lock of each database and of each open stream; calls pay nothing for it.
struct ServerSampler: Sendable {
  let metrics: ServerMetrics
  let calls: CallServer
  let connections: OpenConnections
  let databases: any Databases
  let targets: TargetBudget
  /// Nil for a server without TLS of its own.
  var certificate: ServerCertificate?

  func sample() {
    var totals = ServerMetrics.Totals()
    let databases = databases.use()
    var use: [ServerLimit: Int] = [
      .connections: connections.count, .calls: calls.load.callCount, .queuedBytes: calls.load.unread.bytes,
      .unreadBytes: calls.load.unread.bytes,
      .receivedBytes: calls.load.received.bytes, .requestBytesInProgress: calls.load.requests.bytes,
      .sortBytes: databases.sortBytes, .targetBytes: targets.usedBytes, .databases: databases.count,
      .streamsPerConnection: metrics.streamsPerConnection.sumAndGreatest().greatest,
    ]
    (totals.targets, use[.targetsPerStream]) = metrics.targetsPerStream.sumAndGreatest()
    let streams = calls.streamUse()
    use[.queuedBytesPerStream] = streams.greatestQueuedBytes
    let largest: [ServerLimit] = [
      .transactions, .readsPerTransaction, .transactionReads, .waitingWritesPerDocument, .windowBytes,
      .historyBytes, .writeAheadLogBytes,
    ]
    for limit in largest { use[limit] = 0 }
    func raise(_ limit: ServerLimit, to number: Int) { use[limit] = max(use[limit] ?? 0, number) }
    for database in databases.databases {
      let (transactions, storage) = (database.transactions, database.storage)
      raise(.transactions, to: transactions.transactions)
      raise(.readsPerTransaction, to: transactions.greatestReads)
      raise(.transactionReads, to: transactions.reads)
      raise(.waitingWritesPerDocument, to: transactions.greatestWaitingWrites)
      raise(.windowBytes, to: database.windowBytes)
      raise(.historyBytes, to: storage.historyBytes)
      raise(.writeAheadLogBytes, to: storage.writeAheadLogBytes)
      totals.transactions += transactions.transactions
      totals.locksWaiting += transactions.waitingRequests
      totals.readsWaiting += storage.waitingReads
    }
    let unknown = metrics.sampledLimits.filter { use[$0] == nil }
    assert(unknown.isEmpty, "the use of \(unknown.map(\.rawValue)) is reported and never looked up")
    totals.certificateSeconds = certificate?.secondsLeft
    metrics.sampled(use, totals, streams: streams.open)
    self.databases.report()
  }

  /// Reports in every interval, until the task is cancelled.
  func sample(every interval: Duration) async {
    sample()
    while (try? await Task.sleep(for: interval)) != nil { sample() }
  }
}

extension ServerLimits {
  /// The limits that are numbers and not times or rates, with those of databases.
  func numbers(with database: DatabaseLimits) -> [ServerLimit: Int] {
    [
      .connections: connections, .streamsPerConnection: connection.maximumConcurrentStreams,
      .unsentPingAnswers: connection.unsentPingAnswers, .pings: connection.busyPings.burst,
      .resets: connection.resets.burst, .emptyFrames: connection.emptyFrames.burst,
      .strayFrames: connection.strayFrames.burst, .calls: calls, .requestBytes: requestBytes,
      .failedAuthenticationsPerMinute: failedAuthenticationsPerMinute ?? 0,
      .receivedBytes: receivedBytes, .requestBytesInProgress: requestBytesInProgress,
      .queuedBytesPerStream: queuedBytesPerStream, .queuedBytes: queuedBytes, .unreadBytes: unreadBytes,
      .databases: database.databases, .targetsPerStream: database.targetsPerStream,
      .targetBytes: database.targetBytes,
      .transactions: database.transactions, .readsPerTransaction: database.readsPerTransaction,
      .transactionReads: database.transactionReads, .waitingWritesPerDocument: database.waitingWritesPerDocument,
      .queryComponents: database.queryComponents,
      .queryDisjunctions: database.queryDisjunctions, .writesPerRequest: database.writesPerRequest,
      .documentsPerRequest: database.documentsPerRequest, .fieldsPerMask: database.fieldsPerMask,
      .rewrittenBytesPerCommit: database.rewrittenBytesPerCommit, .windowBytes: database.windowBytes,
      .sortBytes: database.sortBytes, .historyBytes: database.historyBytes,
      .writeAheadLogBytes: database.writeAheadLogBytes,
    ]
  }
}
