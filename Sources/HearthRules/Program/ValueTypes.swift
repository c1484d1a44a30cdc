/// The types that a value can have, as far as the text of the rules says.
struct ValueTypes: OptionSet, Hashable {
  let rawValue: UInt16

  static let null = ValueTypes(rawValue: 1 << 0)
  static let bool = ValueTypes(rawValue: 1 << 1)
  static let int = ValueTypes(rawValue: 1 << 2)
  static let float = ValueTypes(rawValue: 1 << 3)
  static let string = ValueTypes(rawValue: 1 << 4)
  static let bytes = ValueTypes(rawValue: 1 << 5)
  static let timestamp = ValueTypes(rawValue: 1 << 6)
  static let duration = ValueTypes(rawValue: 1 << 7)
  static let latlng = ValueTypes(rawValue: 1 << 8)
  static let list = ValueTypes(rawValue: 1 << 9)
  static let set = ValueTypes(rawValue: 1 << 10)
  static let map = ValueTypes(rawValue: 1 << 11)
  static let path = ValueTypes(rawValue: 1 << 12)
  static let mapDifference = ValueTypes(rawValue: 1 << 13)
  static let vector = ValueTypes(rawValue: 1 << 14)

  /// Nothing is known of the value.
  static let any = ValueTypes(rawValue: (1 << 15) - 1)
  static let numbers: ValueTypes = [.int, .float]
  /// The types whose values have an order among themselves.
  private static let ordered: ValueTypes = [.string, .bytes, .timestamp, .duration]

  /// The names that `is` has for them.
  private static let names: [(ValueTypes, String)] = [
    (.null, "null"), (.bool, "bool"), (.int, "int"), (.float, "float"), (.string, "string"), (.bytes, "bytes"),
    (.timestamp, "timestamp"), (.duration, "duration"), (.latlng, "latlng"), (.list, "list"), (.set, "set"),
    (.map, "map"), (.path, "path"), (.mapDifference, "map_diff"), (.vector, "vector"),
  ]

  /// The type of a value that stands in the rules.
  init(_ value: RuleValue) {
    self = Self.names.first { $0.1 == value.typeName }?.0 ?? .any
  }

  init(rawValue: UInt16) { self.rawValue = rawValue }

  /// Such as `int or float`.
  func text(_ last: String = "or") -> String {
    let names = Self.names.filter { contains($0.0) }.map(\.1)
    guard names.count > 1 else { return names.first ?? "" }
    return names.dropLast().joined(separator: ", ") + " \(last) " + names[names.count - 1]
  }

  func canBe(_ others: ValueTypes) -> Bool { !isDisjoint(with: others) }

  /// True if two values can be equal. Numbers of both types can.
  func canEqual(_ other: ValueTypes) -> Bool { canBe(other) || canBe(.numbers) && other.canBe(.numbers) }

  /// True if `<` and its like can compare two values.
  func canCompare(_ other: ValueTypes) -> Bool {
    !intersection(other).isDisjoint(with: Self.ordered) || canBe(.numbers) && other.canBe(.numbers)
  }

  /// The types that the results of an operator of arithmetic have; empty if it takes no such operands.
  func combined(with other: ValueTypes, by infix: BinaryOperator) -> ValueTypes {
    var result: ValueTypes = []
    if canBe(.int), other.canBe(.int) { result.insert(.int) }
    if canBe(.numbers), other.canBe(.numbers), canBe(.float) || other.canBe(.float) { result.insert(.float) }
    switch infix {
    case .plus:
      result.formUnion(intersection(other).intersection([.string, .duration]))
      if canBe(.timestamp) && other.canBe(.duration) || canBe(.duration) && other.canBe(.timestamp) {
        result.insert(.timestamp)
      }
    case .minus:
      if canBe([.timestamp, .duration]), other.canBe(.duration) {
        result.formUnion(intersection([.timestamp, .duration]))
      }
      if canBe(.timestamp), other.canBe(.timestamp) { result.insert(.duration) }
    default: break
    }
    return result
  }
}
