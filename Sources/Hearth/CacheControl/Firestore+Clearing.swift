internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthSync

/// The outcome of ``Firestore/clearCache(_:securely:progress:)``, or how far it is.
public struct ClearedCache: Sendable, Hashable {
  /// Documents that were removed, with those of which the cache knew that they do not exist.
  public let removedDocumentCount: Int
  /// Documents that stay because a write for them, of any user, waits for the backend. One that only such a write has made stays as well,
  /// and does not count: the cache holds nothing else of it.
  public let pendingDocumentCount: Int
  /// Documents that stay because a listener shows them, in this process or in another one that shares the cache.
  public let listenedDocumentCount: Int
  /// Bytes of the cache's file that the file system got back.
  public let releasedBytes: Int64
  /// True if it was asked to clear securely and nothing of the removed documents is left in the cache's files.
  public let isErased: Bool

  init(_ report: ClearingReport) {
    removedDocumentCount = report.removedDocumentCount
    pendingDocumentCount = report.pendingDocumentCount
    listenedDocumentCount = report.listenedDocumentCount
    releasedBytes = report.releasedBytes
    isErased = report.isErased
  }
}

extension Firestore {
  /// The time for which a secure clearing waits for others to end their reading.
  private static let erasingLimit: Duration = .seconds(5)

  /// Removes documents from the cache of this device while the client runs. The backend is not asked, and its data stays as it is.
  ///
  /// ```swift
  /// let cleared = try await db.clearCache(.collection(db.collection("messages")), securely: true)
  /// print(cleared.removedDocumentCount, cleared.isErased)
  /// ```
  ///
  /// Two kinds of documents stay, and are counted in the result: those with pending writes, because the cache is the only place that has
  /// them, and those that a listener shows, which it would only bring back. So remove listeners first, and await
  /// ``waitForPendingWrites()`` or use ``outbox``. A query without a listener whose result has lost a document is read from its beginning
  /// the next time. A pinned query stays pinned. Bundles can be loaded again. Refused writes that are kept (``rejectedWrites``),
  /// resolved conflicts (``resolvedConflicts``) and the outcomes of receipts are not cleared.
  ///
  /// It is done in steps of a few milliseconds, between which other operations go on. Works offline, and while other processes share the
  /// cache. When the task is cancelled, it ends after the current step; what is removed stays removed.
  ///
  /// ## Secure clearing
  ///
  /// What SQLite deletes stays in unused parts of its file until something else is written there. With `securely` the last step writes the
  /// file anew and empties its log, so that nothing remains of the removed documents, their index entries, or whatever had been deleted
  /// before. That step does not let other operations in between: it took two seconds for 100 MB that stay, and as much memory. What a
  /// file system or a flash memory keeps of overwritten files, damaged cache files that were set aside, and copies are out of its reach.
  ///
  /// - Parameters:
  ///   - scope: The documents.
  ///   - securely: True to leave nothing of them in the cache's files.
  ///   - progress: Called after each step, in the caller's task.
  /// - Returns: What was removed, and what has stayed. ``ClearedCache/isErased`` is false after a secure clearing if others went on reading
  ///   an older state of the file for five seconds, so that its log could not be emptied: clear again later.
  /// - Throws: `invalidArgument` for a scope of another Firestore object, a date that no timestamp can hold, or an id that no collection
  ///   has; errors of the cache's file, `unavailable` among them if another process holds it, and `resourceExhausted` if the disk is full;
  ///   `CancellationError`. What was removed before stays removed.
  @discardableResult
  nonisolated(nonsending) public func clearCache(
    _ scope: CacheScope, securely: Bool = false, progress: ((ClearedCache) -> Void)? = nil
  ) async throws -> ClearedCache {
    let runtime = runtime()
    var run = ClearingRun(try await clearingScope(scope, runtime), isSecure: securely)
    let clock = ContinuousClock()
    var waitingSince: ContinuousClock.Instant?
    while !run.isFinished {
      try Task.checkCancellation()
      let outcome = Outcome<ClearingRun>()
      runtime.clear(run) { outcome.resolve($0.mapError { $0 }) }
      let before = run
      run = try await outcome.value()
      progress?(ClearedCache(run.report))
      guard run.awaitsReaders, before.awaitsReaders else { continue }
      let began = waitingSince ?? clock.now
      waitingSince = began
      if clock.now - began < Self.erasingLimit {
        try await clock.sleep(for: .milliseconds(50))
      } else {
        run.giveUpErasing()
      }
    }
    return ClearedCache(run.report)
  }

  private nonisolated(nonsending) func clearingScope(
    _ scope: CacheScope, _ runtime: ClientRuntime
  ) async throws -> ClearingScope {
    switch try scope.resolution(in: self) {
    case .known(let scope): return scope
    case .result(let query, let confirmedBefore):
      let outcome = Outcome<ViewSnapshot>()
      runtime.readQuery(query) { outcome.resolve($0.mapError { $0 }) }
      var scope = ClearingScope.documents(try await outcome.value().documents.map(\.key))
      scope.confirmedBefore = confirmedBefore
      return scope
    }
  }
}
