internal import HearthModel
internal import HearthStore

/// The present state of a target, and the state in its row.
struct ActiveTarget {
  var data: TargetData
  var persisted: TargetData

  init(_ row: TargetData) {
    data = row
    persisted = row
  }
}

/// The targets that this client uses: those that have a listener, and those that loaded bundles have filled.
///
/// Its methods run inside a transaction. If it fails, it restores the memory.
final class ActiveTargets {
  /// Restored to its former value when a transaction fails.
  struct Memory {
    /// The targets that have a listener.
    fileprivate var targets: [TargetID: ActiveTarget] = [:]
    fileprivate var targetIDs: [Target: TargetID] = [:]
    /// The targets that bundles loaded since the start have filled and that no listener has released since.
    fileprivate var loaded: Set<TargetID> = []
    /// The targets that this client wants the backend to be asked for. In a shared cache the file has them for all clients.
    fileprivate var watched: Set<TargetID> = []
  }

  private let table: TargetTable
  private(set) var memory = Memory()

  init(in table: TargetTable) {
    self.table = table
  }

  func goBack(to former: Memory) { memory = former }

  var isEmpty: Bool { memory.targets.isEmpty }

  /// In order.
  var targetIDs: [TargetID] { memory.targets.keys.sorted() }

  /// The target with this number if it has a listener.
  subscript(targetID: TargetID) -> ActiveTarget? { memory.targets[targetID] }

  /// The number under which a target has a listener.
  func targetID(of target: Target) -> TargetID? { memory.targetIDs[target] }

  /// The places in which the documents of these targets may lie.
  var scopes: TargetScopes { TargetScopes(memory.targets.values.lazy.map(\.data.target)) }

  // MARK: - With a listener

  /// Takes a target into use as its row has it.
  ///
  /// - Throws: if its number is that of another target in use, or it is in use under another number.
  func take(_ row: TargetData) throws {
    try check(row)
    if let known = memory.targetIDs[row.target], known != row.targetID, memory.targets[known] != nil {
      throw StoreError(kind: .unavailable, message: "Target \(row.targetID) is in use as target \(known).")
    }
    memory.targets[row.targetID] = ActiveTarget(row)
    memory.targetIDs[row.target] = row.targetID
  }

  /// Changes what is known of a target in use.
  func update(_ active: ActiveTarget) {
    assert(
      memory.targets[active.data.targetID]?.data.target == active.data.target,
      "\(active.data) is changed, which is not in use")
    memory.targets[active.data.targetID] = active
  }

  /// Ends the use of a number for a target that goes on under another one.
  func leaveNumber(_ targetID: TargetID) { memory.targets[targetID] = nil }

  func remove(_ targetID: TargetID) {
    guard let active = memory.targets.removeValue(forKey: targetID) else { return }
    memory.targetIDs[active.data.target] = nil
    memory.watched.remove(targetID)
  }

  func isWatched(_ targetID: TargetID) -> Bool { memory.watched.contains(targetID) }

  func setWatched(_ targetID: TargetID, _ isWatched: Bool) {
    if isWatched { memory.watched.insert(targetID) } else { memory.watched.remove(targetID) }
  }

  // MARK: - Rows

  /// The number of a target is never given again. Otherwise the state in memory of a target in use would be taken for another one's.
  private func check(_ row: TargetData) throws {
    guard let active = memory.targets[row.targetID], active.data.target != row.target else { return }
    throw CacheError.corruptRecord(
      table: "cache_targets", row: "\(row.targetID)", reason: "it holds another target than the one in use")
  }

  /// The row of a target in use; nil if it has none.
  func row(of targetID: TargetID) throws -> TargetData? {
    guard let row = try table.targetData(targetID) else { return nil }
    try check(row)
    return row
  }

  /// Reads the row of a target in use again, which another client has written. Does nothing if it has none.
  func readAgain(_ targetID: TargetID) throws {
    guard memory.targets[targetID] != nil, let row = try row(of: targetID) else { return }
    memory.targets[targetID] = ActiveTarget(row)
  }

  /// Reads the rows of the targets in use again, when the lease is taken: they were another client's business, and what is in memory
  /// of them must not be written back.
  func readAllAgain() throws {
    for targetID in targetIDs { try readAgain(targetID) }
  }

  // MARK: - Of bundles

  var loaded: Set<TargetID> { memory.loaded }

  func noteLoaded(_ targetID: TargetID) { memory.loaded.insert(targetID) }

  func forgetLoaded(_ targetID: TargetID) { memory.loaded.remove(targetID) }

  /// Forgets those that have no row any more.
  func forgetLoadedWithoutRow() throws {
    memory.loaded = try memory.loaded.filter { try table.targetData($0) != nil }
  }

  // MARK: - Assertions

  /// Checks what holds between transactions, in debug builds only.
  ///
  /// - Parameter isThorough: True to look at each target, however many there are.
  func assertInvariants(isThorough: Bool) {
    let (targets, targetIDs) = (memory.targets, memory.targetIDs)
    assert(
      targets.count == targetIDs.count,
      "\(targets.count) targets have a listener, but \(targetIDs.count) are found by query")
    guard isThorough || targets.count <= 8 else { return }
    assert(
      targetIDs.allSatisfy { targets[$0.value]?.data.target == $0.key },
      "a query leads to another target than its own: \(targetIDs)")
    assert(
      targets.allSatisfy { $0.key == $0.value.data.targetID && $0.key == $0.value.persisted.targetID },
      "a target is found under another one's number: \(targets)")
    assert(
      targets.values.allSatisfy { $0.data.target == $0.persisted.target },
      "the row of a target in use is another one's: \(targets)")
  }
}

/// The collections, groups and paths that may contain the documents of some targets.
struct TargetScopes {
  private var collections: Set<ResourcePath> = []
  private var groups: Set<String> = []
  private var documents: Set<ResourcePath> = []

  init(_ targets: some Sequence<Target>) {
    for target in targets {
      if let group = target.collectionGroup {
        groups.insert(group)
      } else if target.path.count.isMultiple(of: 2) {
        documents.insert(target.path)
      } else {
        collections.insert(target.path)
      }
    }
  }

  func contain(_ key: DocumentKey) -> Bool {
    collections.contains(key.collectionPath) || groups.contains(key.collectionGroup) || documents.contains(key.path)
  }
}
