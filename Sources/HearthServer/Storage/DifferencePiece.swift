internal import HearthModel

/// A piece of the difference of a listen stream's target between two versions, from the change log.
struct DifferencePiece: Sendable {
  /// A document that was written in between.
  struct Change: Sendable {
    /// As it is at the end.
    var document: Document
    /// False if it has left the result, or has been in it in between only.
    var isIn: Bool
  }

  /// In the order of their keys.
  var changes: [Change] = []
  /// The number of documents that have come into the result, less that of those that have left it.
  var growth = 0
  /// Where the next piece begins; nil for the last one.
  var next: DifferenceCursor?
}

/// The position in a difference after a piece of it. Only the storage that created it can read it; other code passes it on.
struct DifferenceCursor: Sendable {
  /// A value of a type that the storage knows.
  let position: any Sendable
}

/// The last documents of the result of a query with a limit at both ends of a difference; nil if the result does not reach its limit, so
/// that it contains every matching document.
struct WindowEdges: Sendable {
  var query: Query
  var before: Document?
  var after: Document?

  func contains(_ document: Document, endingWith edge: Document?) -> Bool {
    guard query.matches(document) else { return false }
    return edge.map { query.compare(document, $0) != .descending } ?? true
  }
}
