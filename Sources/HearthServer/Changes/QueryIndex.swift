internal import HearthModel

/// Finds the queries that a changed document may affect: by its collection or group, and for queries with an equality by one value.
struct QueryIndex {
  typealias QueryID = SharedQueries.QueryID

  /// The queries of one collection or group.
  private struct Bucket {
    /// The fields by whose values queries are found. Each of them is looked up in every changed document.
    private static let maximumPaths = 32

    /// The queries without an equality, and those by further fields.
    var others: Set<QueryID> = []
    var equal: [FieldPath: [[UInt8]: Set<QueryID>]] = [:]
    var isEmpty: Bool { others.isEmpty && equal.isEmpty }

    mutating func insert(_ id: QueryID, _ equality: Equality?) {
      if let equality, equal[equality.path] != nil || equal.count < Self.maximumPaths {
        equal[equality.path, default: [:]][equality.value, default: []].insert(id)
      } else {
        others.insert(id)
      }
    }

    mutating func remove(_ id: QueryID, _ equality: Equality?) {
      guard others.remove(id) == nil, let equality else { return }
      equal[equality.path]?[equality.value]?.remove(id)
      if equal[equality.path]?[equality.value]?.isEmpty == true { equal[equality.path]?[equality.value] = nil }
      if equal[equality.path]?.isEmpty == true { equal[equality.path] = nil }
    }
  }

  /// A field that must have a value. The value's bytes are the same for equal values.
  private struct Equality {
    var path: FieldPath
    var value: [UInt8]

    init?(of query: Query) {
      for case .field(let filter) in query.filters where filter.op == .equal && !filter.path.isDocumentKey {
        var writer = OrderedValueWriter()
        guard (try? writer.append(filter.value)) != nil else { continue }
        (path, value) = (filter.path, writer.bytes)
        return
      }
      return nil
    }
  }

  private var collections: [ResourcePath: Bucket] = [:]
  private var groups: [String: Bucket] = [:]
  private var documents: [DocumentKey: Set<QueryID>] = [:]
  private var everything: Set<QueryID> = []

  mutating func insert(_ id: QueryID, _ source: WatchSource) {
    switch source.scope {
    case .documents(let keys): for key in keys { documents[key, default: []].insert(id) }
    case .collections(.collection(let path)):
      collections[path, default: Bucket()].insert(id, Self.equality(of: source))
    case .collections(.group(let group, _)):
      groups[group, default: Bucket()].insert(id, Self.equality(of: source))
    case .collections(.everything): everything.insert(id)
    }
  }

  mutating func remove(_ id: QueryID, _ source: WatchSource) {
    switch source.scope {
    case .documents(let keys):
      for key in keys {
        documents[key]?.remove(id)
        if documents[key]?.isEmpty == true { documents[key] = nil }
      }
    case .collections(.collection(let path)):
      collections[path]?.remove(id, Self.equality(of: source))
      if collections[path]?.isEmpty == true { collections[path] = nil }
    case .collections(.group(let group, _)):
      groups[group]?.remove(id, Self.equality(of: source))
      if groups[group]?.isEmpty == true { groups[group] = nil }
    case .collections(.everything): everything.remove(id)
    }
  }

  private static func equality(of source: WatchSource) -> Equality? {
    if case .query(let query) = source { Equality(of: query) } else { nil }
  }

  /// The queries that a commit may concern, with the indices of the documents that each of them has to look at.
  func candidates(for transitions: [DocumentTransition]) -> [QueryID: [Int]] {
    var found: [QueryID: [Int]] = [:]
    var byCollection: [ResourcePath: [Int]] = [:]
    for (index, transition) in transitions.enumerated() {
      byCollection[transition.key.collectionPath, default: []].append(index)
      for id in documents[transition.key] ?? [] { found[id, default: []].append(index) }
    }
    let all = Array(transitions.indices)
    for id in everything { found[id] = all }
    for (collection, indices) in byCollection {
      for bucket in [collections[collection], groups[collection.last ?? ""]] {
        guard let bucket else { continue }
        for id in bucket.others {
          // Most queries share one array.
          if found[id] == nil { found[id] = indices } else { found[id]? += indices }
        }
        for (path, values) in bucket.equal { add(transitions, indices, at: path, values, to: &found) }
      }
    }
    return found
  }

  private func add(
    _ transitions: [DocumentTransition], _ indices: [Int], at path: FieldPath, _ queries: [[UInt8]: Set<QueryID>],
    to found: inout [QueryID: [Int]]
  ) {
    for index in indices {
      let before = Self.value(of: transitions[index].before, at: path)
      let after = Self.value(of: transitions[index].after, at: path)
      if let before { for id in queries[before] ?? [] { found[id, default: []].append(index) } }
      guard let after, after != before else { continue }
      for id in queries[after] ?? [] { found[id, default: []].append(index) }
    }
  }

  private static func value(of document: Document, at path: FieldPath) -> [UInt8]? {
    guard document.isFound else { return nil }
    // Fields that cannot be read match no query.
    return try? document.fields.withView { view throws(WireFormatError) -> [UInt8]? in
      guard let value = try view.value(at: path) else { return nil }
      var writer = OrderedValueWriter()
      try writer.append(value)
      return writer.bytes
    }
  }
}
