extension Methods {
  // MARK: - Lists

  func callList(_ method: Method, _ list: RuleList, _ arguments: MethodArguments) throws(RuleFailure) -> RuleValue? {
    let items = list.items
    switch method {
    case .size: return .int(Int64(items.count))
    case .toSet: return .set(ValueSet(items))
    case .join:
      guard case .string(let separator) = arguments.first else { throw Self.unsupported(method, "list", arguments) }
      return .string(try joined(items, separator))
    case .concat, .hasAll, .hasAny, .hasOnly, .removeAll:
      guard case .list(let other) = arguments.first else { throw Self.unsupported(method, "list", arguments) }
      return Self.combine(method, items, other.items)
    default: return nil
    }
  }

  private static func combine(_ method: Method, _ items: [RuleValue], _ others: [RuleValue]) -> RuleValue? {
    switch method {
    case .concat: return .list(items + others)
    case .hasAll:
      let members = MemberSearch(of: items, for: others)
      return .bool(others.allSatisfy { members.contains($0) })
    default:
      let members = MemberSearch(of: others, for: items)
      return switch method {
      case .hasAny: .bool(items.contains { members.contains($0) })
      case .hasOnly: .bool(items.allSatisfy { members.contains($0) })
      case .removeAll: .list(items.filter { !members.contains($0) })
      default: nil
      }
    }
  }

  /// Looks for values in a list. Comparing a few small ones takes less time than hashing them.
  private struct MemberSearch {
    private let list: [RuleValue]
    private let keys: Set<StrictKey>?

    init(of list: [RuleValue], for others: [RuleValue]) {
      func isFew(_ values: [RuleValue]) -> Bool {
        values.count <= mostCompared && values.allSatisfy { $0.weight <= largestCompared }
      }
      self.list = list
      keys = isFew(list) && isFew(others) ? nil : StrictKey.keys(of: list)
    }

    func contains(_ value: RuleValue) -> Bool {
      if let keys { return keys.contains(StrictKey(value)) }
      return list.contains { RuleValue.isMember(value, like: $0) }
    }
  }

  private static let (mostCompared, largestCompared) = (12, 128)

  private func joined(_ items: [RuleValue], _ separator: String) throws(RuleFailure) -> String {
    var text = ""
    for (index, item) in items.enumerated() {
      if index > 0 { text += separator }
      text += try item.converted()
      guard text.utf8.count <= limits.valueWeight else {
        throw .valueTooLarge(limit: limits.valueWeight)
      }
    }
    return text
  }

  // MARK: - Sets

  static func callSet(_ method: Method, _ set: ValueSet, _ arguments: MethodArguments) throws(RuleFailure) -> RuleValue?
  {
    switch method {
    case .size: return .int(Int64(set.items.count))
    case .difference, .intersection, .union:
      guard case .set(let other) = arguments.first else { throw unsupported(method, "set", arguments) }
      return switch method {
      case .difference: .set(ValueSet(set.items.filter { !other.contains($0) }))
      case .intersection: .set(ValueSet(set.items.filter(other.contains)))
      default: .set(ValueSet(set.items + other.items))
      }
    case .hasAll, .hasAny, .hasOnly:
      let other: ValueSet
      switch arguments.first {
      case .set(let set): other = set
      case .list(let list): other = ValueSet(list.items)
      default: throw unsupported(method, "set", arguments)
      }
      return switch method {
      case .hasAll: .bool(other.items.allSatisfy(set.contains))
      case .hasAny: .bool(other.items.contains(where: set.contains))
      default: .bool(set.items.allSatisfy(other.contains))
      }
    default: return nil
    }
  }

  // MARK: - Maps

  static func callMap(_ method: Method, _ map: RuleMap, _ arguments: MethodArguments) throws(RuleFailure) -> RuleValue?
  {
    switch method {
    case .size: return .int(Int64(map.fields.count))
    case .keys: return .list(map.fields.inOrder.map { .string($0.key.text) })
    case .values: return .list(map.fields.inOrder.map { $0.value })
    case .get: return try get(.map(map), arguments)
    case .diff:
      switch arguments.first {
      case .map(let other): return .mapDifference(MapDifference(from: other, to: map))
      case .partialMap(let other): throw .undecided(other.name)
      default: throw unsupported(method, "map", arguments)
      }
    default: return nil
    }
  }

  /// `map.get(key, default)`, or with a list of keys for maps within maps.
  private static func get(_ map: RuleValue, _ arguments: MethodArguments) throws(RuleFailure) -> RuleValue {
    let keys: [RuleValue]
    switch arguments.first {
    case .string: keys = [arguments.first]
    case .list(let list): keys = list.items
    default: throw unsupported(.get, "map", arguments)
    }
    var value = map
    for key in keys {
      guard case .string(let key) = key else { throw .wrongType(key.typeName, expected: "string") }
      switch value {
      case .map(let map):
        guard let member = map[key] else { return arguments.second }
        value = member
      case .partialMap(let map): value = try map.value(of: key)
      case .constraint(let constraint): throw .undecided(constraint.field)
      default: return arguments.second
      }
    }
    return value
  }

  static func callMapDifference(_ method: Method, _ difference: MapDifference) -> RuleValue? {
    switch method {
    case .addedKeys: .set(difference.keys { $0 == .added })
    case .removedKeys: .set(difference.keys { $0 == .removed })
    case .changedKeys: .set(difference.keys { $0 == .changed })
    case .affectedKeys: .set(difference.keys { $0 != .unchanged })
    case .unchangedKeys: .set(difference.keys { $0 == .unchanged })
    default: nil
    }
  }

  // MARK: - Documents of queries

  static func callPartialMap(
    _ method: Method, _ map: PartialMap, _ arguments: MethodArguments
  ) throws(RuleFailure) -> RuleValue? {
    switch method {
    case .get: try get(.partialMap(map), arguments)
    case .keys: map.keys
    case .size, .values, .diff: throw .undecided("\(map.name).\(method.rawValue)()")
    default: nil
    }
  }

  static func callConstraint(
    _ method: Method, _ constraint: FieldConstraint, _ arguments: MethodArguments
  ) throws(RuleFailure) -> RuleValue {
    switch (method, arguments.first) {
    case (.hasAny, .list(let list)):
      for item in list.items where (try? constraint.has(member: item)) == true { return .bool(true) }
    case (.hasAll, .list(let list)):
      // Nothing is known of a field that need not be a list.
      guard !list.items.isEmpty else { break }
      for item in list.items { _ = try constraint.has(member: item) }
      return .bool(true)
    default: break
    }
    throw .undecided(constraint.field)
  }
}
