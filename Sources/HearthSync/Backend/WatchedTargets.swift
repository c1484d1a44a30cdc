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

  func continuedTarget(of targetID: TargetID) -> TargetID? { confirmed.continuedTarget(of: targetID) }

  func name(of key: DocumentKey) -> String { databaseID.name(of: key) }
}

extension TargetRequest {
  /// - Parameter confirmedCount: The number of documents that the backend had confirmed for the target; it is asked for only if
  ///   the request resumes an earlier listen.
  init(_ target: TargetData, confirmedCount: () -> Int) {
    let hasToken = !target.resumeToken.isEmpty
    let readTime = hasToken || target.snapshotVersion == .none ? nil : target.snapshotVersion
    let resumes = hasToken || readTime != nil
    self.init(
      targetID: target.targetID, target: target.target, purpose: target.purpose, resumeToken: target.resumeToken,
      readTime: readTime, expectedCount: resumes ? confirmedCount() : nil)
  }
}
