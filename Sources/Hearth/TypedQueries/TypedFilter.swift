internal import Foundation
internal import HearthModel

/// A condition on the properties of a model, for ``TypedQuery/where(_:)``.
///
/// Compare a key path with a value to get a condition; `&&` and `||` combine conditions:
///
/// ```swift
/// let large = cities.where(\.population > 1_000_000 || \.name == "Oakland")
/// let coastal = cities.where(.contains(\.tags, "coast"))
/// ```
///
/// The compiler checks that the value has the property's type. Other mistakes, such as a property that the model's
/// ``QueryableModel/fieldTable`` does not list, are thrown when the query runs. The description of ``Query`` defines the comparisons.
public struct TypedFilter<Model: QueryableModel>: Sendable {
  let condition: Result<Filter.Condition, NSError>

  /// True if both conditions are true.
  public static func && (a: TypedFilter, b: TypedFilter) -> TypedFilter { .all([a, b]) }

  /// True if at least one of the conditions is true.
  public static func || (a: TypedFilter, b: TypedFilter) -> TypedFilter { .any([a, b]) }

  /// True if all of the conditions are true. Without conditions every document matches.
  public static func all(_ filters: [TypedFilter]) -> TypedFilter { composite(.and, filters) }

  /// True if any of the conditions is true. Without conditions every document matches.
  public static func any(_ filters: [TypedFilter]) -> TypedFilter { composite(.or, filters) }

  /// The property is equal to one of the values. Each value counts as an alternative.
  public static func isIn<Value: Encodable>(_ property: KeyPath<Model, Value>, _ values: [Value]) -> TypedFilter {
    make(property, .in, values)
  }

  /// The property exists, is not null, and is not equal to any of the values. The backend accepts at most 10.
  public static func isNotIn<Value: Encodable>(_ property: KeyPath<Model, Value>, _ values: [Value]) -> TypedFilter {
    make(property, .notIn, values)
  }

  /// The property is an array, or a set, that contains the element.
  public static func contains<Elements: Sequence>(
    _ property: KeyPath<Model, Elements>, _ element: Elements.Element
  ) -> TypedFilter where Elements.Element: Encodable {
    make(property, .arrayContains, element)
  }

  /// The property is an array, or a set, that contains the element.
  public static func contains<Elements: Sequence>(
    _ property: KeyPath<Model, Elements?>, _ element: Elements.Element
  ) -> TypedFilter where Elements.Element: Encodable {
    make(property, .arrayContains, element)
  }

  /// The property is an array, or a set, that contains at least one of the elements. Each element counts as an alternative.
  public static func containsAny<Elements: Sequence>(
    _ property: KeyPath<Model, Elements>, _ elements: [Elements.Element]
  ) -> TypedFilter where Elements.Element: Encodable {
    make(property, .arrayContainsAny, elements)
  }

  /// The property is an array, or a set, that contains at least one of the elements. Each element counts as an alternative.
  public static func containsAny<Elements: Sequence>(
    _ property: KeyPath<Model, Elements?>, _ elements: [Elements.Element]
  ) -> TypedFilter where Elements.Element: Encodable {
    make(property, .arrayContainsAny, elements)
  }

  /// A condition on one property. An operand that cannot be encoded or compared becomes the condition's error.
  static func make(
    _ property: PartialKeyPath<Model>, _ op: FieldFilter.Operator, _ operand: some Encodable
  ) -> TypedFilter {
    TypedFilter(
      condition: Result {
        let path = try Model.fieldTable.path(of: property)
        let object = try Model.documentEncoder.encodeValue(operand)
        return .field(
          path, op, .success(try UserDataReader.parseArgument(object, allowsList: op == .in || op == .notIn)))
      }.mapError { error in
        .firestore(
          .invalidArgument, "A condition on the property \(property) of \(Model.self) is not valid: \(error)",
          underlying: error is ProgrammingError ? nil : error)
      })
  }

  private static func composite(_ op: CompositeFilter.Operator, _ filters: [TypedFilter]) -> TypedFilter {
    TypedFilter(
      condition: Result { .joined(op, try filters.map { try $0.condition.get() }) }
        .mapError { $0 as NSError })
  }
}
