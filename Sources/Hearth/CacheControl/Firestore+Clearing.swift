internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthSync

/// The outcome of ``Firestore/clearCache(_:securely:progress:)``, or its progress.
public struct ClearedCache: Sendable, Hashable {
  /// The number of removed documents, including entries for documents known not to exist.
  public let removedDocumentCount: Int
  /// The number of documents that stay because of a pending write of any user, signed in or not. It includes documents that exist only
  /// through such writes.
  public let pendingDocumentCount: Int
  /// The number of documents that stay because a listener shows them, in this process or in another one that shares the cache.
  public let listenedDocumentCount: Int
  /// The bytes of the cache's file that were returned to the file system.
  public let releasedBytes: Int64
  /// True after a secure clearing if nothing of the removed documents is left in the cache's files. It says nothing of documents that stay:
  /// ``pendingDocumentCount`` and ``listenedDocumentCount`` count them.
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
  /// Two kinds of documents stay, and are counted in the result: documents with pending writes, because only the cache has these writes,
  /// and documents that a listener shows, because the listener would only fetch them again. So remove listeners first, and await
  /// ``waitForPendingWrites()`` or use ``outbox``, while the user who wrote is still signed in. If a query without a listener has lost a
  /// document of its result, its next read starts from the beginning. A pinned query stays pinned. Bundles can be loaded again. Kept
  /// refused writes (``rejectedWrites``), resolved conflicts (``resolvedConflicts``) and the outcomes of receipts are not cleared.
  ///
  /// The call works in steps of a few milliseconds, and lets other operations run in between. It works offline, and while other processes
  /// share the cache. When the task is cancelled, it ends after the current step; removed documents stay removed.
  ///
  /// ## Secure clearing
  ///
  /// SQLite leaves deleted data in unused parts of its file until they are overwritten. With `securely` the last step rewrites the file and
  /// empties its log, so that nothing remains of the removed documents, their index entries, or earlier deletions. That step blocks other
  /// operations: for 100 MB of remaining data it took two seconds, and as much memory. It cannot reach the copies of overwritten data that
  /// a file system or a flash memory keeps, damaged cache files that were set aside, and copies of the cache.
  ///
  /// - Parameters:
  ///   - scope: The documents.
  ///   - securely: True to erase them from the cache's files.
  ///   - progress: Called after each step, in the caller's task.
  /// - Returns: The numbers of removed and of remaining documents. ``ClearedCache/isErased`` is false after a secure clearing if other
  ///   readers held an older state of the file for five seconds, so that its log could not be emptied: clear again later.
  /// - Throws: `invalidArgument` for a scope of another Firestore object, a date outside the range of timestamps, or an invalid collection
  ///   id; errors of the cache's file, such as `unavailable` if another process holds it, and `resourceExhausted` if the disk is full;
  ///   `CancellationError`. Documents that were removed before stay removed.
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
