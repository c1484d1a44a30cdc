internal import HearthModel

/// Reads documents of one collection by their places, one after the other.
struct PlaceReader {
  private let statement: Statement
  private let document: StoredDocument
  private let number: Int64

  init(_ documents: DocumentStore, collection: ResourcePath, number: Int64) throws {
    self.number = number
    statement = try documents.database.prepare("SELECT \(StoredDocument.columns) FROM documents WHERE place = ?")
    document = StoredDocument(statement: statement, collection: collection)
  }

  /// The document at a place, in place; nil if nothing lies there. Valid until the next call.
  ///
  /// - Throws: ``StoreError`` `corrupt` for a place in another collection.
  func document(at place: Int64) throws -> StoredDocument? {
    guard place >> Place.arrivalBits == number else {
      throw StoreError.corrupt("table index_entries, collection \(number): place \(place) is in another collection")
    }
    statement.reset()
    try statement.bind(1, place)
    return try statement.step() ? document : nil
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
