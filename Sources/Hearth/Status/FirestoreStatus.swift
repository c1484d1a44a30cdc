public import Foundation

/// The state of a client at one moment, for display in an interface: its connection, its outbox and its work. See ``Firestore/status()``
/// and ``Firestore/statuses``.
public struct FirestoreStatus: Sendable, Hashable {
  /// The agreement between this device and the backend.
  public enum Connection: Sendable, Hashable {
    /// There is no exchange with the backend at present, for this reason.
    ///
    /// `nextAttempt` is the time of the next attempt, by the device's clock. It is nil during an attempt, while the network is disabled,
    /// and in a process that shares a cache and leaves the connection to another process: it does not know the other one's times.
    /// ``Outbox/retryNow()`` ends the wait.
    case offline(OfflineReason, nextAttempt: Date?)
    /// A connection is being opened, a listener waits for its result, or the backend has not answered all writes.
    case connecting
    /// The backend has confirmed the result of every active listener, the needed streams are open, and no write is pending. A client
    /// without a listener and without a pending write needs no connection, and is in sync unless it is known to be offline.
    case inSync
  }

  /// A reason why there is no exchange with the backend.
  public enum OfflineReason: Sendable, Hashable {
    /// ``Firestore/disableNetwork(completion:)`` was called.
    case networkDisabled
    /// The backend cannot be reached; with the error of the last attempt, if there was one. The error is nil if the backend has been silent
    /// for ten seconds, and in a process that leaves the connection to another one.
    case unreachable(NSError?)
    /// The cache cannot be read or written at present; the log has the reason. The client retries.
    case cacheFailure
  }

  /// The agreement between this device and the backend.
  public let connection: Connection
  /// The time when the client was last in sync, by the device's clock: the start of the current period if it is in sync now. Nil if it has
  /// not been in sync since the program started.
  ///
  /// While no listener observes the status, the client notes the time only when the backend confirms something. So the time may be too
  /// early, never too late.
  public let lastInSync: Date?
  /// The number of the current user's pending writes. See ``Outbox``.
  public let pendingWriteCount: Int
  /// The client's background work: empty most of the time. In a fixed order.
  public let work: [BackgroundWork]

  init(connection: Connection, lastInSync: Date?, pendingWriteCount: Int, work: [BackgroundWork]) {
    self.connection = connection
    self.lastInSync = lastInSync
    self.pendingWriteCount = pendingWriteCount
    self.work = work
  }
}

/// Work that a client does in small steps. Between two steps it serves its callers.
///
/// If processes share a cache, the one with the connection fills indexes and collects garbage; the others do not show that work.
public struct BackgroundWork: Sendable, Hashable {
  /// The kind of work.
  public enum Kind: String, Sendable, Hashable {
    /// Documents are entered into indexes. Counted in documents; both numbers are estimates that include deleted documents.
    case indexFilling
    /// Unneeded documents are removed, and the file is made smaller. Counted in documents; the total is not known.
    case garbageCollection
    /// A bundle is read. Counted in documents; the total is the bundle's own.
    case bundleLoading
  }

  /// The kind of work.
  public let kind: Kind
  /// The amount of work that is done, in units of the kind.
  public let completed: Int
  /// The total amount of work; nil if it is unknown, or not known yet.
  public let total: Int?

  /// The completed fraction, from 0 to 1; nil if the total is not known.
  public var fractionCompleted: Double? {
    guard let total, total > 0 else { return nil }
    return min(1, Double(completed) / Double(total))
  }
}
