internal import HearthCache
internal import HearthModel

/// The state of the client's targets while one message is handled.
struct WatchedTargets: WatchTargetSource {
  let targets: [TargetID: TargetData]
  let confirmed: ConfirmedKeys
  let databaseID: DatabaseID

  func listenedTarget(_ targetID: TargetID) -> TargetData? { targets[targetID] }

  func isListened(_ targetID: TargetID) -> Bool { targets.index(forKey: targetID) != nil }

  func confirmedKeys(of targetID: TargetID) -> Set<DocumentKey> { confirmed(of: targetID) }

  func name(of key: DocumentKey) -> String { databaseID.name(of: key) }
}
