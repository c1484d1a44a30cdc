package import HearthModel

/// The documents of an export that one reader can take in the order of their keys.
package enum ExportScope: Hashable, Sendable {
  case everything
  /// A collection and everything below its documents.
  case below(ResourcePath)
  /// The documents of a collection alone.
  case collection(ResourcePath)

  /// The smallest id that there can be, by which a position before all documents of a collection is named.
  private static let smallestID = "__id-9223372036854775808__"

  /// The query for all documents, without limits.
  private var query: Query {
    switch self {
    case .everything: Query(path: ResourcePath(), collectionGroup: "")
    case .below(let path): Query(path: path.parent, collectionGroup: "")
    case .collection(let path): Query(path: path)
    }
  }

  /// The document before all of the scope; nil where the scope's query begins with them.
  private var start: DocumentKey? {
    guard case .below(let path) = self else { return nil }
    return try? DocumentKey(path.appending(Self.smallestID))
  }

  /// The place behind all documents of the scope; nil where the scope's query ends with them.
  private var end: DocumentKey? {
    guard case .below(let path) = self, let id = path.last else { return nil }
    // The next id after "cities" is that with a zero byte added.
    return try? DocumentKey(path.parent.appending(id + "\u{0}").appending(Self.smallestID))
  }

  /// The query for the next documents.
  ///
  /// - Parameters:
  ///   - position: The last document that is known; nil for none.
  ///   - start: The first document to read, if `position` is nil; nil for the first of the scope.
  ///   - end: The document before which to stop; nil for the last of the scope.
  func query(after position: DocumentKey?, from start: DocumentKey?, to end: DocumentKey?, in database: DatabaseID)
    -> Query
  {
    func bound(_ key: DocumentKey, isInclusive: Bool) -> Bound {
      Bound(position: [.reference(ReferenceValue(database: database, key: key))], isInclusive: isInclusive)
    }
    var query = query
    query.explicitOrders = [OrderBy(path: .documentKey, direction: .ascending)]
    if let position {
      query.startAt = bound(position, isInclusive: false)
    } else if let start = start ?? self.start {
      query.startAt = bound(start, isInclusive: true)
    }
    if let end = end ?? self.end { query.endAt = bound(end, isInclusive: false) }
    return query
  }

  /// Returns whether a document belongs to the scope.
  package func contains(_ key: DocumentKey) -> Bool {
    switch self {
    case .everything: true
    case .below(let path): path.isPrefix(of: key.path)
    case .collection(let path): path.isImmediateParent(of: key.path)
    }
  }

  /// True if all documents of the other scope are in this one.
  func covers(_ other: ExportScope) -> Bool {
    switch (self, other) {
    case (.everything, _): true
    case (.below(let mine), .below(let others)), (.below(let mine), .collection(let others)):
      mine.isPrefix(of: others)
    default: self == other
    }
  }

  /// The scopes without those that others cover, in order.
  package static func withoutOverlaps(_ scopes: [ExportScope]) -> [ExportScope] {
    var kept: [ExportScope] = []
    for scope in scopes where !kept.contains(where: { $0.covers(scope) }) {
      kept.removeAll { scope.covers($0) }
      kept.append(scope)
    }
    return kept
  }
}

/// A part of a scope, between two keys. Parts are read side by side, each in the order of its keys.
package struct ExportPart: Hashable, Sendable {
  package var scope: ExportScope
  /// The first document; nil for that of the scope.
  package var start: DocumentKey?
  /// The document before which the part ends; nil for the end of the scope.
  package var end: DocumentKey?

  package init(scope: ExportScope, start: DocumentKey? = nil, end: DocumentKey? = nil) {
    self.scope = scope
    self.start = start
    self.end = end
  }

  package func contains(_ key: DocumentKey) -> Bool {
    if let start, key < start { return false }
    if let end, !(key < end) { return false }
    return scope.contains(key)
  }

  /// Divides a scope at keys. Keys outside the scope are ignored.
  ///
  /// - Parameter maximumCount: The most parts; with more keys, some of them, evenly chosen, are taken.
  package static func parts(of scope: ExportScope, dividedAt keys: [DocumentKey], maximumCount: Int) -> [ExportPart] {
    var points: [DocumentKey] = []
    for key in keys.sorted() where scope.contains(key) && points.last != key { points.append(key) }
    let wanted = max(0, maximumCount - 1)
    if points.count > wanted {
      let all = points
      points = (0..<wanted).map { all[($0 + 1) * all.count / (wanted + 1)] }
    }
    let starts = [nil] + points.map { Optional($0) }
    let ends = points.map { Optional($0) } + [nil]
    return zip(starts, ends).map { ExportPart(scope: scope, start: $0, end: $1) }
  }
}
