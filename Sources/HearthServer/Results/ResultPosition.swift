internal import HearthModel
internal import HearthPlan
internal import HearthStore

/// The sizes of the pieces in which a result is read.
struct PieceSizes: Sendable {
  /// The number of documents in the first piece of a result that is found in its order.
  var firstCount = 32
  /// A piece ends with the document that exceeds these bytes. Each stream whose client does not read holds one piece.
  var bytes = 256 << 10
  /// The bytes of former documents that are kept for the next piece.
  var keptBytes = 256 << 10

  /// More documents in one piece are not worth the memory.
  static let maximumCount = 2_000

  /// The number of documents that the next piece is meant to have.
  ///
  /// - Parameter count: The number that the piece before was meant to have.
  func count(after documents: [Document], of count: Int) -> Int {
    guard !documents.isEmpty else { return min(count * 4, Self.maximumCount) }
    let average = max(documents.fieldsBytes / documents.count, 1)
    return min(max(bytes / average, 8), count * 4, Self.maximumCount)
  }
}

extension Collection<Document> {
  /// The size of all fields.
  var fieldsBytes: Int { reduce(0) { $0 + $1.fields.bytes.count } }
}

/// A position in a query's result, after a piece of it: the embedded storage's content of a ``QueryCursor``.
enum ResultPosition: Sendable {
  /// The result is found in its order.
  case ordered(OrderedPosition)
  /// The result was sorted. These are the documents after the pieces so far.
  case sorted(SortedKeys)
}

extension ResultPosition {
  /// - Throws: INTERNAL for the position of another storage.
  init(_ cursor: QueryCursor) throws(StatusError) {
    guard let position = cursor.position as? ResultPosition else { throw .foreignCursor }
    self = position
  }

  var cursor: QueryCursor { QueryCursor(position: self) }
}

/// A position in a result that is found in its order.
struct OrderedPosition: Sendable {
  /// Behind the pieces so far; nil at the beginning.
  var start: Bound?
  /// The number of further documents that the query's limit allows.
  var remaining: Int?
  /// The number of documents in the next piece.
  var count: Int
  /// The former documents that later pieces may show; nil while nothing was written after the version of the result.
  var past: PastDocuments?
  var effort = PieceEffort.direct

  init(in query: Query, _ sizes: PieceSizes) {
    remaining = query.limit
    count = max(sizes.firstCount, 1)
  }
}
