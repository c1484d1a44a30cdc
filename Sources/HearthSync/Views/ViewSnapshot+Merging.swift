internal import HearthModel

extension ViewSnapshot {
  /// Returns this snapshot for a listener that did not get the one before it: the same state, with the changes since the snapshot
  /// before both.
  ///
  /// Takes time in proportion to the documents of the result.
  ///
  /// - Parameter skipped: The snapshot of the same listener just before this one.
  package func merging(_ skipped: ViewSnapshot) -> ViewSnapshot {
    var merged = self
    merged.oldDocuments = skipped.oldDocuments
    merged.syncStateChanged = syncStateChanged || skipped.syncStateChanged
    var gathered = DocumentViewChangeSet()
    for change in skipped.changes + changes { gathered.track(change.kind, change.document) }
    let before = DocumentSet(query: query, sorted: Array(skipped.oldDocuments))
    var carriedOut = before
    merged.changes = gathered.apply(to: &carriedOut, query: query).map { change in
      var change = change
      // A removed document is shown as the listener last had it, not as it was in the snapshot that it did not get.
      if change.kind == .removed, let known = before[change.document.key] { change.document = known }
      return change
    }
    return merged
  }
}
