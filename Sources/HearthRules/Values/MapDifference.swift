/// The difference between two maps, by key.
package struct MapDifference: Sendable {
  enum Status: String, Sendable, Hashable {
    case added, removed, changed, unchanged
  }

  /// The keys of both maps in the order of their UTF-8.
  let statuses: [(key: ExactText, status: Status)]

  /// The keys of both maps in the order of their UTF-8, each with `added`, `removed`, `changed` or `unchanged`.
  package var namedStatuses: [(name: String, status: String)] { statuses.map { ($0.key.text, $0.status.rawValue) } }

  /// - Parameters:
  ///   - new: The map whose method is called.
  ///   - old: The map that it is compared with.
  init(from old: RuleMap, to new: RuleMap) {
    let (former, fields) = (old.fields.inOrder, new.fields.inOrder)
    var statuses: [(key: ExactText, status: Status)] = []
    statuses.reserveCapacity(max(former.count, fields.count))
    var (formerPlace, place) = (0, 0)
    while formerPlace < former.count || place < fields.count {
      if formerPlace == former.count || place < fields.count && fields[place].key < former[formerPlace].key {
        statuses.append((fields[place].key, .added))
        place += 1
      } else if place == fields.count || former[formerPlace].key < fields[place].key {
        statuses.append((former[formerPlace].key, .removed))
        formerPlace += 1
      } else {
        let isSame = RuleValue.areSame(former[formerPlace].value, fields[place].value, numbersByValue: true)
        statuses.append((fields[place].key, isSame ? .unchanged : .changed))
        formerPlace += 1
        place += 1
      }
    }
    self.statuses = statuses
  }

  var weight: Int { statuses.reduce(1) { $0 + $1.key.text.utf8.count } }

  func keys(where isWanted: (Status) -> Bool) -> ValueSet {
    var keys: [RuleValue] = []
    for (key, status) in statuses where isWanted(status) { keys.append(.string(key.text)) }
    return ValueSet(keys)
  }
}
