internal import HearthModel

// The rules of conditions are in the description of `Query`, because DocC shows none of an extension.
extension Query {
  /// The query with a further condition, which may consist of alternatives. A composite filter without conditions returns an equal query.
  ///
  /// ```swift
  /// cities.whereFilter(.orFilter([.whereField("capital", isEqualTo: true), .whereField("state", isEqualTo: "CA")]))
  /// ```
  public func whereFilter(_ filter: Filter) -> Query {
    filtered(by: filter)
  }

  private func filtered(by filter: Filter, in function: StaticString = #function) -> Query {
    guard !filter.condition.isEmpty else { return self }
    return built(in: function) { () throws(ProgrammingError) in
      try QueryBuilder.filter(model, filter.condition, databaseID: firestore.databaseID)
    }
  }

  /// The field is equal to the value. Null and NaN are legal values.
  public func whereField(_ field: String, isEqualTo value: Any) -> Query {
    filtered(by: Filter.whereField(field, isEqualTo: value))
  }

  /// The field is equal to the value. Null and NaN are legal values.
  public func whereField(_ path: FieldPath, isEqualTo value: Any) -> Query {
    filtered(by: Filter.whereField(path, isEqualTo: value))
  }

  /// The field exists, is not null, and is not equal to the value.
  public func whereField(_ field: String, isNotEqualTo value: Any) -> Query {
    filtered(by: Filter.whereField(field, isNotEqualTo: value))
  }

  /// The field exists, is not null, and is not equal to the value.
  public func whereField(_ path: FieldPath, isNotEqualTo value: Any) -> Query {
    filtered(by: Filter.whereField(path, isNotEqualTo: value))
  }

  /// The field is less than the value and of the same kind of type.
  public func whereField(_ field: String, isLessThan value: Any) -> Query {
    filtered(by: Filter.whereField(field, isLessThan: value))
  }

  /// The field is less than the value and of the same kind of type.
  public func whereField(_ path: FieldPath, isLessThan value: Any) -> Query {
    filtered(by: Filter.whereField(path, isLessThan: value))
  }

  /// The field is less than or equal to the value and of the same kind of type.
  public func whereField(_ field: String, isLessThanOrEqualTo value: Any) -> Query {
    filtered(by: Filter.whereField(field, isLessThanOrEqualTo: value))
  }

  /// The field is less than or equal to the value and of the same kind of type.
  public func whereField(_ path: FieldPath, isLessThanOrEqualTo value: Any) -> Query {
    filtered(by: Filter.whereField(path, isLessThanOrEqualTo: value))
  }

  /// The field is greater than the value and of the same kind of type.
  public func whereField(_ field: String, isGreaterThan value: Any) -> Query {
    filtered(by: Filter.whereField(field, isGreaterThan: value))
  }

  /// The field is greater than the value and of the same kind of type.
  public func whereField(_ path: FieldPath, isGreaterThan value: Any) -> Query {
    filtered(by: Filter.whereField(path, isGreaterThan: value))
  }

  /// The field is greater than or equal to the value and of the same kind of type.
  public func whereField(_ field: String, isGreaterThanOrEqualTo value: Any) -> Query {
    filtered(by: Filter.whereField(field, isGreaterThanOrEqualTo: value))
  }

  /// The field is greater than or equal to the value and of the same kind of type.
  public func whereField(_ path: FieldPath, isGreaterThanOrEqualTo value: Any) -> Query {
    filtered(by: Filter.whereField(path, isGreaterThanOrEqualTo: value))
  }

  /// The field is an array that contains the value. Not for the document id.
  public func whereField(_ field: String, arrayContains value: Any) -> Query {
    filtered(by: Filter.whereField(field, arrayContains: value))
  }

  /// The field is an array that contains the value. Not for the document id.
  public func whereField(_ path: FieldPath, arrayContains value: Any) -> Query {
    filtered(by: Filter.whereField(path, arrayContains: value))
  }

  /// The field is an array that contains at least one of the values. Each value counts as an alternative. Not for the document id.
  public func whereField(_ field: String, arrayContainsAny values: [Any]) -> Query {
    filtered(by: Filter.whereField(field, arrayContainsAny: values))
  }

  /// The field is an array that contains at least one of the values. Each value counts as an alternative. Not for the document id.
  public func whereField(_ path: FieldPath, arrayContainsAny values: [Any]) -> Query {
    filtered(by: Filter.whereField(path, arrayContainsAny: values))
  }

  /// The field is equal to one of the values. Each value counts as an alternative. For the document id they are `String`s or references.
  public func whereField(_ field: String, in values: [Any]) -> Query {
    filtered(by: Filter.whereField(field, in: values))
  }

  /// The field is equal to one of the values. Each value counts as an alternative. For the document id they are `String`s or references.
  public func whereField(_ path: FieldPath, in values: [Any]) -> Query {
    filtered(by: Filter.whereField(path, in: values))
  }

  /// The field exists, is not null, and is not equal to any of the values. The backend accepts at most 10. If null is among them, nothing
  /// matches.
  public func whereField(_ field: String, notIn values: [Any]) -> Query {
    filtered(by: Filter.whereField(field, notIn: values))
  }

  /// The field exists, is not null, and is not equal to any of the values. The backend accepts at most 10. If null is among them, nothing
  /// matches.
  public func whereField(_ path: FieldPath, notIn values: [Any]) -> Query {
    filtered(by: Filter.whereField(path, notIn: values))
  }
}
