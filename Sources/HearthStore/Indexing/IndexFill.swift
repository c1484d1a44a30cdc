internal import HearthModel
internal import HearthPlan

extension IndexTable {
  /// The limits of one step of filling, chosen for some tens of milliseconds of processor time. The more
  /// documents at once, the fewer pages are rewritten, because their entries are inserted in order.
  package struct FillLimits: Sendable {
    package var documents: Int
    package var documentBytes: Int
    /// New entries. The document that exceeds the limit is still entered as a whole.
    package var newEntries: Int
    /// Entries of dropped indexes.
    package var entries: Int

    package init(
      documents: Int = 4000, documentBytes: Int = 4 << 20, newEntries: Int = 40_000, entries: Int = 10_000
    ) {
      self.documents = documents
      self.documentBytes = documentBytes
      self.newEntries = newEntries
      self.entries = entries
    }
  }

  /// Does one step towards indexes that hold all documents, and removes the entries of dropped ones.
  ///
  /// - Returns: True if there may be more to do.
  package func fill(_ limits: FillLimits = FillLimits()) throws -> Bool {
    if try removeDropped(limits) { return true }
    guard let first = try active().first(where: { $0.filledThrough != StoredIndex.complete }) else { return false }
    let group = first.definition.collectionGroup
    let unfilled = try indexes(of: group).filter { $0.filledThrough != StoredIndex.complete }
    try database.transaction("Fill indexes") {
      try fill(unfilled, group: group, limits)
    }
    return true
  }

  /// Returns whether ``fill(_:)`` has something to do.
  package func hasWork() throws -> Bool {
    try nextDropped() != nil || active().contains { $0.filledThrough != StoredIndex.complete }
  }

  /// The progress of the indexes that do not hold all documents yet, counted in documents that have ever arrived. The cost grows with the
  /// number of their collections, so there is no total for many of them.
  package func fillProgress(collectionLimit: Int = 1000) throws -> (completed: Int, total: Int?) {
    var marks: [String: Int64] = [:]
    for index in try active() where index.filledThrough != StoredIndex.complete {
      let group = index.definition.collectionGroup
      marks[group] = min(marks[group] ?? .max, index.filledThrough)
    }
    var (completed, total, collectionCount) = (0, 0, 0)
    for (group, mark) in marks {
      let collections = try database.prepare(
        "SELECT number FROM collections WHERE group_id = ? ORDER BY number", .text(group))
      let newest = try database.prepare("SELECT max(place) FROM documents WHERE place > ? AND place <= ?")
      while try collections.step() {
        collectionCount += 1
        guard collectionCount <= collectionLimit else { return (completed, nil) }
        let number = try DocumentSchema.checked(collections.int64(at: 0), path: group)
        let first = Place.first(in: number)
        newest.reset()
        try newest.bind(1, first - 1)
        try newest.bind(2, Place.last(in: number))
        guard try newest.step(), !newest.isNull(at: 0) else { continue }
        let last = try newest.int64(at: 0)
        // Documents arrive with numbers from 1.
        total += Int(last - first)
        completed += Int(min(max(mark, first), last) - first)
      }
    }
    return (completed, total > 0 ? total : nil)
  }

  private func fill(_ indexes: [StoredIndex], group: String, _ limits: FillLimits) throws {
    assert(
      indexes.allSatisfy { $0.definition.collectionGroup == group }, "an index of another group than \(group) is filled"
    )
    assert(
      indexes.allSatisfy { $0.filledThrough != StoredIndex.complete }, "an index is filled that holds all documents")
    let mark = indexes.map(\.filledThrough).min() ?? StoredIndex.complete
    var entries: [[(key: [UInt8], collection: Int64, place: Int64)]] = indexes.map { _ in [] }
    var writers = indexes.map(IndexKeys.init)
    var last = mark
    var documents = 0
    var bytes = 0
    var entryCount = 0
    let isEnd = try forEachDocument(of: group, behind: mark) { path, id, place, isFound, fields in
      last = place
      documents += 1
      bytes += fields.count
      if isFound {
        let identity = IndexKeys.identity(of: place)
        for position in indexes.indices where indexes[position].filledThrough < place {
          // A damaged row must not stop the filling. Queries read it and report it.
          let keys =
            id.map { id in
              writers[position].keys(of: fields, id: id, identity: identity) { Self.key(id, in: path) }
            } ?? [[IndexKeys.withoutValues] + identity]
          let collection = indexes[position].entryCollection(of: place >> Place.arrivalBits)
          for key in keys {
            entries[position].append((key, collection, place))
            entryCount += 1
          }
        }
      }
      return documents < limits.documents && bytes < limits.documentBytes && entryCount < limits.newEntries
    }
    for (position, index) in indexes.enumerated() {
      entries[position].sort { a, b in
        a.collection == b.collection ? a.key.lexicographicallyPrecedes(b.key) : a.collection < b.collection
      }
      for entry in entries[position] {
        try insert(entry.key, entry.place, of: index.number, in: entry.collection)
      }
      if isEnd {
        try setMark(StoredIndex.complete, of: index.number)
      } else if index.filledThrough < last {
        try setMark(last, of: index.number)
      }
    }
  }

  private static func key(_ id: String, in path: ResourcePath?) -> DocumentKey? {
    guard let path, !id.isEmpty, !id.utf8.contains(UInt8(ascii: "/")) else { return nil }
    return try? DocumentKey(path.appending(id))
  }

  /// Calls `body` with the documents of a group in the order of their places until it returns false. The id is nil if the document's row is
  /// damaged, and the path is nil if the row of its collection is.
  ///
  /// - Returns: True if the end was reached.
  private func forEachDocument(
    of group: String, behind mark: Int64,
    _ body: (
      _ path: ResourcePath?, _ id: String?, _ place: Int64, _ isFound: Bool, _ fields: UnsafeRawBufferPointer
    ) throws -> Bool
  ) throws -> Bool {
    let collections = try database.prepare(
      "SELECT number, path FROM collections WHERE group_id = ? AND number >= ? ORDER BY number", .text(group),
      .integer(mark >> Place.arrivalBits))
    let documents = try database.prepare("SELECT id, place, kind, fields FROM documents WHERE place > ? AND place <= ?")
    while try collections.step() {
      let number = try DocumentSchema.checked(collections.int64(at: 0), path: group)
      let path = try Self.undamaged { () throws(StoreError) in try DocumentSchema.path(try collections.string(at: 1)) }
      documents.reset()
      try documents.bind(1, max(mark, Place.first(in: number) - 1))
      try documents.bind(2, Place.last(in: number))
      while try documents.step() {
        let place = try documents.int64(at: 1)
        let row = try Self.undamaged { () throws(StoreError) in
          (
            id: try documents.string(at: 0), isFound: try documents.int64(at: 2) == DocumentSchema.Kind.found,
            fields: try documents.blob(at: 3)
          )
        }
        let fields = row?.fields ?? UnsafeRawBufferPointer(start: nil, count: 0)
        guard try body(path, row?.id, place, row?.isFound ?? true, fields) else { return false }
      }
    }
    return true
  }

  /// - Returns: nil if what is read is corrupt.
  private static func undamaged<T>(_ read: () throws(StoreError) -> T) throws(StoreError) -> T? {
    do throws(StoreError) {
      return try read()
    } catch {
      guard error.kind == .corrupt else { throw error }
      return nil
    }
  }

  // MARK: - Local mutations

  /// An index that does not hold all local mutations yet.
  package struct LocalFill: Sendable {
    package var number: Int64
    package var collectionGroup: String
    /// The owner's progress through them, 0 at the beginning.
    package var mark: Int64
  }

  package func nextLocalFill() throws -> LocalFill? {
    guard let index = try active().first(where: { !$0.holdsLocalMutations }) else { return nil }
    return LocalFill(
      number: index.number, collectionGroup: index.definition.collectionGroup, mark: index.localFilledThrough)
  }

  /// Notes the progress of the owner: `mark`, or nil at the end. Documents that have changed since the start were entered when they
  /// changed.
  package func setLocalMark(_ mark: Int64?, of fill: LocalFill) throws {
    try setLocalMark(mark ?? StoredIndex.complete, of: fill.number)
  }

  // MARK: - Dropped indexes

  /// - Returns: True if something was removed.
  private func removeDropped(_ limits: FillLimits) throws -> Bool {
    guard let number = try nextDropped() else { return false }
    try database.transaction("Remove index") {
      var removed = try removeEntries("index_entries", "collection, key", number, limits)
      removed += try removeEntries("index_local_entries", "owner, collection, key", number, limits)
      guard removed == 0 else { return }
      for sql in ["DELETE FROM index_fields WHERE number = ?", "DELETE FROM index_definitions WHERE number = ?"] {
        try database.update(sql, .integer(number))
      }
    }
    return true
  }

  private func nextDropped() throws -> Int64? {
    let next = try database.prepare(
      "SELECT number FROM index_definitions WHERE state <> ? LIMIT 1", .integer(IndexSchema.State.active))
    return try next.step() ? try next.int64(at: 0) : nil
  }

  /// Removes the first entries of an index, in the order of their keys.
  ///
  /// The statement compares entries with the first one that stays. With a list of those that are removed, SQLite would look up every entry
  /// of each collection that occurs in the list.
  ///
  /// - Parameter key: the columns of the table's key behind the number.
  /// - Returns: The number of entries that were removed.
  private func removeEntries(
    _ table: String, _ key: String, _ number: Int64, _ limits: FillLimits
  ) throws(StoreError) -> Int {
    let next = "SELECT \(key) FROM \(table) WHERE number = ?1 ORDER BY \(key) LIMIT 1 OFFSET ?2"
    let rest = try database.prepare(next, .integer(number), .integer(Int64(limits.entries)))
    let isWhole = try !rest.step()
    rest.reset()
    if isWhole {
      try database.update("DELETE FROM \(table) WHERE number = ?", .integer(number))
    } else {
      try database.update(
        "DELETE FROM \(table) WHERE number = ?1 AND (\(key)) < (\(next))", .integer(number),
        .integer(Int64(limits.entries)))
    }
    return database.changedRowCount
  }
}
