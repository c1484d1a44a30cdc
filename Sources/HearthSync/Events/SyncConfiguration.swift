package import HearthCache
package import HearthModel

/// The tunables of the sync engine, with the official SDKs' values.
package struct SyncConfiguration: Sendable {
  /// Documents that are looked up one by one at the same time because a query's result left their state open.
  package var maxConcurrentLimboResolutions: Int
  /// Batches that are on their way to the backend at the same time.
  package var maxPendingWriteBatches: Int
  /// Unused streams are closed after this time.
  package var streamIdleTimeout: Duration
  /// A stream that has been open for this long has proven that its credentials are good.
  package var streamHealthyAfter: Duration
  /// Without any answer for this long the client counts as offline.
  package var onlineStateTimeout: Duration
  /// The time from the start to the first garbage collection.
  package var firstGarbageCollectionAfter: Duration
  /// The time from the end of one garbage collection to the start of the next.
  package var garbageCollectionInterval: Duration
  /// The limits beyond which queries run in the background; nil if none does.
  package var backgroundQueryLimits: BackgroundQueryLimits?
  /// After the start the filling of indexes waits for this time.
  package var firstIndexFillAfter: Duration
  /// After a failure the filling of indexes waits for this time.
  package var indexFillRetry: Duration
  /// A client that shares its cache looks after the lease, and for news that it was not woken for, at this interval.
  package var clientRefreshInterval: Duration
  /// While the outbox of another user waits, the holder of the lease keeps it for this time, or for the second one without a
  /// connection; then a client of that user has it. After the second time without a connection any other client has it.
  package var leaseTurn: Duration
  package var offlineLeaseTurn: Duration
  /// A client whose turn with the lease was of no use has none for this time while others have a connection, twice as long after each
  /// further one, up to 32 times as long.
  package var futileTurnPause: Duration
  /// Nil if a batch that the backend refuses for its size is retried without end, as the official SDKs do.
  package var undeliverableWrites: UndeliverableWritePolicy?
  /// The documents whose writes are sent with the versions that they are based on, and the resolution of conflicts.
  package var conflictRules: ConflictRules
  package var backoff: ExponentialBackoff.Parameters
  /// Gives the jitter of the next pause as a fraction of its base, in `-0.5 ... 0.5`.
  package var jitter: @Sendable () -> Double

  package init(
    maxConcurrentLimboResolutions: Int = 100,
    maxPendingWriteBatches: Int = 10,
    streamIdleTimeout: Duration = .seconds(60),
    streamHealthyAfter: Duration = .seconds(10),
    onlineStateTimeout: Duration = .seconds(10),
    firstGarbageCollectionAfter: Duration = .seconds(60),
    garbageCollectionInterval: Duration = .seconds(300),
    backgroundQueryLimits: BackgroundQueryLimits? = nil,
    firstIndexFillAfter: Duration = .seconds(1),
    indexFillRetry: Duration = .seconds(60),
    clientRefreshInterval: Duration = .seconds(1),
    leaseTurn: Duration = .seconds(5),
    offlineLeaseTurn: Duration = .seconds(60),
    futileTurnPause: Duration = .seconds(120),
    undeliverableWrites: UndeliverableWritePolicy? = nil,
    conflictRules: ConflictRules = ConflictRules(),
    backoff: ExponentialBackoff.Parameters = .init(),
    jitter: @escaping @Sendable () -> Double
  ) {
    self.maxConcurrentLimboResolutions = maxConcurrentLimboResolutions
    self.maxPendingWriteBatches = maxPendingWriteBatches
    self.streamIdleTimeout = streamIdleTimeout
    self.streamHealthyAfter = streamHealthyAfter
    self.onlineStateTimeout = onlineStateTimeout
    self.firstGarbageCollectionAfter = firstGarbageCollectionAfter
    self.garbageCollectionInterval = garbageCollectionInterval
    self.backgroundQueryLimits = backgroundQueryLimits
    self.firstIndexFillAfter = firstIndexFillAfter
    self.indexFillRetry = indexFillRetry
    self.clientRefreshInterval = clientRefreshInterval
    self.leaseTurn = leaseTurn
    self.offlineLeaseTurn = offlineLeaseTurn
    self.futileTurnPause = futileTurnPause
    self.undeliverableWrites = undeliverableWrites
    self.conflictRules = conflictRules
    self.backoff = backoff
    self.jitter = jitter
  }
}
