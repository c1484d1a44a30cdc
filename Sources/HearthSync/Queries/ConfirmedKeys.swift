internal import HearthModel

/// The documents that the backend had confirmed for each target up to the last snapshot.
///
/// A value for the duration of one call. It must not be kept, because a view whose keys are also held elsewhere copies them at every
/// change.
struct ConfirmedKeys {
  private let queries: QueryTable
  private let limbo: LimboResolutions
  private let freshReads: FreshReads

  init(of queries: QueryTable, and limbo: LimboResolutions, _ freshReads: FreshReads) {
    self.queries = queries
    self.limbo = limbo
    self.freshReads = freshReads
  }

  /// The target whose state the target of a read continues from; nil for all other targets.
  func continuedTarget(of targetID: TargetID) -> TargetID? { freshReads.listenedTarget(of: targetID) }

  /// The confirmed documents of a target that are shown at later versions than one, with these.
  func versions(after version: SnapshotVersion, in targetID: TargetID) -> [DocumentKey: SnapshotVersion] {
    var versions: [DocumentKey: SnapshotVersion] = [:]
    for query in queries.queries(of: continuedTarget(of: targetID) ?? targetID) {
      for document in query.view.documents.documents
      where document.version > version && query.view.confirmedKeys.contains(document.key) {
        versions[document.key] = document.version
      }
    }
    return versions
  }

  func callAsFunction(of targetID: TargetID) -> Set<DocumentKey> {
    if let resolution = limbo.resolution(of: targetID) {
      return resolution.hasReceivedDocument ? [resolution.key] : []
    }
    var keys: Set<DocumentKey>?
    for query in queries.queries(of: continuedTarget(of: targetID) ?? targetID) {
      keys = keys?.union(query.view.confirmedKeys) ?? query.view.confirmedKeys
    }
    return keys ?? []
  }
}
