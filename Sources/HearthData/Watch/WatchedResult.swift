package import HearthModel

/// A change of the documents that a query matches.
package enum WatchedChange: Sendable, Equatable {
  case added(Document)
  case changed(Document)
  case removed(DocumentKey)

  package var key: DocumentKey {
    switch self {
    case .added(let document), .changed(let document): document.key
    case .removed(let key): key
    }
  }
}

/// Turns the messages of a listener into changes from one consistent state of the result to the next.
///
/// | message | effect |
/// |---|---|
/// | document changed, matches or no longer matches | noted |
/// | target reset | the result is sent anew: what is not in it is removed at the next snapshot |
/// | target current | the result is complete from here on |
/// | change without target and with a read time | a snapshot: the changes since the one before, once the result is complete |
/// | existence filter with another count | ``Event/mustListenAgain(_:)``: something was missed |
struct WatchedResult {
  enum Event: Equatable {
    case nothing
    /// A consistent state was reached: the changes, in the order of their keys.
    case snapshot([WatchedChange], SnapshotVersion)
    /// The target must be removed, and the new one added without a resume token.
    case mustListenAgain(TargetID)
    case ended(StatusError)
  }

  /// The target in use. One that is listened to again has another number, so that late messages of the former do not count.
  private(set) var target: TargetID
  /// The reported version of each document.
  private var shown: [DocumentKey: SnapshotVersion] = [:]
  /// The result as it was sent, including what is not reported yet.
  private var present: [DocumentKey: SnapshotVersion] = [:]
  private var noted: [DocumentKey: Document] = [:]
  private(set) var isCurrent = false
  /// The place from which a listener goes on after a lost connection; empty for the beginning.
  private(set) var resumeToken: [UInt8] = []

  init(target: TargetID) {
    self.target = target
  }

  /// Forgets what the backend has sent, because it will send all of it again.
  mutating func beginAgain() {
    present = [:]
    noted = [:]
    isCurrent = false
    resumeToken = []
  }

  mutating func received(_ message: WatchResponse) -> Event {
    switch message {
    case .documentChange(let change): note(change)
    case .existenceFilter(let filter):
      if filter.targetID == target, filter.count != present.count {
        let former = target
        beginAgain()
        target += 1
        return .mustListenAgain(former)
      }
    case .unreadable(let message): return .ended(message.error)
    case .targetChange(let change): return received(change)
    }
    return .nothing
  }

  private mutating func note(_ change: WatchDocumentChange) {
    if let document = change.document, document.isFound, change.updatedTargetIDs.contains(target) {
      present[change.key] = document.version
      noted[change.key] = document
    } else if change.removedTargetIDs.contains(target) || change.document?.isFound != true {
      present[change.key] = nil
      noted[change.key] = nil
    }
  }

  private mutating func received(_ change: WatchTargetChange) -> Event {
    let isMine = change.targetIDs.isEmpty || change.targetIDs.contains(target)
    guard isMine else { return .nothing }
    switch change.state {
    case .removed:
      return .ended(
        change.cause ?? StatusError(code: .unknown, message: "The backend has ended the listener without a reason."))
    case .reset: beginAgain()
    case .current: isCurrent = true
    case .added, .noChange: break
    }
    if !change.resumeToken.isEmpty { resumeToken = change.resumeToken }
    guard change.state == .noChange, change.targetIDs.isEmpty, change.readTime > .none, isCurrent else {
      return .nothing
    }
    return .snapshot(takeChanges(), change.readTime)
  }

  private mutating func takeChanges() -> [WatchedChange] {
    var changes: [WatchedChange] = []
    for key in shown.keys where present[key] == nil { changes.append(.removed(key)) }
    for (key, document) in noted {
      guard let version = shown[key] else {
        changes.append(.added(document))
        continue
      }
      if version != document.version { changes.append(.changed(document)) }
    }
    shown = present
    noted = [:]
    return changes.sorted { $0.key < $1.key }
  }
}
