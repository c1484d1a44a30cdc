internal import HearthModel

/// The query or documents that a target of a listen stream asks for. Targets with equal sources have equal results.
enum WatchSource: Hashable, Sendable {
  case query(Query)
  /// In the order of the request, each once.
  case documents([DocumentKey])

  var scope: ChangeScope {
    switch self {
    case .query(let query): ChangeScope(of: query)
    case .documents(let keys): .documents(Set(keys))
    }
  }

  /// The documents, if they are asked for by their keys.
  var keys: [DocumentKey] {
    switch self {
    case .query(let query): query.documentKey.map { [$0] } ?? []
    case .documents(let keys): keys
    }
  }

  /// The query with a limit, if this is one.
  var limitQuery: Query? {
    guard case .query(let query) = self, query.limit != nil else { return nil }
    return query
  }

  /// The conditions that ``matches(_:)`` evaluates at most, with those of each value of a list.
  var effort: Int {
    guard case .query(let query) = self else { return 1 }
    return query.filters.reduce(1 + query.orders.count) { $0 + Self.effort(of: $1) }
  }

  private static func effort(of filter: Filter) -> Int {
    switch filter {
    case .field(let filter):
      if case .array(let values) = filter.value { 1 + values.count } else { 1 }
    case .composite(let composite): composite.filters.reduce(1) { $0 + effort(of: $1) }
    }
  }

  /// Returns true if a document of ``scope`` exists and belongs to the result, without regard to the limit.
  func matches(_ document: Document) -> Bool {
    guard document.isFound else { return false }
    switch self {
    case .query(let query): return query.matches(document)
    case .documents: return true
    }
  }
}
