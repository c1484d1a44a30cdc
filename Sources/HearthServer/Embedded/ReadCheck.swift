internal import HearthModel
internal import HearthStore

/// Looks for changes to the documents and queries that an optimistic transaction has read.
///
/// The writer makes checks of little effort while it commits. Larger ones run in pieces outside the writer, up to a version; then the
/// writer has to check only the changes after that version. So a transaction that has read much, or a busy collection, delays no commit
/// longer than ``effortInWriter`` allows.
///
/// A document that was read must not have been written since. The result of a query changes only through documents that match it before or
/// after a change.
struct ReadCheck: Sendable {
  enum Verdict: Sendable {
    case holds
    case conflict
    /// The effort was used up before the end.
    case unfinished
  }

  /// A unit of effort is a document that is looked up, a change that is looked at, a document that is compared with a query, or a
  /// kilobyte of it: some microseconds.
  typealias Effort = Int

  /// The effort of one commit in the writer.
  static let effortInWriter: Effort = 1_000
  /// The effort of all commits of a group in the writer.
  static let effortPerGroup: Effort = 4_000
  /// The effort of a piece outside the writer.
  static let effortPerPiece: Effort = 2_000
  /// The effort outside the writer after which the transaction is given up: some seconds.
  static let maximumEffort: Effort = 500_000
  /// The maximum number of checks of a commit outside the writer. A further check is needed when too much was written before the writer's
  /// turn.
  static let maximumRounds = 5

  static let conflict = StatusError(
    code: .aborted,
    message: "Aborted due to cross-transaction contention. This occurs when multiple transactions attempt to access "
      + "the same data, requiring Firestore to abort at least one in order to enforce serializability.")

  /// The queries of a transaction over the same collections.
  private struct Group {
    var scope: CollectionScope
    var queries: [Query]
  }

  /// The version of the snapshot that the transaction has read.
  private let version: SnapshotVersion
  private let keys: Set<DocumentKey>
  private let groups: [Group]
  /// The index of the groups, if there are too many to look at one by one.
  private let index: GroupIndex?
  /// Up to here nothing has changed that was read.
  private(set) var through: SnapshotVersion
  /// A check outside the writer that has begun.
  private var progress: Progress?

  private struct Progress {
    /// The version up to which it checks.
    var end: SnapshotVersion
    var keys: [DocumentKey]
    var group = 0
    var cursor: ChangeCursor?
    var effort: Effort = 0
  }

  /// - Parameter maximumLookups: More documents and collections than these are not looked up one by one in the writer.
  init(_ reads: TransactionReads, maximumLookups: Int = 256) {
    version = reads.version
    through = reads.version
    var keys = reads.keys
    var queries: [CollectionScope: Set<Query>] = [:]
    for query in reads.queries {
      if let key = query.documentKey {
        keys.insert(key)
      } else {
        queries[CollectionScope(of: query), default: []].insert(query)
      }
    }
    self.keys = keys
    groups = queries.map { Group(scope: $0, queries: Array($1)) }
    index = keys.count + groups.count > maximumLookups ? GroupIndex(groups) : nil
  }

  // MARK: - In the writer

  /// Checks all changes after ``through``.
  ///
  /// - Parameters:
  ///   - logStart: The log holds everything after this version.
  ///   - effort: Reduced by the effort of the check.
  func check(_ changes: LoggedChanges, logStart: SnapshotVersion, effort: inout Effort) throws -> Verdict {
    // A conflict can no longer be excluded when the log was trimmed beyond the snapshot.
    guard through >= logStart else { return .conflict }
    guard effort > 0 else { return .unfinished }
    // With many documents and collections, all changes are looked at: few were made after `through`.
    if let index { return try checkAll(changes, index, &effort) }
    for key in keys {
      effort -= 1
      if try changes.hasChanged(key, after: through) { return .conflict }
    }
    for group in groups {
      var cursor: ChangeCursor?
      let verdict = try check(group, changes, through: nil, from: &cursor, &effort)
      guard verdict == .holds else { return verdict }
    }
    return .holds
  }

  /// Looks at each change of the database.
  private func checkAll(_ changes: LoggedChanges, _ index: GroupIndex, _ effort: inout Effort) throws -> Verdict {
    var isConflict = false
    let left = try walk(.everything(under: ResourcePath()), changes, through: nil, from: nil) { row in
      effort -= 1
      isConflict = try keys.contains(row.key)
      for group in index.candidates(for: row.collection.path) where !isConflict && effort > 0 {
        effort -= 1
        guard group.scope.contains(collection: row.collection.path) else { continue }
        if group.queries.count > effort { return false }
        isConflict = try concerns(row, group.queries, changes, &effort)
      }
      return !isConflict && effort > 0
    }
    if isConflict { return .conflict }
    return left == nil ? .holds : .unfinished
  }

  /// Finds the groups that may look into a collection.
  private struct GroupIndex {
    private var byPath: [ResourcePath: Group] = [:]
    private var byID: [String: [Group]] = [:]
    private var others: [Group] = []

    init(_ groups: [Group]) {
      for group in groups {
        switch group.scope {
        case .collection(let path): byPath[path] = group
        case .group(let id, _): byID[id, default: []].append(group)
        case .everything: others.append(group)
        }
      }
    }

    func candidates(for collection: ResourcePath) -> [Group] {
      (byPath[collection].map { [$0] } ?? []) + (byID[collection.last ?? ""] ?? []) + others
    }
  }

  // MARK: - Outside the writer

  /// Does a piece of the check of all changes up to the present of the snapshot in which it began.
  ///
  /// - Parameter effort: The effort after which the piece ends.
  mutating func checkPiece(in snapshot: StorageReader.Snapshot, effort limit: Effort = ReadCheck.effortPerPiece)
    throws -> Verdict
  {
    guard through >= snapshot.logStart else { return .conflict }
    var progress = progress ?? Progress(end: snapshot.version, keys: Array(keys))
    var effort = limit
    let verdict = try proceed(&progress, snapshot.reader.changes, &effort)
    progress.effort += limit - effort
    guard verdict == .holds else {
      self.progress = progress
      return verdict == .unfinished && progress.effort > Self.maximumEffort ? .conflict : verdict
    }
    through = progress.end
    self.progress = nil
    return .holds
  }

  private func proceed(
    _ progress: inout Progress, _ changes: LoggedChanges, _ effort: inout Effort
  ) throws -> Verdict {
    while let key = progress.keys.last {
      guard effort > 0 else { return .unfinished }
      effort -= 1
      if try changes.hasChanged(key, after: through) { return .conflict }
      progress.keys.removeLast()
    }
    while progress.group < groups.count {
      guard effort > 0 else { return .unfinished }
      let verdict = try check(
        groups[progress.group], changes, through: progress.end, from: &progress.cursor, &effort)
      guard verdict == .holds else { return verdict }
      progress.group += 1
    }
    return .holds
  }

  // MARK: - Queries

  /// - Parameters:
  ///   - end: Nil for the present, in the writer, where a change is not compared with more queries than the effort allows.
  ///   - cursor: Where the walk begins, and where it was left if it is unfinished.
  private func check(
    _ group: Group, _ changes: LoggedChanges, through end: SnapshotVersion?, from cursor: inout ChangeCursor?,
    _ effort: inout Effort
  ) throws -> Verdict {
    effort -= 1
    var isConflict = false
    cursor = try walk(group.scope, changes, through: end, from: cursor) { row in
      effort -= 1
      guard row.isInScope else { return effort > 0 }
      if end == nil, group.queries.count > effort { return false }
      isConflict = try concerns(row, group.queries, changes, &effort)
      return !isConflict && effort > 0
    }
    if isConflict { return .conflict }
    return cursor == nil ? .holds : .unfinished
  }

  private func walk(
    _ scope: CollectionScope, _ changes: LoggedChanges, through end: SnapshotVersion?, from cursor: ChangeCursor?,
    _ visit: (LoggedRow) throws -> Bool
  ) throws -> ChangeCursor? {
    try changes.walk(
      scope, asOf: version, after: through, through: end ?? SnapshotVersion(microseconds: .max), from: cursor, visit)
  }

  /// Returns true if the document of a change matches one of these queries as the transaction has seen it, or at present. Later changes
  /// of the document are checked when the walk comes to them.
  private func concerns(
    _ row: LoggedRow, _ queries: [Query], _ changes: LoggedChanges, _ effort: inout Effort
  ) throws -> Bool {
    if let former = try row.document(asOf: version), compare(former, queries, &effort) { return true }
    guard !row.isDelete else { return false }
    let present = try changes.store.document(for: row.key)
    return present.version.microseconds == row.version && compare(present, queries, &effort)
  }

  private func compare(_ document: Document, _ queries: [Query], _ effort: inout Effort) -> Bool {
    guard document.isFound else { return false }
    effort -= queries.count + document.fields.bytes.count / 1_024
    return queries.contains { $0.matches(document) }
  }
}
