#if PostgreSQL
  internal import HearthModel
  internal import HearthPlan
  internal import HearthPostgres
  internal import HearthStore

  extension ClusterSnapshot {
    /// The number of documents in the result of a query without limit, at a version.
    ///
    /// The number for a whole collection or group is kept with the collections, and a range of an index that holds the result and nothing else is
    /// counted without its documents. Other results are counted by reading them.
    func count(of query: Query, at past: SnapshotVersion) throws -> Int {
      assert(query.limit == nil, "a result with a limit is read, not counted")
      let count = Aggregation(alias: "count", operation: .count(upTo: nil))
      return try totals(of: [count], over: query, at: past).totals.documentCount
    }

    /// The number of documents of a result that need not be read for it; nil if there is no such way.
    func countWithoutDocuments(
      _ query: Query, at past: SnapshotVersion?
    ) throws -> (count: Int, execution: QueryExecution)? {
      guard query.limit == nil, query.documentAtPath == nil else { return nil }
      if query.matchesAllDocuments {
        guard let count = try documentCount(in: CollectionScope(of: query), at: past) else { return nil }
        var execution = QueryExecution(plan: .scan)
        execution.reason = "the number of documents is kept with their collections"
        execution.resultCount = count
        return (count, execution)
      }
      guard case .use(let accesses) = try ClusterExecutor(self).decide(query), accesses.count == 1,
        case .index(let access) = accesses[0], access.countsResult(of: query),
        access.index.filledThrough == StoredIndex.complete, try !hasChanged(CollectionScope(of: query), since: past),
        let ranges = try ranges(of: access, query)
      else { return nil }
      return try countEntries(of: access, accesses, ranges, query)
    }

    private func hasChanged(_ scope: CollectionScope, since past: SnapshotVersion?) throws -> Bool {
      guard let past, try past < version else { return false }
      return try ClusterChangeWalk(snapshot: self, scope: scope, past: past, start: past, end: version)
        .count(upTo: 1) > 0
    }

    /// The collections whose growth is looked up, or whose entries are counted, one by one.
    private static let maximumCollections = 1_000

    /// The number of documents of a scope: the present one, less what has come since, plus what has gone.
    ///
    /// - Returns: nil for too many collections in the past.
    private func documentCount(in scope: CollectionScope, at past: SnapshotVersion?) throws -> Int? {
      let list = ClusterScope(scope)
      guard let past, try past < version else { return try list.totals(in: self).documents }
      guard let members = try list.members(atMost: Self.maximumCollections, in: self) else { return nil }
      let total = enqueueTotal(of: members)
      let growth = try growth(of: members, since: past).reduce(0, +)
      return try total.rows.reduce(0) { $0 + Int(clamping: try $1.int64(2)) } - growth
    }

    private func enqueueTotal(of collections: [ClusterCollection]) -> QueuedCall {
      enqueue(ReadStatements.collectionsByNumber.call(database, .int8Array(collections.map(\.number))))
    }

    /// By how much the numbers of documents have grown since a version, in the order of the collections.
    func growth(of collections: [ClusterCollection], since past: SnapshotVersion) throws -> [Int] {
      guard !collections.isEmpty else { return [] }
      let rows = try fetch(
        ChangeStatements.growth.call(database, .int8(past.microseconds), .int8Array(collections.map(\.number))))
      guard rows.count == collections.count else { throw Self.damaged("growth has too few rows") }
      return try rows.map { Int(clamping: try $0.int64(1)) }
    }

    // MARK: - Entries

    /// Where an access looks.
    private func ranges(of access: IndexAccess, _ query: Query) throws -> [ClusterRange]? {
      if access.index.isOfGroup { return [.entries(of: ClusterIndex.allCollections, nil)] }
      guard query.collectionGroup != nil else {
        return [.entries(of: reader.collections.number(of: query.path), query.path)]
      }
      return try ClusterScope(CollectionScope(of: query)).members(atMost: Self.maximumCollections, in: self)?
        .map { .entries(of: $0.number, $0.path) }
    }

    /// The entries of a range, and those documents without values that match.
    private func countEntries(
      of access: IndexAccess, _ accesses: [QueryAccess], _ collections: [ClusterRange], _ query: Query
    ) throws -> (count: Int, execution: QueryExecution) {
      let number = Int32(truncatingIfNeeded: access.index.number)
      let ranges = ClusterRange.ranges(access.range, in: collections)
      let counting = enqueue(
        ReadStatements.entryCount.call(
          database, .int4(number), .nullableInt8Array(ranges.map(\.number)),
          .byteaArray(ranges.map { $0.number == nil ? $0.path.map(ClusterNames.pathHash) ?? [] : [] }),
          .byteaArray(ranges.map(\.lower)), .byteaArray(ranges.map(\.upper))))
      let count = Aggregation(alias: "count", operation: .count(upTo: nil))
      var run = try ClusterIndexedRun(ClusterExecutor(self).computing([count]), query, accesses)
      let others = try run.countWithoutValues(in: collections)
      let entries = Int(clamping: try counting.rows.only().int64(0))
      var execution = run.execution
      execution.rangesRead += ranges.count
      execution.entriesRead += entries
      execution.resultCount = entries + others
      return (entries + others, execution)
    }
  }

  extension IndexAccess {
    /// Returns whether the documents of the range are those of the result, each once, except those that the index holds without their values.
    func countsResult(of query: Query) -> Bool {
      guard isExact, others.isEmpty else { return false }
      var fields = Set(index.components.map(\.path))
      for filter in query.filters {
        guard case .field(let condition) = filter, condition.isRange(among: query.filters) else { return false }
        if condition.op == .equal { fields.insert(condition.path) }
      }
      return query.orders.allSatisfy { $0.path.isDocumentKey || fields.contains($0.path) }
    }
  }

  extension FieldFilter {
    /// Returns whether the values that meet the condition are a range of all values.
    fileprivate func isRange(among filters: [Filter]) -> Bool {
      if path.isDocumentKey { return false }
      switch op {
      case .equal: return true
      case .arrayContains, .greaterThan, .greaterThanOrEqual: return value != .null && !value.isNaN
      case .lessThan, .lessThanOrEqual:
        guard value != .null, !value.isNaN else { return false }
        // NaN comes before all numbers, and is not less than any.
        guard value.isNumber else { return true }
        return filters.contains { filter in
          guard case .field(let other) = filter, other.path == path else { return false }
          return (other.op == .greaterThan || other.op == .greaterThanOrEqual) && other.value.isNumber
        }
      case .notEqual, .arrayContainsAny, .in, .notIn: return false
      }
    }
  }

  extension Value {
    fileprivate var isNumber: Bool {
      switch self {
      case .integer, .double: true
      default: false
      }
    }
  }
#endif
