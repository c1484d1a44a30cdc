internal import HearthModel

/// The conditions that may be evaluated while commits are matched against queries.
///
/// Streams wait while a round of matching runs. Each commit of the round gets the same share, so that dear queries do not use up what cheap
/// ones need, and may use what the commits before it have left.
struct MatchingEffort {
  private let maximum: Int
  private var perCommit: Int
  private var left = 0

  /// - Parameter maximum: The number of conditions that one round evaluates.
  init(maximum: Int) {
    self.maximum = maximum
    perCommit = maximum
  }

  /// A condition takes longer to evaluate on a document with many fields, before and after a change.
  static func weight(_ transition: DocumentTransition) -> Int {
    1 + (transition.before.fields.bytes.count + transition.after.fields.bytes.count) / bytesPerCondition
  }

  /// The bytes of fields in which a further one is looked for in the time that a condition takes.
  private static let bytesPerCondition = 1024

  mutating func beginRound(commits: Int) {
    left = 0
    perCommit = maximum / max(1, commits)
  }

  mutating func beginCommit() { left = min(maximum, left + perCommit) }

  /// - Returns: False if there is not enough left.
  mutating func take(_ cost: Int) -> Bool {
    guard cost <= left else { return false }
    left -= cost
    return true
  }
}
