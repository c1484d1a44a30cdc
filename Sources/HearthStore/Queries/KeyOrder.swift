internal import HearthModel

/// The documents of one collection in ascending or descending order of their ids. Each is read in place and valid until the next one is
/// requested.
///
/// Ids of the form `__id<number>__` come before all others in the order of keys, sorted by number, which is not the order of the table's
/// index. They are rare, so those of a collection are read first and sorted.
struct DocumentRun {
  private let isBackward: Bool
  private let collection: ResourcePath
  private let number: Int64
  private var numeric: [String] = []
  private let single: Statement
  private let others: Statement
  private var hasOthers: Bool
  private(set) var current: (id: String, document: StoredDocument)?

  init(
    _ documents: DocumentStore, _ collection: ResourcePath, number: Int64, in range: SegmentRange, isBackward: Bool
  ) throws {
    self.isBackward = isBackward
    self.collection = collection
    self.number = number
    hasOthers = range.mayHoldOthers
    single = try documents.database.prepare(
      "SELECT \(StoredDocument.columns) FROM documents WHERE collection = ? AND id = ?")
    var condition = ""
    var parameters: [Statement.Parameter] = [.integer(number)]
    if let lower = range.lowerOther {
      condition += " AND id >= ?"
      parameters.append(.text(lower))
    }
    if let upper = range.upperOther {
      condition += " AND id <= ?"
      parameters.append(.text(upper))
    }
    others = try documents.database.prepare(
      "SELECT \(StoredDocument.columns) FROM documents INDEXED BY documents_by_id WHERE collection = ?\(condition) "
        + "ORDER BY id\(isBackward ? " DESC" : "")", parameters)
    if range.mayHoldNumeric {
      let ids = try documents.database.prepare(
        "SELECT id FROM documents INDEXED BY documents_by_id WHERE collection = ? AND id >= '__id' AND id < '__ie'",
        .integer(number))
      while try ids.step() {
        let id = try ids.string(at: 0)
        if PathSegment.numericID(id) != nil { numeric.append(id) }
      }
      numeric = range.walk(numeric: numeric, isBackward: isBackward)
    }
    try advance()
  }

  mutating func advance() throws {
    current = nil
    if !isBackward, try advanceNumeric() { return }
    while hasOthers {
      hasOthers = try others.step()
      guard hasOthers else { break }
      let id = try others.string(at: 0)
      if PathSegment.numericID(id) != nil { continue }
      current = (id, StoredDocument(statement: others, collection: collection))
      return
    }
    if isBackward { _ = try advanceNumeric() }
  }

  private mutating func advanceNumeric() throws -> Bool {
    while let id = numeric.popLast() {
      single.reset()
      try single.bind(1, number)
      try single.bind(2, id)
      guard try single.step() else { continue }
      current = (id, StoredDocument(statement: single, collection: collection))
      return true
    }
    return false
  }
}

/// Walks along the documents of a scope in ascending or descending order of their keys, from one key to another.
///
/// A document comes before those of its subcollections, which come before the collection's next document. Subcollections of documents that
/// do not exist come where the document would. The levels of the path are kept in a list, because paths may be deeper than a stack.
struct KeyOrder {
  private struct Level {
    let path: ResourcePath
    /// The number of segments below the walk's base.
    let depth: Int
    let isOnLower: Bool
    let isOnUpper: Bool
    var documents: DocumentRun?
    /// Collections of a document; of a collection, documents that have collections.
    var children: SegmentRun?
  }

  private let store: DocumentStore
  private let tree: CollectionTree?
  private let isBackward: Bool
  private let lower: [String]
  private let upper: [String]?
  private var levels: [Level] = []

  /// - Parameters:
  ///   - lower: No document of the walk has a smaller key. The document with this key may be part of it.
  ///   - upper: No document of the walk has a greater key.
  init(
    _ store: DocumentStore, _ scope: CollectionScope, from lower: DocumentKey?, to upper: DocumentKey?, isBackward: Bool
  ) throws {
    self.store = store
    self.isBackward = isBackward
    let base: ResourcePath
    switch scope {
    case .collection(let path): (base, tree) = (path, nil)
    case .group(let id, let path): (base, tree) = (path, CollectionTree(database: store.database, group: id))
    case .everything(let path): (base, tree) = (path, CollectionTree(database: store.database, group: nil))
    }
    func segments(_ key: DocumentKey?) -> [String]? {
      guard let key, base.isPrefix(of: key.path) else { return nil }
      return Array(key.path.segments.dropFirst(base.count))
    }
    self.lower = segments(lower) ?? []
    self.upper = segments(upper)
    try push(base, depth: 0, isOnLower: true, isOnUpper: true)
  }

  private mutating func push(_ path: ResourcePath, depth: Int, isOnLower: Bool, isOnUpper: Bool) throws {
    var range = SegmentRange()
    if isOnLower, depth < lower.count { range.lower = lower[depth] }
    if isOnUpper, let upper {
      // Documents below a document come behind it.
      guard depth < upper.count else { return }
      range.upper = upper[depth]
    }
    var level = Level(path: path, depth: depth, isOnLower: isOnLower, isOnUpper: isOnUpper)
    let isRead = tree?.group.map { $0.utf8.elementsEqual((path.last ?? "").utf8) } ?? true
    if !path.count.isMultiple(of: 2), isRead, let number = try store.number(of: path) {
      level.documents = try DocumentRun(store, path, number: number, in: range, isBackward: isBackward)
    }
    level.children = try tree.map { try SegmentRun($0, below: path, in: range, isBackward: isBackward) }
    levels.append(level)
  }

  /// - Parameter body: Returns false to stop.
  mutating func forEach(_ body: (StoredDocument) throws -> Bool) throws {
    while let level = levels.last {
      let top = levels.count - 1
      switch (level.documents?.current, level.children?.current) {
      case (let document?, let child) where child.map { isBefore(document.id, $0) } ?? true:
        guard try body(document.document) else { return }
        try levels[top].documents?.advance()
      case (_, let child?):
        try levels[top].children?.advance()
        let isOnLower = level.isOnLower && isSame(child, lower, at: level.depth)
        let isOnUpper = level.isOnUpper && isSame(child, upper ?? [], at: level.depth)
        try push(level.path.appending(child), depth: level.depth + 1, isOnLower: isOnLower, isOnUpper: isOnUpper)
      default: levels.removeLast()
      }
    }
  }

  /// Returns whether a document comes before what lies below an id.
  private func isBefore(_ id: String, _ child: String) -> Bool {
    let order = PathSegment.compare(id, child)
    return isBackward ? order == .descending : order != .descending
  }

  private func isSame(_ segment: String, _ bound: [String], at depth: Int) -> Bool {
    depth < bound.count && segment.utf8.elementsEqual(bound[depth].utf8)
  }
}
