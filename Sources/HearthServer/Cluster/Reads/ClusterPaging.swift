#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// A range of the ids of a collection's documents, or of the keys of an index's entries.
  struct ClusterRange: Sendable {
    /// Nil for entries of a collection group, or of a collection whose number is not known.
    var number: Int64?
    /// Nil for entries of a collection group.
    var path: ResourcePath?
    var lower: [UInt8]
    /// Not part of the range.
    var upper: [UInt8]

    /// The range behind a row of it.
    fileprivate func behind(_ key: [UInt8], _ direction: ReadStatements.Direction) -> ClusterRange {
      var rest = self
      switch direction {
      case .forward: rest.lower = ClusterNames.successor(of: key)
      case .backward: rest.upper = key
      }
      return rest
    }
  }

  /// The continuation of a walk through ranges after a row.
  enum ClusterStep {
    case proceed
    /// The rest of the row's range is not needed.
    case nextRange
    case stop
  }

  /// Reads ranges page by page: at most so many rows, and so many bytes, with each statement.
  struct ClusterPaging {
    enum Content: Equatable {
      /// Documents by their ids.
      case documents
      /// Places by the ids of documents.
      case ids
      /// Documents by the keys of an index.
      case entries(index: Int32)
      /// Places by the keys of an index, forward.
      case entryPlaces(index: Int32)
    }

    let content: Content
    let direction: ReadStatements.Direction
    /// A page ends with the document that exceeds them.
    var bytes = PieceSizes().bytes

    static let maximumRows = PieceSizes.maximumCount
    /// The ranges of one statement.
    private static let maximumRanges = 256
    /// Each page has so many times as many rows as the one before, as far as they are allowed.
    private static let growth = 4

    /// Calls `body` with the rows of ranges: in order inside of each range, and those of a page range by range.
    ///
    /// - Parameters:
    ///   - firstCount: The rows of each range in the first page.
    ///   - prepare: Called with each page before its rows.
    ///   - body: Gets the index of the row's range.
    /// - Returns: False if the walk was stopped.
    @discardableResult
    func forEachRow(
      of ranges: [ClusterRange], in snapshot: ClusterSnapshot, firstCount: Int,
      prepare: (PostgresRows) throws -> Void = { _ in }, _ body: (Int, PostgresRow) throws -> ClusterStep
    ) throws -> Bool {
      var pending = ranges.enumerated().filter { $0.element.lower.lexicographicallyPrecedes($0.element.upper) }
        .map { (index: $0.offset, range: $0.element) }
      var count = min(max(firstCount, 1), Self.maximumRows)
      while !pending.isEmpty {
        let batch = Array(pending.prefix(Self.maximumRanges))
        let rows = try snapshot.fetch(call(batch.map(\.range), count, snapshot.database))
        try prepare(rows)
        var page = Page(batch.count)
        for row in rows {
          let offset = Int(clamping: try row.int64(ReadStatements.Column.range)) - 1
          guard batch.indices.contains(offset) else {
            throw ClusterSnapshot.damaged("a result has range \(offset + 1) of \(batch.count)")
          }
          page.add(try size(of: row), of: offset)
          guard !page.isFinished[offset] else { continue }
          page.latest[offset] = try key(of: row)
          switch try body(batch[offset].index, row) {
          case .proceed: break
          case .nextRange: page.isFinished[offset] = true
          case .stop: return false
          }
        }
        let isCut = page.count >= Self.maximumRows || page.bytes >= bytes
        pending = rest(of: batch, behind: page, count, isCut: isCut) + pending.dropFirst(batch.count)
        count = min(count * Self.growth, Self.maximumRows)
      }
      return true
    }

    /// The rows that were read of some ranges.
    private struct Page {
      var counts: [Int]
      var latest: [[UInt8]?]
      var isFinished: [Bool]
      var count = 0
      var bytes = 0
      var lastRange = 0

      init(_ ranges: Int) {
        counts = Array(repeating: 0, count: ranges)
        latest = Array(repeating: nil, count: ranges)
        isFinished = Array(repeating: false, count: ranges)
      }

      mutating func add(_ size: Int, of range: Int) {
        counts[range] += 1
        count += 1
        bytes += size
        lastRange = max(lastRange, range)
      }
    }

    /// The ranges, or parts of them, that a page has not come to.
    private func rest(
      of batch: [(index: Int, range: ClusterRange)], behind page: Page, _ count: Int, isCut: Bool
    ) -> [(index: Int, range: ClusterRange)] {
      batch.enumerated().compactMap { offset, part in
        if page.isFinished[offset] { return nil }
        if isCut, offset > page.lastRange { return part }
        guard page.counts[offset] >= count || (isCut && offset == page.lastRange), let latest = page.latest[offset]
        else { return nil }
        return (part.index, part.range.behind(latest, direction))
      }
    }

    private func size(of row: PostgresRow) throws -> Int {
      switch content {
      case .documents, .entries: try row.withBytes(ReadStatements.Column.fields) { $0.count }
      case .ids, .entryPlaces: 0
      }
    }

    private func key(of row: PostgresRow) throws -> [UInt8] {
      switch content {
      case .documents, .ids: try row.bytes(ReadStatements.Column.id)
      case .entries: try row.bytes(ReadStatements.Column.key)
      case .entryPlaces: try row.bytes(ReadStatements.Column.placeKey)
      }
    }

    func call(_ ranges: [ClusterRange], _ count: Int, _ database: PostgresValue) -> PostgresCall {
      let (perRange, total) = (PostgresValue.int8(Int64(count)), PostgresValue.int8(Int64(Self.maximumRows)))
      let bounds: [PostgresValue] = [
        .nullableInt8Array(ranges.map(\.number)),
        .byteaArray(ranges.map { $0.number == nil ? $0.path.map(ClusterNames.pathHash) ?? [] : [] }),
        .byteaArray(ranges.map(\.lower)), .byteaArray(ranges.map(\.upper)),
      ]
      switch content {
      case .documents:
        return PostgresCall(
          ReadStatements.documents(direction), [database] + bounds + [perRange, total, .int8(Int64(bytes))])
      case .ids:
        return PostgresCall(ReadStatements.ids(direction), [database] + bounds + [perRange, total])
      case .entries(let index):
        return PostgresCall(
          ReadStatements.entries(direction),
          [database, .int4(index)] + bounds + [perRange, total, .int8(Int64(bytes))])
      case .entryPlaces(let index):
        assert(direction == .forward, "places are gathered in any order")
        return PostgresCall(ReadStatements.entryPlaces, [database, .int4(index)] + bounds + [perRange, total])
      }
    }
  }
#endif
