internal import HearthModel
internal import HearthStore

/// The collections of the change log, by their numbers, and the number of documents in each.
///
/// The document store has numbers too, but it reuses the numbers of emptied collections while the log still refers to them.
final class LoggedCollections {
  private let database: Database
  /// The numbers of the collections that were written last.
  private var numbers: [ResourcePath: Int64] = [:]

  private static let maximumNumbers = 4096
  /// Has the paths of all collections that hold documents or are in the log, with their numbers.
  static let table = "server_collections"

  init(database: Database) {
    self.database = database
  }

  /// Forgets what a rolled back transaction may have added.
  func forget() { numbers = [:] }

  /// The number of a collection, nil if it holds nothing and is not in the log.
  static func number(of path: ResourcePath, in database: Database) throws -> Int64? {
    let select = try database.prepare("SELECT number FROM server_collections WHERE path = ?")
    try select.bind(1, path.canonicalString)
    return try select.step() ? try select.int64(at: 0) : nil
  }

  func number(ofNew path: ResourcePath) throws -> Int64 {
    if let number = numbers[path] { return number }
    let number = try Self.number(of: path, in: database) ?? insert(path)
    if numbers.count >= Self.maximumNumbers { numbers = [:] }
    numbers[path] = number
    return number
  }

  private func insert(_ path: ResourcePath) throws -> Int64 {
    try database.update(
      "INSERT INTO server_collections (path, group_id, documents) VALUES (?, ?, 0)", .text(path.canonicalString),
      .text(path.last ?? ""))
    return database.lastInsertedRow
  }

  func grow(_ number: Int64, by count: Int64) throws {
    try database.update(
      "UPDATE server_collections SET documents = documents + ? WHERE number = ?", .integer(count), .integer(number))
  }

  /// Removes a collection that holds nothing and that the log has forgotten.
  func removeIfUnused(_ number: Int64) throws {
    let remove = try database.prepare(
      """
      DELETE FROM server_collections WHERE number = ?1 AND documents = 0
      AND NOT EXISTS (SELECT 1 FROM server_changes INDEXED BY server_changes_by_collection WHERE collection = ?1)
      """)
    try remove.bind(1, number)
    try remove.run()
    if database.changedRowCount > 0 { numbers = [:] }
  }
}

extension LoggedCollections {
  /// The present number of documents in some collections.
  static func documentCount(of scope: CollectionScope, in database: Database) throws -> Int {
    switch scope {
    case .collection(let path):
      let select = try database.prepare("SELECT documents FROM server_collections WHERE path = ?")
      try select.bind(1, path.canonicalString)
      return try select.step() ? Int(try select.int64(at: 0)) : 0
    case .group(let id, let path) where path.isEmpty:
      let select = try database.prepare(
        "SELECT coalesce(sum(documents), 0) FROM server_collections WHERE group_id = ?")
      try select.bind(1, id)
      return try select.step() ? Int(try select.int64(at: 0)) : 0
    case .group, .everything:
      let select = try database.prepare("SELECT path, documents FROM server_collections")
      var count = 0
      while try select.step() {
        let path = try ResourcePath(canonical: select.string(at: 0))
        if scope.contains(collection: path) { count += Int(try select.int64(at: 1)) }
      }
      return count
    }
  }
}

extension CollectionScope {
  func contains(collection path: ResourcePath) -> Bool {
    switch self {
    case .collection(let own): own == path
    case .group(let id, let parent): (path.last ?? "").utf8.elementsEqual(id.utf8) && parent.isPrefix(of: path)
    case .everything(let parent): parent.isPrefix(of: path)
    }
  }
}
