internal import HearthModel

/// The indexes that queries have asked for and used, since the database was opened.
///
/// | event | effect |
/// |---|---|
/// | `wish` | definitions that are already pending, or whose group has no room at present, are left out; the others become pending |
/// | `answer` | they are no longer pending; groups without room are asked again only after a while |
/// | `use` | the time is kept, to the minute |
/// | `takeUnsaved` | the uses whose time on disk is older than an hour |
struct IndexDemand {
  /// Microseconds since 1970.
  typealias Time = Int64

  /// More are not kept. A query whose wish is left out asks again when it runs again.
  static let maximumPending = 1_000
  /// More groups without room are forgotten, and asked again.
  static let maximumFullGroups = 1_000
  /// Uses closer together than this are one.
  static let useInterval: Time = 60_000_000
  /// The time of a use on disk is not older by more than this.
  static let saveInterval: Time = 3_600_000_000

  private struct Use {
    var latest: Time
    /// The time on disk; nil if it is unknown.
    var saved: Time?
  }

  private var pending: Set<IndexDefinition> = []
  private var fullUntil: [String: Time] = [:]
  private var uses: [IndexDefinition: Use] = [:]

  var pendingCount: Int { pending.count }
  var fullGroupCount: Int { fullUntil.count }

  // MARK: - Wishes

  /// - Returns: The definitions to answer.
  mutating func wish(_ definitions: [IndexDefinition], at now: Time) -> [IndexDefinition] {
    definitions.filter { definition in
      if let end = fullUntil[definition.collectionGroup] {
        guard end <= now else { return false }
        fullUntil[definition.collectionGroup] = nil
      }
      return pending.count < Self.maximumPending && pending.insert(definition).inserted
    }
  }

  /// - Parameter full: The groups that can take no index, and when to ask again.
  mutating func answer(_ definitions: [IndexDefinition], full: [String: Time]) {
    pending.subtract(definitions)
    if fullUntil.count + full.count > Self.maximumFullGroups { fullUntil = [:] }
    fullUntil.merge(full) { $1 }
  }

  // MARK: - Uses

  mutating func use(_ definition: IndexDefinition, at now: Time) {
    if let use = uses[definition] {
      if now >= use.latest + Self.useInterval { uses[definition]?.latest = now }
    } else {
      uses[definition] = Use(latest: now, saved: nil)
    }
  }

  /// The latest use since the database was opened.
  func latestUse(of definition: IndexDefinition) -> Time? { uses[definition]?.latest }

  /// The uses to save. They count as saved from now on.
  mutating func takeUnsaved() -> [IndexDefinition: Time] {
    let unsaved = uses.filter { use in use.value.saved.map { use.value.latest >= $0 + Self.saveInterval } ?? true }
    for (definition, use) in unsaved { uses[definition]?.saved = use.latest }
    return unsaved.mapValues(\.latest)
  }

  /// Forgets the uses of indexes that are no more.
  mutating func keepUses(of definitions: Set<IndexDefinition>) {
    uses = uses.filter { definitions.contains($0.key) }
  }
}
