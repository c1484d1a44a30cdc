internal import HearthCache
internal import HearthModel

/// The changes of other clients that belong to the shown state.
struct SurroundingNews {
  /// Gathered when the changes were stored.
  var before: News
  /// Gathered since, at the state of the file that views read.
  var after: News

  /// True if writes have gone without an effect.
  var hasReverts: Bool { before.answers.contains { $0.error != nil } || after.answers.contains { $0.error != nil } }

  /// Returns the documents to be shown: changes of this client, with those of others around them.
  func around(_ changes: DocumentMap) -> DocumentMap {
    var all = before.changes.isEmpty ? changes : before.changes.merging(changes) { _, new in new }
    if !after.changes.isEmpty { all.merge(after.changes) { _, new in new } }
    return all
  }

  /// Returns an event with what the primary client says of targets around it.
  ///
  /// - Parameter event: The agreements of targets, whose keys the views have, read from the file after the former part of the news and before
  ///   the latter.
  func around(_ event: RemoteEvent?) -> RemoteEvent? {
    let before = RemoteEvent(agreements: before.targetStates)
    let after = RemoteEvent(agreements: after.targetStates)
    guard var all = event ?? before ?? after else { return nil }
    all.targetChanges.merge(before?.targetChanges ?? [:]) { read, _ in read }
    all.targetChanges.merge(after?.targetChanges ?? [:]) { _, newer in newer }
    return all
  }
}
