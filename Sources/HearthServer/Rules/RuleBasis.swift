internal import HearthModel

/// The state of things on which the answer of rules depends. It stands as long as that does not change.
struct RuleBasis: Sendable, Hashable {
  /// The documents that the rules have looked up.
  var documents: Set<DocumentKey> = []
  /// True if the answer depends on the time.
  var usesTime = false
}
