public import Foundation
internal import HearthModel

/// A condition for ``Query/whereFilter(_:)``, which can be combined with others.
///
/// ```swift
/// query.whereFilter(Filter.orFilter([
///   Filter.whereField("capital", isEqualTo: true),
///   Filter.whereField("population", isGreaterThan: 1_000_000),
/// ]))
/// ```
///
/// Each factory exists for a field path as `String`, split at dots, and as ``FieldPath``. The values are those of
/// `setData(_:)` without field values; unsupported ones are a programming error of ``Query/whereFilter(_:)``,
/// which also checks the rules of ``Query``'s conditions.
public final class Filter: NSObject, Sendable {
  indirect enum Condition: Sendable {
    /// The operand, or the error of an unsupported one, which the query that gets the filter reports.
    case field(HearthModel.FieldPath, FieldFilter.Operator, Result<Value, ProgrammingError>)
    case composite(CompositeFilter.Operator, [Condition])

    /// The conditions together. One in the same kind of composite becomes a member of this one, which means the same: conditions that are added
    /// to each other one by one are not nested.
    static func joined(_ op: CompositeFilter.Operator, _ conditions: [Condition]) -> Condition {
      var members: [Condition] = []
      for condition in conditions {
        if case .composite(op, let inner) = condition { members += inner } else { members.append(condition) }
      }
      return members.count == 1 ? members[0] : .composite(op, members)
    }

    /// True if this is a composite without conditions, or with only such composites.
    var isEmpty: Bool {
      switch self {
      case .field: false
      case .composite(_, let conditions): conditions.allSatisfy(\.isEmpty)
      }
    }
  }

  let condition: Condition

  private init(_ condition: Condition) {
    self.condition = condition
  }

  /// A condition on one field. Only its path is checked here: the official SDK, too, checks the operand when a query gets the filter
  /// (firebase-ios-sdk FIRQuery.mm, parseFilter).
  private static func make(
    _ path: () throws(ProgrammingError) -> HearthModel.FieldPath, _ op: FieldFilter.Operator, _ value: Any,
    _ function: StaticString
  ) -> Filter {
    let operand = Result { () throws(ProgrammingError) in
      try UserDataReader.parseArgument(value, allowsList: op == .in || op == .notIn)
    }
    return requireValid(in: function) { () throws(ProgrammingError) in Filter(.field(try path(), op, operand)) }
  }

  private static func make(
    _ path: String, _ op: FieldFilter.Operator, _ value: Any, in function: StaticString = #function
  ) -> Filter {
    make({ () throws(ProgrammingError) in try FieldPath.parsed(path) }, op, value, function)
  }

  private static func make(_ path: FieldPath, _ op: FieldFilter.Operator, _ value: Any) -> Filter {
    make({ () throws(ProgrammingError) in path.model }, op, value, #function)
  }

  /// True if any of the filters is true. Without filters there is no condition.
  public class func orFilter(_ filters: [Filter]) -> Filter {
    Filter(.joined(.or, filters.map(\.condition)))
  }

  /// True if all of the filters are true. Without filters there is no condition.
  public class func andFilter(_ filters: [Filter]) -> Filter {
    Filter(.joined(.and, filters.map(\.condition)))
  }

  /// The field is equal to the value. Null and NaN are legal values.
  public class func whereField(_ field: String, isEqualTo value: Any) -> Filter {
    make(field, .equal, value)
  }

  /// The field is equal to the value. Null and NaN are legal values.
  public class func whereField(_ path: FieldPath, isEqualTo value: Any) -> Filter {
    make(path, .equal, value)
  }

  /// The field exists, is not null, and is not equal to the value.
  public class func whereField(_ field: String, isNotEqualTo value: Any) -> Filter {
    make(field, .notEqual, value)
  }

  /// The field exists, is not null, and is not equal to the value.
  public class func whereField(_ path: FieldPath, isNotEqualTo value: Any) -> Filter {
    make(path, .notEqual, value)
  }

  /// The field is less than the value and of the same kind of type.
  public class func whereField(_ field: String, isLessThan value: Any) -> Filter {
    make(field, .lessThan, value)
  }

  /// The field is less than the value and of the same kind of type.
  public class func whereField(_ path: FieldPath, isLessThan value: Any) -> Filter {
    make(path, .lessThan, value)
  }

  /// The field is less than or equal to the value and of the same kind of type.
  public class func whereField(_ field: String, isLessThanOrEqualTo value: Any) -> Filter {
    make(field, .lessThanOrEqual, value)
  }

  /// The field is less than or equal to the value and of the same kind of type.
  public class func whereField(_ path: FieldPath, isLessThanOrEqualTo value: Any) -> Filter {
    make(path, .lessThanOrEqual, value)
  }

  /// The field is greater than the value and of the same kind of type.
  public class func whereField(_ field: String, isGreaterThan value: Any) -> Filter {
    make(field, .greaterThan, value)
  }

  /// The field is greater than the value and of the same kind of type.
  public class func whereField(_ path: FieldPath, isGreaterThan value: Any) -> Filter {
    make(path, .greaterThan, value)
  }

  /// The field is greater than or equal to the value and of the same kind of type. (The official label lacks the "Than".)
  public class func whereField(_ field: String, isGreaterOrEqualTo value: Any) -> Filter {
    make(field, .greaterThanOrEqual, value)
  }

  /// The field is greater than or equal to the value and of the same kind of type. (The official label lacks the "Than".)
  public class func whereField(_ path: FieldPath, isGreaterOrEqualTo value: Any) -> Filter {
    make(path, .greaterThanOrEqual, value)
  }

  /// The field is greater than or equal to the value and of the same kind of type.
  public class func whereField(_ field: String, isGreaterThanOrEqualTo value: Any) -> Filter {
    make(field, .greaterThanOrEqual, value)
  }

  /// The field is greater than or equal to the value and of the same kind of type.
  public class func whereField(_ path: FieldPath, isGreaterThanOrEqualTo value: Any) -> Filter {
    make(path, .greaterThanOrEqual, value)
  }

  /// The field is an array that contains the value. Not for the document id.
  public class func whereField(_ field: String, arrayContains value: Any) -> Filter {
    make(field, .arrayContains, value)
  }

  /// The field is an array that contains the value. Not for the document id.
  public class func whereField(_ path: FieldPath, arrayContains value: Any) -> Filter {
    make(path, .arrayContains, value)
  }

  /// The field is an array that contains at least one of the values. Each value counts as an alternative. Not for the document id.
  public class func whereField(_ field: String, arrayContainsAny values: [Any]) -> Filter {
    make(field, .arrayContainsAny, values)
  }

  /// The field is an array that contains at least one of the values. Each value counts as an alternative. Not for the document id.
  public class func whereField(_ path: FieldPath, arrayContainsAny values: [Any]) -> Filter {
    make(path, .arrayContainsAny, values)
  }

  /// The field is equal to one of the values. Each value counts as an alternative. For the document id they are `String`s or references.
  public class func whereField(_ field: String, in values: [Any]) -> Filter {
    make(field, .in, values)
  }

  /// The field is equal to one of the values. Each value counts as an alternative. For the document id they are `String`s or references.
  public class func whereField(_ path: FieldPath, in values: [Any]) -> Filter {
    make(path, .in, values)
  }

  /// The field exists, is not null, and is not equal to any of the values. The backend accepts at most 10. If null is among them, nothing
  /// matches.
  public class func whereField(_ field: String, notIn values: [Any]) -> Filter {
    make(field, .notIn, values)
  }

  /// The field exists, is not null, and is not equal to any of the values. The backend accepts at most 10. If null is among them, nothing
  /// matches.
  public class func whereField(_ path: FieldPath, notIn values: [Any]) -> Filter {
    make(path, .notIn, values)
  }
}
