internal import HearthModel

/// The documents that the open views show, by target. Eager garbage collection keeps them.
struct ViewReferences {
  private var keysByTarget: [TargetID: Set<DocumentKey>] = [:]
  private var countByKey: [DocumentKey: Int] = [:]

  var isEmpty: Bool { countByKey.isEmpty }

  func contains(_ key: DocumentKey) -> Bool { countByKey[key] != nil }

  mutating func add(_ keys: Set<DocumentKey>, target: TargetID) {
    for key in keys where keysByTarget[target, default: []].insert(key).inserted {
      countByKey[key, default: 0] += 1
    }
  }

  mutating func remove(_ keys: Set<DocumentKey>, target: TargetID) {
    for key in keys where keysByTarget[target]?.remove(key) != nil { release(key) }
    if keysByTarget[target]?.isEmpty == true { keysByTarget[target] = nil }
  }

  /// Removes everything that the target's view showed, and returns it.
  mutating func removeAll(target: TargetID) -> Set<DocumentKey> {
    let keys = keysByTarget.removeValue(forKey: target) ?? []
    for key in keys { release(key) }
    return keys
  }

  /// Checks that each document is counted as often as a view shows it.
  func assertInvariants() {
    assert(keysByTarget.values.allSatisfy { !$0.isEmpty }, "a view without documents is remembered")
    assert(
      keysByTarget.values.reduce(0) { $0 + $1.count } == countByKey.values.reduce(0, +),
      "the views show another number of documents than is counted")
  }

  private mutating func release(_ key: DocumentKey) {
    guard let count = countByKey[key] else {
      return assertionFailure("\(key) is shown by a view, but counted by none")
    }
    countByKey[key] = count > 1 ? count - 1 : nil
  }
}
