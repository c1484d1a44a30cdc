#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// The position in a difference after a piece of it: the cluster's content of a ``DifferenceCursor``.
  enum ClusterDifferencePosition: Sendable {
    /// In the log.
    case change(ClusterChangeCursor)
    /// The number of examined documents of a documents target.
    case documents(Int)

    /// - Throws: INTERNAL for the place of another storage.
    init(_ cursor: DifferenceCursor) throws(StatusError) {
      guard let position = cursor.position as? ClusterDifferencePosition else { throw .foreignCursor }
      self = position
    }

    var cursor: DifferenceCursor { DifferenceCursor(position: self) }
  }

  extension ClusterSnapshot {
    /// See ``StorageReader/Snapshot/difference(of:after:through:from:edges:size:)``.
    func difference(
      of source: WatchSource, after start: SnapshotVersion, through end: SnapshotVersion,
      from cursor: DifferenceCursor?, edges: WindowEdges?, size: DifferencePiece.Size
    ) throws -> DifferencePiece? {
      guard try start >= state.logStart, try cursor != nil || isInHistory(start) else { return nil }
      var reading = ClusterDifference(
        snapshot: self, source: source, start: start, end: end,
        reading: DifferenceReading(of: source, through: end, edges: edges, size: size), size: size)
      let place = try cursor.map(ClusterDifferencePosition.init)
      switch source.scope {
      case .documents:
        var count = 0
        if case .documents(let known) = place { count = known }
        try reading.read(source.keys, from: count)
      case .collections(let scope):
        var position: ClusterChangeCursor?
        if case .change(let known) = place { position = known }
        try reading.read(scope, from: position)
      }
      return reading.finish()
    }

    /// See ``ChangeSource/changeCount(of:after:through:upTo:)``.
    func changeCount(
      of query: Query, after start: SnapshotVersion, through end: SnapshotVersion, upTo limit: Int
    ) throws -> Int? {
      guard try start >= state.logStart else { return nil }
      return try ClusterChangeWalk(
        snapshot: self, scope: CollectionScope(of: query), past: start, start: start, end: end
      ).count(upTo: limit)
    }
  }

  extension ClusterSnapshot {
    /// True if a version to which the log reaches back was given out in the history of this database: it is that of a commit, or one without
    /// changes that was appended.
    ///
    /// A client may have it from commits that are lost since, for instance because the server was restored from a copy of its files: that leaves
    /// the incarnation as it was, unless a node remembers what it has seen. Then what the client has is not the start of any difference. Later
    /// commits do not change that.
    func isInHistory(_ version: SnapshotVersion) throws -> Bool {
      let present = try state
      guard version != present.version, version != present.logStart else { return true }
      return try !fetch(ChangeStatements.version.call(database, .int8(version.microseconds))).isEmpty
    }
  }

  /// Reads a piece of a difference: some changes at a time, and then the documents that they are of.
  private struct ClusterDifference {
    let snapshot: ClusterSnapshot
    let source: WatchSource
    let start: SnapshotVersion
    let end: SnapshotVersion
    var reading: DifferenceReading
    let size: DifferencePiece.Size

    /// The documents whose states are read together: any may have 1 MiB.
    private static let firstCount = 16
    private static let maximumCount = 200

    mutating func finish() -> DifferencePiece { reading.finish() }

    /// Looks at the documents of a documents target.
    mutating func read(_ keys: [DocumentKey], from first: Int) throws {
      var count = first
      var part = Self.firstCount
      while count < keys.count, reading.hasRoom {
        let next = keys[count...].prefix(part)
        let (before, after) = (try snapshot.states(of: next, at: start), try snapshot.states(of: next, at: end))
        for (before, after) in zip(before, after) where reading.hasRoom {
          count += 1
          guard after.madeAt > start.microseconds else {
            reading.visitNothing()
            continue
          }
          try visit(before.document, after)
        }
        part = min(2 * part, Self.maximumCount)
      }
      if count < keys.count { reading.piece.next = ClusterDifferencePosition.documents(count).cursor }
    }

    /// Looks at the changes of collections.
    mutating func read(_ scope: CollectionScope, from first: ClusterChangeCursor?) throws {
      var walk = ClusterChangeWalk(snapshot: snapshot, scope: scope, past: start, start: start, end: end)
      walk.pageCount = min(size.visits, walk.pageCount)
      var position = first
      while true {
        let page = try walk.page(from: position)
        let visited = try visit(page.changes)
        if visited < page.changes.count {
          if visited > 0 { position = walk.cursor(behind: page.changes[visited - 1], ofAll: page.isOfAll) }
        } else {
          position = page.next
        }
        guard let position else { return }
        guard reading.hasRoom else {
          reading.piece.next = ClusterDifferencePosition.change(position).cursor
          return
        }
      }
    }

    /// Looks at changes until there is no more room.
    ///
    /// - Returns: The number of changes that were looked at.
    private mutating func visit(_ changes: [ClusterChange]) throws -> Int {
      var visited = 0
      var part = Self.firstCount
      while visited < changes.count, reading.hasRoom {
        visited += try visit(changes[visited...].prefix(part))
        part = min(2 * part, Self.maximumCount)
      }
      return visited
    }

    /// Looks at changes until there is no more room.
    ///
    /// - Returns: The number of changes that were looked at.
    private mutating func visit(_ changes: ArraySlice<ClusterChange>) throws -> Int {
      let formers = try formers(of: changes)
      let found = formers.compactMap(\.self)
      let states = try snapshot.states(of: found.map(\.key), at: end)
      var rest = states[...]
      var visited = 0
      for (change, former) in zip(changes, formers) where reading.hasRoom {
        visited += 1
        guard let former, let after = rest.popFirst() else {
          reading.visitNothing()
          continue
        }
        try visit(former, after, change: change)
      }
      return visited
    }

    /// The documents of changes as they were at the start; nil for later changes of them, and for those of other collections.
    private func formers(of changes: ArraySlice<ClusterChange>) throws -> [Document?] {
      // Before a change of a missing document, there may be a delete that is later than the start.
      let created = changes.filter { $0.isInScope && $0.oldVersion == 0 }
      var deletes: [Int64] = []
      if !created.isEmpty {
        deletes = try snapshot.fetch(
          ChangeStatements.deletesBefore.call(
            snapshot.database, .int8Array(created.map(\.place.collection)), .byteaArray(created.map(\.place.id)),
            .int8Array(created.map(\.version)))
        ).map { row in try row.optionalInt64(1) ?? 0 }
        guard deletes.count == created.count else { throw ClusterSnapshot.damaged("deletes have too few rows") }
      }
      var rest = deletes[...]
      return try changes.map { change in
        guard change.isInScope, change.oldVersion <= start.microseconds else { return nil }
        if change.oldVersion > 0 { return try change.document(asOf: start) }
        return rest.popFirst() ?? 0 > start.microseconds ? nil : .missing(try change.key, version: .none)
      }
    }

    /// - Parameter change: The first change of the document after the start; nil if it is not known.
    private mutating func visit(
      _ former: Document, _ after: ClusterSnapshot.FormerState, change: ClusterChange? = nil
    ) throws {
      let document = after.document
      let passing = PassingStates(snapshot: snapshot, source: source, start: start)
      try reading.visit(DocumentTransition(before: former, after: document)) { _ in
        // With a single change, there is no state in between.
        try change?.version != after.madeAt && passing.hasMatched(before: after.madeAt, document.key)
      }
    }
  }

  /// Looks for states of a document between the ends of a difference.
  private struct PassingStates {
    let snapshot: ClusterSnapshot
    let source: WatchSource
    let start: SnapshotVersion

    private static let chainCount = 32

    /// Returns whether a document matched in a state after the start and before the change that made it what it is at the end.
    func hasMatched(before madeAt: Int64, _ key: DocumentKey) throws -> Bool {
      guard let collection = try ClusterScope(.collection(key.collectionPath)).members(atMost: 1, in: snapshot)?.first
      else { return false }
      var next: Int64? = madeAt
      while let anchor = next {
        let rows = try snapshot.fetch(
          ChangeStatements.chain.call(
            snapshot.database, .int8(collection.number), .bytea(ClusterNames.idBytes(key.id)), .int8(anchor),
            .int8(start.microseconds), .int8(Int64(Self.chainCount))))
        for row in rows {
          let version = try row.int64(1)
          guard version > start.microseconds, let fields = try row.optionalBytes(3) else { continue }
          let state = Document.found(
            key, version: SnapshotVersion(microseconds: version), fields: EncodedFields(uncheckedBytes: fields))
          if source.matches(state) { return true }
        }
        // The last row is read again as the first one.
        next = rows.count < Self.chainCount ? nil : try rows.last?.int64(0)
      }
      return false
    }
  }
#endif
