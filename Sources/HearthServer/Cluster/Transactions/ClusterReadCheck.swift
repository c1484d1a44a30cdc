#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// Looks for changes to the documents and queries that a transaction has read.
  ///
  /// A check runs outside of the order first, up to a version. The commit then has to look only at the changes after that version, which are
  /// few: so a transaction that has read much holds up no other commit.
  ///
  /// A document that was read must not have been written since. The result of a query changes only through documents that match it as the
  /// transaction has seen them, or at present.
  struct ClusterReadCheck: Sendable {
    enum Verdict: Sendable {
      case holds
      case conflict
      /// There were too many changes to look at.
      case unfinished
    }

    /// The changes that are looked at under the lock of a database, and their bytes.
    static let changesUnderLock = (count: 500, bytes: Int64(4 << 20))
    /// The same of a piece outside of it, and the number of pieces after which the transaction is given up.
    private static let changesOfPiece = (count: 500, bytes: Int64(8 << 20))
    private static let maximumPieces = 400
    private static let keysOfPiece = 1_000
    /// The maximum number of checks of a commit outside of the lock. A further one is needed when too much was written before its turn.
    static let maximumRounds = 5

    /// The version of the snapshot that the transaction has read.
    private let version: SnapshotVersion
    private let keys: Set<DocumentKey>
    private let queries: [(scope: CollectionScope, query: Query)]
    /// Up to here nothing has changed that was read.
    private(set) var through: SnapshotVersion

    init(_ reads: TransactionReads) {
      version = reads.version
      through = reads.version
      var keys = reads.keys
      var queries: [(scope: CollectionScope, query: Query)] = []
      for query in reads.queries {
        if let key = query.documentKey { keys.insert(key) } else { queries.append((CollectionScope(of: query), query)) }
      }
      (self.keys, self.queries) = (keys, queries)
    }

    // MARK: - Under the lock

    /// The call whose result ``verdict(on:)`` needs.
    func call(in database: Int64) -> PostgresCall {
      ChangeRow.changes(
        of: database, after: .end(of: through), upTo: Self.changesUnderLock.count, bytes: Self.changesUnderLock.bytes)
    }

    /// - Parameters:
    ///   - changes: The result of ``call(in:)``.
    ///   - logStart: The log is complete after this version.
    func verdict(on changes: [ChangeRow], logStart: SnapshotVersion) -> Verdict {
      // Some of the changes may have been removed.
      guard through >= logStart else { return .conflict }
      for change in changes {
        let verdict = verdict(on: change)
        if verdict != .holds { return verdict }
      }
      return changes.count < Self.changesUnderLock.count ? .holds : .unfinished
    }

    /// Returns true if a commit of the same group has changed what was read.
    func isBroken(by transitions: some Sequence<DocumentTransition>) -> Bool {
      transitions.contains { transition in
        keys.contains(transition.key)
          || queries.contains { scope, query in
            scope.contains(transition.key)
              && (matches(transition.before, query) || matches(transition.after, query))
          }
      }
    }

    private func matches(_ document: Document, _ query: Query) -> Bool { document.isFound && query.matches(document) }

    private func verdict(on change: ChangeRow) -> Verdict {
      if keys.contains(change.key) { return .conflict }
      let queries = queries.filter { $0.scope.contains(change.key) }
      guard !queries.isEmpty else { return .holds }
      let isPresent = change.presentVersion == change.version
      guard let before = change.before, !isPresent || change.present != nil else { return .unfinished }
      // Later changes of the document are looked at by themselves.
      let states = [before.version <= version ? before : nil, isPresent ? change.present : nil]
      let isConflict = states.contains { state in
        guard let state else { return false }
        return queries.contains { matches(state, $0.query) }
      }
      return isConflict ? .conflict : .holds
    }

    // MARK: - Outside of the lock

    /// Checks everything up to the present, in the transaction of the session, which has one snapshot.
    mutating func advance(on session: PostgresSession, in database: Int64) throws -> Verdict {
      guard let row = try session.run(Self.present.call(.int8(database))).first else { return .conflict }
      let (end, logStart) = (
        try row.version(0), try row.version(1)
      )
      // A conflict can no longer be excluded when the log was trimmed beyond the snapshot.
      guard through >= logStart else { return .conflict }
      if through < end {
        guard try !haveKeysChanged(on: session, in: database) else { return .conflict }
        var pieces = Self.maximumPieces
        for collection in try collections(on: session, in: database) {
          let verdict = try walk(collection, through: end, &pieces, on: session, in: database)
          guard verdict == .holds else { return verdict }
        }
      }
      through = end
      return .holds
    }

    private func haveKeysChanged(on session: PostgresSession, in database: Int64) throws -> Bool {
      var rest = Array(keys)[...]
      while !rest.isEmpty {
        let piece = rest.prefix(Self.keysOfPiece)
        rest = rest.dropFirst(piece.count)
        let changed = try session.run(
          Self.changedKeys.call(
            .int8(database), .byteaArray(piece.map { ClusterNames.pathHash($0.collectionPath) }),
            .byteaArray(piece.map { ClusterNames.idBytes($0.id) }), .int8(through.microseconds)))
        if !changed.isEmpty { return true }
      }
      return false
    }

    /// The numbers of the collections whose changes have to be looked at; nil for those of the whole database. A collection without a number
    /// has no changes.
    private func collections(on session: PostgresSession, in database: Int64) throws -> [Int64?] {
      var paths: Set<ResourcePath> = []
      for (scope, _) in queries {
        guard case .collection(let path) = scope else { return [nil] }
        paths.insert(path)
      }
      guard !paths.isEmpty else { return [] }
      return try session.run(
        Self.collectionNumbers.call(.int8(database), .byteaArray(paths.map(ClusterNames.pathHash)))
      ).compactMap { try $0.optionalInt64(0) }
    }

    private func walk(
      _ collection: Int64?, through end: SnapshotVersion, _ pieces: inout Int, on session: PostgresSession,
      in database: Int64
    ) throws -> Verdict {
      var position = ChangeRow.Position.end(of: through)
      while true {
        guard pieces > 0 else { return .conflict }
        pieces -= 1
        let changes = try session.run(
          ChangeRow.changes(
            of: database, in: collection, after: position, upTo: Self.changesOfPiece.count,
            bytes: Self.changesOfPiece.bytes)
        ).map(ChangeRow.init)
        var visited = 0
        for change in changes {
          if change.version > end { return .holds }
          let verdict = verdict(on: change)
          if verdict == .conflict { return .conflict }
          // The next piece begins with the one whose contents were left out.
          if verdict == .unfinished { break }
          position = change.position
          visited += 1
        }
        if visited == changes.count, visited < Self.changesOfPiece.count { return .holds }
      }
    }

    private static let present = PostgresStatement(
      "present version",
      """
      SELECT (SELECT version FROM hearth_commits WHERE database = $1 ORDER BY version DESC LIMIT 1), log_start
      FROM hearth_databases WHERE number = $1
      """, [.int8])

    /// Finds a document that was written after a version: the present one, or the delete of a missing one.
    private static let changedKeys = PostgresStatement(
      "changed keys",
      """
      SELECT 1 FROM (
        SELECT d.version, (
          SELECT x.version FROM hearth_changes x
          WHERE x.database = $1 AND x.collection = c.number AND x.id = k.id AND x.is_delete
          ORDER BY x.version DESC LIMIT 1) AS deleted
        FROM unnest($2::bytea[], $3::bytea[]) AS k (hash, id)
        LEFT JOIN LATERAL (
          SELECT number FROM hearth_collections WHERE database = $1 AND path_hash = k.hash LIMIT 1) c ON true
        LEFT JOIN LATERAL (
          SELECT version FROM hearth_documents WHERE database = $1 AND collection = c.number AND id = k.id LIMIT 1
        ) d ON true
        OFFSET 0
      ) AS read WHERE version > $4 OR (version IS NULL AND deleted > $4) LIMIT 1
      """, [.int8, .byteaArray, .byteaArray, .int8])

    private static let collectionNumbers = PostgresStatement(
      "numbers of collections",
      """
      SELECT c.number FROM unnest($2::bytea[]) AS k (hash)
      LEFT JOIN LATERAL (
        SELECT number FROM hearth_collections WHERE database = $1 AND path_hash = k.hash LIMIT 1) c ON true
      """, [.int8, .byteaArray])
  }
#endif
