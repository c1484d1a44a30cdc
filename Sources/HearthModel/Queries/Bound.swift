/// A position in the order of a query where its result starts or ends.
///
/// The values belong to the query's first orders, one each. With fewer values than orders, the position covers all documents that agree in
/// these values. The value for the document key is a reference.
package struct Bound: Hashable, Sendable {
  package var position: [Value]
  /// True if documents at the position itself belong to the result.
  package var isInclusive: Bool

  package init(position: [Value], isInclusive: Bool) {
    self.position = position
    self.isInclusive = isInclusive
  }

  /// Returns whether a result that starts here holds the document.
  func startAdmits(
    key: DocumentKey, fields: EncodedFieldsView, orders: [OrderBy]
  ) throws(WireFormatError) -> Bool {
    switch try compare(toKey: key, fields: fields, orders: orders) {
    case .ascending: true
    case .same: isInclusive
    case .descending: false
    }
  }

  /// Returns whether a result that ends here holds the document.
  func endAdmits(
    key: DocumentKey, fields: EncodedFieldsView, orders: [OrderBy]
  ) throws(WireFormatError) -> Bool {
    switch try compare(toKey: key, fields: fields, orders: orders) {
    case .ascending: false
    case .same: isInclusive
    case .descending: true
    }
  }

  /// Compares the position with the document, in the order of the query.
  private func compare(
    toKey key: DocumentKey, fields: EncodedFieldsView, orders: [OrderBy]
  ) throws(WireFormatError) -> Ordering {
    for (value, order) in zip(position, orders) {
      let ordering: Ordering
      if order.path.isDocumentKey {
        ordering = Self.compare(value, to: key)
      } else if let field = try fields.value(at: order.path) {
        ordering = try field.compare(to: value).reversed
      } else {
        // Documents without an ordered field were excluded before bounds are tested; absent sorts first.
        ordering = .descending
      }
      if ordering != .same { return order.directed(ordering) }
    }
    return .same
  }

  private static func compare(_ value: Value, to key: DocumentKey) -> Ordering {
    // Only references are legal here; any other value comes before every key.
    guard case .reference(let reference) = value else { return .ascending }
    return Ordering(reference.key, key)
  }
}
