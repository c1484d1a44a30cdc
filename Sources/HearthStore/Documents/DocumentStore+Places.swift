internal import HearthModel

/// Reads documents by their places, one after the other.
struct PlaceReader {
  private let statement: Statement
  private let source: Source

  private enum Source {
    case collection(StoredDocument, number: Int64)
    case group(GroupPaths)
  }

  /// Reads documents of one collection.
  init(_ documents: DocumentStore, collection: ResourcePath, number: Int64) throws {
    statement = try Self.statement(documents)
    source = .collection(StoredDocument(statement: statement, collection: collection), number: number)
  }

  /// Reads documents of all collections with an id.
  init(_ documents: DocumentStore, group id: String) throws {
    statement = try Self.statement(documents)
    source = .group(try GroupPaths(of: id, in: documents.database))
  }

  private static func statement(_ documents: DocumentStore) throws -> Statement {
    try documents.database.prepare("SELECT \(StoredDocument.columns) FROM documents WHERE place = ?")
  }

  /// The document at a place, in place; nil if nothing lies there. Valid until the next call.
  ///
  /// - Throws: ``StoreError`` `corrupt` for a place in another collection.
  func document(at place: Int64) throws -> StoredDocument? {
    let collection = place >> Place.arrivalBits
    switch source {
    case .collection(let document, let number):
      guard collection == number else {
        throw StoreError.corrupt("table index_entries, collection \(number): place \(place) is in another collection")
      }
      return try step(to: place) ? document : nil
    case .group(let paths):
      guard try step(to: place), let path = try paths.path(of: collection) else { return nil }
      return StoredDocument(statement: statement, collection: path)
    }
  }

  private func step(to place: Int64) throws -> Bool {
    statement.reset()
    try statement.bind(1, place)
    return try statement.step()
  }
}

/// The paths of the collections with one id, by their numbers. Looked-up paths are kept, up to a limit.
private final class GroupPaths {
  private static let limit = 1_000

  private let id: String
  private let statement: Statement
  private var known: [Int64: ResourcePath] = [:]

  init(of id: String, in database: Database) throws {
    self.id = id
    statement = try database.prepare("SELECT path FROM collections WHERE number = ?")
  }

  /// - Returns: nil if the collection has no row. A scan does not find its documents either.
  func path(of number: Int64) throws -> ResourcePath? {
    if let path = known[number] { return path }
    statement.reset()
    try statement.bind(1, number)
    guard try statement.step() else { return nil }
    let path = try DocumentSchema.path(try statement.string(at: 0))
    guard let last = path.last, last.utf8.elementsEqual(id.utf8) else {
      throw StoreError.corrupt("table index_entries, group \"\(id)\": collection \(path) is in another group")
    }
    if known.count >= Self.limit { known.removeAll(keepingCapacity: true) }
    known[number] = path
    return path
  }
}

extension DocumentStore {
  /// The last place of a collection that holds a document, nil if none does.
  func lastPlace(in collection: Int64) throws -> Int64? {
    let statement = try database.prepare(
      "SELECT place FROM documents WHERE place BETWEEN ? AND ? ORDER BY place DESC LIMIT 1",
      .integer(Place.first(in: collection)), .integer(Place.last(in: collection)))
    return try statement.step() ? try statement.int64(at: 0) : nil
  }

  /// Calls `body` with each document of a collection that lies behind a place, in place.
  func forEach(
    in path: ResourcePath, number: Int64, behind place: Int64, _ body: (StoredDocument) throws -> Void
  ) throws {
    let statement = try database.prepare(
      "SELECT \(StoredDocument.columns) FROM documents WHERE place > ? AND place <= ?",
      .integer(max(place, Place.first(in: number) - 1)), .integer(Place.last(in: number)))
    let document = StoredDocument(statement: statement, collection: path)
    while try statement.step() { try body(document) }
  }
}
