#if PostgreSQL
  internal import HearthModel
  internal import HearthPlan
  internal import HearthPostgres

  /// The indexes of a database as a transaction has read them.
  struct ClusterDefinitions: Sendable {
    /// See `hearth_databases`.
    let generation: Int64
    let state: Int64
    let active: [ClusterIndex]
    /// The numbers of indexes that are given up, and whose entries are still to be removed.
    let dropped: [Int32]
    /// The largest number that was ever read here; new indexes get larger ones.
    let highestNumber: Int32
    /// The numbers of definitions that this release does not understand. Another node may read along these indexes.
    let unknown: [Int32]
    private let groups: [[UInt8]: [ClusterIndex]]

    static let statement = PostgresStatement(
      "index definitions",
      """
      SELECT i.number, i.state, i.origin, i.group_id, i.fields, i.filled_collection, i.filled_id, i.latest_use,
        (SELECT c.path_order FROM hearth_collections c WHERE c.database = $1 AND c.number = i.filled_collection)
      FROM hearth_indexes i WHERE i.database = $1 ORDER BY i.number
      """, [.int8])

    init(_ rows: PostgresRows, generation: Int64, state: Int64) throws(PostgresError) {
      self.generation = generation
      self.state = state
      var active: [ClusterIndex] = []
      var (dropped, unknown): ([Int32], [Int32]) = ([], [])
      var highest: Int32 = 0
      for row in rows {
        let number = try row.int32(0)
        highest = max(highest, number)
        let state = try row.int16(1)
        guard state != ClusterIndex.State.dropped else {
          dropped.append(number)
          continue
        }
        guard state == ClusterIndex.State.active, let origin = IndexOrigin(rawValue: Int64(try row.int16(2))),
          let definition = ClusterIndex.definition(group: try row.bytes(3), fields: try row.bytes(4))
        else {
          unknown.append(number)
          continue
        }
        active.append(
          ClusterIndex(
            number: number, definition, origin: origin, mark: try Self.mark(row), latestUse: try row.int64(7)))
      }
      self.active = active
      self.dropped = dropped
      self.unknown = unknown
      highestNumber = highest
      groups = Dictionary(grouping: active) { Array($0.definition.collectionGroup.utf8) }
    }

    private static func mark(_ row: PostgresRow) throws(PostgresError) -> ClusterIndex.Mark? {
      guard let collection = try row.optionalInt64(5) else { return nil }
      guard let order = try row.optionalBytes(8) else { return .start }
      return ClusterIndex.Mark(
        pathOrder: order, place: ClusterPlace(collection: collection, id: try row.optionalBytes(6) ?? []))
    }

    /// Returns whether queries in a snapshot can be planned with these definitions: they may be older, if no index was dropped since.
    func holds(in snapshot: ClusterSnapshot.State) -> Bool {
      generation == snapshot.generation && state <= snapshot.indexState
    }

    /// - Throws: UNAVAILABLE if there are indexes of a newer release. Other nodes read along their entries, which this one would not write.
    func requireKnown() throws(StatusError) {
      guard unknown.isEmpty else {
        throw StatusError(
          code: .unavailable,
          message:
            "The database has indexes of a newer release of the server; this one has to be replaced before it writes.")
      }
    }

    /// The indexes of a collection group.
    func indexes(of group: String) -> [ClusterIndex] { groups[Array(group.utf8)] ?? [] }

    /// The entries that change with a document.
    ///
    /// - Parameter collection: The number of its collection.
    func changes(of transition: DocumentTransition, collection: Int64) -> ClusterEntryChanges {
      var changes = ClusterEntryChanges()
      let indexes = indexes(of: transition.key.collectionGroup)
      guard !indexes.isEmpty else { return changes }
      let id = ClusterNames.idBytes(transition.key.id)
      for index in indexes {
        var writer = ClusterEntryWriter(index)
        let before = writer.keys(of: transition.before, collection: collection, id: id)
        let after = writer.keys(of: transition.after, collection: collection, id: id)
        if before == after { continue }
        let (old, new) = (Set(before), Set(after))
        func entry(_ key: [UInt8]) -> ClusterEntry {
          ClusterEntry(
            number: index.number, collection: index.entryCollection(of: collection), key: key, target: collection,
            id: id)
        }
        changes.removed += before.filter { !new.contains($0) }.map(entry)
        changes.added += after.filter { !old.contains($0) }.map(entry)
      }
      return changes
    }
  }

  /// A row of `hearth_entries`.
  struct ClusterEntry: Sendable, Equatable {
    var number: Int32
    /// The number of the document's collection, or 0 in an index of a collection group.
    var collection: Int64
    var key: [UInt8]
    /// The number of the document's collection.
    var target: Int64
    /// See ``ClusterNames/idBytes(_:)``.
    var id: [UInt8]
  }

  /// The entries that come and go with a change of a document.
  struct ClusterEntryChanges: Sendable, Equatable {
    var removed: [ClusterEntry] = []
    var added: [ClusterEntry] = []
  }

  /// Computes the keys under which an index holds documents.
  struct ClusterEntryWriter {
    private var keys: IndexKeys
    private let isOfGroup: Bool

    /// A key of a B-tree, which has both, may have 2,704 bytes with the numbers and the headers.
    private static let maximumBytes = 2_400
    /// Longer ids are replaced by their hashes in the keys of documents that are entered without their values.
    private static let longestIdentity = 200

    init(_ index: ClusterIndex) {
      keys = IndexKeys(index.stored)
      isOfGroup = index.stored.isOfGroup
    }

    /// - Parameter id: The bytes of the document's id.
    /// - Returns: None for a document that does not exist or lacks a field of the index.
    mutating func keys(of document: Document, collection: Int64, id: [UInt8]) -> [[UInt8]] {
      document.isFound ? keys(of: document.fields, document.key, collection: collection, id: id) : []
    }

    mutating func keys(of fields: EncodedFields, _ key: DocumentKey, collection: Int64, id: [UInt8]) -> [[UInt8]] {
      let identity = identity(collection, id)
      let keys = keys.keys(of: fields, key, identity: identity)
      let isTooLong = keys.contains { $0.count + id.count > Self.maximumBytes }
      return isTooLong ? [[IndexKeys.withoutValues] + identity] : keys
    }

    /// An id begins with 0 or 1, a hash with 2.
    private func identity(_ collection: Int64, _ id: [UInt8]) -> [UInt8] {
      let own = id.count <= Self.longestIdentity ? id : [2] + ClusterNames.hash(id)
      guard isOfGroup else { return own }
      return withUnsafeBytes(of: collection.bigEndian) { Array($0) } + own
    }
  }
#endif
