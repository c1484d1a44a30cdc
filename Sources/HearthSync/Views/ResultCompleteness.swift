package import HearthModel

/// Tells whether a query's result is known to have every document that matches at the backend.
package enum ResultCompleteness: Equatable, Sendable {
  /// Nothing that the backend's snapshot of this version had is missing, and later changes that the cache knows of are included. The
  /// version is `none` where another client of the cache follows the target.
  case complete(asOf: SnapshotVersion)
  /// The result of this version was complete and filled the query's limit. Documents of it have changed since, and the cache may not
  /// have those that take their places. The version is `none` as above.
  case limitUncertain(asOf: SnapshotVersion)
  /// The cache has no complete result: the target was never in sync, or its result is being fetched again.
  case notSynchronized
  /// The cache had a complete result, which was collected or cleared.
  case collected

  package var isComplete: Bool {
    if case .complete = self { true } else { false }
  }
}

/// The part of a target's state that decides about ``ResultCompleteness``.
struct ResultKnowledge: Sendable {
  /// The version of the last snapshot at which the backend had sent everything; `none` if there was none.
  var version: SnapshotVersion
  /// The documents that the backend has confirmed. Needed for a query with a limit only.
  var confirmedKeys: Set<DocumentKey>
  /// True if the cache had a complete result once.
  var wasDropped = false

  static let none = ResultKnowledge(version: .none, confirmedKeys: [])

  /// The completeness of a result. Takes time in proportion to the query's limit.
  ///
  /// The backend does not send what is beyond a limit. So when a full result has changed since the snapshot, a document that the cache
  /// does not have may belong into it. That holds for a view in sync as well, when it shows a pending write. Without a limit, and with
  /// one that the backend's result did not fill, all documents are here.
  ///
  /// - Parameters:
  ///   - isSynced: True if the result agrees with the backend but for local writes, whether the version is known or not.
  ///   - versionIsLatest: False if the keys are those of a later snapshot, whose version is not known.
  func completeness(
    of documents: some Collection<Document>, of query: Query, isSynced: Bool = false, versionIsLatest: Bool = true
  ) -> ResultCompleteness {
    guard isSynced || version > .none else { return wasDropped ? .collected : .notSynchronized }
    guard let limit = query.limit, confirmedKeys.count >= limit else { return .complete(asOf: version) }
    let isAsConfirmed =
      documents.count == confirmedKeys.count
      && documents.allSatisfy { document in
        confirmedKeys.contains(document.key) && !document.hasLocalMutations
          && (document.version <= version || version == .none || !versionIsLatest)
      }
    return isAsConfirmed ? .complete(asOf: version) : .limitUncertain(asOf: version)
  }
}
