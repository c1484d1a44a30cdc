internal import HearthCache
internal import HearthModel

/// The number of documents that have come for a listener that wants to know.
struct Transfer {
  let query: Query
  var count = 0
}

extension SyncEngine {
  /// Documents between two reports.
  private static let documentsPerReport = 32

  /// Counts a document for the listeners whose queries it was sent for. At a client without streams nothing is sent.
  func noteTransfer(of change: WatchDocumentChange) {
    for (id, transfer) in transfers.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      // It may have ended with an error.
      guard views.hasListener(id) else {
        if !backgroundQueries.hasBackgroundListen(id), !heldListens.contains(where: { $0.id == id }) { transfers[id] = nil }
        continue
      }
      guard let target = views.targetID(of: transfer.query), change.updatedTargetIDs.contains(target) else { continue }
      let count = transfer.count + 1
      transfers[id]?.count = count
      if count == 1 || count.isMultiple(of: Self.documentsPerReport) { emit(.documentsReceived(id, count: count)) }
    }
  }
}
