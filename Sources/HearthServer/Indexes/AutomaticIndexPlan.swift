internal import HearthModel
internal import HearthStore

/// The automatic indexes to add and to drop.
///
/// An index costs every later write of its documents. A group whose fields are named after its data (`members.<uid>`) asks for an index
/// with every name. So there is a limit, and unused indexes are dropped to make room.
struct AutomaticIndexPlan {
  /// The largest number of automatic indexes of a collection group.
  static let limit = 32
  /// An index that was unused for so long is dropped.
  static let idleTime: IndexDemand.Time = 24 * 3_600_000_000
  /// At the limit, an index that was unused for so long makes room for another one. Each is filled from all documents of its group, so
  /// that may not happen often.
  static let evictionTime: IndexDemand.Time = 30 * 60_000_000
  /// The time of day counts on when no server runs. After a start, each index is kept for so long at least.
  static let graceTime: IndexDemand.Time = 3_600_000_000

  private(set) var added: [IndexDefinition] = []
  private(set) var dropped: [IndexDefinition] = []
  /// The groups without room, and when an index there may make some.
  private(set) var full: [String: IndexDemand.Time] = [:]

  var isEmpty: Bool { added.isEmpty && dropped.isEmpty }

  /// Makes room for what queries ask for.
  ///
  /// - Parameters:
  ///   - wishes: The requested indexes. Existing ones are left out.
  ///   - present: All indexes, automatic and declared ones.
  init(
    for wishes: [IndexDefinition], beside present: Set<IndexDefinition>, _ automatic: [AutomaticIndex],
    now: IndexDemand.Time
  ) {
    // The longest unused last.
    var groups = Dictionary(grouping: automatic, by: \.definition.collectionGroup)
      .mapValues { $0.sorted { $0.latestUse > $1.latestUse } }
    for wish in wishes where !present.contains(wish) {
      let group = wish.collectionGroup
      var indexes = groups[group] ?? []
      if indexes.count >= Self.limit {
        guard let idle = indexes.last, idle.latestUse + Self.evictionTime <= now else {
          full[group] = (indexes.last?.latestUse ?? now) + Self.evictionTime
          continue
        }
        dropped.append(idle.definition)
        indexes.removeLast()
      }
      added.append(wish)
      indexes.insert(AutomaticIndex(definition: wish, latestUse: now), at: 0)
      groups[group] = indexes
    }
  }

  /// Drops what is unused.
  init(dropping automatic: [AutomaticIndex], openedAt opening: IndexDemand.Time, now: IndexDemand.Time) {
    guard now >= opening + Self.graceTime else { return }
    dropped = automatic.filter { $0.latestUse + Self.idleTime <= now }.map(\.definition)
  }
}
