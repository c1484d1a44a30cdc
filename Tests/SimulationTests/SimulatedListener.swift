import HearthModel
import HearthSync

/// One listener, and what it was shown last.
struct SimulatedListener {
  var query: Query
  var options: ListenOptions
  private(set) var snapshot: ViewSnapshot?

  init(query: Query, options: ListenOptions) {
    self.query = query
    self.options = options
  }

  /// Takes the next snapshot: the changes lead from the last one to it, and there is a reason to raise it.
  ///
  /// - Returns: The violation; nil if there is none.
  mutating func take(_ next: ViewSnapshot) -> String? {
    let before = snapshot
    var keys = before?.documents.map(\.key) ?? []
    for change in next.changes {
      if let old = change.oldIndex {
        guard keys.indices.contains(old), keys[old] == change.document.key else {
          return "\(change.document.key) did not stand at \(old)"
        }
        keys.remove(at: old)
      }
      if let new = change.newIndex {
        guard new >= 0, new <= keys.count else { return "there is no place \(new)" }
        keys.insert(change.document.key, at: new)
      }
    }
    snapshot = next
    if keys != next.documents.map(\.key) { return "the changes lead to \(keys), not to \(next.documents.map(\.key))" }
    if let before, next.changes.isEmpty, before.isFromCache == next.isFromCache,
      before.hasPendingWrites == next.hasPendingWrites
    {
      return "it was told nothing new"
    }
    return nil
  }
}
