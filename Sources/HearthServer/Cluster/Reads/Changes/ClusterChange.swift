#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// A change of one document in the log, with the document as it was before.
  struct ClusterChange {
    let place: ClusterPlace
    let path: ResourcePath
    let version: Int64
    let isDelete: Bool
    /// The version of the document before; 0 if it was missing.
    let oldVersion: Int64
    /// False for changes of other collections, which a walk of all changes meets too.
    let isInScope: Bool
    private let row: PostgresRow

    private typealias Column = ChangeStatements.Column

    init(_ row: PostgresRow, in path: ResourcePath, isInScope: Bool) throws(PostgresError) {
      self.row = row
      self.path = path
      self.isInScope = isInScope
      place = ClusterPlace(collection: try row.int64(Column.collection), id: try row.bytes(Column.id))
      version = try row.int64(Column.version)
      isDelete = try row.bool(Column.isDelete)
      oldVersion = try row.int64(Column.oldVersion)
    }

    var key: DocumentKey {
      get throws { try DocumentKey(path.appending(ClusterNames.id(of: place.id, in: "hearth_changes"))) }
    }

    /// The document before; nil if it was missing, or newer than `past`, the version that the walk asks for.
    func document(asOf past: SnapshotVersion) throws -> Document? {
      guard oldVersion > 0, oldVersion <= past.microseconds else { return nil }
      guard let fields = try row.optionalBytes(Column.oldFields) else {
        throw ClusterSnapshot.damaged(
          "table hearth_changes, \(try key): the change at \(version) has no former contents")
      }
      return .found(
        try key, version: SnapshotVersion(microseconds: oldVersion),
        createTime: try row.version(Column.oldCreateTime),
        fields: EncodedFields(uncheckedBytes: fields))
    }
  }

  /// A position in the log: behind a change of a collection.
  struct ClusterChangeCursor: Sendable, Hashable {
    /// True if all collections are walked at once, by version; false if one is walked after the other, by their numbers.
    var isOfAll: Bool
    var collection: Int64
    var version: Int64
    var id: [UInt8]
  }

  /// Reads the changes of a range of versions page by page.
  struct ClusterChangeWalk {
    let snapshot: ClusterSnapshot
    let scope: CollectionScope
    /// Former contents are given if they are of this version or older.
    let past: SnapshotVersion
    /// Changes up to this version are left out. The log must reach back to it.
    let start: SnapshotVersion
    /// Changes after this version are left out.
    let end: SnapshotVersion
    /// The largest number of changes of a page.
    var pageCount = ClusterPaging.maximumRows
    /// The bytes of former contents of a page, which ends with the one that exceeds them.
    var pageBytes = PieceSizes().bytes

    /// The collections of a group are walked one after the other if there are at most so many, else all changes of the database.
    static let maximumCollections = 1_000

    /// Some changes of a walk.
    struct Page {
      var changes: [ClusterChange]
      /// The position behind them; nil at the end of the walk.
      var next: ClusterChangeCursor?
      /// See ``ClusterChangeCursor``.
      var isOfAll: Bool
    }

    /// The changes behind a position.
    ///
    /// - Parameter cursor: Where an earlier walk of the same scope and range was left; nil for the beginning.
    func page(from cursor: ClusterChangeCursor?) throws -> Page {
      guard start < end, pageCount > 0 else { return Page(changes: [], next: nil, isOfAll: false) }
      if cursor?.isOfAll != true,
        let members = try ClusterScope(scope).members(
          atMost: cursor == nil ? Self.maximumCollections : .max - 1, in: snapshot)
      {
        return try page(of: members, from: cursor)
      }
      return try pageOfAll(from: cursor)
    }

    private func page(
      of collections: [ClusterCollection], from cursor: ClusterChangeCursor?
    ) throws -> Page {
      let rest = collections.filter { $0.number >= cursor?.collection ?? 0 }.sorted { $0.number < $1.number }
      guard !rest.isEmpty else { return Page(changes: [], next: nil, isOfAll: false) }
      let starts = rest.map { collection in
        cursor.flatMap { $0.collection == collection.number ? ($0.version, $0.id) : nil } ?? (
          start.microseconds, Self.endOfIDs
        )
      }
      let rows = try snapshot.fetch(
        ChangeStatements.changes.call(
          snapshot.database, .int8(past.microseconds), .int8(end.microseconds), .int8Array(rest.map(\.number)),
          .int8Array(starts.map(\.0)), .byteaArray(starts.map(\.1)), .int8(Int64(pageCount)), .int8(Int64(pageBytes))))
      let changes = try rows.map { row in
        let index = Int(clamping: try row.int64(ChangeStatements.Column.range)) - 1
        guard rest.indices.contains(index) else { throw ClusterSnapshot.damaged("a result has range \(index + 1)") }
        return try ClusterChange(row, in: rest[index].path, isInScope: true)
      }
      return Page(changes: changes, next: try next(behind: changes, rows, ofAll: false), isOfAll: false)
    }

    /// The changes of the first version are left out whatever their ids.
    private static let endOfIDs: [UInt8] = [0xFF]

    private func pageOfAll(from cursor: ClusterChangeCursor?) throws -> Page {
      let (version, collection, id) =
        cursor.map { ($0.version, $0.collection, $0.id) } ?? (start.microseconds, .max, Self.endOfIDs)
      let rows = try snapshot.fetch(
        ChangeStatements.allChanges.call(
          snapshot.database, .int8(past.microseconds), .int8(end.microseconds), .int8(version), .int8(collection),
          .bytea(id), .int8(Int64(pageCount)), .int8(Int64(pageBytes))))
      let changes = try rows.map { row in
        let path = try ClusterNames.collection(of: row.bytes(ChangeStatements.Column.path))
        return try ClusterChange(row, in: path, isInScope: scope.contains(collection: path))
      }
      return Page(changes: changes, next: try next(behind: changes, rows, ofAll: true), isOfAll: true)
    }

    private func next(
      behind changes: [ClusterChange], _ rows: PostgresRows, ofAll isOfAll: Bool
    ) throws -> ClusterChangeCursor? {
      guard let last = changes.last else { return nil }
      if changes.count < pageCount {
        let bytes = try rows.reduce(0) { sum, row in
          sum
            + (try row.isNull(ChangeStatements.Column.oldFields)
              ? 0 : row.withBytes(ChangeStatements.Column.oldFields) { $0.count })
        }
        guard bytes >= pageBytes else { return nil }
      }
      return cursor(behind: last, ofAll: isOfAll)
    }

    /// The position behind a change of a page.
    func cursor(behind change: ClusterChange, ofAll isOfAll: Bool) -> ClusterChangeCursor {
      ClusterChangeCursor(
        isOfAll: isOfAll, collection: change.place.collection, version: change.version, id: change.place.id)
    }

    /// The number of changes, as far as it is not above a limit.
    func count(upTo limit: Int) throws -> Int {
      guard start < end, limit > 0 else { return 0 }
      let (from, to) = (PostgresValue.int8(start.microseconds), PostgresValue.int8(end.microseconds))
      let rows: PostgresRows
      if let members = try ClusterScope(scope).members(atMost: Self.maximumCollections, in: snapshot) {
        rows = try snapshot.fetch(
          ChangeStatements.count.call(
            snapshot.database, from, to, .int8Array(members.map(\.number)), .int8(Int64(limit))))
      } else {
        rows = try snapshot.fetch(ChangeStatements.countAll.call(snapshot.database, from, to, .int8(Int64(limit))))
      }
      return min(Int(clamping: try rows.only().int64(0)), limit)
    }
  }

  extension ClusterSnapshot {
    /// See ``PieceSource/forEachFormer(in:asOf:after:_:)``. A document's first change since a version is the one whose former contents are not
    /// newer.
    func forEachFormer(
      in scope: CollectionScope, asOf past: SnapshotVersion, after start: SnapshotVersion,
      _ body: (Document) throws -> Void
    ) throws {
      let walk = ClusterChangeWalk(snapshot: self, scope: scope, past: past, start: start, end: try state.version)
      var cursor: ClusterChangeCursor?
      repeat {
        let page = try walk.page(from: cursor)
        for change in page.changes where change.isInScope {
          if let former = try change.document(asOf: past) { try body(former) }
        }
        cursor = page.next
      } while cursor != nil
    }
  }
#endif
