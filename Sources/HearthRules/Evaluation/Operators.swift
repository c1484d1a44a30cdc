/// The operators of the language, except for `&&`, `||` and `?:`.
enum Operators {
  static func binary(_ infix: BinaryOperator, _ left: RuleValue, _ right: RuleValue) throws(RuleFailure) -> RuleValue {
    switch infix {
    case .equal: .bool(try areEqual(left, right))
    case .notEqual: .bool(try !areEqual(left, right))
    case .in: .bool(try isMember(left, of: right))
    case .less, .lessOrEqual, .greater, .greaterOrEqual: .bool(try compare(infix, left, right))
    case .plus: try sum(left, right)
    case .minus: try difference(left, right)
    case .times, .divided, .remainder: try arithmetic(infix, left, right)
    case .and, .or: preconditionFailure("\(infix) has steps of its own")
    }
  }

  /// The work of an operator.
  static func work(_ infix: BinaryOperator, _ left: RuleValue, _ right: RuleValue) -> Int {
    guard infix == .in else {
      let work = left.weight.addingOrMax(right.weight)
      guard left.roundedCount > 0, right.roundedCount > 0 else { return work }
      return work.addingOrMax(left.workOfCollisionsInSets).addingOrMax(right.workOfCollisionsInSets)
    }
    switch (left, right) {
    case (.constraint, _), (.partialMap, _): return right.weight
    case (_, .list(let list)): return left.weight.addingOrMax(list.searchWork)
    case (_, .set(let set)):
      return left.weight.addingOrMax(left.roundedCount > 0 && set.roundedCount > 0 ? set.weight : 0)
    case (_, .map): return left.weight
    default: return left.weight.addingOrMax(right.weight)
    }
  }

  private static func areEqual(_ left: RuleValue, _ right: RuleValue) throws(RuleFailure) -> Bool {
    switch (left, right) {
    case (.constraint, .constraint): throw .undecided("the comparison of two fields")
    case (.constraint(let constraint), let value), (let value, .constraint(let constraint)):
      return try constraint.equals(value)
    case (.partialMap(let map), .map), (.map, .partialMap(let map)), (.partialMap(let map), .partialMap):
      throw .undecided(map.name)
    default: return RuleValue.areEqual(left, right)
    }
  }

  private static func isMember(_ value: RuleValue, of collection: RuleValue) throws(RuleFailure) -> Bool {
    switch (value, collection) {
    case (.constraint(let constraint), .list(let list)): return try constraint.isMember(of: list.items)
    case (.constraint(let constraint), _): throw .undecided(constraint.field)
    case (.partialMap(let map), _): throw .undecided(map.name)
    case (_, .constraint(let constraint)): return try constraint.has(member: value)
    case (_, .list(let list)): return list.contains(value)
    case (_, .set(let set)): return set.contains(value)
    case (.string(let key), .map(let map)): return map[key] != nil
    case (.string(let key), .partialMap(let map)): return try map.has(key)
    default: throw .unsupported("in", types: [value.typeName, collection.typeName])
    }
  }

  private static func compare(
    _ infix: BinaryOperator, _ left: RuleValue, _ right: RuleValue
  ) throws(RuleFailure) -> Bool {
    switch (left, right) {
    case (.constraint(let constraint), .constraint): throw .undecided(constraint.field)
    case (.constraint(let constraint), _): return try constraint.holds(comparison(infix, isReversed: false), right)
    case (_, .constraint(let constraint)): return try constraint.holds(comparison(infix, isReversed: true), left)
    default: break
    }
    if let order = RuleValue.order(left, right) {
      return switch infix {
      case .less: order < 0
      case .lessOrEqual: order <= 0
      case .greater: order > 0
      default: order >= 0
      }
    }
    // Numbers without an order include one that is not a number, and all comparisons with it are false.
    guard left.double != nil, right.double != nil else { throw unsupported(infix.rawValue, left, right) }
    return false
  }

  private static func comparison(_ infix: BinaryOperator, isReversed: Bool) -> FieldConstraint.Comparison {
    switch infix {
    case .less: isReversed ? .greater : .less
    case .lessOrEqual: isReversed ? .greaterOrEqual : .lessOrEqual
    case .greater: isReversed ? .less : .greater
    default: isReversed ? .lessOrEqual : .greaterOrEqual
    }
  }

  // MARK: - Arithmetic

  private static func sum(_ left: RuleValue, _ right: RuleValue) throws(RuleFailure) -> RuleValue {
    switch (left, right) {
    case (.string(let left), .string(let right)): .string(left + right)
    case (.duration(let left), .duration(let right)):
      .duration(try RuleDuration(totalNanoseconds: left.totalNanoseconds + right.totalNanoseconds))
    case (.timestamp(let time), .duration(let duration)), (.duration(let duration), .timestamp(let time)):
      .timestamp(try RuleTimestamp(totalNanoseconds: time.totalNanoseconds + duration.totalNanoseconds))
    default: try arithmetic(.plus, left, right)
    }
  }

  private static func difference(_ left: RuleValue, _ right: RuleValue) throws(RuleFailure) -> RuleValue {
    switch (left, right) {
    case (.duration(let left), .duration(let right)):
      .duration(try RuleDuration(totalNanoseconds: left.totalNanoseconds - right.totalNanoseconds))
    case (.timestamp(let time), .duration(let duration)):
      .timestamp(try RuleTimestamp(totalNanoseconds: time.totalNanoseconds - duration.totalNanoseconds))
    case (.timestamp(let left), .timestamp(let right)):
      .duration(try RuleDuration(totalNanoseconds: left.totalNanoseconds - right.totalNanoseconds))
    default: try arithmetic(.minus, left, right)
    }
  }

  /// An operation on two integers gives an integer; on others, a floating-point number.
  private static func arithmetic(
    _ infix: BinaryOperator, _ left: RuleValue, _ right: RuleValue
  ) throws(RuleFailure) -> RuleValue {
    if case .int(let left) = left, case .int(let right) = right { return .int(try integer(infix, left, right)) }
    guard let first = left.double, let second = right.double else { throw unsupported(infix.rawValue, left, right) }
    return switch infix {
    case .plus: .float(first + second)
    case .minus: .float(first - second)
    case .times: .float(first * second)
    case .divided: .float(first / second)
    default: .float(first.truncatingRemainder(dividingBy: second))
    }
  }

  private static func integer(_ infix: BinaryOperator, _ left: Int64, _ right: Int64) throws(RuleFailure) -> Int64 {
    let result: (partialValue: Int64, overflow: Bool)
    switch infix {
    case .plus: result = left.addingReportingOverflow(right)
    case .minus: result = left.subtractingReportingOverflow(right)
    case .times: result = left.multipliedReportingOverflow(by: right)
    default:
      guard right != 0 else { throw .divisionByZero }
      // As in Java, the smallest integer divided by -1 is itself.
      return infix == .divided
        ? left.dividedReportingOverflow(by: right).partialValue
        : left.remainderReportingOverflow(dividingBy: right).partialValue
    }
    guard !result.overflow else { throw .integerOverflow }
    return result.partialValue
  }

  static func negated(_ value: RuleValue) throws(RuleFailure) -> RuleValue {
    switch value {
    case .int(let number):
      guard number != .min else { throw .integerOverflow }
      return .int(-number)
    case .float(let number): return .float(-number)
    case .duration(let duration): return .duration(try RuleDuration(totalNanoseconds: -duration.totalNanoseconds))
    default: throw .unsupported("-", types: [value.typeName])
    }
  }

  private static func unsupported(_ name: String, _ left: RuleValue, _ right: RuleValue) -> RuleFailure {
    .unsupported(name, types: [left.typeName, right.typeName])
  }

  // MARK: - Members

  static func member(_ name: ExactText, of base: RuleValue) throws(RuleFailure) -> RuleValue {
    switch base {
    case .map(let map):
      guard let value = map[name] else { throw .missingProperty(name.text) }
      return value
    case .partialMap(let map): return try map.value(of: name.text)
    case .path(let path): return try path.value(of: name.text)
    case .null: throw .memberOfNull("property \(name.text.quotedBriefly)")
    case .constraint(let constraint): throw .undecided(constraint.field)
    default: throw .noMembers(name.text, type: base.typeName)
    }
  }

  static func index(_ base: RuleValue, _ index: RuleValue) throws(RuleFailure) -> RuleValue {
    switch (base, index) {
    case (.list(let list), .int(let place)):
      guard place >= 0, place < list.items.count else { throw .outOfBounds(place, count: list.items.count) }
      return list.items[Int(place)]
    case (.map, .string(let name)), (.partialMap, .string(let name)): return try member(ExactText(name), of: base)
    case (.path(let path), .int(let place)): return try path.name(at: place)
    case (.path(let path), .string(let name)): return try path.value(of: name)
    case (.string, .int(let place)): return try slice(base, from: index, to: .int(place.addingOrMax(1)))
    case (.null, _): throw .memberOfNull("elements")
    default: throw .unsupported("[]", types: [base.typeName, index.typeName])
    }
  }

  /// A part of a list, of a path, or of a string by its UTF-16. As in production, the lower bound and the one before the upper bound have to exist.
  static func slice(_ base: RuleValue, from: RuleValue, to: RuleValue) throws(RuleFailure) -> RuleValue {
    switch base {
    case .list(let list):
      return .list(Array(list.items[try range(from, to, count: list.items.count, base)]))
    case .string(let text):
      let units = Array(text.utf16)
      return .string(String(decoding: units[try range(from, to, count: units.count, base)], as: UTF16.self))
    case .path(let path):
      // All of a path is the path itself, also if a variable in it has no value.
      if case (.null, .null) = (from, to) { return base }
      return .path(try path.slice { count throws(RuleFailure) in try range(from, to, count: count, base) })
    default: throw .unsupported("[:]", types: [base.typeName, from.typeName, to.typeName])
    }
  }

  private static func range(
    _ from: RuleValue, _ to: RuleValue, count: Int, _ base: RuleValue
  ) throws(RuleFailure) -> Range<Int> {
    func bound(_ value: RuleValue, _ missing: Int64) throws(RuleFailure) -> Int64 {
      switch value {
      case .int(let bound): return bound
      case .null: return missing
      default: throw .unsupported("[:]", types: [base.typeName, from.typeName, to.typeName])
      }
    }
    // Without bounds, it is the whole value, also if that is empty.
    if case (.null, .null) = (from, to) { return 0..<count }
    let start = try bound(from, 0)
    let end = try bound(to, Int64(count))
    guard start <= end else { throw .badRange(from: start, to: end) }
    guard start >= 0, start < count else { throw .outOfBounds(start, count: count) }
    guard end > 0, end <= count else { throw .outOfBounds(end - 1, count: count) }
    return Int(start)..<Int(end)
  }
}

extension Int64 {
  fileprivate func addingOrMax(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
