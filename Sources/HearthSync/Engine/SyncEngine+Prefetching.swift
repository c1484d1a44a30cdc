internal import HearthCache
internal import HearthModel

/// The number of documents that have come for a listener that wants to know.
struct Transfer {
  let query: Query
  var count = 0
  var reportedCount = 0
}

extension SyncEngine {
  /// Documents between two reports.
  private static let documentsPerReport = 32

  /// Counts what a message brings for the listeners that want to know. At a client without streams nothing is sent.
  ///
  /// A change of targets may complete a snapshot, so that the count is reported before.
  func noteTransfer(by message: WatchResponse) {
    for id in transfers.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      guard var transfer = transfers[id] else { continue }
      guard views.hasListener(id) else {
        // It may have ended with an error.
        if !backgroundQueries.hasBackgroundListen(id), !held.holds(id) {
          transfers[id] = nil
        }
        continue
      }
      var isDue = false
      switch message {
      case .documentChange(let change):
        guard let target = views.targetID(of: transfer.query), change.updatedTargetIDs.contains(target) else {
          continue
        }
        transfer.count += 1
        isDue = transfer.count == 1 || transfer.count.isMultiple(of: Self.documentsPerReport)
      case .targetChange:
        isDue = transfer.count > transfer.reportedCount
      case .existenceFilter, .unreadable:
        continue
      }
      if isDue {
        transfer.reportedCount = transfer.count
        emit(.documentsReceived(id, count: transfer.count))
      }
      transfers[id] = transfer
    }
  }
}
