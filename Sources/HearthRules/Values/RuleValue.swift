/// A value of the rules language.
///
/// Documents and tokens are converted to it where a request enters; see ``RuleMap`` for the maps that they become.
package enum RuleValue: Sendable {
  case null
  case bool(Bool)
  case int(Int64)
  case float(Double)
  case string(String)
  case bytes([UInt8])
  case timestamp(RuleTimestamp)
  case duration(RuleDuration)
  case latlng(RuleLatLng)
  case vector([Double])
  case list(RuleList)
  case set(ValueSet)
  case map(RuleMap)
  case path(RulePath)
  case mapDifference(MapDifference)
  /// A value of a document that a query could return, as far as the query's filters tell.
  indirect case constraint(FieldConstraint)
  /// A map of a document that a query could return. Only some of its fields are known.
  indirect case partialMap(PartialMap)

  package static func list(_ items: [RuleValue]) -> RuleValue { .list(RuleList(items)) }
  package static func map(_ fields: [String: RuleValue]) -> RuleValue { .map(RuleMap(fields)) }

  var isSet: Bool { if case .set = self { true } else { false } }

  /// The name of the type in messages.
  var typeName: String {
    switch self {
    case .null: "null"
    case .bool: "bool"
    case .int: "int"
    case .float: "float"
    case .string: "string"
    case .bytes: "bytes"
    case .timestamp: "timestamp"
    case .duration: "duration"
    case .latlng: "latlng"
    case .vector: "vector"
    case .list: "list"
    case .set: "set"
    case .map, .partialMap: "map"
    case .path: "path"
    case .mapDifference: "map_diff"
    case .constraint: "constraint"
    }
  }

  /// The work that reading all of the value takes: a unit for each value in it and for each byte. Complexity: O(1).
  var weight: Int {
    switch self {
    case .string(let text): 1 + text.utf8.count
    case .bytes(let bytes): 1 + bytes.count
    case .vector(let numbers): 1 + numbers.count
    case .list(let list): list.weight
    case .set(let set): set.weight
    case .map(let map): map.weight
    case .path(let path): path.weight
    case .mapDifference(let difference): difference.weight
    default: 1
    }
  }

  /// The number of integers in the value that a double does not hold exactly. Up to 1,024 of them are one double, and so have one hash in sets,
  /// where numbers count by their value. Complexity: O(1).
  var roundedCount: Int {
    switch self {
    case .int(let number): number.magnitude > 1 << 53 ? 1 : 0
    case .list(let list): list.roundedCount
    case .map(let map): map.roundedCount
    case .set(let set): set.roundedCount
    default: 0
    }
  }

  /// The same for all sets in the value.
  var workOfCollisionsInSets: Int {
    guard roundedCount > 0 else { return 0 }
    switch self {
    case .set(let set):
      return set.items.reduce(Self.workOfCollisions(in: [self])) { $0.addingOrMax($1.workOfCollisionsInSets) }
    case .list(let list): return list.items.reduce(0) { $0.addingOrMax($1.workOfCollisionsInSets) }
    case .map(let map): return map.fields.all.reduce(0) { $0.addingOrMax($1.value.workOfCollisionsInSets) }
    default: return 0
    }
  }

  /// The work of comparing the members of sets that have one hash although they differ, at most: up to 1,024 for each integer in them that a
  /// double does not hold exactly, and so all of them if they have two.
  static func workOfCollisions(in values: [RuleValue]) -> Int {
    var count = 0
    var work = 0
    for value in values {
      switch value {
      case .list(let list): count += list.items.count
      case .set(let set): count += set.items.count
      default: continue
      }
    }
    func add(_ members: [RuleValue]) {
      for member in members where member.roundedCount > 0 {
        let others = member.roundedCount == 1 ? min(count, 1_024) : count
        work = work.addingOrMax((others / 2 + 1).multipliedOrMax(by: member.weight))
      }
    }
    for value in values where value.roundedCount > 0 {
      switch value {
      case .list(let list): add(list.items)
      case .set(let set): add(set.items)
      default: continue
      }
    }
    return work
  }

  /// The levels of lists, sets and maps within each other. Complexity: O(1).
  var depth: Int {
    switch self {
    case .list(let list): list.depth
    case .set(let set): set.depth
    case .map(let map): map.depth
    default: 0
    }
  }
}

/// Types that stand behind `is`.
enum TypeName: String, CaseIterable, Sendable {
  case bool, bytes, constraint, duration, float, int, latlng, list, vector, set, number, map, string, timestamp, path
  case mapDifference = "map_diff"

  /// - Throws: If the filters of a query leave the type of the value open.
  func contains(_ value: RuleValue) throws(RuleFailure) -> Bool {
    switch (self, value) {
    case (_, .constraint(let constraint)): try constraint.has(self)
    case (.number, .int), (.number, .float): true
    default: value.typeName == rawValue
    }
  }
}
