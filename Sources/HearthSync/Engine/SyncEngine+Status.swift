internal import HearthCache
package import HearthModel

extension SyncEngine {
  /// The device's time when the backend last confirmed a result or answered a write and nothing was left to do; nil if that has not
  /// happened. Only of the client that has the streams.
  package var lastInSync: Timestamp? { statusWatch.lastInSync }

  /// The writes that wait in memory, because another process holds the file.
  package var heldWriteCount: Int {
    held.writes.lazy.filter { LocalStore.isSameUser($0.owner, self.signedInUser) }.count
  }

  /// The writes of all users that wait in memory, oldest first. After ``SyncEvent/shutdown`` those that could not be stored.
  package var heldWriteIDs: [WriteID] { held.writes.map(\.write.id) }

  /// The batches that calls name, for the engine on the cache that is opened anew.
  package var namedBatches: NamedBatches {
    NamedBatches(outbox: localStore.outbox, user: signedInUser, waits: waits)
  }

  /// Gives the writes that are not stored yet the identities of the refused batches that they repeat. To be called before ``handOver()``.
  ///
  /// - Returns: The writes whose batch cannot be found. They are not handed over.
  package func identifyHeldWrites() -> [WriteID] {
    held.identify(namedBatches.identity(ofRejected:_:))
  }

  package var status: SyncStatus { SyncStatus(connection: connection, work: work.inProgress) }

  /// True if this client has the streams and nothing waits for the backend.
  var isInSync: Bool { isPrimary && sender.hasNothingToSend && held.writes.isEmpty && connection == .inSync }

  // MARK: - Connection

  private var connection: SyncConnection {
    if let obstacle = connectionObstacle { return .offline(obstacle) }
    guard held.listens.isEmpty, queryRuns.listenQueries.isEmpty, !views.waitForBackend else {
      return .connecting
    }
    if isPrimary { return link.watchesInSync ? .inSync : .connecting }
    // The state that the primary client has published.
    return link.onlineState == .online || !views.wantBackend ? .inSync : .connecting
  }

  /// The reason why there is no exchange with the backend; nil if there is one, or may soon be.
  package var connectionObstacle: OutboxObstacle? {
    // The network of a secondary client is that of the primary one.
    let isOffline = link.onlineState == .offline
    if link.isForbidden(for: .disabledByUser), isPrimary || isOffline { return .networkDisabled }
    if link.isForbidden(for: .storageFailure) || link.isForbidden(for: .snapshotFailure)
      || link.isForbidden(for: .outboxFailure)
    {
      return .cacheFailure
    }
    if isPrimary, sender.failsToWrite { return .offline(sender.lastError) }
    return isOffline ? .offline(isPrimary ? link.lastWatchError : nil) : nil
  }
}
