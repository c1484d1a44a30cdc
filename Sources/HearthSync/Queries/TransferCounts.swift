internal import HearthModel

/// The numbers of received documents, for listeners that ask for them.
///
/// At a client without streams nothing is sent, and nothing is counted.
struct TransferCounts {
  /// The state of a listener for the counting of documents.
  enum Listener {
    /// It has a view; nil without a target.
    case listens(to: TargetID?)
    /// It waits for its first result, or for the file of the cache.
    case waits
    /// It has ended, perhaps with an error.
    case ended
  }

  private struct Transfer {
    let query: Query
    var count = 0
    var reportedCount = 0

    /// - Returns: True if the count must be reported.
    mutating func note(_ message: WatchResponse, _ target: TargetID?) -> Bool {
      switch message {
      case .documentChange(let change):
        guard let target, change.updatedTargetIDs.contains(target) else { return false }
        count += 1
        return count == 1 || count.isMultiple(of: documentsPerReport)
      case .targetChange:
        return count > reportedCount
      case .existenceFilter, .unreadable:
        return false
      }
    }
  }

  /// Documents between two reports.
  private static let documentsPerReport = 32

  private var transfers: [ListenerID: Transfer] = [:]

  mutating func begin(_ id: ListenerID, _ query: Query) {
    transfers[id] = Transfer(query: query)
  }

  mutating func end(_ id: ListenerID) {
    transfers[id] = nil
  }

  /// Counts what a message brings.
  ///
  /// A change of targets may complete a snapshot, so that the count is reported before.
  mutating func received(_ message: WatchResponse, listener: (ListenerID, Query) -> Listener) -> [SyncAction] {
    // A stream brings many messages, and few listeners want to know.
    if transfers.isEmpty { return [] }
    var actions: [SyncAction] = []
    for id in transfers.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      guard var transfer = transfers[id] else { continue }
      switch listener(id, transfer.query) {
      case .listens(let target):
        guard transfer.note(message, target) else { break }
        transfer.reportedCount = transfer.count
        actions.append(.documentsReceived(id, count: transfer.count))
      case .waits: break
      case .ended:
        transfers[id] = nil
        continue
      }
      transfers[id] = transfer
    }
    return actions
  }
}
