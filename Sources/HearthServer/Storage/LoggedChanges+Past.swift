internal import HearthModel
internal import HearthStore

extension LoggedChanges {
  /// Passes each document that was there at a past version and changed for the first time since within a range, as it was.
  ///
  /// Nothing is kept but the document that is passed, however much has changed.
  ///
  /// - Parameters:
  ///   - past: The version that is asked about, not above `after`.
  ///   - after: Changes up to this version are left out.
  ///   - end: Changes after this version are left out.
  func forEachChangedDocument(
    in scope: CollectionScope, asOf past: SnapshotVersion, after: SnapshotVersion, through end: SnapshotVersion,
    _ body: (Document) throws -> Void
  ) throws {
    guard after < end else { return }
    guard let collections = try collections(of: scope) else {
      return try forEachRow(of: nil, asOf: past, after: after, through: end) { path, row in
        if scope.contains(collection: path) { try body(try document(row, in: path)) }
      }
    }
    for collection in collections {
      try forEachRow(of: collection, asOf: past, after: after, through: end) { path, row in
        try body(try document(row, in: path))
      }
    }
  }

  /// A document's first row since a version is the one whose former version is not above it.
  private func forEachRow(
    of collection: (number: Int64, path: ResourcePath)?, asOf past: SnapshotVersion, after: SnapshotVersion,
    through end: SnapshotVersion, _ body: (ResourcePath, Statement) throws -> Void
  ) throws {
    let columns = "id, old_version, old_create_time, old_fields"
    let condition = "version > ?1 AND version <= ?2 AND old_version <= ?3 AND old_fields IS NOT NULL"
    let select: Statement
    if let collection {
      select = try database.prepare(
        """
        SELECT \(columns) FROM server_changes INDEXED BY server_changes_by_collection
        WHERE collection = ?4 AND \(condition)
        """)
      try select.bind(4, collection.number)
    } else {
      select = try database.prepare(
        """
        SELECT \(columns), path FROM server_changes CROSS JOIN server_collections ON number = collection
        WHERE \(condition)
        """)
    }
    try select.bind(1, after.microseconds)
    try select.bind(2, end.microseconds)
    try select.bind(3, past.microseconds)
    while try select.step() {
      try body(try collection?.path ?? ResourcePath(canonical: select.string(at: 4)), select)
    }
  }

  private func document(_ row: Statement, in path: ResourcePath) throws -> Document {
    .found(
      try DocumentKey(path.appending(row.string(at: 0))),
      version: SnapshotVersion(microseconds: try row.int64(at: 1)),
      createTime: SnapshotVersion(microseconds: try row.int64(at: 2)),
      fields: EncodedFields(uncheckedBytes: try row.bytes(at: 3)))
  }
}
