internal import HearthCache
package import HearthModel

/// The state of the engine, as its owner and its tests see it.
extension SyncEngine {
  /// Monotonic time of the event being handled.
  var now: Duration { time.now }
  /// The device's time of the event being handled.
  var wallTime: Timestamp { time.wallTime }

  package var onlineState: OnlineState { link.onlineState }
  /// True at the client that has the streams: the only one of its cache, or the holder of the lease.
  package var isPrimary: Bool { membership.isPrimary }
  /// The documents that are being looked up, with their targets.
  package var activeLimboDocuments: [DocumentKey: TargetID] { views.activeLimboDocuments }
  /// The documents that wait to be looked up, in order.
  package var enqueuedLimboDocuments: [DocumentKey] { views.enqueuedLimboDocuments }
  /// The batches that are sent, or about to be, and not answered.
  package var outstandingWriteCount: Int { sender.batchCount }
  /// True if the last attempt to reach the backend has failed, or it is not to be reached.
  package var isOffline: Bool { link.onlineState == .offline }
  package var isNetworkUsable: Bool { link.isNetworkUsable }

  /// True if the listener's query is running in the background, so that it has heard nothing yet.
  package func hasBackgroundListen(_ listener: ListenerID) -> Bool { queryRuns.hasBackgroundListen(listener) }

  /// The user whose outbox takes new writes. Until a change of the user is stored, the cache still shows the former user's outbox.
  package var signedInUser: String? { retries.latestUser ?? localStore.user }

  /// The target of a query that has a listener.
  package func targetID(of query: Query) -> TargetID? { views.targetID(of: query) }
}
