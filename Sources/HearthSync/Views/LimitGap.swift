internal import HearthCache
internal import HearthModel

/// A possible gap in a result that fills its limit. A write without an outcome has removed a document, or moved it outward, and the backend
/// has not sent the document that takes its place.
///
/// Documents that the backend has left out sort beyond all that it has sent. So a full result has no gap if its outermost document does not
/// sort beyond the backend's version of a confirmed document.
struct LimitGap {
  let query: Query
  let documents: DocumentSet
  /// The documents that the backend has confirmed for the target. It has sent the whole target.
  let confirmedKeys: Set<DocumentKey>

  /// True if there is none whatever was written. Takes constant time.
  var isRuledOut: Bool {
    guard let limit = query.limit, limit > 0, confirmedKeys.count >= limit else { return true }
    guard let outermost else { return false }
    return confirmedKeys.contains(outermost.key) && Self.isUnwritten(outermost)
  }

  /// The confirmed documents that writes may have taken out or moved.
  var keys: Set<DocumentKey> {
    confirmedKeys.filter { key in documents[key].map { !Self.isUnwritten($0) } ?? true }
  }

  /// Says whether there is one.
  ///
  /// - Parameter written: The documents that ``keys`` names.
  func exists(_ written: [DocumentKey: WrittenDocument]) -> Bool {
    guard written.contains(where: { leavesPlace($0.key, $0.value) }) else { return false }
    guard let outermost else { return true }
    return written.values.allSatisfy { document in
      guard let confirmed = document.confirmed, query.matches(confirmed) else { return true }
      return query.sorts(outermost, beyond: confirmed)
    }
  }

  private func leavesPlace(_ key: DocumentKey, _ written: WrittenDocument) -> Bool {
    guard written.awaitsOutcome, let shown = documents[key], let confirmed = written.confirmed else {
      return written.awaitsOutcome
    }
    return query.sorts(shown, beyond: confirmed)
  }

  /// The document where the limit cuts off; nil while there is room.
  private var outermost: Document? {
    guard let limit = query.limit, documents.count >= limit else { return nil }
    return query.edge(first: documents.first, last: documents.last)
  }

  private static func isUnwritten(_ document: Document) -> Bool {
    !document.hasLocalMutations && !document.hasCommittedMutations
  }
}
