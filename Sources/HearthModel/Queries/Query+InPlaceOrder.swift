extension Query {
  /// The order of a document that is read in place and another one in the result; the same as `compare(_:_:)` of the two as documents.
  ///
  /// - Throws: if the bytes of a field that decides the order are malformed.
  package func compare(
    key: DocumentKey, fields: EncodedFieldsView, to document: Document
  ) throws(WireFormatError) -> Ordering {
    for order in orders {
      let ordering: Ordering
      if order.path.isDocumentKey {
        ordering = Ordering(key, document.key)
      } else {
        ordering = try document.fields.withView { view throws(WireFormatError) -> Ordering in
          switch (try fields.value(at: order.path), try view.value(at: order.path)) {
          case (let first?, let second?): try first.compare(to: second)
          case (nil, nil): .same
          case (nil, _): .ascending
          case (_, nil): .descending
          }
        }
      }
      if ordering != .same { return order.directed(ordering) }
    }
    return .same
  }
}
