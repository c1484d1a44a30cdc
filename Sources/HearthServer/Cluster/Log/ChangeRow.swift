#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// A change of the log, with its document as it was before and as it is at present.
  struct ChangeRow: Sendable {
    let version: SnapshotVersion
    let key: DocumentKey
    let isDelete: Bool
    /// Found or missing; nil for one that was left out because the rows before it have so many bytes.
    let before: Document?
    /// Found; nil if it is missing, or was left out.
    let present: Document?
    /// The present version of the document; nil if it is missing.
    let presentVersion: SnapshotVersion?
    /// The position behind this change.
    let position: Position

    /// A position in the log, behind a change.
    struct Position: Sendable, Hashable {
      var version: SnapshotVersion
      fileprivate var collection: Int64
      fileprivate var id: [UInt8]

      /// Behind all changes of a version and of those before it.
      static func end(of version: SnapshotVersion) -> Position {
        Position(version: version, collection: .max, id: ClusterNames.endOfIDs)
      }
    }

    /// Changes behind a position, in their order.
    ///
    /// - Parameters:
    ///   - collection: The number of the collection whose changes are asked for; nil for those of the database.
    ///   - count: At most so many.
    ///   - bytes: The contents of documents beyond so many bytes are left out.
    static func changes(
      of database: Int64, in collection: Int64? = nil, after position: Position, upTo count: Int, bytes: Int64
    ) -> PostgresCall {
      let parameters: [PostgresValue] = [
        .int8(database), .int8(Int64(count)), .int8(bytes), .int8(position.version.microseconds),
      ]
      guard let collection else {
        return PostgresCall(all, parameters + [.int8(position.collection), .bytea(position.id)])
      }
      return PostgresCall(inCollection, parameters + [.bytea(position.id), .int8(collection)])
    }

    private static let all = PostgresStatement(
      "changes", sql(where: "(version, collection, id) > ($4, $5, $6)", order: "version, collection, id"),
      [.int8, .int8, .int8, .int8, .int8, .bytea])

    private static let inCollection = PostgresStatement(
      "changes of a collection", sql(where: "collection = $6 AND (version, id) > ($4, $5)", order: "version, id"),
      [.int8, .int8, .int8, .int8, .bytea, .int8])

    private static func sql(where condition: String, order: String) -> String {
      """
      SELECT version, path, id, is_delete, old_version, old_create_time,
        CASE WHEN bytes <= $3 THEN old_fields END, present_version, present_create_time,
        CASE WHEN bytes <= $3 THEN present_fields END, bytes <= $3, collection
      FROM (
        SELECT x.version, c.path, x.collection, x.id, x.is_delete, x.old_version, x.old_create_time, x.old_fields,
          d.version AS present_version, d.create_time AS present_create_time, d.fields AS present_fields,
          sum(coalesce(octet_length(x.old_fields), 0) + coalesce(octet_length(d.fields), 0))
            OVER (ORDER BY x.version, x.collection, x.id) AS bytes
        FROM (
          SELECT version, collection, id, is_delete, old_version, old_create_time, old_fields FROM hearth_changes
          WHERE database = $1 AND \(condition) ORDER BY \(order) LIMIT $2
        ) AS x
        LEFT JOIN LATERAL (
          SELECT path FROM hearth_collections WHERE database = $1 AND number = x.collection LIMIT 1) c ON true
        LEFT JOIN LATERAL (
          SELECT version, create_time, fields FROM hearth_documents
          WHERE database = $1 AND collection = x.collection AND id = x.id LIMIT 1) d ON true
      ) AS changed ORDER BY version, collection, id
      """
    }

    init(_ row: PostgresRow) throws {
      version = try row.version(0)
      let path = try ClusterNames.collection(of: row.bytes(1))
      let id = try row.bytes(2)
      key = try DocumentKey(path.appending(ClusterNames.id(of: id, in: "hearth_changes")))
      position = Position(version: version, collection: try row.int64(11), id: id)
      isDelete = try row.bool(3)
      let oldVersion = try row.version(4)
      let oldCreateTime = try row.version(5)
      let isWhole = try row.bool(10)
      if oldVersion == .none {
        before = .missing(key, version: .none)
      } else if let fields = try row.optionalBytes(6) {
        before = .found(
          key, version: oldVersion, createTime: oldCreateTime, fields: EncodedFields(uncheckedBytes: fields))
      } else if isWhole {
        throw StatusError(
          code: .dataLoss, message: "Table hearth_changes: the change of \(key) at \(version) has no former contents.")
      } else {
        before = nil
      }
      presentVersion = try row.optionalVersion(7)
      if let presentVersion, let fields = try row.optionalBytes(9) {
        present = .found(
          key, version: presentVersion, createTime: try row.version(8),
          fields: EncodedFields(uncheckedBytes: fields))
      } else {
        present = nil
      }
    }
  }

  extension [ChangeRow] {
    /// The commits that made these changes, in their order; nil if contents were left out.
    ///
    /// The changes must be complete, from the first one of the array to the present.
    ///
    /// The document after a change is the present one if that has the change's version, missing after a delete, and else the one before the
    /// next change of the document.
    var commits: [CommittedChange]? {
      get throws(StatusError) {
        var next: [DocumentKey: ChangeRow] = [:]
        var transitions: [DocumentTransition] = []
        for row in reversed() {
          guard let before = row.before else { return nil }
          let after: Document?
          if row.isDelete {
            after = .missing(row.key, version: row.version)
          } else if row.presentVersion == row.version {
            after = row.present
          } else if let following = next[row.key] {
            after = following.before
            guard after == nil || after?.version == row.version else { throw Self.broken(row) }
          } else {
            throw Self.broken(row)
          }
          guard let after else { return nil }
          transitions.append(DocumentTransition(before: before, after: after))
          next[row.key] = row
        }
        return Self.grouped(zip(self, transitions.reversed()))
      }
    }

    private static func grouped(_ rows: some Sequence<(ChangeRow, DocumentTransition)>) -> [CommittedChange] {
      var commits: [CommittedChange] = []
      var version: SnapshotVersion?
      var transitions: [DocumentTransition] = []
      for (row, transition) in rows {
        if let version, version != row.version {
          commits.append(CommittedChange(version: version, transitions: transitions))
          transitions = []
        }
        version = row.version
        transitions.append(transition)
      }
      if let version { commits.append(CommittedChange(version: version, transitions: transitions)) }
      return commits
    }

    private static func broken(_ row: ChangeRow) -> StatusError {
      StatusError(
        code: .dataLoss,
        message: "Table hearth_changes: the state of \(row.key) after the change at \(row.version) is not there.")
    }
  }
#endif
