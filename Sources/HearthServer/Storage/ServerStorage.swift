package import HearthModel
package import HearthStore

/// Everything the server needs from the place where one database's documents are kept.
///
/// The service layer knows nothing else of the storage, so that another kind of database can take the place of the
/// embedded one. All methods may be called at the same time from any task. Versions are commit times.
package protocol ServerStorage: Sendable {
  /// Commits as they become durable, in order; listeners live on it.
  var feed: ChangeFeed { get }

  /// Random bytes drawn when the database was created: they tell its resume tokens from those of another database that
  /// had the same name.
  var incarnation: [UInt8] { get }

  /// Applies all writes of one request or none, durably.
  ///
  /// - Returns: after the changes are on disk. The result's version is the commit time.
  /// - Throws: `StatusError`: a failed precondition, a broken limit, a conflict with what the transaction has read
  ///   (ABORTED), or the storage's own trouble.
  func commit(_ request: CommitRequest) async throws(StatusError) -> CommitOutcome

  /// Reads documents in one snapshot.
  ///
  /// - Parameter version: reads the past when set; see ``snapshot(at:)`` for how far it reaches.
  /// - Returns: for each key, in order, a found or a missing document.
  func documents(
    for keys: [DocumentKey], at version: SnapshotVersion?
  ) async throws(StatusError) -> (documents: [Document], readVersion: SnapshotVersion)

  /// Runs a query in one snapshot; the documents come in query order.
  func run(
    _ query: Query, at version: SnapshotVersion?
  ) async throws(StatusError) -> (documents: [Document], readVersion: SnapshotVersion)

  /// What differs between two versions for documents of `scope`, one entry for each document that was written in
  /// between; nil when the change log does not reach back to `start`.
  func changes(
    in scope: ChangeScope, after start: SnapshotVersion, through end: SnapshotVersion
  ) async throws(StatusError) -> [DocumentTransition]?

  /// The version of the newest commit, or of the database's creation.
  func currentVersion() async throws(StatusError) -> SnapshotVersion

  /// Checks a `read_time` of a request and gives the version to read at.
  ///
  /// - Throws: FAILED_PRECONDITION when it is older than the change log reaches, INVALID_ARGUMENT when it is in the
  ///   future or has digits below microseconds.
  func snapshot(at readTime: Timestamp) async throws(StatusError) -> SnapshotVersion

  /// The ids of the collections right below a document (or below the root for the empty path), sorted.
  func collectionIDs(under parent: ResourcePath) async throws(StatusError) -> [String]

  /// The ids of documents of a collection that do not exist themselves but have documents below them, sorted.
  func missingDocumentIDs(in collection: ResourcePath) async throws(StatusError) -> [String]

  /// Finishes what is under way and releases the database. Later calls throw UNAVAILABLE.
  func close() async
}

/// The place that a database without any commit gets with its first one.
package struct StorageHome: Sendable {
  /// Makes room for the database. `.memory` says that it stays where it is.
  package var create: @Sendable () throws -> Database.Location
  /// Undoes ``create`` when the database could not be moved there.
  package var discard: @Sendable () -> Void
  /// The database has moved.
  package var settled: @Sendable (any ServerStorage) -> Void

  package init(
    create: @escaping @Sendable () throws -> Database.Location, discard: @escaping @Sendable () -> Void,
    settled: @escaping @Sendable (any ServerStorage) -> Void
  ) {
    self.create = create
    self.discard = discard
    self.settled = settled
  }
}

/// One request's writes and the conditions under which they apply.
package struct CommitRequest: Sendable {
  /// Applied in order; the same document may appear several times.
  package var mutations: [Mutation]
  /// What the transaction has read, if the commit ends one.
  package var reads: TransactionReads?
  /// A commit with the same label is applied only once: a repetition gets the answer of the first.
  package var label: RequestLabel?

  package init(mutations: [Mutation], reads: TransactionReads? = nil, label: RequestLabel? = nil) {
    self.mutations = mutations
    self.reads = reads
    self.label = label
  }
}

/// What a committed request brought about.
package struct CommitOutcome: Sendable, Equatable {
  /// The commit time, shared by all writes of the request.
  package var version: SnapshotVersion
  /// One for each write. ``SnapshotVersion/none`` as version means that there is none to report (after a delete).
  package var results: [MutationResult]

  package init(version: SnapshotVersion, results: [MutationResult]) {
    self.version = version
    self.results = results
  }
}

/// What a transaction has read, and when: the commit fails if any of it has changed since.
package struct TransactionReads: Sendable, Equatable {
  package var version: SnapshotVersion
  package var keys: Set<DocumentKey> = []
  package var queries: [Query] = []

  package init(version: SnapshotVersion) {
    self.version = version
  }
}

/// The documents that a question about changes is about.
package enum ChangeScope: Hashable, Sendable {
  /// The documents right in a collection.
  case collection(ResourcePath)
  /// The documents of all collections with this id below a path.
  case group(String, under: ResourcePath)
  /// All documents below a path.
  case everything(under: ResourcePath)
  /// These documents.
  case documents(Set<DocumentKey>)

  /// Where the documents of a query come from.
  package init(of query: Query) {
    if let key = query.documentKey {
      self = .documents([key])
    } else if let group = query.collectionGroup {
      self = group.isEmpty ? .everything(under: query.path) : .group(group, under: query.path)
    } else {
      self = .collection(query.path)
    }
  }

  package func contains(_ key: DocumentKey) -> Bool {
    switch self {
    case .collection(let path): key.collectionPath == path
    case .group(let id, let path):
      key.collectionGroup.utf8.elementsEqual(id.utf8) && path.isPrefix(of: key.collectionPath)
    case .everything(let path): path.isPrefix(of: key.collectionPath)
    case .documents(let keys): keys.contains(key)
    }
  }
}

/// One document before and after something happened.
package struct DocumentTransition: Sendable, Equatable {
  /// Found or missing.
  package var before: Document
  /// Found or missing.
  package var after: Document

  package init(before: Document, after: Document) {
    self.before = before
    self.after = after
  }

  package var key: DocumentKey { after.key }
}

/// One commit that changed something.
package struct CommittedChange: Sendable {
  package var version: SnapshotVersion
  /// One for each document that differs after the commit.
  package var transitions: [DocumentTransition]

  package init(version: SnapshotVersion, transitions: [DocumentTransition]) {
    self.version = version
    self.transitions = transitions
  }
}
