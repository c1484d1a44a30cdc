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
      return
        "No writes of \(others.identity) wait for the backend; \(others.count) of \(others.names) do.\(unknown(owner, cache))"
    }
    let rejected =
      cache.rejected.batches > 0
      ? " The backend has refused \(cache.rejected): see `hearth cache rejected`." : ""
    return "No writes wait for the backend.\(unknown(owner, cache))\(rejected)"
  }

  /// - Parameters:
  ///   - owner: The identity that was asked for; nil for all.
  ///   - cache: The counts of the whole cache.
  static func rejected(_ owner: OutboxOwner?, _ cache: CacheOverview) -> String {
    if let others = others(than: owner, cache, \.rejected) {
      return
        "The cache keeps no refused writes of \(others.identity), but \(others.count) of \(others.names).\(unknown(owner, cache))"
    }
    let pending =
      cache.pending.batches > 0 ? " \(cache.pending) still wait for its answer: see `hearth cache outbox`." : ""
    return "The cache keeps no writes that the backend has refused.\(unknown(owner, cache))\(pending)"
  }

  /// - Parameters:
  ///   - owner: The identity that was asked for; nil for all.
  ///   - cache: The counts of the whole cache.
  static func conflicts(_ owner: OutboxOwner?, _ cache: CacheOverview) -> String {
    let others = cache.users.filter { $0.id != owner?.name && $0.resolvedConflictCount > 0 }
    if let owner, !others.isEmpty {
      let count = ProgressText.count(others.reduce(0) { $0 + $1.resolvedConflictCount }, "resolved conflict")
      let names = others.map { OutboxOwner(name: $0.id).inWords }.joined(separator: ", ")
      return
        "The cache keeps no resolved conflicts of \(owner.inWords), but \(count) of \(names).\(unknown(owner, cache))"
    }
    return
      "The cache keeps no resolved conflicts: no rule of the app (conflictRules) has resolved one in the last 30 days, or the app has "
      + "discarded the reports.\(unknown(owner, cache))"
  }

  /// The sentence about an identity that has never written, with the nearest one that has; empty for others.
  private static func unknown(_ owner: OutboxOwner?, _ cache: CacheOverview) -> String {
    guard let owner, owner != .nobody, !cache.users.contains(where: { $0.id == owner.name }) else { return "" }
    let known = cache.users.map { OutboxOwner(name: $0.id) }
    let nearest = NearestWord.of(owner.inWords, in: known.map(\.inWords))
    let meant = known.first { $0.inWords == nearest }.map { " Did you mean \($0.option)?" } ?? ""
    return " The cache has never held a write of \(owner.inWords).\(meant)"
  }

  /// - Parameters:
  ///   - key: The key of a document that the cache does not know, as it is asked for.
  ///   - confirmed: True if pending writes were left out.
  ///   - owners: The identities that have pending writes to it.
  ///   - keys: The documents of its collection.
  ///   - collections: All collections of the cache.
  static func document(
    _ key: DocumentKey, confirmed: Bool, _ owners: [OutboxOwner], among keys: [DocumentKey],
    _ collections: [ResourcePath]
  ) -> String {
    guard let first = owners.first else {
      let start = "The cache has no document \"\(key.canonicalString)\""
      if let id = NearestID.of(key.id, in: keys.map(\.id).sorted()) {
        return "\(start). Did you mean \(ShellWord.bare(key.collectionPath.appending(id).canonicalString))?"
      }
      if !collections.isEmpty, !collections.contains(key.collectionPath) {
        let names = collections.map(\.canonicalString)
        return
          "\(start): it has no collection \(CacheDocuments.absent(key.collectionPath.canonicalString, from: names))"
      }
      return
        "\(start). List what it has with `hearth cache documents`; a listener or a read with the network brings others."
    }
    let names = owners.map(\.inWords).joined(separator: ", ")
    let option = confirmed && owners.contains(.nobody) ? "leave out --confirmed" : "give \(first.option)"
    let start =
      confirmed
      ? "The backend has never confirmed \"\(key.canonicalString)\" to this cache; it is only a pending write of \(names)"
      : "The cache has no document \"\(key.canonicalString)\" but in a pending write of \(names)"
    return "\(start). To see it, \(option)\(confirmed && !owners.contains(.nobody) ? " instead of --confirmed" : "")."
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
    "The cache has no local indexes: queries read all documents of a collection, or start from their previous result. An app "
    + "defines them with setIndexConfiguration, or has them made with enableIndexAutoCreation; `hearth cache query --explain` shows the ones that a query lacks."

  /// The reason why there are no documents at all.
  static func documents(_ viewpoint: CacheInspection.Viewpoint, _ cache: CacheOverview) -> String {
    guard case .user(let name) = viewpoint else {
      let pending = cache.pending.batches > 0 ? " \(cache.pending) wait for it: leave out --confirmed." : ""
      return "The backend has confirmed no documents of this cache yet.\(pending)"
    }
    let owner = OutboxOwner(name: name)
    let others = cache.users.filter { $0.id != name && $0.pending.batches > 0 }.map { OutboxOwner(name: $0.id) }
    let start = "The cache holds no documents that \(owner.inWords) sees"
    guard !others.isEmpty else { return "\(start): no listener and no read has brought any." }
    let names = others.map(\.inWords).joined(separator: ", ")
    let options = others.map(\.option).joined(separator: " or ")
    return "\(start). Writes of \(names) wait, which only they see: give \(options)."
  }
}

extension OutboxOwner {
  /// The option that names the identity.
  fileprivate var option: String {
    switch self {
    case .nobody: "--signed-out"
    case .user(let id): "--user \(ShellWord.bare(id))"
    case .serviceAccount(let address): "--service-account \(ShellWord.bare(address))"
    case .emulatorOwner: "--emulator-owner"
    case .application(let name): "--credentials \(ShellWord.bare(name))"
    }
  }
}
