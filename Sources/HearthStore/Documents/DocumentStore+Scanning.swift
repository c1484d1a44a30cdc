package import HearthModel

extension DocumentStore {
  /// Calls `body` with each stored document of the scope, in place, in no particular order; of every kind, also those
  /// that are known to be missing.
  ///
  /// `body` must not change documents of the scope.
  ///
  /// - Parameters:
  ///   - changedAfter: only documents whose read time is later. Found through an index, so the cost follows their number
  ///     and not the size of the collection.
  ///   - part: only documents of this part. Not together with `changedAfter`.
  ///   - body: returns false to stop.
  package func forEach(
    in scope: CollectionScope, changedAfter: SnapshotVersion? = nil, part: DocumentPart? = nil,
    _ body: (StoredDocument) throws -> Bool
  ) throws {
    try database.readTransaction("Scan documents") {
      for (path, number) in try collections(in: scope) {
        guard let places = Place.range(in: number, part) else { continue }
        guard try forEach(in: path, number: number, places: places, changedAfter: changedAfter, body) else { return }
      }
    }
  }

  /// Calls `body` with each stored document of the scope whose fields meet conditions, in place, in no particular order.
  ///
  /// SQLite is asked for the fields alone, and for the whole row where they meet: each column of a row that is not looked at
  /// costs as much as testing a condition. When many documents meet, reading them twice costs more, and whole rows are read.
  ///
  /// - Returns: The number of documents that were looked at.
  func forEach(
    in scope: CollectionScope, part: DocumentPart?, meeting conditions: FieldConditions,
    _ body: (StoredDocument) throws -> Void
  ) throws -> Int {
    var (looked, met) = (0, 0)
    for (path, number) in try collections(in: scope) {
      guard let places = Place.range(in: number, part) else { continue }
      let reader = try PlaceReader(self, collection: path, number: number)
      let fields = try database.prepare(
        "SELECT place, fields FROM documents WHERE place BETWEEN ? AND ?", .integer(places.lowerBound),
        .integer(places.upperBound))
      var rest: ClosedRange<Int64>?
      while try fields.step() {
        looked += 1
        let bytes = try fields.blob(at: 1)
        try database.noteWork(bytes: bytes.count * conditions.comparisonCount)
        guard (try? conditions.areMet(by: EncodedFieldsView(bytes))) ?? true else { continue }
        // Also for fields that cannot be read: the test of the whole query reports where they are.
        met += 1
        let place = try fields.int64(at: 0)
        if let document = try reader.document(at: place) { try body(document) }
        if met >= 64, met > looked / 8 {
          rest = place < places.upperBound ? place + 1...places.upperBound : nil
          break
        }
      }
      guard let rest else { continue }
      _ = try forEach(in: path, number: number, places: rest, changedAfter: nil) { document in
        looked += 1
        try body(document)
        return true
      }
    }
    return looked
  }

  private func forEach(
    in path: ResourcePath, number: Int64, places: ClosedRange<Int64>, changedAfter: SnapshotVersion?,
    _ body: (StoredDocument) throws -> Bool
  ) throws -> Bool {
    let statement: Statement
    if let changedAfter {
      // Stored read times are rounded up, so this finds all that are later, and only with a bound that has digits below
      // a microsecond others too.
      statement = try database.prepare(
        "SELECT \(StoredDocument.columns) FROM documents INDEXED BY documents_by_read_time "
          + "WHERE collection = ? AND read_time > ?", .integer(number), .integer(changedAfter.microseconds))
    } else {
      statement = try database.prepare(
        "SELECT \(StoredDocument.columns) FROM documents WHERE place BETWEEN ? AND ?", .integer(places.lowerBound),
        .integer(places.upperBound))
    }
    let document = StoredDocument(statement: statement, collection: path)
    while try statement.step() {
      if let changedAfter, try document.readTime <= changedAfter { continue }
      guard try body(document) else { return false }
    }
    return true
  }

  func collections(in scope: CollectionScope) throws -> [(path: ResourcePath, number: Int64)] {
    try collections(in: scope, limit: .max) ?? []
  }

  /// - Returns: nil when there are more than `limit`.
  func collections(in scope: CollectionScope, limit: Int) throws -> [(path: ResourcePath, number: Int64)]? {
    switch scope {
    case .collection(let path):
      return try number(of: path).map { [(path, $0)] } ?? []
    case .group(let id, let parent) where parent.isEmpty:
      return try collections("group_id = ?", [id], limit: limit)
    case .group(let id, let parent):
      let range = PathRange(below: parent)
      return try collections("group_id = ? AND path >= ? AND path < ?", [id, range.lower, range.upper], limit: limit)
    case .everything(let parent) where parent.isEmpty:
      return try collections("TRUE", [], limit: limit)
    case .everything(let parent):
      let range = PathRange(below: parent)
      return try collections("path >= ? AND path < ?", [range.lower, range.upper], limit: limit)
    }
  }

  private func collections(
    _ condition: String, _ parameters: [String], limit: Int
  ) throws -> [(path: ResourcePath, number: Int64)]? {
    let statement = try database.prepare(
      "SELECT number, path FROM collections WHERE \(condition)", parameters.map { .text($0) })
    var collections: [(ResourcePath, Int64)] = []
    while try statement.step() {
      if collections.count == limit { return nil }
      let text = try statement.string(at: 1)
      collections.append(
        (try DocumentSchema.path(text), try DocumentSchema.checked(statement.int64(at: 0), path: text)))
    }
    return collections
  }
}

/// The texts of all paths below a path, as a range of their UTF-8 bytes.
struct PathRange {
  /// The path and the slash that follows it.
  let lower: String
  /// The first text after the last path below: "0" is the byte after "/".
  let upper: String

  init(below path: ResourcePath) {
    self.init(below: path.canonicalString)
  }

  init(below path: String) {
    lower = path + "/"
    upper = path + "0"
  }
}

extension Place {
  /// The places of a collection's documents, or of those that belong to a part; nil if the part has nothing of it.
  fileprivate static func range(in collection: Int64, _ part: DocumentPart?) -> ClosedRange<Int64>? {
    let places = first(in: collection)...last(in: collection)
    guard let part else { return places }
    return part.places.overlaps(places) ? places.clamped(to: part.places) : nil
  }
}
