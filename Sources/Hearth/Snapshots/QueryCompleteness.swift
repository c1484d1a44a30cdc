internal import HearthModel
internal import HearthSync

/// Tells whether a query's result has every document that matches at the backend.
///
/// `isFromCache` says that a result may be outdated, but not what it lacks. The offline result of a query that was read an hour ago has
/// everything of that time. The result of a query that was never read has only the documents that other queries happened to leave in the
/// cache. Local writes are always part of the result.
public enum QueryCompleteness: Sendable, Hashable {
  /// The result has every document that matched at this time of the backend's clock; later changes that this device knows are included.
  ///
  /// While `isFromCache` is true, later changes at the backend are missing, and the result may contain single documents that no longer
  /// match. The time is nil if another process that shares the cache follows the query, and this process does not know the time.
  case complete(asOf: Timestamp?)
  /// At this time the result was complete and as long as the query's limit. Since then some of its documents were changed, by writes of
  /// this device that the backend may not have answered, or through other queries. So documents that this device lacks may belong to the
  /// result. The documents in the result do match. The time can be nil, as in ``complete(asOf:)``.
  case limitUncertain(asOf: Timestamp?)
  /// No complete result is known: the query was never in sync with the backend on this device, or the backend is just sending the result
  /// again. Documents may be missing, even all of them.
  case notSynchronized
  /// A complete result was known once, and was removed from the cache, by garbage collection or because it was cleared. Documents may be
  /// missing, even all of them. A cache that removes the least recently used documents remembers the last thousand such queries; other
  /// queries are ``notSynchronized``.
  case collected

  /// True for ``complete(asOf:)``.
  public var isComplete: Bool {
    if case .complete = self { true } else { false }
  }

  init(_ completeness: ResultCompleteness) {
    switch completeness {
    case .complete(let version): self = .complete(asOf: Self.time(version))
    case .limitUncertain(let version): self = .limitUncertain(asOf: Self.time(version))
    case .notSynchronized: self = .notSynchronized
    case .collected: self = .collected
    }
  }

  private static func time(_ version: SnapshotVersion) -> Timestamp? {
    version == .none ? nil : Timestamp(version.timestamp)
  }
}
