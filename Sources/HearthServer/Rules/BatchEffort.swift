internal import Synchronization

/// The bounds of the decisions on a BatchWrite, whose writes are committed each by itself.
///
/// The writes that are allowed share the effort of one request. The effort of a denied write counts for no other write: it depends on documents that the
/// caller may not read, and she would learn of them if it decided about her other writes. In its place, the number of denied writes has a bound.
final class BatchEffort: Sendable {
  /// The writes that may be denied. The others are denied unread.
  static let maximumDenials = 500

  private let spent = Atomic(0)
  private let denials = Atomic(0)
  /// Holds the documents that were decoded for the decisions.
  private let decoding = RuleEffort()

  /// The effort of one of the writes, in one attempt.
  func effortOfWrite() -> RuleEffort { decoding.another(in: self) }

  /// Returns true if a write may make an effort, after the writes that were allowed.
  func leaves(_ effort: Int) -> Bool {
    denials.load(ordering: .relaxed) < Self.maximumDenials
      && spent.load(ordering: .relaxed) + effort <= RuleEffort.maximum
  }

  func noteAllowed(_ effort: Int) { spent.add(effort, ordering: .relaxed) }

  func noteDenied() { denials.add(1, ordering: .relaxed) }
}
