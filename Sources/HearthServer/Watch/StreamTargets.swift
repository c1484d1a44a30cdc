internal import HearthModel

/// The targets of one listen stream, in ascending order of their ids.
///
/// A binary search finds a target. Adding or removing one moves the targets with higher ids; clients usually count upwards.
struct StreamTargets {
  private var targets: [WatchedTarget] = []
  private var byQuery: [ChangeFeed.QueryID: [TargetID]] = [:]
  /// The targets whose grants depend on documents that were looked up, by the number of these in the feed.
  private var byLookedUp: [ChangeFeed.QueryID: [TargetID]] = [:]
  /// The targets with grants, ascending.
  private(set) var granted: [TargetID] = []
  /// The documents that these name. A document counts once for each target.
  private(set) var grantedNames = 0

  var isEmpty: Bool { targets.isEmpty }
  var count: Int { targets.count }

  /// An id that is not in use: one above the highest, or the lowest free one when the highest is the last that there is.
  var freeID: TargetID {
    guard let last = targets.last?.id else { return 1 }
    if last < TargetID.max { return last + 1 }
    var id: TargetID = 1
    for target in targets where target.id == id { id += 1 }
    return id
  }

  func contains(_ id: TargetID) -> Bool { index(of: id) != nil }

  /// Adds a target whose id is not in use.
  mutating func insert(_ target: WatchedTarget) {
    let position = position(of: target.id)
    assert(position == targets.count || targets[position].id != target.id, "target \(target.id) is added twice")
    targets.insert(target, at: position)
    let ids = byQuery[target.query] ?? []
    byQuery[target.query] = (ids + [target.id]).sorted()
    if target.grant != nil {
      granted.insert(target.id, at: granted.partitionIndex { $0 >= target.id })
      grantedNames += target.source.keys.count
    }
    if let lookedUp = target.lookedUp { byLookedUp[lookedUp, default: []].append(target.id) }
  }

  /// Removes a target. Returns it, or nil when the id is not in use.
  mutating func remove(_ id: TargetID) -> WatchedTarget? {
    guard let index = index(of: id) else { return nil }
    let target = targets.remove(at: index)
    byQuery[target.query]?.removeAll { $0 == id }
    if byQuery[target.query]?.isEmpty == true { byQuery[target.query] = nil }
    if target.grant != nil {
      granted.remove(at: granted.partitionIndex { $0 >= id })
      grantedNames -= target.source.keys.count
    }
    if let lookedUp = target.lookedUp { forget(id, lookingUp: lookedUp) }
    return target
  }

  /// Gives a target, which has one, another grant.
  mutating func regrant(_ target: WatchedTarget) {
    guard let index = index(of: target.id) else { return assertionFailure("target \(target.id) is not in use") }
    let old = targets[index]
    assert(old.query == target.query && old.grant != nil, "target \(target.id) is another one")
    targets[index] = target
    if target.grant == nil {
      granted.remove(at: granted.partitionIndex { $0 >= target.id })
      grantedNames -= target.source.keys.count
    }
    guard old.lookedUp != target.lookedUp else { return }
    if let lookedUp = old.lookedUp { forget(target.id, lookingUp: lookedUp) }
    if let lookedUp = target.lookedUp { byLookedUp[lookedUp, default: []].append(target.id) }
  }

  private mutating func forget(_ id: TargetID, lookingUp documents: ChangeFeed.QueryID) {
    byLookedUp[documents]?.removeAll { $0 == id }
    if byLookedUp[documents]?.isEmpty == true { byLookedUp[documents] = nil }
  }

  /// The ids of the targets whose grants depend on these documents.
  func ids(lookingUp documents: ChangeFeed.QueryID) -> [TargetID] { byLookedUp[documents] ?? [] }

  /// The ids of the targets with one query, ascending.
  func ids(of query: ChangeFeed.QueryID) -> [TargetID] { byQuery[query] ?? [] }

  func target(_ id: TargetID) -> WatchedTarget? { index(of: id).map { targets[$0] } }

  private func index(of id: TargetID) -> Int? {
    let position = position(of: id)
    return position < targets.count && targets[position].id == id ? position : nil
  }

  /// The index of the first target whose id is not lower.
  private func position(of id: TargetID) -> Int { targets.partitionIndex { $0.id >= id } }
}
