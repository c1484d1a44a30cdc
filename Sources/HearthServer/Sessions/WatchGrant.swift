internal import HearthModel

/// The permission to watch a target, which ends when the rules decide otherwise.
struct WatchGrant: Sendable {
  /// The release of the rules that have decided.
  var release: Int
  /// Without the documents of the target itself.
  var basis = RuleBasis()
  /// True if the rules decide on each document by its contents: the target asks for documents by their keys.
  var dependsOnDocuments = false
}
