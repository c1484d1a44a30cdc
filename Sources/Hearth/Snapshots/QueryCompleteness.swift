internal import HearthModel
internal import HearthSync

/// The knowledge whether a query's result has every document that matches at the backend.
///
/// `isFromCache` says that a result may be outdated, but not what it lacks: an offline result of a query that was read an hour ago
/// has everything of that hour, and one of a query that was never read has what other queries happened to leave in the cache. Local
/// writes are always part of the result.
public enum QueryCompleteness: Sendable, Hashable {
  /// Nothing is missing that matched at this time of the backend; later changes that this device knows of are included.
  ///
  /// While `isFromCache` is true, changes made since are not, and single documents may be in the result that do not match any more.
  /// The time is nil if another process that shares the cache follows the query, and this one does not know it.
  case complete(asOf: Timestamp?)
  /// At this time the result was complete and as long as the query's limit. Since then documents of it were changed, by writes of
  /// this device that the backend may not have answered or by what other queries brought, so documents that this device does not have may
  /// belong into it. The documents in the result do match. The time is nil as above.
  case limitUncertain(asOf: Timestamp?)
  /// No complete result is known: the query was never in sync with the backend on this device, or the backend is just sending the result
  /// anew. Documents may be missing, even all of them.
  case notSynchronized
  /// A complete result was known once, and was removed from the cache, by garbage collection or because it was cleared. Documents may be
  /// missing, even all of them. The last thousand such queries are remembered, by a cache that collects the
  /// least recently used; of others the result is ``notSynchronized``.
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
