public import Foundation

/// The state of a client at one moment: what an interface shows of its connection, its outbox and its work. See ``Firestore/status()`` and
/// ``Firestore/statuses``.
public struct FirestoreStatus: Sendable, Hashable {
  /// How far this device and the backend agree.
  public enum Connection: Sendable, Hashable {
    /// Nothing is exchanged at present, for this reason.
    ///
    /// `nextAttempt` is the device's time at which the next attempt begins. It is nil while an attempt is under way, while the network is
    /// disabled, and in a process that shares a cache and leaves the connection to another one: that one's times are not known here.
    /// ``Outbox/retryNow()`` ends the wait.
    case offline(OfflineReason, nextAttempt: Date?)
    /// On the way: the backend is being reached, owes a listener its result, or has not answered all writes.
    case connecting
    /// The backend has confirmed the result of every active listener, the streams that are needed are open, and no write waits. A client
    /// that has neither a listener nor a waiting write needs no connection, and is in step unless it is known to be offline.
    case inStep
  }

  /// A reason why nothing is exchanged with the backend.
  public enum OfflineReason: Sendable, Hashable {
    /// ``Firestore/disableNetwork(completion:)`` was called.
    case networkDisabled
    /// The backend cannot be reached; with the error of the last attempt, if there was one. It is nil if the backend has been silent for
    /// ten seconds, and in a process that leaves the connection to another one.
    case unreachable(NSError?)
    /// The cache cannot be read or written at present; the log says why. It is tried again.
    case cacheFailure
  }

  /// How far this device and the backend agree.
  public let connection: Connection
  /// While the client is in step, since when that is known; otherwise the last time when it was. Device time, of this run of the program;
  /// nil if it was not in step since then.
  ///
  /// While nobody observes the status the client looks only when the backend confirms something, so the time may be earlier than it was,
  /// never later.
  public let lastInStep: Date?
  /// The number of writes of the current user that wait for the backend. See ``Outbox``.
  public let pendingWriteCount: Int
  /// What the client does beside: empty most of the time. In a fixed order.
  public let work: [BackgroundWork]

  init(connection: Connection, lastInStep: Date?, pendingWriteCount: Int, work: [BackgroundWork]) {
    self.connection = connection
    self.lastInStep = lastInStep
    self.pendingWriteCount = pendingWriteCount
    self.work = work
  }
}

/// Work that a client does in small steps, between which it serves its callers.
///
/// Of processes that share a cache, the one that has the connection fills indexes and collects garbage; the others do not show it.
public struct BackgroundWork: Sendable, Hashable {
  /// What is being done.
  public enum Kind: String, Sendable, Hashable {
    /// Documents are entered into indexes. Counted in documents; both numbers are estimates, which count deleted documents as well.
    case indexFilling
    /// Documents that nobody needs are removed, and the file is made smaller. Counted in documents; the total is not known.
    case garbageCollection
    /// A bundle is read. Counted in documents, as the bundle says.
    case bundleLoading
  }

  /// What is being done.
  public let kind: Kind
  /// How much is done, in units of the kind.
  public let completed: Int
  /// How much there is to do in all; nil if that is not known, or not yet.
  public let total: Int?

  /// The part that is done, from 0 to 1; nil if the total is not known.
  public var fractionCompleted: Double? {
    guard let total, total > 0 else { return nil }
    return min(1, Double(completed) / Double(total))
  }
}
