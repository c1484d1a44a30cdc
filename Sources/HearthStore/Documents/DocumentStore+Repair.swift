package import HearthModel

/// The documents that a repair had to remove.
package struct RemovedDocuments: Equatable, Sendable {
  package var count = 0
  /// The keys that could still be read.
  package var keys: Set<DocumentKey> = []

  /// True if ``keys`` names all of them.
  package var areAllKnown: Bool { keys.count == count }
}

extension DocumentStore {
  /// Removes every document whose row does not hold what the schema says, and every collection without a usable row.
  ///
  /// Reads all documents. Damage of pages is not repaired but thrown.
  package func removeDamaged() throws -> RemovedDocuments {
    try database.transaction("Remove damaged documents") {
      var removed = RemovedDocuments()
      let collections = try repairCollections()
      var places: [Int64] = []
      let statement = try database.prepare("SELECT \(StoredDocument.columns), place FROM documents")
      while try statement.step() {
        let place = try statement.int64(at: 8)
        guard let path = collections[place >> Place.arrivalBits] else {
          places.append(place)
          continue
        }
        let stored = StoredDocument(statement: statement, collection: path)
        if try Self.isReadable(stored) { continue }
        places.append(place)
        if let key = try? stored.key { removed.keys.insert(key) }
      }
      for place in places {
        try database.update("DELETE FROM documents WHERE place = ?", .integer(place))
        // A row that a scan finds and a search does not find lies on a page in the wrong place.
        guard database.changedRowCount == 1 else {
          throw StoreError.corrupt("table documents: the row at place \(place) is out of order")
        }
      }
      removed.count = places.count
      try database.execute(
        """
        DELETE FROM collections WHERE NOT EXISTS (SELECT 1 FROM documents
          WHERE place BETWEEN number << \(Place.arrivalBits) AND ((number + 1) << \(Place.arrivalBits)) - 1)
        """)
      return removed
    }
  }

  private static func isReadable(_ stored: StoredDocument) throws(StoreError) -> Bool {
    do throws(StoreError) {
      _ = try stored.document()
      return true
    } catch {
      // A result code of SQLite is about pages, not about this row.
      guard error.sqliteCode == 0 else { throw error }
      return false
    }
  }

  /// Removes collections whose path or number cannot be right, and corrects the groups of the others.
  ///
  /// - Returns: the paths of those that stay.
  private func repairCollections() throws -> [Int64: ResourcePath] {
    var paths: [Int64: ResourcePath] = [:]
    var groups: [Int64: String] = [:]
    var unusable: [Int64] = []
    let statement = try database.prepare("SELECT number, path, group_id FROM collections")
    while try statement.step() {
      let number = try statement.int64(at: 0)
      if Place.isCollection(number), let text = try? statement.string(at: 1), let path = try? DocumentSchema.path(text)
      {
        paths[number] = path
        let right = path.last ?? ""
        let group = try? statement.string(at: 2)
        if group.map({ $0.utf8.elementsEqual(right.utf8) }) != true { groups[number] = right }
      } else {
        unusable.append(number)
      }
    }
    for number in unusable {
      try database.update("DELETE FROM collections WHERE number = ?", .integer(number))
    }
    for (number, group) in groups {
      try database.update("UPDATE collections SET group_id = ? WHERE number = ?", .text(group), .integer(number))
    }
    forgetLatestCollection()
    return paths
  }
}
