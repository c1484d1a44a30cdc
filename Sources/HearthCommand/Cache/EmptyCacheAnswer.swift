import HearthCache
import HearthData
import HearthModel

/// Says on standard error why a subcommand that only reads a cache found nothing.
enum EmptyCacheAnswer {
  static func write(_ sentence: String) {
    Terminal.writeError("hearth cache: \(Terminal.safe(sentence))")
  }

  /// - Parameters:
  ///   - owner: The identity that was asked for; nil for all.
  ///   - cache: The counts of the whole cache.
  static func outbox(_ owner: OutboxOwner?, _ cache: CacheOverview) -> String {
    if let others = others(than: owner, cache, \.pending) {
      return "No writes of \(others.identity) wait for the backend; \(others.count) of \(others.names) do."
    }
    let rejected =
      cache.rejected.batches > 0
      ? " The backend has refused \(cache.rejected): see `hearth cache rejected`." : ""
    return "No writes wait for the backend.\(rejected)"
  }

  /// - Parameters:
  ///   - owner: The identity that was asked for; nil for all.
  ///   - cache: The counts of the whole cache.
  static func rejected(_ owner: OutboxOwner?, _ cache: CacheOverview) -> String {
    if let others = others(than: owner, cache, \.rejected) {
      return "The cache keeps no refused writes of \(others.identity), but \(others.count) of \(others.names)."
    }
    let pending =
      cache.pending.batches > 0 ? " \(cache.pending) still wait for its answer: see `hearth cache outbox`." : ""
    return "The cache keeps no writes that the backend has refused.\(pending)"
  }

  /// The identities that have what the one that was asked for has not; nil if all were asked for, and if nobody has any.
  private static func others(
    than owner: OutboxOwner?, _ cache: CacheOverview, _ count: KeyPath<CacheOverview.User, WriteCount>
  ) -> (identity: String, count: String, names: String)? {
    guard let owner else { return nil }
    let others = cache.users.filter { $0.id != owner.name && $0[keyPath: count].batches > 0 }
    guard !others.isEmpty else { return nil }
    let total = others.map { $0[keyPath: count] }
      .reduce(into: (writes: 0, batches: 0)) { $0 = ($0.writes + $1.writes, $0.batches + $1.batches) }
    return (
      owner.inWords, "\(WriteCount(batches: total.batches, writes: total.writes))",
      others.map { OutboxOwner(name: $0.id).inWords }.joined(separator: ", ")
    )
  }

  static let indexes =
    "The cache has no local indexes: queries read all documents of a collection. An app defines them with setIndexConfiguration, or has "
    + "them made with enableIndexAutoCreation; `hearth cache query --explain` shows the ones that a query lacks."

  /// The reason why there are no documents at all.
  static func documents(_ viewpoint: CacheInspection.Viewpoint, _ cache: CacheOverview) -> String {
    guard case .user(let name) = viewpoint else {
      let pending = cache.pending.batches > 0 ? " \(cache.pending) wait for it: leave out --confirmed." : ""
      return "The backend has confirmed no documents of this cache yet.\(pending)"
    }
    let owner = OutboxOwner(name: name)
    let others = cache.users.filter { $0.id != name && $0.pending.batches > 0 }.map { OutboxOwner(name: $0.id).inWords }
    let whose =
      others.isEmpty
      ? "" : " Writes of \(others.joined(separator: ", ")) wait, which only they see (--user and the like)."
    return "The cache holds no documents that \(owner.inWords) sees: no listener and no read has brought any.\(whose)"
  }
}
