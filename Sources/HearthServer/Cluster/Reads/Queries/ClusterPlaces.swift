#if PostgreSQL
  internal import HearthModel
  internal import HearthPlan
  internal import HearthPostgres

  /// Gathers the places of documents that ranges of indexes lead to, in no particular order.
  struct ClusterPlaces {
    let snapshot: ClusterSnapshot
    /// No list gets longer.
    let longest: Int64
    var list: [ClusterPlace] = []
    private(set) var rangesRead = 0
    private(set) var entriesRead = 0
    /// Further indexes that have left out places.
    private(set) var mergedIndexes: [IndexDefinition] = []

    /// From so many places on it is worth looking into other indexes for those that a document of the result cannot have.
    private static let mergedPlaces = 8
    /// Entries cost about an eighth of a document that is read.
    private static let entriesPerDocument: Int64 = 8

    init(in snapshot: ClusterSnapshot, atMost longest: Int64) {
      self.snapshot = snapshot
      self.longest = longest
    }

    /// Adds the places of an access, without those that are in none of the ranges of other indexes.
    ///
    /// - Returns: False if there are more than `limit`.
    mutating func gather(_ access: IndexAccess, in collections: [ClusterRange], atMost limit: Int64) throws -> Bool {
      guard !access.others.isEmpty else {
        return try gather(access.range, of: access.index.number, in: collections, atMost: limit)
      }
      let former = list
      defer { list = former + list }
      list = []
      guard
        try gather(
          access.range, of: access.index.number, in: collections, atMost: min(limit * Self.entriesPerDocument, longest))
      else { return false }
      for other in access.others where list.count >= Self.mergedPlaces {
        let own = list
        list = []
        let most = min(Int64(own.count) * Self.entriesPerDocument, longest)
        let number = other.index.number
        let isWhole =
          try gather(other.range, of: number, in: collections, atMost: most)
          && gather(.withoutValues, of: number, in: collections, atMost: most)
        let held = Set(list)
        list = isWhole ? own.filter { held.contains($0) } : own
        if isWhole, !mergedIndexes.contains(other.index.definition) { mergedIndexes.append(other.index.definition) }
      }
      return former.count + list.count <= limit
    }

    /// Adds the places of a range in each of some collections.
    ///
    /// - Returns: False if there are more than `limit`.
    mutating func gather(
      _ range: IndexRange, of number: Int64, in collections: [ClusterRange], atMost limit: Int64
    ) throws -> Bool {
      rangesRead += collections.count
      let paging = ClusterPaging(content: .entryPlaces(index: Int32(truncatingIfNeeded: number)), direction: .forward)
      let room = max(Int(clamping: limit) - list.count, 0)
      return try paging.forEachRow(
        of: ClusterRange.ranges(range, in: collections), in: snapshot,
        firstCount: min(room, ClusterPaging.maximumRows - 1) + 1
      ) { _, row in
        try add(row)
        return list.count <= limit ? .proceed : .stop
      }
    }

    /// Adds the places of rows that were read otherwise.
    mutating func add(_ rows: PostgresRows) throws {
      rangesRead += 1
      for row in rows { try add(row) }
    }

    private mutating func add(_ row: PostgresRow) throws {
      entriesRead += 1
      list.append(
        ClusterPlace(
          collection: try row.int64(ReadStatements.Column.collection), id: try row.bytes(ReadStatements.Column.id)))
    }
  }

  extension ClusterRange {
    /// No key of an index begins with this byte.
    private static let endOfKeys: [UInt8] = [0xFF]

    /// Where accesses look: the bounds are those of ``ranges(_:in:)``.
    static func entries(of number: Int64?, _ path: ResourcePath?) -> ClusterRange {
      ClusterRange(number: number, path: path, lower: [], upper: [])
    }

    /// A range of keys in each of some collections.
    static func ranges(_ range: IndexRange, in collections: [ClusterRange]) -> [ClusterRange] {
      collections.map {
        ClusterRange(number: $0.number, path: $0.path, lower: range.start, upper: range.end ?? endOfKeys)
      }
    }
  }
#endif
