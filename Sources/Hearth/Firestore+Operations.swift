internal import Foundation
internal import HearthCache
internal import HearthModel

extension Firestore {
  // MARK: - Network

  /// Lets the client use the network again after ``disableNetwork(completion:)``. Queued writes are sent and listeners catch up.
  ///
  /// - Parameter completion: Called once on the settings' queue when the network is enabled, whether or not the backend answers. With an error
  ///   if the cache cannot be opened: the choice then counts once it can.
  public func enableNetwork(completion: (((any Error)?) -> Void)? = nil) {
    runtime().setNetworkEnabled(true, onCallbackQueue(completion))
  }

  /// Same as ``enableNetwork(completion:)``.
  nonisolated(nonsending) public func enableNetwork() async throws {
    try await outcome { runtime().setNetworkEnabled(true, $0) }
  }

  /// Disconnects the client from the network until ``enableNetwork(completion:)``: listeners and reads are answered from the cache, and
  /// writes are queued. Transactions fail with `unavailable`, and so do aggregations and reads with the backend as their only source. The
  /// state is not stored: a restarted program uses the network.
  ///
  /// - Parameter completion: Called once on the settings' queue when the network is disabled. With an error if the cache cannot be opened:
  ///   the choice then counts once it can.
  public func disableNetwork(completion: (((any Error)?) -> Void)? = nil) {
    runtime().setNetworkEnabled(false, onCallbackQueue(completion))
  }

  /// Same as ``disableNetwork(completion:)``.
  nonisolated(nonsending) public func disableNetwork() async throws {
    try await outcome { runtime().setNetworkEnabled(false, $0) }
  }

  // MARK: - Writes

  /// Waits until the backend has answered all writes that are queued at this moment, including those of earlier runs of the program.
  ///
  /// A refused write counts as answered. With an empty queue the call succeeds at once, even offline; otherwise it waits as long as the
  /// client is offline. It does not wait for writes that are made after the call.
  ///
  /// - Parameter completion: Called once on the settings' queue; with `cancelled` if the user changes first. Not called if the client is
  ///   terminated first.
  public func waitForPendingWrites(completion: @escaping ((any Error)?) -> Void) {
    let completion = onCallbackQueue(completion)
    runtime().waitForPendingWrites { [self] error in
      if reports(error) { completion(error) }
    }
  }

  /// Same as ``waitForPendingWrites(completion:)``.
  nonisolated(nonsending) public func waitForPendingWrites() async throws {
    try await outcome { runtime().waitForPendingWrites($0) }
  }

  /// Returns the current user's writes that are saved on this device and that the backend has not answered, oldest first.
  ///
  /// Every write that was made before the call is durable when it returns (with a cache on disk). So it can also be used to wait until
  /// writes are saved, without waiting for the backend. If another process holds the cache's file, it waits some seconds for it. Addition
  /// to the official API.
  ///
  /// A long list is read in parts, so that it delays no other operation. A write that is made before the call returns is not in it, and a
  /// write that the backend answers during the call may be missing.
  ///
  /// - Throws: `unavailable` if there are writes that are not saved yet, because another process holds the file: they are only in the
  ///   memory of this process, which goes on trying to save them. Also `unavailable`, once, if the cache has refused writes without a
  ///   completion: those are lost, and no other call reports them. Other errors of the cache's file.
  public func pendingWrites() async throws -> [PendingWrite] {
    let outcome = Outcome<OutboxContents>()
    runtime().pendingWrites { outcome.resolve($0.mapError { $0 }) }
    let contents = try await outcome.value()
    return contents.batches.map { PendingWrite($0, contents.status, firestore: self) }
  }

  /// - Parameter function: The call that writes, for the message of a programming error.
  func write(
    _ mutations: [Mutation], in function: StaticString = #function, _ completion: (((any Error)?) -> Void)?
  ) {
    let runtime = runtime(in: function)
    guard !mutations.isEmpty else {
      onCallbackQueue(completion)(nil)
      return
    }
    if let refusal = OutgoingWriteLimits.refusal(of: mutations, databaseID: databaseID) {
      HearthLog.error(refusal.localizedDescription)
      onCallbackQueue(completion)(refusal)
      return
    }
    guard let completion else { return runtime.write(mutations, nil) }
    runtime.write(mutations, WriteCompletion(finish: onCallbackQueue(completion), abandon: { _ in }))
  }

  nonisolated(nonsending) func write(_ mutations: [Mutation], in function: StaticString = #function) async throws {
    let runtime = runtime(in: function)
    guard !mutations.isEmpty else { return }
    if let refusal = OutgoingWriteLimits.refusal(of: mutations, databaseID: databaseID) { throw refusal }
    let outcome = Outcome<Void>()
    runtime.write(
      mutations,
      WriteCompletion(finish: { outcome.resolve($0) }, abandon: { outcome.resolve($0) }))
    try await outcome.value()
  }

  // MARK: - Listeners

  /// Calls the listener once at the start, and then after each round in which at least one snapshot listener was called: all listeners then
  /// show the same state. That state need not be the backend's. While another process has the cache's folder, the listener is not called;
  /// the first call comes when the client runs.
  ///
  /// - Parameter listener: Called on the settings' queue, after the snapshot listeners of the round.
  @discardableResult
  public func addSnapshotsInSyncListener(_ listener: @escaping () -> Void) -> any ListenerRegistration {
    let listener = UncheckedSendableBox(listener)
    return runtime().addSnapshotsInSyncListener { listener.value() }
  }

  // MARK: - Life cycle

  /// Ends this object: listeners are no longer called, and the connection and the cache's file are closed. Queued writes stay in a cache on
  /// disk, and the next object that ``firestore()`` returns sends them. Queued writes of a cache in memory are lost.
  ///
  /// Writes that could not be saved because another process holds the cache's file are retried for about 20 s. If that fails, they are
  /// lost, and their completions and this method report `unavailable`. This method also reports that error if the cache has refused writes
  /// without a completion and ``pendingWrites()`` has not reported that.
  ///
  /// Calls in progress end as follows:
  ///
  /// | call | a task | a completion |
  /// |---|---|---|
  /// | a saved write; a read of documents, aggregations or a named query; ``waitForPendingWrites(completion:)``; a transaction | `cancelled` | is not called, as in the official SDK |
  /// | a bundle that is not loaded; enabling or disabling the network, or an index configuration, while waiting for the cache's folder | `cancelled` | `cancelled` |
  /// | a sequence of snapshots | `cancelled` | |
  ///
  /// A write that is on its way to the backend can still be confirmed for a second: then its task or completion succeeds, and the write is not sent
  /// again. Nothing is waited for if no write is on its way. An object that the app makes in the meantime, without waiting for the end of this one,
  /// begins its work after that.
  ///
  /// A transaction's block that goes on afterwards gets `failedPrecondition` from ``Transaction/getDocument(_:)``; if it ends with an
  /// error, the task gets that error. ``getQuery(named:)`` has no error and returns nil.
  ///
  /// Afterwards only this method, ``clearPersistence(completion:)`` and `remove()` of listeners may be called; everything else is
  /// a programming error. Repeated calls are harmless.
  ///
  /// - Parameter completion: Called once on the settings' queue when everything is closed; with `unavailable` if some writes could not be
  ///   saved, in the first call only. The official SDK has no such error.
  public func terminate(completion: (((any Error)?) -> Void)? = nil) {
    let completion = onSettingsQueue(completion)
    terminate { completion($0) }
  }

  /// Same as ``terminate(completion:)``.
  nonisolated(nonsending) public func terminate() async throws {
    try await outcome { finish in terminate { finish($0) } }
  }

  /// Deletes the cache's file with all documents and **all queued writes**. It can be called before the first use and after
  /// ``terminate(completion:)``.
  ///
  /// With a cache in memory, or without a file, it succeeds. Without clearing, documents that one user has read stay in the cache for the
  /// next user: the cache has a queue per user, but all users share the documents, as in the official SDK (firebase-ios-sdk leveldb_key.h).
  ///
  /// Other processes that have the cache open, and other clients of this process, are asked to end: each of their operations then reports
  /// `failedPrecondition`. (firebase-js-sdk indexeddb_persistence.ts: clearing shuts down the other tabs.)
  ///
  /// - Parameter completion: Called once on the settings' queue; with `failedPrecondition` while the client is running, or if another
  ///   process has not closed the cache after five seconds.
  public func clearPersistence(completion: (((any Error)?) -> Void)? = nil) {
    clearPersistence(then: onSettingsQueue(completion))
  }

  /// Same as ``clearPersistence(completion:)``.
  nonisolated(nonsending) public func clearPersistence() async throws {
    try await outcome { clearPersistence(then: $0) }
  }

  private func clearPersistence(then completion: @escaping @Sendable (NSError?) -> Void) {
    guard !isRunning else {
      return completion(
        .firestore(.failedPrecondition, "Persistence cannot be cleared while the client is running."))
    }
    guard let folder = cacheFolder else { return completion(nil) }
    CacheClearing(folder: folder, completion).begin()
  }
}
