import HearthModel

/// A walk along the documents of one collection in the order of their keys.
///
/// Ids of the form `__id<number>__` come before all others in the order of keys, by number, and not in the order of the table's index.
/// They are rare, so those of a collection are read first and sorted.
struct CollectionWalk {
  let documents: DocumentStore
  let path: ResourcePath
  let number: Int64
  let isBackward: Bool
  /// Ids between which the walk stays, both included; nil where it has no end.
  var lower: String?
  var upper: String?

  /// Calls `body` with each stored document, in place, of every kind.
  ///
  /// - Parameter body: Returns false to stop.
  /// - Returns: False if `body` has stopped the walk.
  func forEach(_ body: (StoredDocument) throws -> Bool) throws -> Bool {
    for isNumericPart in [!isBackward, isBackward] {
      guard try isNumericPart ? forEachNumeric(body) : forEachOther(body) else { return false }
    }
    return true
  }

  private func forEachNumeric(_ body: (StoredDocument) throws -> Bool) throws -> Bool {
    // All ids of this part lie before every other one.
    if let lower, PathSegment.numericID(lower) == nil { return true }
    let ids = try documents.database.prepare(
      "SELECT id FROM documents INDEXED BY documents_by_id WHERE collection = ? AND id >= '__id' AND id < '__ie'",
      .integer(number))
    var numeric: [String] = []
    while try ids.step() {
      let id = try ids.string(at: 0)
      if PathSegment.numericID(id) != nil, !isOutside(id) { numeric.append(id) }
    }
    guard !numeric.isEmpty else { return true }
    numeric.sort { PathSegment.compare($0, $1) == (isBackward ? .descending : .ascending) }
    let statement = try documents.database.prepare(
      "SELECT \(StoredDocument.columns) FROM documents WHERE collection = ? AND id = ?")
    let stored = StoredDocument(statement: statement, collection: path)
    for id in numeric {
      statement.reset()
      try statement.bind(1, number)
      try statement.bind(2, id)
      guard try statement.step() else { continue }
      guard try body(stored) else { return false }
    }
    return true
  }

  private func isOutside(_ id: String) -> Bool {
    if let lower, PathSegment.compare(id, lower) == .ascending { return true }
    if let upper, PathSegment.compare(id, upper) == .descending { return true }
    return false
  }

  private static let numericPrefix = Array("__id".utf8)

  private func forEachOther(_ body: (StoredDocument) throws -> Bool) throws -> Bool {
    // All ids of this part lie behind every numeric one.
    if let upper, PathSegment.numericID(upper) != nil { return true }
    var condition = ""
    var parameters: [Statement.Parameter] = [.integer(number)]
    if let lower, PathSegment.numericID(lower) == nil {
      condition += " AND id >= ?"
      parameters.append(.text(lower))
    }
    if let upper {
      condition += " AND id <= ?"
      parameters.append(.text(upper))
    }
    let statement = try documents.database.prepare(
      "SELECT \(StoredDocument.columns) FROM documents INDEXED BY documents_by_id WHERE collection = ?\(condition) "
        + "ORDER BY id\(isBackward ? " DESC" : "")", parameters)
    let stored = StoredDocument(statement: statement, collection: path)
    while try statement.step() {
      let mayBeNumeric = try statement.withUTF8(at: 0) { $0.starts(with: Self.numericPrefix) }
      if mayBeNumeric, PathSegment.numericID(try statement.string(at: 0)) != nil { continue }
      guard try body(stored) else { return false }
    }
    return true
  }
}
