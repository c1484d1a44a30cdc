/// A condition on one field, or on the document key.
///
/// Equality follows the order of values, so 1 matches 1.0 in every operator, as at the backend. (The official SDKs evaluate `in`, `not-in`
/// and the array operators locally with a stricter equality than their own server.) `in`, `array-contains` and `array-contains-any` find
/// neither null nor NaN; the backend has separate conditions for these (firebase-ios-sdk FIRQueryTests.mm, testQueriesCanUseInFilters and
/// its neighbours). Ranges do not find them either: `<= 2` does not find NaN, although NaN is sorted before all numbers, and a range that
/// starts or ends at null or NaN is empty.
package struct FieldFilter: Hashable, Sendable {
  package enum Operator: Hashable, Sendable, CaseIterable {
    case lessThan, lessThanOrEqual, equal, notEqual, greaterThan, greaterThanOrEqual
    case arrayContains, arrayContainsAny, `in`, notIn

    /// True if a query with this operator is ordered by its field without being asked to.
    package var isInequality: Bool {
      switch self {
      case .lessThan, .lessThanOrEqual, .notEqual, .greaterThan, .greaterThanOrEqual, .notIn: true
      case .equal, .arrayContains, .arrayContainsAny, .in: false
      }
    }
  }

  package var path: FieldPath
  package var op: Operator
  /// The operand: an array for `in`, `notIn` and `arrayContainsAny`; references for the document key.
  package var value: Value

  package init(path: FieldPath, op: Operator, value: Value) {
    self.path = path
    self.op = op
    self.value = value
  }

  /// Returns whether a document meets the condition; reads the one field in place. A document without the field never does.
  package func matches(key: DocumentKey, fields: EncodedFieldsView) throws(WireFormatError) -> Bool {
    if path.isDocumentKey { return matches(key: key) }
    guard let field = try fields.value(at: path) else { return false }
    switch op {
    case .lessThan: return try rangeOrder(of: field) == .ascending
    case .lessThanOrEqual: return try rangeOrder(of: field).map { $0 != .descending } ?? false
    case .greaterThan: return try rangeOrder(of: field) == .descending
    case .greaterThanOrEqual: return try rangeOrder(of: field).map { $0 != .ascending } ?? false
    case .equal: return try field.compare(to: value) == .same
    case .notEqual: return field.isNull ? false : try field.compare(to: value) != .same
    case .arrayContains: return try Self.array(field, holdsAnyOf: CollectionOfOne(value))
    case .arrayContainsAny: return try Self.array(field, holdsAnyOf: operands)
    case .in: return field.isListed ? try Self.isAny(of: operands, equalTo: field) : false
    case .notIn:
      if field.isNull || operands.contains(where: \.isNull) { return false }
      return try !Self.isAny(of: operands, equalTo: field)
    }
  }

  /// The elements of the operand of `in`, `notIn` and `arrayContainsAny`.
  var operands: [Value] {
    if case .array(let elements) = value { return elements }
    return []
  }

  /// The order of the field and the operand; nil if they differ in type, or if one of them is null or NaN. Ranges hold values of one type
  /// only: `> 5` finds numbers, not strings.
  private func rangeOrder(of field: EncodedValue) throws(WireFormatError) -> Ordering? {
    guard field.typeClass == value.typeClass, field.isListed, value.isListed else { return nil }
    return try field.compare(to: value)
  }

  private static func isAny(
    of operands: some Sequence<Value>, equalTo field: EncodedValue
  ) throws(WireFormatError) -> Bool {
    for operand in operands where try field.compare(to: operand) == .same { return true }
    return false
  }

  /// Vectors are not arrays here.
  private static func array(
    _ field: EncodedValue, holdsAnyOf operands: some Sequence<Value>
  ) throws(WireFormatError) -> Bool {
    guard case .array(let message) = field.payload else { return false }
    var elements = EncodedElements(message)
    while let element = try elements.next() {
      guard element.isListed else { continue }
      if try isAny(of: operands, equalTo: element) { return true }
    }
    return false
  }
}

extension EncodedValue {
  /// True if ranges and lists of operands can hold the value.
  fileprivate var isListed: Bool {
    switch payload {
    case .null: false
    case .double(let number): !number.isNaN
    default: true
    }
  }
}

extension Value {
  /// True if ranges and conditions that compare with lists can find the value.
  var isListed: Bool { !isNull && !isNaN }
}

// MARK: - Document key

extension FieldFilter {
  /// Keys are compared in their own order. An operand that is not a reference is never met.
  private func matches(key: DocumentKey) -> Bool {
    switch op {
    case .lessThan: return operandKey.map { key < $0 } ?? false
    case .lessThanOrEqual: return operandKey.map { key <= $0 } ?? false
    case .equal: return operandKey == key
    case .notEqual: return operandKey.map { key != $0 } ?? false
    case .greaterThan: return operandKey.map { key > $0 } ?? false
    case .greaterThanOrEqual: return operandKey.map { key >= $0 } ?? false
    case .in: return operands.contains { $0.referencedKey == key }
    case .notIn: return operands.allSatisfy { $0.referencedKey.map { $0 != key } ?? false }
    case .arrayContains, .arrayContainsAny: return false
    }
  }

  private var operandKey: DocumentKey? { value.referencedKey }
}

extension Value {
  /// The key that a reference value names.
  fileprivate var referencedKey: DocumentKey? {
    if case .reference(let reference) = self { return reference.key }
    return nil
  }
}
