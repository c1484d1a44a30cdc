extension RuleValue {
  /// The operator `==`: numbers by their value, and otherwise values of one type that have the same content.
  static func areEqual(_ left: RuleValue, _ right: RuleValue) -> Bool {
    switch (left, right) {
    case (.int, .float), (.float, .int), (.float, .float): left.double == right.double
    default: isMember(left, like: right)
    }
  }

  /// The comparison of `in` and of the methods of lists: 1 and 1.0 differ, and 0.0 and -0.0.
  static func isMember(_ left: RuleValue, like right: RuleValue) -> Bool {
    // The most frequent comparison. That of pairs below counts the references of both.
    if case .string(let left) = left {
      if case .string(let right) = right { return left.hasSameBytes(as: right) }
      return false
    }
    guard case (.path(let left), .path(let right)) = (left, right) else {
      return areSame(left, right, numbersByValue: false)
    }
    return left.hasSameNames(as: right)
  }

  /// The equality of values within lists and maps.
  ///
  /// - Parameter numbersByValue: False for what stands in the values that `==`, `in` and the methods of lists compare. Numbers of different
  ///   types differ there, and paths with different variables. True for members of sets and for differences of maps, where numbers are
  ///   compared by their value, and paths by their names. A number that is none (NaN) is the same as another one only there.
  static func areSame(_ left: RuleValue, _ right: RuleValue, numbersByValue: Bool) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.int(let left), .int(let right)): left == right
    case (.float(let left), .float(let right)):
      numbersByValue ? left == right || left.isNaN && right.isNaN : left == right && left.sign == right.sign
    case (.int, .float), (.float, .int): numbersByValue && left.double == right.double
    case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
    case (.bytes(let left), .bytes(let right)): left == right
    case (.timestamp(let left), .timestamp(let right)): left == right
    case (.duration(let left), .duration(let right)): left == right
    case (.latlng(let left), .latlng(let right)): left == right
    case (.vector(let left), .vector(let right)): left == right
    case (.path(let left), .path(let right)):
      numbersByValue ? left.names.hasSameBytes(as: right.names) : left.isSameTemplate(as: right)
    case (.list(let left), .list(let right)):
      left.items.count == right.items.count
        && zip(left.items, right.items).allSatisfy { areSame($0, $1, numbersByValue: numbersByValue) }
    case (.map(let left), .map(let right)):
      left.fields.count == right.fields.count
        && left.fields.all.allSatisfy { name, value in
          right.fields[name].map { areSame(value, $0, numbersByValue: numbersByValue) } ?? false
        }
    case (.set(let left), .set(let right)): left.hasSameMembers(as: right)
    default: false
    }
  }

  /// The number as a floating-point number; nil for values of other types.
  var double: Double? {
    switch self {
    case .int(let number): Double(number)
    case .float(let number): number
    default: nil
    }
  }
}

/// A value as a member of a set: numbers count by their value at any depth.
///
/// A difference of maps is not equal to itself. Sets do not keep its key, since they would compare it with all others like it.
struct LooseKey: Hashable, Sendable {
  let value: RuleValue

  init(_ value: RuleValue) { self.value = value }

  var isReflexive: Bool { self == self }

  static func == (left: Self, right: Self) -> Bool { RuleValue.areSame(left.value, right.value, numbersByValue: true) }
  func hash(into hasher: inout Hasher) { value.hash(into: &hasher, numbersByValue: true) }
}

/// A value as a member of a list: 1 and 1.0 differ. For values that are not equal to themselves see ``LooseKey``.
struct StrictKey: Hashable, Sendable {
  let value: RuleValue

  init(_ value: RuleValue) { self.value = value }

  /// The values of a list that can be found in it.
  static func keys(of items: [RuleValue]) -> Set<StrictKey> {
    Set(items.lazy.map(StrictKey.init).filter { $0 == $0 })
  }

  static func == (left: Self, right: Self) -> Bool { RuleValue.isMember(left.value, like: right.value) }
  func hash(into hasher: inout Hasher) { value.hash(into: &hasher, numbersByValue: false) }
}

extension RuleValue {
  fileprivate func hash(into hasher: inout Hasher, numbersByValue: Bool) {
    switch self {
    case .int(let number):
      if numbersByValue { hasher.combine(Double(number)) } else { hasher.combine(number) }
    case .float(let number):
      // All numbers that are none have one hash, whatever their bits.
      if numbersByValue { hasher.combine(number.isNaN ? .nan : number) } else { hasher.combine(number.bitPattern) }
    case .bool(let flag): hasher.combine(flag)
    case .string(let text): text.hashBytes(into: &hasher)
    case .bytes(let bytes): hasher.combine(bytes)
    case .timestamp(let time): hasher.combine(time)
    case .duration(let duration): hasher.combine(duration)
    case .path(let path): for name in path.names { name.hashBytes(into: &hasher) }
    case .list(let list):
      hasher.combine(list.items.count)
      for item in list.items { item.hash(into: &hasher, numbersByValue: numbersByValue) }
    case .map(let map):
      // Maps have no order: a sum of the hashes of their entries.
      var sum = map.fields.count
      for (name, value) in map.fields.all {
        var entry = Hasher()
        entry.combine(name)
        value.hash(into: &entry, numbersByValue: numbersByValue)
        sum &+= entry.finalize()
      }
      hasher.combine(sum)
    case .latlng(let place): hasher.combine(place)
    case .vector(let numbers): hasher.combine(numbers)
    default: hasher.combine(typeName)
    }
  }
}
