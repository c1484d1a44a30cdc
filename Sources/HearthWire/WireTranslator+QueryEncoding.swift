package import HearthModel
internal import SwiftProtobuf

extension WireTranslator {
  /// The message for a target that is not a single document, and the name of the parent that it runs under.
  ///
  /// Orders are sent in full, with the implicit ones, so that client and backend cannot differ on them.
  package func structuredQuery(
    _ target: HearthModel.Target
  ) -> (parent: String, query: Google_Firestore_V1_StructuredQuery) {
    var message = Google_Firestore_V1_StructuredQuery()
    var from = Google_Firestore_V1_StructuredQuery.CollectionSelector()
    let parent: ResourcePath
    if let collectionGroup = target.collectionGroup {
      from.collectionID = collectionGroup
      from.allDescendants = true
      parent = target.path
    } else {
      from.collectionID = target.path.last ?? ""
      parent = target.path.parent
    }
    message.from = [from]
    if let filter = encodeConjunction(target.filters) {
      message.where = filter
    }
    message.orderBy = target.orders.map { encode($0) }
    if let limit = target.limit {
      message.limit = Google_Protobuf_Int32Value(Int32(clamping: limit))
    }
    if let startAt = target.startAt {
      message.startAt = encode(startAt, before: startAt.isInclusive)
    }
    if let endAt = target.endAt {
      message.endAt = encode(endAt, before: !endAt.isInclusive)
    }
    return (database.name(of: parent), message)
  }

  /// One filter for the whole list: none, the only one, or all of them joined by `and`.
  private func encodeConjunction(_ filters: [Filter]) -> Google_Firestore_V1_StructuredQuery.Filter? {
    guard let first = filters.first else { return nil }
    return filters.count == 1 ? encode(first) : encode(CompositeFilter(op: .and, filters: filters))
  }

  package func encode(_ filter: Filter) -> Google_Firestore_V1_StructuredQuery.Filter {
    switch filter {
    case .field(let filter): encode(filter)
    case .composite(let filter): encode(filter)
    }
  }

  private func encode(_ composite: CompositeFilter) -> Google_Firestore_V1_StructuredQuery.Filter {
    var message = Google_Firestore_V1_StructuredQuery.Filter()
    message.compositeFilter.op =
      switch composite.op {
      case .and: .and
      case .or: .or
      }
    message.compositeFilter.filters = composite.filters.map { encode($0) }
    return message
  }

  /// Comparisons with null and NaN have operators of their own on the wire.
  private func encode(_ filter: FieldFilter) -> Google_Firestore_V1_StructuredQuery.Filter {
    var message = Google_Firestore_V1_StructuredQuery.Filter()
    if let unary = unaryOperator(of: filter) {
      message.unaryFilter.op = unary
      message.unaryFilter.field = fieldReference(filter.path)
    } else {
      message.fieldFilter.op = encode(filter.op)
      message.fieldFilter.field = fieldReference(filter.path)
      message.fieldFilter.value = encodeBytes(filter.value)
    }
    return message
  }

  private func unaryOperator(
    of filter: FieldFilter
  ) -> Google_Firestore_V1_StructuredQuery.UnaryFilter.Operator? {
    switch (filter.op, filter.value) {
    case (.equal, .null): .isNull
    case (.notEqual, .null): .isNotNull
    case (.equal, .double(let value)) where value.isNaN: .isNan
    case (.notEqual, .double(let value)) where value.isNaN: .isNotNan
    default: nil
    }
  }

  private func encode(
    _ op: FieldFilter.Operator
  ) -> Google_Firestore_V1_StructuredQuery.FieldFilter.Operator {
    switch op {
    case .lessThan: .lessThan
    case .lessThanOrEqual: .lessThanOrEqual
    case .equal: .equal
    case .notEqual: .notEqual
    case .greaterThan: .greaterThan
    case .greaterThanOrEqual: .greaterThanOrEqual
    case .arrayContains: .arrayContains
    case .arrayContainsAny: .arrayContainsAny
    case .in: .in
    case .notIn: .notIn
    }
  }

  private func encode(_ order: OrderBy) -> Google_Firestore_V1_StructuredQuery.Order {
    var message = Google_Firestore_V1_StructuredQuery.Order()
    message.field = fieldReference(order.path)
    message.direction =
      switch order.direction {
      case .ascending: .ascending
      case .descending: .descending
      }
    return message
  }

  private func encode(_ bound: Bound, before: Bool) -> Google_Firestore_V1_Cursor {
    var message = Google_Firestore_V1_Cursor()
    message.values = bound.position.map { encodeBytes($0) }
    message.before = before
    return message
  }

  private func fieldReference(_ path: FieldPath) -> Google_Firestore_V1_StructuredQuery.FieldReference {
    var message = Google_Firestore_V1_StructuredQuery.FieldReference()
    message.fieldPath = path.canonicalString
    return message
  }
}
