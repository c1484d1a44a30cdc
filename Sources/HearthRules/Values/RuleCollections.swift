internal import Synchronization

/// A list, with the work that comparing it takes.
///
/// It is one reference, as maps and sets are: values are copied at every step of a condition.
package struct RuleList: Sendable {
  private final class Storage: Sendable {
    let items: [RuleValue]
    /// Computed once, since a list of few values can hold the same list many times, at every level.
    let weight: Int
    let depth: Int
    let roundedCount: Int
    /// Nil for short lists. Copies share it.
    let index: MemberIndex?

    init(_ items: [RuleValue]) {
      self.items = items
      var (weight, depth, roundedCount) = (1, 0, 0)
      for item in items {
        weight = weight.addingOrMax(item.weight)
        depth = max(depth, item.depth)
        roundedCount += item.roundedCount
      }
      (self.weight, self.depth, self.roundedCount) = (weight, depth + 1, roundedCount)
      index = items.count < RuleList.shortestWithIndex ? nil : MemberIndex()
    }
  }

  /// The members from which on a list has an index.
  static let shortestWithIndex = 64

  private let storage: Storage

  package init(_ items: [RuleValue]) { storage = Storage(items) }

  package var items: [RuleValue] { storage.items }
  var weight: Int { storage.weight }
  var depth: Int { storage.depth }
  var roundedCount: Int { storage.roundedCount }

  /// The work that ``contains(_:)`` takes, without that of reading the value.
  var searchWork: Int { storage.index?.isMade == true ? 1 : weight }

  func contains(_ value: RuleValue) -> Bool {
    storage.index?.contains(value, in: items) ?? items.contains { RuleValue.isMember(value, like: $0) }
  }
}

/// The members of a list, from the second search on: a condition that looks for a user among the members of a room does so for each
/// document of a request.
private final class MemberIndex: Sendable {
  private struct State {
    var wasSearched = false
    var keys: Set<StrictKey>?
  }

  private let state = Mutex(State())

  var isMade: Bool { state.withLock { $0.keys != nil } }

  func contains(_ value: RuleValue, in items: [RuleValue]) -> Bool {
    state.withLock { state in
      if state.wasSearched, state.keys == nil { state.keys = StrictKey.keys(of: items) }
      if let keys = state.keys { return keys.contains(StrictKey(value)) }
      state.wasSearched = true
      return items.contains { RuleValue.isMember(value, like: $0) }
    }
  }
}

/// A map from names to values.
package struct RuleMap: Sendable {
  private final class Storage: Sendable {
    let fields: RuleFields
    let weight: Int
    let depth: Int
    let roundedCount: Int

    init(_ fields: RuleFields) {
      var (weight, depth, roundedCount) = (1, 0, 0)
      // By their places: a loop over the fields themselves would copy each.
      for place in fields.all.indices {
        weight = weight.addingOrMax(fields.all[place].key.text.utf8.count).addingOrMax(fields.all[place].value.weight)
        depth = max(depth, fields.all[place].value.depth)
        roundedCount += fields.all[place].value.roundedCount
      }
      self.fields = fields
      (self.weight, self.depth, self.roundedCount) = (weight, depth + 1, roundedCount)
    }
  }

  private let storage: Storage

  /// Makes a map. The last one of several fields with one name counts.
  package init(_ fields: some Sequence<(key: String, value: RuleValue)>) {
    self.init(pairs: Array(fields))
  }

  /// The same for callers in other modules, for which a generic function is not compiled as fast.
  package init(pairs: [(key: String, value: RuleValue)]) {
    self.init(fields: pairs.map { (ExactText($0.key), $0.value) })
  }

  /// The same for names that are made already.
  package init(fields: [(key: ExactText, value: RuleValue)]) {
    self.init(RuleFields(fields))
  }

  init(_ fields: [ExactText: RuleValue]) {
    self.init(fields: fields.map { ($0.key, $0.value) })
  }

  private init(_ fields: RuleFields) { storage = Storage(fields) }

  var fields: RuleFields { storage.fields }
  var weight: Int { storage.weight }
  var depth: Int { storage.depth }
  var roundedCount: Int { storage.roundedCount }

  package subscript(name: String) -> RuleValue? { self[ExactText(name)] }
  subscript(name: ExactText) -> RuleValue? { storage.fields[name] }
  /// The names in the order of their UTF-8.
  package var sortedKeys: [String] { fields.inOrder.map { $0.key.text } }
}

extension Int {
  /// The product of two numbers that are not negative, or the largest number if the product is larger.
  func multipliedOrMax(by other: Int) -> Int {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? .max : product
  }

  /// The sum, or the largest number if the sum is larger.
  func addingOrMax(_ other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
