// Foundation's expression classes can only be taken apart with the Objective-C runtime.
#if canImport(ObjectiveC)
  public import Foundation

  extension Query {
    /// The query with the conditions of a predicate: comparisons of a key path and a constant, joined by AND. Anything else is a
    /// programming error.
    public func filter(using predicate: NSPredicate) -> Query {
      requireValid { () throws(ProgrammingError) in try filtered(by: predicate) }
    }

    private func filtered(by predicate: NSPredicate) throws(ProgrammingError) -> Query {
      if let comparison = predicate as? NSComparisonPredicate { return try filtered(by: comparison) }
      guard let compound = predicate as? NSCompoundPredicate, compound.compoundPredicateType == .and else {
        throw ProgrammingError("Invalid query. Only comparisons and AND of them are supported, not \(predicate).")
      }
      var query = self
      for case let part as NSPredicate in compound.subpredicates { query = try query.filtered(by: part) }
      return query
    }

    private func filtered(by comparison: NSComparisonPredicate) throws(ProgrammingError) -> Query {
      let (left, right) = (comparison.leftExpression, comparison.rightExpression)
      guard comparison.comparisonPredicateModifier == .direct, left.expressionType == .keyPath,
        right.expressionType == .constantValue
      else {
        throw ProgrammingError(
          "Invalid query. Only comparisons of a key path and a constant are supported, not \(comparison).")
      }
      let (field, value) = (left.keyPath, right.constantValue as Any)
      return switch comparison.predicateOperatorType {
      case .equalTo: whereField(field, isEqualTo: value)
      case .notEqualTo: whereField(field, isNotEqualTo: value)
      case .lessThan: whereField(field, isLessThan: value)
      case .lessThanOrEqualTo: whereField(field, isLessThanOrEqualTo: value)
      case .greaterThan: whereField(field, isGreaterThan: value)
      case .greaterThanOrEqualTo: whereField(field, isGreaterThanOrEqualTo: value)
      case .contains: whereField(field, arrayContains: value)
      case .in: whereField(field, in: value as? [Any] ?? [])
      default: throw ProgrammingError("Invalid query. This comparison is not supported: \(comparison).")
      }
    }
  }
#endif
