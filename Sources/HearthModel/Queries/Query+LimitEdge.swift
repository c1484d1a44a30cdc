/// The edge of a limit: the end of an ordered result at which the limit cuts documents off.
///
/// A limit to the first documents cuts off at the last one, a limit to the last documents at the first one.
extension Query {
  /// Returns the document at the edge of a result, given both of its ends.
  package func edge(first: @autoclosure () -> Document?, last: @autoclosure () -> Document?) -> Document? {
    limitType == .first ? last() : first()
  }

  /// Returns whether a document lies beyond the edge, so that a full limit leaves it out.
  package func sorts(_ document: Document, beyond edge: Document) -> Bool {
    compare(document, edge) == outward
  }

  /// Returns whether a stored document lies inside the edge. The edge itself does not.
  package func sorts(
    key: DocumentKey, fields: EncodedFieldsView, inside edge: Document
  ) throws(WireFormatError) -> Bool {
    try compare(key: key, fields: fields, to: edge) == outward.reversed
  }

  /// The result of comparing a document beyond the edge with the edge.
  private var outward: Ordering { limitType == .first ? .descending : .ascending }
}
