/// A set. Numbers that are equal count once, whether they are integers or not; the first one stays.
package struct ValueSet: Sendable {
  private final class Storage: Sendable {
    let items: [RuleValue]
    /// The members that equal themselves; nil if all are texts and so few that comparing them takes less time than hashing one.
    let keys: Set<LooseKey>?
    let weight: Int
    let depth: Int
    let roundedCount: Int

    init(_ candidates: [RuleValue]) {
      let isSearched = !ValueSet.areFewTexts(candidates)
      var items: [RuleValue] = []
      var keys: Set<LooseKey> = []
      var (weight, depth, roundedCount) = (1, 0, 0)
      for item in candidates {
        if isSearched {
          let key = LooseKey(item)
          guard !key.isReflexive || keys.insert(key).inserted else { continue }
        } else if items.contains(where: { RuleValue.isMember(item, like: $0) }) {
          continue
        }
        items.append(item)
        weight = weight.addingOrMax(item.weight)
        depth = max(depth, item.depth)
        roundedCount += item.roundedCount
      }
      self.items = items
      self.keys = isSearched ? keys : nil
      (self.weight, self.depth, self.roundedCount) = (weight, depth + 1, roundedCount)
    }
  }

  private static let (mostCompared, largestCompared) = (12, 128)

  private static func areFewTexts(_ values: [RuleValue]) -> Bool {
    values.count <= mostCompared
      && values.allSatisfy { value in
        if case .string(let text) = value { text.utf8.count <= largestCompared } else { false }
      }
  }

  private let storage: Storage

  package init(_ candidates: [RuleValue]) { storage = Storage(candidates) }

  /// In the order in which they were added.
  package var items: [RuleValue] { storage.items }
  var weight: Int { storage.weight }
  var depth: Int { storage.depth }
  var roundedCount: Int { storage.roundedCount }

  func contains(_ value: RuleValue) -> Bool {
    if let keys = storage.keys { return keys.contains(LooseKey(value)) }
    guard case .string = value else { return false }
    return storage.items.contains { RuleValue.isMember(value, like: $0) }
  }

  /// Returns whether both have the same members, without those that do not equal themselves.
  func hasSameMembers(as other: ValueSet) -> Bool {
    switch (storage.keys, other.storage.keys) {
    case (let keys?, let others?): keys == others
    case (nil, let others?): others.count == items.count && items.allSatisfy { others.contains(LooseKey($0)) }
    case (_, nil): (storage.keys?.count ?? items.count) == other.items.count && other.items.allSatisfy { contains($0) }
    }
  }
}
