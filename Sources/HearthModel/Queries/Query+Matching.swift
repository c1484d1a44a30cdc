extension Query {
  /// Returns whether a document belongs to the result, leaving the limit aside. A document that does not exist, or whose fields
  /// cannot be read, never does.
  package func matches(_ document: Document) -> Bool {
    guard document.isFound else { return false }
    let matches = try? document.fields.withUnsafeBytes { bytes in
      try self.matches(key: document.key, fields: EncodedFieldsView(bytes))
    }
    return matches ?? false
  }

  /// Returns whether an existing document belongs to the result, leaving the limit aside. Reads the fields in place and decodes
  /// none of them.
  ///
  /// - Throws: if the bytes of the fields are malformed where they had to be read.
  package func matches(key: DocumentKey, fields: EncodedFieldsView) throws(WireFormatError) -> Bool {
    guard holds(key) else { return false }
    // Filters first: most documents fail them.
    for filter in filters where try !filter.matches(key: key, fields: fields) { return false }
    for order in orders where !order.path.isDocumentKey {
      if try fields.value(at: order.path) == nil { return false }
    }
    if let startAt, try !startAt.startAdmits(key: key, fields: fields, orders: orders) { return false }
    if let endAt, try !endAt.endAdmits(key: key, fields: fields, orders: orders) { return false }
    return true
  }

  /// Returns whether the query's path or collection group holds the key.
  package func holds(_ key: DocumentKey) -> Bool {
    if let collectionGroup {
      // The collection must lie below the path: documents/a/1 is not in the group "a" below documents/a/1.
      return (collectionGroup.isEmpty || ByteOrder.areEqual(key.collectionGroup, collectionGroup))
        && path.isPrefix(of: key.collectionPath)
    }
    return path == key.path || path.isImmediateParent(of: key.path)
  }

  /// The order of two documents in the result. A field that is absent or cannot be read sorts first.
  package func compare(_ a: Document, _ b: Document) -> Ordering {
    if let keyDirection {
      return keyDirection == .ascending ? DocumentKey.compare(a.key, b.key) : DocumentKey.compare(b.key, a.key)
    }
    for order in orders {
      let ordering =
        order.path.isDocumentKey
        ? DocumentKey.compare(a.key, b.key) : Self.compare(a.fields, b.fields, at: order.path)
      if ordering != .same { return order.directed(ordering) }
    }
    return .same
  }

  private static func compare(_ a: EncodedFields, _ b: EncodedFields, at path: FieldPath) -> Ordering {
    a.withUnsafeBytes { aBytes in
      b.withUnsafeBytes { bBytes in
        let first = (try? EncodedFieldsView(aBytes).value(at: path)) ?? nil
        let second = (try? EncodedFieldsView(bBytes).value(at: path)) ?? nil
        guard let first else { return second == nil ? .same : .ascending }
        guard let second else { return .descending }
        return (try? first.compare(to: second)) ?? .same
      }
    }
  }
}
